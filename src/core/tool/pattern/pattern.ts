import { doNow, type StepCounter, type Steps, uncounted } from '../../base/work.ts';
import { type Char, type Node, parsePattern } from './parse.ts';

/** A step of a program. The next step follows, except after `match`, `jump` and `split`. */
type Step =
	| { readonly type: 'match' }
	| Char
	| Extract<Node, { type: 'behind' }>
	| { readonly type: 'at'; readonly place: Extract<Node, { type: 'at' }>['place'] }
	| { readonly type: 'look'; readonly program: Program; readonly isNegative: boolean }
	| { readonly type: 'jump'; to: number }
	| Split;

interface Split {
	readonly type: 'split';
	readonly to: number[];
}

interface Program {
	readonly steps: Step[];
	/** The depth of nested loops. */
	depth: number;
}

/** The maximum number of steps of a pattern, including lookarounds. Each counted repetition has its own steps. */
const maxSteps = 4_000;

/** A pattern that is matched in time proportional to the length of the text. */
export interface Pattern {
	/** Whether any part of the text matches. */
	matches(text: string): boolean;
	/** Computes the same as `matches`, but yields now and then. Counts each step for each character as work. */
	test(text: string, work: StepCounter): Steps<boolean>;
	/** Returns the index of the first match, or -1. Counts and yields like `test`. */
	find(text: string, work: StepCounter): Steps<number>;
	/** The work for one character of text, in steps. */
	readonly steps: number;
}

/** Compiles a pattern. Throws a plain `Error` with the reason if the pattern cannot be compiled. */
export function compilePattern(source: string): Pattern {
	const budget = { left: maxSteps };
	const program = toProgram(parsePattern(source), budget);
	return {
		steps: (maxSteps - budget.left) * (program.depth + 2),
		matches: (text) => doNow(findMatches(program, text, uncounted)).some,
		test: function* (text, work) {
			return (yield* findMatches(program, text, work)).some;
		},
		find: function* (text, work) {
			return (yield* findMatches(program, text, work)).at.indexOf(1);
		},
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

/** Each copy costs at least one step, because writing even an empty body a billion times takes long. */
function writeOnce(body: Node, program: Program, budget: { left: number }, depth: number): void {
	if (budget.left-- <= 0) throw new Error('is too large: use fewer, or smaller, repetitions');
	write(body, program, budget, depth);
}

/**
 * Finds the places of a text where a match begins. Walks from the end of the text to its start, and marks the steps
 * from which a match can be reached. There is no backtracking: each step is visited once for each character, except in
 * loops.
 */
function* findMatches({ steps }: Program, text: string, work: StepCounter): Steps<Places> {
	const looks = new Map<Step, Uint8Array>();
	for (const step of steps)
		if (step.type === 'look') looks.set(step, (yield* findMatches(step.program, text, work)).at);
	const at = new Uint8Array(text.length + 1);
	let some = false;
	let behind = new Uint8Array(steps.length + 1);
	let here = new Uint8Array(steps.length + 1);
	for (let index = text.length; index >= 0; index = stepBack(text, index)) {
		const point = text.codePointAt(index);
		here.fill(0);
		let visits = 0;
		// A loop jumps back to a step that this walk visits later, so the walk repeats until nothing changes.
		for (let changed = true; changed; visits += steps.length) {
			changed = false;
			for (let place = steps.length - 1; place >= 0; place--) {
				const step = steps[place];
				if (step === undefined || here[place] === 1 || !reaches(step, place, point)) continue;
				here[place] = 1;
				changed = true;
			}
		}
		at[index] = here[0] ?? 0;
		some ||= here[0] === 1;
		[behind, here] = [here, behind];
		if (work.spend(visits)) yield;

		function reaches(step: Step, place: number, next: number | undefined): boolean {
			switch (step.type) {
				case 'match':
					return true;
				case 'char':
					return behind[place + 1] === 1 && next !== undefined && step.matches(next);
				case 'at':
					return here[place + 1] === 1 && isAt(step.place, text, index);
				case 'behind':
					return here[place + 1] === 1 && isBehind(step.characters, text, index) !== step.isNegative;
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

/** The UTF-16 indexes where matches begin, each marked by 1, and whether there is any match. */
interface Places {
	readonly at: Uint8Array;
	readonly some: boolean;
}

/** Returns the start index of the character in front of an index. */
function stepBack(text: string, index: number): number {
	const isPair = index > 1 && isLow(text.charCodeAt(index - 1)) && isHigh(text.charCodeAt(index - 2));
	return index - (isPair ? 2 : 1);
}

function isLow(unit: number): boolean {
	return unit >= 0xdc00 && unit <= 0xdfff;
}

function isHigh(unit: number): boolean {
	return unit >= 0xd800 && unit <= 0xdbff;
}

function isBehind(characters: readonly Char[], text: string, index: number): boolean {
	let from = index;
	return characters.toReversed().every(({ matches }) => {
		if (from === 0) return false;
		from = stepBack(text, from);
		return matches(text.codePointAt(from) ?? 0);
	});
}

function isAt(place: Extract<Node, { type: 'at' }>['place'], text: string, index: number): boolean {
	if (place === 'start') return index === 0;
	if (place === 'end') return index === text.length;
	return (isWord(text[index - 1]) !== isWord(text[index])) === (place === 'word');
}

function isWord(unit: string | undefined): boolean {
	return unit !== undefined && /^\w$/.test(unit);
}
