import { getNumber, getString, type Json } from '../../adapter/json.ts';

/** The arguments of a call that arrive value by value. */
export interface PartialArgs {
	readonly take: (pieces: readonly Json[]) => void;
	/** Returns the arguments so far as an object. */
	readonly value: () => Json;
}

/**
 * Joins Gemini's `partialArgs`. Each piece names its place by a JSON Path (`$.items[0].name`), and has a piece
 * of a `stringValue`, or a whole `numberValue`, `boolValue` or `nullValue`.
 */
export function createPartialArgs(): PartialArgs {
	const leaves = new Map<string, unknown>();
	return {
		take: (pieces) => {
			for (const piece of pieces) {
				const path = getString(piece, 'jsonPath');
				if (path === undefined) continue;
				const before = leaves.get(path);
				const text = getString(piece, 'stringValue');
				if (text === undefined) leaves.set(path, getNumber(piece, 'numberValue') ?? readBoolean(piece));
				else leaves.set(path, typeof before === 'string' ? before + text : text);
			}
		},
		value: () => {
			const root: Node = new Map();
			for (const [path, leaf] of leaves) put(root, parseSteps(path), leaf);
			return Object.fromEntries([...root].map(([key, node]) => [key, toPlain(node)]));
		},
	};
}

/** The entries of an object or a list. */
type Node = Map<string | number, Node | { readonly leaf: unknown }>;

function put(root: Node, steps: readonly (string | number)[], leaf: unknown): void {
	let at = root;
	for (const step of steps.slice(0, -1)) {
		const next = at.get(step);
		const inner: Node = next instanceof Map ? next : new Map();
		at.set(step, inner);
		at = inner;
	}
	const last = steps.at(-1);
	if (last !== undefined) at.set(last, { leaf });
}

function toPlain(node: Node | { readonly leaf: unknown }): unknown {
	if (!(node instanceof Map)) return node.leaf;
	const entries = [...node];
	// The length is the number of received items, even if the last index is higher.
	if (entries.every(([key]) => typeof key === 'number')) return entries.map(([, value]) => toPlain(value));
	return Object.fromEntries(entries.map(([key, value]) => [key, toPlain(value)]));
}

/** Parses a JSON Path (RFC 9535) that names exactly one place: `.name`, `['name']`, `[0]`. */
function parseSteps(path: string): readonly (string | number)[] {
	return [...path.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/g)].map(
		([, name, index, single, double]) =>
			index !== undefined ? Number(index) : (name ?? (single ?? double ?? '').replace(/\\(.)/g, '$1')),
	);
}

function readBoolean({ boolValue }: Json): boolean | null {
	return typeof boolValue === 'boolean' ? boolValue : null;
}
