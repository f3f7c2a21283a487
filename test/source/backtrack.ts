import type { Char, Node } from '../../src/core/tool/pattern/parse.ts';

/** What a search took. */
export interface Search {
	/** More than the most that were allowed are infinitely many; what the stack here is too small for is not a number. */
	readonly steps: number;
	readonly found: boolean;
}

const wordCharacters = new Set(
	Array.from({ length: 128 }, (_, point) => point).filter((point) => /^\w$/.test(String.fromCharCode(point))),
);

type Next = (at: number) => boolean;

class TooMany extends Error {}

/** Prepares a node for many searches: its characters fit as the flags say, and remember what fits them. */
export function prepare(node: Node, flags: string): Node {
	switch (node.type) {
		case 'char':
			return rememberFits(node, flags.includes('i'));
		case 'behind':
			return { ...node, characters: node.characters.map((one) => rememberFits(one, flags.includes('i'))) };
		case 'look':
		case 'repeat':
			return { ...node, body: prepare(node.body, flags) };
		case 'sequence':
		case 'choice':
			return { ...node, nodes: node.nodes.map((one) => prepare(one, flags)) };
		case 'at':
			return node;
	}
}

function rememberFits({ matches }: Char, fold: boolean): Char {
	const fits = (point: number): boolean => {
		if (matches(point)) return true;
		if (!fold) return false;
		const character = String.fromCodePoint(point);
		return [character.toLowerCase(), character.toUpperCase()].some((one) => matches(one.codePointAt(0) ?? 0));
	};
	const ascii = Array.from({ length: 128 }, (_, point) => fits(point));
	return { type: 'char', matches: (point) => ascii[point] ?? fits(point) };
}

/**
 * Searches a text for a prepared node, as engines do that try every way to match, one after the other, at every place of the text; and counts the
 * steps. So what a regular expression costs does not depend on how busy the machine is.
 */
export function search(
	node: Node,
	text: string,
	{ flags, most }: { readonly flags: string; readonly most: number },
): Search {
	const [lines, all] = [flags.includes('m'), flags.includes('g')];
	const points = toPoints(text);
	let steps = 0;
	const isWord = (at: number) => wordCharacters.has(points[at] ?? 0x20);
	/** Tries the node from there on, and `next` behind it: `pending` keeps the stack flat for long repetitions. */
	const run = (one: Node, at: number, next: Next): boolean => {
		if (++steps > most) throw new TooMany();
		switch (one.type) {
			case 'char':
				return at < points.length && one.matches(points[at] ?? 0) && next(at + 1);
			case 'at':
				if (one.place === 'start') return (at === 0 || (lines && points[at - 1] === 10)) && next(at);
				if (one.place === 'end') return (at === points.length || (lines && points[at] === 10)) && next(at);
				return (isWord(at - 1) !== isWord(at)) === (one.place === 'word') && next(at);
			case 'behind': {
				const from = at - one.characters.length;
				const is = from >= 0 && one.characters.every(({ matches }, index) => matches(points[from + index] ?? 0));
				return is !== one.isNegative && next(at);
			}
			case 'look':
				return run(one.body, at, () => true) !== one.isNegative && next(at);
			case 'choice':
				for (const node of one.nodes) if (run(node, at, next)) return true;
				return false;
			case 'sequence':
				return follow(one.nodes, 0, at, next);
			case 'repeat':
				return repeat(one, at, 0, next);
		}
	};
	const follow = (nodes: readonly Node[], index: number, at: number, next: Next): boolean => {
		const node = nodes[index];
		if (node === undefined) return next(at);
		return run(node, at, index === nodes.length - 1 ? next : (to) => follow(nodes, index + 1, to, next));
	};
	const repeat = (one: Extract<Node, { type: 'repeat' }>, at: number, count: number, next: Next): boolean => {
		if (++steps > most) throw new TooMany();
		if (one.body.type === 'char') {
			// The usual loop, without a stack: as many as there are, then fewer and fewer.
			let end = at;
			while (end - at < one.most && end < points.length && one.body.matches(points[end] ?? 0)) {
				end++;
				if (++steps > most) throw new TooMany();
			}
			for (; end - at >= one.least; end--) {
				if (++steps > most) throw new TooMany();
				if (next(end)) return true;
			}
			return false;
		}
		if (
			count < one.most &&
			run(one.body, at, (to) => (to > at || count < one.least) && repeat(one, to, count + 1, next))
		)
			return true;
		return count >= one.least && next(at);
	};
	try {
		const last = (startsAnchored(node) && !lines) || flags.includes('y') ? 0 : points.length;
		let found = false;
		let end = 0;
		const accept = (to: number): boolean => {
			end = to;
			return true;
		};
		for (let at = 0; at <= last; at++) {
			const matches = run(node, at, accept);
			found ||= matches;
			if (matches && !all) break;
			if (matches) at = Math.max(at, end - 1);
		}
		return { steps, found };
	} catch (error) {
		if (error instanceof TooMany) return { steps: Number.POSITIVE_INFINITY, found: false };
		if (error instanceof RangeError) return { steps: Number.NaN, found: false };
		throw error;
	}
}

