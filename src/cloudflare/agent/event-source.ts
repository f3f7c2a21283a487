import type { RunEvent } from '../../core/chat/index.ts';
import type { Bytes, RpcResult } from '../objects/result.ts';
import type { ChildEvent } from '../wire/event.ts';
import type { TreePlace } from './tree-id.ts';

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
