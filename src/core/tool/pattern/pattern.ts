import { type Char, type Node, parsePattern } from './parse.ts';

/** A step of a program. All but `match`, `jump` and `split` go on with the step behind them. */
type Step =
	| { readonly type: 'match' }
	| Char
	| Extract<Node, { type: 'behind' }>
	| { readonly type: 'at'; readonly place: Extract<Node, { type: 'at' }>['place'] }
	| { readonly type: 'look'; readonly program: Program; readonly isNegative: boolean }
	| { readonly type: 'jump'; to: number }
	| Split;

/** Goes on with any of some steps. */
interface Split {
	readonly type: 'split';
	readonly to: number[];
}

interface Program {
	readonly steps: Step[];
	/** How often loops stand within each other. */
	depth: number;
}

/** Steps of one pattern, those of its looks included: repetitions with counts are written out. */
const maxSteps = 4_000;

/** A pattern that is matched in a time that grows with the length of the text, whatever both are. */
export interface Pattern {
	/** Whether any part of the text matches. */
	matches(text: string): boolean;
	/** The work for one character of text, in steps. */
	readonly steps: number;
}

/** Makes a pattern out of its text. Throws a plain `Error` that says why for what cannot be one. */
export function compilePattern(source: string): Pattern {
	const budget = { left: maxSteps };
	const program = toProgram(parsePattern(source), budget);
	return {
		steps: (maxSteps - budget.left) * (program.depth + 2),
		matches: (text) =>
			runs(
				program,
				Array.from(text, (character) => character.codePointAt(0) ?? 0),
			).some,
	};
}

function toProgram(node: Node, budget: { left: number }): Program {
	const program: Program = { steps: [], depth: 0 };
	write(node, program, budget, 0);
	push({ type: 'match' }, program, budget);
	return program;
}

function push<S extends Step>(step: S, { steps }: Program, budget: { left: number }): S {
	if (budget.left-- <= 0) throw new Error('is too large: use fewer, or smaller, repetitions');
	steps.push(step);
	return step;
}

function write(node: Node, program: Program, budget: { left: number }, depth: number): void {
	const { steps } = program;
	switch (node.type) {
		case 'char':
		case 'at':
			push(node, program, budget);
			return;
		case 'behind':
			budget.left -= node.characters.length;
			push(node, program, budget);
			return;
		case 'look': {
			const inner = toProgram(node.body, budget);
			push({ type: 'look', program: inner, isNegative: node.isNegative }, program, budget);
			return;
		}
		case 'sequence':
			for (const one of node.nodes) write(one, program, budget, depth);
			return;
		case 'choice': {
			const split = push<Split>({ type: 'split', to: [] }, program, budget);
			const ends = node.nodes.map((one) => {
				split.to.push(steps.length);
				write(one, program, budget, depth);
				return push({ type: 'jump', to: 0 }, program, budget);
			});
			for (const end of ends) end.to = steps.length;
			return;
		}
		case 'repeat':
			writeRepeat(node, program, budget, depth);
	}
}

function writeRepeat(
	{ body, least, most }: Extract<Node, { type: 'repeat' }>,
	program: Program,
	budget: { left: number },
	depth: number,
): void {
	const { steps } = program;
	for (let count = 0; count < least; count++) writeOnce(body, program, budget, depth);
	if (most === Infinity) {
		program.depth = Math.max(program.depth, depth + 1);
		const at = steps.length;
		const split = push({ type: 'split', to: [at + 1] }, program, budget);
		write(body, program, budget, depth + 1);
		push({ type: 'jump', to: at }, program, budget);
		split.to.push(steps.length);
		return;
	}
	const splits: Split[] = [];
	for (let count = least; count < most; count++) {
		splits.push(push({ type: 'split', to: [steps.length + 1] }, program, budget));
		writeOnce(body, program, budget, depth);
	}
	for (const split of splits) split.to.push(steps.length);
}

/** Nothing, a billion times, is written as slowly as something: each copy costs a step at least. */
function writeOnce(body: Node, program: Program, budget: { left: number }, depth: number): void {
	if (budget.left-- <= 0) throw new Error('is too large: use fewer, or smaller, repetitions');
	write(body, program, budget, depth);
}

/**
 * At which places of a text a match begins. From the text's end to its start it is known, for every step, whether a match
 * can be reached from there; so each step is looked at once a character, but for loops, and nothing is tried twice.
 */
function runs({ steps }: Program, points: readonly number[]): { readonly at: Uint8Array; readonly some: boolean } {
	const looks = new Map(steps.flatMap((step) => (step.type === 'look' ? [[step, runs(step.program, points).at]] : [])));
	const at = new Uint8Array(points.length + 1);
	let some = false;
	let behind = new Uint8Array(steps.length + 1);
	let here = new Uint8Array(steps.length + 1);
	for (let index = points.length; index >= 0; index--) {
		here.fill(0);
		// A loop's end jumps back to a step that is looked at later: look again until nothing changes.
		for (let changed = true; changed; ) {
			changed = false;
			for (let place = steps.length - 1; place >= 0; place--) {
				const step = steps[place];
				if (step === undefined || here[place] === 1 || !reaches(step, place)) continue;
				here[place] = 1;
				changed = true;
			}
		}
		at[index] = here[0] ?? 0;
		some ||= here[0] === 1;
		[behind, here] = [here, behind];

		function reaches(step: Step, place: number): boolean {
			switch (step.type) {
				case 'match':
					return true;
				case 'char':
					return behind[place + 1] === 1 && index < points.length && step.matches(points[index] ?? 0);
				case 'at':
					return here[place + 1] === 1 && isAt(step.place, points, index);
				case 'behind':
					return here[place + 1] === 1 && isBehind(step.characters, points, index) !== step.isNegative;
				case 'look':
					return here[place + 1] === 1 && (looks.get(step)?.[index] === 1) !== step.isNegative;
				case 'jump':
					return here[step.to] === 1;
				case 'split':
					return step.to.some((to) => here[to] === 1);
			}
		}
	}
	return { at, some };
}

function isBehind(characters: readonly Char[], points: readonly number[], index: number): boolean {
	const from = index - characters.length;
	return from >= 0 && characters.every(({ matches }, at) => matches(points[from + at] ?? 0));
}

function isAt(place: Extract<Node, { type: 'at' }>['place'], points: readonly number[], index: number): boolean {
	if (place === 'start') return index === 0;
	if (place === 'end') return index === points.length;
	return (isWord(points[index - 1]) !== isWord(points[index])) === (place === 'word');
}

function isWord(point: number | undefined): boolean {
	return point !== undefined && /^\w$/.test(String.fromCodePoint(point));
}