/** Returns the code points of a text. An iterator would take half of the time of all searches. */
function toPoints(text: string): number[] {
	const points: number[] = [];
	for (let at = 0; at < text.length; at++) {
		const point = text.codePointAt(at) ?? 0;
		points.push(point);
		if (point > 0xffff) at++;
	}
	return points;
}

function startsAnchored(node: Node): boolean {
	if (node.type === 'at') return node.place === 'start';
	if (node.type === 'sequence') return node.nodes[0] !== undefined && startsAnchored(node.nodes[0]);
	return node.type === 'choice' && node.nodes.every(startsAnchored);
}

/** Texts that a regular expression may take long for: what leads to a repetition, what it repeats, what does not fit behind. */
export interface Attack {
	readonly head: string;
	readonly pump: string;
	readonly tail: string;
}

const characters = [
	'a',
	'A',
	'0',
	' ',
	'_',
	'-',
	'.',
	'/',
	'"',
	'(',
	'\\',
	',',
	':',
	';',
	'=',
	'*',
	'`',
	'[',
	'<',
	'&',
	'\t',
	'\n',
	'é',
	'😀',
	'\u0001',
];

/** Attacks on a regular expression, from its own parts. */
export function findAttacks(node: Node): Attack[] {
	const attacks = new Map<string, Attack>();
	const tails = ['', '\u0001', '\n', 'a', '!'];
	const add = (head: string, pump: string) => {
		for (const tail of tails) attacks.set(JSON.stringify([head, pump, tail]), { head, pump, tail });
	};
	const visit = (one: Node, head: string): void => {
		switch (one.type) {
			case 'sequence': {
				let before = head;
				for (const node of one.nodes) {
					visit(node, before);
					before += shortest(node);
				}
				return;
			}
			case 'choice':
				for (const node of one.nodes) visit(node, head);
				return;
			case 'look':
				visit(one.body, head);
				return;
			case 'repeat':
				for (const pump of pumps(one.body)) {
					add(head, pump);
					if (shortest(one.body) !== pump) add(head, pump + shortest(one.body));
				}
				visit(one.body, head);
				return;
			default:
				return;
		}
	};
	visit(node, '');
	for (const pump of [...characters, shortest(node)].filter((text) => text !== ''))
		for (const head of ['', 'a', '\u0001']) add(head, pump);
	return [...attacks.values()];
}

/** A short text that fits the node. */
function shortest(node: Node): string {
	switch (node.type) {
		case 'char':
			return samples(node)[0] ?? '';
		case 'sequence':
			return node.nodes.map(shortest).join('');
		case 'choice':
			return node.nodes.map(shortest).find((text) => text !== '') ?? '';
		case 'repeat':
			return shortest(node.body).repeat(Math.max(1, Math.min(node.least, 8)));
		default:
			return '';
	}
}

function pumps(node: Node): string[] {
	if (node.type === 'char') return samples(node).slice(0, 6);
	if (node.type === 'choice') return node.nodes.flatMap(pumps).slice(0, 12);
	return [shortest(node)].filter((text) => text !== '');
}

function samples({ matches }: Extract<Node, { type: 'char' }>): string[] {
	const usual = characters.filter((text) => matches(text.codePointAt(0) ?? 0));
	if (usual.length > 0) return usual;
	for (let point = 0; point < 0x3000; point++) if (matches(point)) return [String.fromCodePoint(point)];
	return [];
}
