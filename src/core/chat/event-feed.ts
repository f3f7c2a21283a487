import { RunletError } from '../base/errors.ts';
import { createDeferred, type Deferred } from '../base/promises.ts';
import { joinDeltas, type RunEvent, type TerminalEvent } from './event.ts';

/** The buffer of events between a run and its reader. */
export interface EventFeed {
	/** Adds the only reader. The run waits for it from now on. */
	readonly attach: () => void;
	/** Adds an event, unless the feed has ended. A returned promise means that the reader is slower. */
	readonly add: (event: RunEvent) => undefined | Promise<void>;
	/** Stops waiting for the reader. */
	readonly release: () => void;
	readonly end: (event: TerminalEvent) => void;
	/** Returns all available events, or waits for the next event. Returns `undefined` after the end. */
	readonly take: () => Promise<RunEvent[] | undefined>;
}

/** The most unread events before the run waits for the reader, or before deltas are joined if there is no reader. */
const highWater = 1_024;

/**
 * The loop adds more events directly after these events. Within these microtasks they are in one batch of the reader.
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
 * Formats an event as `text/event-stream` (WHATWG HTML, 9.2). The id is the last line: some clients store an id as soon
 * as they read its line, and would skip an event whose data was cut off.
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
