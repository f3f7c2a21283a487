/** How far a reader has come in each child that is open, by the number of the child: the ids of its own events. */
export type TreePositions = ReadonlyMap<number, string>;

/**
 * Returns the id of an event for a reader who is shown children, too: `ID~3(ID)~4(ID)`, with the id of the session's own
 * events in front, and the ids that the reader has seen of its children. A child's id may be one of a tree again.
 */
export function formatTreeId(own: string, positions: Iterable<readonly [number, string]>): string {
	let id = own;
	for (const [child, position] of positions) id += `~${child}(${position})`;
	return id;
}

/** How far a reader of a tree has come. */
export interface TreePlace {
	/** The id of the session's own events. */
	readonly own: string;
	readonly positions: TreePositions;
}

/** Parts the id of a tree into the session's own and those of its children; nothing if it is none. */
export function parseTreeId(text: string): TreePlace | undefined {
	const [own = ''] = text.split('~', 1);
	const positions = new Map<number, string>();
	for (let at = own.length; at < text.length; ) {
		const head = /^~(\d{1,6})\(/.exec(text.slice(at, at + 9));
		if (head === null) return undefined;
		const from = at + head[0].length;
		at = findEnd(text, from);
		if (at === -1) return undefined;
		positions.set(Number(head[1]), text.slice(from, at - 1));
	}
	return { own, positions };
}

/** Returns the place behind the parenthesis that closes the one in front of a place; -1 if there is none. */
function findEnd(text: string, from: number): number {
	let depth = 1;
	for (let at = from; at < text.length; at++) {
		if (text[at] === '(') depth++;
		if (text[at] === ')') depth--;
		if (depth === 0) return at + 1;
	}
	return -1;
}
