import type { RunEvent } from '../../core/chat/index.ts';
import type { Bytes, RpcResult } from '../objects/result.ts';
import type { ChildEvent } from '../wire/event.ts';

/** An event that a reader is shown, and the id under which the reader comes back; a kind that is not stored has none. */
export type ShownEvent = { readonly id: string | undefined } & (
	| { readonly event: RunEvent; readonly child?: undefined }
	| { readonly child: ChildEvent; readonly event?: undefined }
);

/** The events of a run for one reader, who takes them at its own pace. */
export interface EventSource {
	/** Returns the next events; none where there are none now. */
	readonly read: () => readonly ShownEvent[];
	/** Whether the reader has taken the run's last event. */
	readonly isOver: () => boolean;
	/** Whether nothing more comes, although the last event is missing. The reader has to come back for the rest. */
	readonly isLeft: () => boolean;
	/** Resolves when there may be more. */
	readonly change: () => Promise<unknown>;
	/** Ends what is held open for the reader. */
	readonly leave: () => void;
}

/** A session that works for a call of another one. */
export interface TreeChild {
	readonly id: string;
	readonly callId: string;
	readonly agent: string;
	/** Whether it goes on behind the result of its call. Then it is followed by itself only. */
	readonly isBackground: boolean;
}

/** Opens the events of a child behind an id; nothing where there are none. */
export type OpenEvents = (lastId: string) => Promise<RpcResult<Bytes | undefined>>;

/** What a session lends to a reader of its tree. */
export interface TreeOptions {
	/** The children of the session. The number of a child is its place, which never changes. */
	readonly list: () => readonly TreeChild[];
	/** Opens the events of a child. */
	readonly open: (child: TreeChild, lastId: string) => ReturnType<OpenEvents>;
	/** The id of who has seen nothing of a child's first run. */
	readonly start: string;
	/** Where the reader has come to. */
	readonly from?: TreePlace;
}

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
