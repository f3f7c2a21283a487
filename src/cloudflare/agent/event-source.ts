import type { RunEvent } from '../../core/chat/index.ts';
import type { Bytes, RpcResult } from '../objects/reach.ts';
import type { ChildEvent } from '../wire/event.ts';

/** An event for a reader. A reader resumes after the event's `id`. Events that are not stored have no id. */
export type ShownEvent = { readonly id: string | undefined } & (
	| { readonly event: RunEvent; readonly child?: undefined }
	| { readonly child: ChildEvent; readonly event?: undefined }
);

/** The events of a run for a reader, at the reader's pace. */
export interface EventSource {
	readonly read: () => readonly ShownEvent[];
	/** Whether the reader has read the last event of the run. */
	readonly isOver: () => boolean;
	/** Whether the source ended without the last event. The reader must reconnect for the rest. */
	readonly isLeft: () => boolean;
	/** Whether many readers read the same events now. */
	readonly isCrowded?: () => boolean;
	/** Resolves when there can be more events. */
	readonly change: () => Promise<unknown>;
	readonly leave: () => void;
}

export interface TreeChild {
	readonly id: string;
	readonly callId: string;
	readonly agent: string;
	/** Whether the child continues after the result of its call. If so, only its own readers follow the child. */
	readonly isBackground: boolean;
}

/** Opens the events of a child after an id. Undefined if there are none. */
export type OpenEvents = (lastId: string) => Promise<RpcResult<Bytes | undefined>>;

export interface TreeOptions {
	/** The children in a fixed order. A child's number is its position in this list. */
	readonly list: () => readonly TreeChild[];
	readonly open: (child: TreeChild, lastId: string) => ReturnType<OpenEvents>;
	/** The id that comes before a child's first event. */
	readonly start: string;
	readonly from?: TreePlace;
}

/** The reader's place in each open child's events, by the number of the child. */
export type TreePositions = ReadonlyMap<number, string>;

/**
 * Makes the id of an event in a tree: `ID~3(ID)~4(ID)`. The first id is the place in the session's own events. The
 * others are places in its children's events, by the number of the child, and can be tree ids themselves.
 */
export function formatTreeId(own: string, positions: Iterable<readonly [number, string]>): string {
	let id = own;
	for (const [child, position] of positions) id += `~${child}(${position})`;
	return id;
}

export interface TreePlace {
	readonly own: string;
	readonly positions: TreePositions;
}

/** Parses the id of an event in a tree. Returns undefined for any other text. */
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

/** Returns the position after the closing parenthesis, or -1. */
function findEnd(text: string, from: number): number {
	let depth = 1;
	for (let at = from; at < text.length; at++) {
		if (text[at] === '(') depth++;
		if (text[at] === ')') depth--;
		if (depth === 0) return at + 1;
	}
	return -1;
}
