import { getNumber, getString, type Json } from '../../adapter/json.ts';

/** A call's arguments that come one value at a time. */
export interface PartialArgs {
	readonly take: (pieces: readonly Json[]) => void;
	/** What has come, as the object of arguments. */
	readonly value: () => Json;
}

/** A value on its way: a string in pieces, any other one whole. */
type Leaf = { readonly text: string[] } | { readonly value: unknown };

/**
 * Puts Gemini's `partialArgs` together, in O(n): each piece names its place by a JSON Path (`$.items[0].name`) and has a
 * `stringValue`, which goes on with the one before, or a whole `numberValue`, `boolValue` or `nullValue`.
 */
export function partialArgs(): PartialArgs {
	const leaves = new Map<string, Leaf>();
	return {
		take: (pieces) => {
			for (const piece of pieces) {
				const path = getString(piece, 'jsonPath');
				if (path === undefined) continue;
				const before = leaves.get(path);
				const text = getString(piece, 'stringValue');
				if (text === undefined) leaves.set(path, { value: getNumber(piece, 'numberValue') ?? boolean(piece) });
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

/** An object by its keys, or a list by its indices, while it is being built. */
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
			const made: Node = new Map();
			at.set(step, made);
			at = made;
		}
	}
}

function toPlain(node: Node | { readonly leaf: unknown }): unknown {
	if (!(node instanceof Map)) return node.leaf;
	const entries = [...node];
	// A list is as long as the items that came, whatever index the last of them claims.
	if (entries.every(([key]) => typeof key === 'number')) return entries.map(([, value]) => toPlain(value));
	return Object.fromEntries(entries.map(([key, value]) => [key, toPlain(value)]));
}

/** The steps of a JSON Path (RFC 9535) that names one place: `.name`, `['name']`, `[0]`. */
function parseSteps(path: string): readonly (string | number)[] {
	return [...path.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/g)].map(
		([, name, index, single, double]) =>
			index !== undefined ? Number(index) : (name ?? (single ?? double ?? '').replace(/\\(.)/g, '$1')),
	);
}

function boolean({ boolValue }: Json): boolean | null {
	return typeof boolValue === 'boolean' ? boolValue : null;
}
