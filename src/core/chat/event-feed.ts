import { RunletError } from '../base/errors.ts';
import { createDeferred, type Deferred } from '../base/promises.ts';
import { joinDeltas, type RunEvent, type TerminalEvent } from './event.ts';

/** The buffer of events between a run and its reader. */
export interface EventFeed {
	/** Adds the reader. From now on the run waits for it. There can be one. */
	readonly attach: () => void;
	/** Adds an event. A returned promise means that the reader is slower. Drops events after the end. */
	readonly add: (event: RunEvent) => undefined | Promise<void>;
	/** Stops waiting for the reader. */
	readonly release: () => void;
	/** Adds the last event. */
	readonly end: (event: TerminalEvent) => void;
	/** Returns all available events, or waits for the next one. Returns `undefined` after the end. */
	readonly take: () => Promise<RunEvent[] | undefined>;
}

/**
 * The most unread events before the run waits for the reader. Without a reader, neighbouring events are joined at this
 * number.
 */
const highWater = 1_024;

/**
 * Events that the loop follows with more events: results and a step, or the end. If no tool waits, all of them come
 * within these microtasks, and a reader gets them in one batch.
 */
const followed: ReadonlySet<string> = new Set<RunEvent['type']>(['stop', 'tool_result', 'step']);
const patience = 64;

export function createEventFeed(): EventFeed {
	let buffer: RunEvent[] = [];
	let joinAt = highWater;
	let hasReader = false;
	let isReleased = false;
	let hasEnded = false;
	let wake: (() => void) | undefined;
	let drained: Deferred<void> | undefined;

	const push = (event: RunEvent): void => {
		buffer.push(event);
		wake?.();
		wake = undefined;
	};
	const release = (): void => {
		isReleased = true;
		drained?.resolve();
	};
	return {
		attach: () => {
			if (hasReader)
				throw new RunletError('invalid_request', 'This run is being read already: read events or toStream(), once.');
			hasReader = true;
		},
		add: (event) => {
			if (hasEnded) return undefined;
			push(event);
			if (buffer.length < joinAt || isReleased) return undefined;
			if (hasReader) {
				drained ??= createDeferred<void>();
				return drained.promise;
			}
			buffer = joinDeltas(buffer);
			joinAt = Math.max(highWater, 2 * buffer.length);
			return undefined;
		},
		release,
		end: (event) => {
			push(event);
			hasEnded = true;
			release();
		},
		take: async () => {
			if (buffer.length === 0 && !hasEnded) await new Promise<void>((resolve) => (wake = resolve));
			for (let left = patience; left > 0 && followed.has(buffer.at(-1)?.type ?? ''); left--) await null;
			const batch = buffer;
			buffer = [];
			drained?.resolve();
			drained = undefined;
			return batch.length > 0 ? batch : undefined;
		},
	};
}

/**
 * Formats an event as `text/event-stream` (WHATWG HTML, 9.2). JSON has no line break, so there is one `data` line. The
 * id is last: some clients store an id as soon as they read its line, and would return after an event whose data was
 * cut off.
 */
export function toSse<E extends { readonly type: string }>(event: E, id?: string): string {
	const idLine = id === undefined ? '' : `id: ${id}\n`;
	return `event: ${event.type.replace(/[\r\n]/g, ' ')}\ndata: ${JSON.stringify(event)}\n${idLine}\n`;
}

/** Ends a stream of bytes, even for a reader with its own buffer (BYOB). */
export function close(controller: ReadableByteStreamController): void {
	controller.close();
	controller.byobRequest?.respond(0);
}
