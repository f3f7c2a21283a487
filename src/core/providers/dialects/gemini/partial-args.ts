import { getNumber, getString, type Json } from '../../adapter/json.ts';

/** The arguments of a call that arrive value by value. */
export interface PartialArgs {
	readonly take: (pieces: readonly Json[]) => void;
	/** Returns the arguments so far as an object. */
	readonly value: () => Json;
}

type Leaf = { readonly text: string[] } | { readonly value: unknown };

/**
 * Joins Gemini's `partialArgs` in O(n). Each piece names its place by a JSON Path (`$.items[0].name`), and has a piece
 * of a `stringValue`, or a whole `numberValue`, `boolValue` or `nullValue`.
 */
export function createPartialArgs(): PartialArgs {
	const leaves = new Map<string, Leaf>();
	return {
		take: (pieces) => {
			for (const piece of pieces) {
				const path = getString(piece, 'jsonPath');
				if (path === undefined) continue;
				const before = leaves.get(path);
				const text = getString(piece, 'stringValue');
				if (text === undefined) leaves.set(path, { value: getNumber(piece, 'numberValue') ?? readBoolean(piece) });
				else if (before !== undefined && 'text' in before) before.text.push(text);
				else leaves.set(path, { text: [text] });
			}
		},
		value: () => {
			const root: Node = new Map();
			for (const [path, leaf] of leaves) put(root, parseSteps(path), 'text' in leaf ? leaf.text.join('') : leaf.value);
			return Object.fromEntries([...root].map(([key, node]) => [key, toPlain(node)]));
		},
	};
}

/** The entries of an object or a list. */
type Node = Map<string | number, Node | { readonly leaf: unknown }>;

function put(root: Node, steps: readonly (string | number)[], leaf: unknown): void {
	let at = root;
	for (const [index, step] of steps.entries()) {
		if (index === steps.length - 1) {
			at.set(step, { leaf });
			return;
		}
		const next = at.get(step);
		if (next instanceof Map) at = next;
		else {
			const inner: Node = new Map();
			at.set(step, inner);
			at = inner;
		}
	}
}

function toPlain(node: Node | { readonly leaf: unknown }): unknown {
	if (!(node instanceof Map)) return node.leaf;
	const entries = [...node];
	// The length is the number of received items, whatever the last index is.
	if (entries.every(([key]) => typeof key === 'number')) return entries.map(([, value]) => toPlain(value));
	return Object.fromEntries(entries.map(([key, value]) => [key, toPlain(value)]));
}

/** Parses a JSON Path (RFC 9535) of a single place: `.name`, `['name']`, `[0]`. */
function parseSteps(path: string): readonly (string | number)[] {
	return [...path.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/g)].map(
		([, name, index, single, double]) =>
			index !== undefined ? Number(index) : (name ?? (single ?? double ?? '').replace(/\\(.)/g, '$1')),
	);
}

function readBoolean({ boolValue }: Json): boolean | null {
	return typeof boolValue === 'boolean' ? boolValue : null;
}
