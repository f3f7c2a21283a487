import { joinBytes } from '../../../core/base/bytes.ts';
import type { RunletError } from '../../../core/base/errors.ts';
import type { RunEvent } from '../../../core/chat/index.ts';
import type { EventSource, ShownEvent } from '../../agent/event-source.ts';
import type { TokenGrant } from '../../objects/session-api.ts';
import { createProtocol } from '../../wire/protocols/format.ts';
import type { Protocol, RunWriter } from '../../wire/protocols/protocol.ts';
import { type Reader, showChildEvent, showEvent } from '../../wire/shown-error.ts';
import { type EventId, formatEventId, type LogEntry, RunLog } from './log.ts';

/** The permission to read a stream for a limited time. */
export interface Lease {
	readonly grant: TokenGrant;
	/** Returns why the permission is over. Returns nothing while it is valid. */
	ended(): RunletError | undefined;
	left(): number;
	/** Calls `wake` when the permission may have been revoked. Call the returned function to stop watching. */
	watch(wake: () => void): () => void;
}

export interface FollowOptions {
	readonly lease?: Lease;
	readonly join?: (own: EventSource) => EventSource;
	readonly reader?: Reader;
	/** Called when the reader has left. */
	readonly onLeave?: () => void;
}

interface Opened {
	readonly source: EventSource;
	readonly writer: RunWriter;
}

/**
 * Streams the events of a run that follow an event id, as bytes of a protocol (`text/event-stream`). Each reader pulls
 * at its own pace: a slow reader gets few large events. If the stream is cancelled or its lease ends, only the
 * reader ends: the run continues.
 */
export function follow(
	run: RunLog | Promise<RunLog>,
	from?: EventId,
	protocol: Protocol = createProtocol(undefined),
	{ lease, join, reader: who = { isOperator: false, id: undefined }, onLeave }: FollowOptions = {},
): ReadableStream<Uint8Array> {
	let reader: Opened | undefined;
	let hasLeft = false;
	const open = (log: RunLog): void => {
		if (hasLeft) return;
		const own = createSource(log, from);
		const source = protocol.child === undefined || join === undefined ? own : join(own);
		reader = { source, writer: protocol.writer(log.run) };
	};
	if (run instanceof RunLog) open(run);
	else run.then(open, () => {});
	const unread: Uint8Array[] = [];
	const push = (bytes: Uint8Array): void => {
		if (bytes.length > 0) unread.push(bytes);
	};
	const add = ({ event, child, id }: ShownEvent, writer: RunWriter): void => {
		push(
			event === undefined
				? encoder.encode(protocol.child?.(showChildEvent(child, who), id))
				: write(showEvent(event, who), id, writer),
		);
	};
	const write = (event: RunEvent, id: string | undefined, writer: RunWriter): Uint8Array => {
		// The bytes of a text are shared only within a crowd: other readers get the text in different pieces.
		const isShared = (event.type !== 'text' && event.type !== 'reasoning') || reader?.source.isCrowded?.() === true;
		if (protocol.isSame !== true || !isShared) return encoder.encode(writer.event(event, id));
		return encodeOnce(event, id, writer);
	};
	const waits = createWaits(lease?.left);
	const unwatch = lease?.watch(() => waits.wake('over'));
	const leave = (): void => {
		if (hasLeft) return;
		hasLeft = true;
		unwatch?.();
		waits.close();
		reader?.source.leave();
		onLeave?.();
	};
	const isShut = (controller: ReadableStreamDefaultController): boolean => {
		const why = lease?.ended();
		if (why === undefined) return false;
		const text = protocol.closed?.(why) ?? '';
		if (text !== '') controller.enqueue(encoder.encode(text));
		leave();
		controller.close();
		return true;
	};
	/** Writes what is new, piece by piece. Returns whether the reader has read all of it, and waits for more. */
	const send = ({ source, writer }: Opened, controller: ReadableStreamDefaultController): boolean => {
		while (controller.desiredSize === 0) {
			if (unread.length === 0) {
				const news = source.read();
				for (const shown of news) add(shown, writer);
				if (source.isOver()) push(encoder.encode(writer.end()));
				else if (news.length === 0 && !source.isLeft()) return true;
			}
			const bytes = takePiece(unread);
			if (bytes !== undefined) controller.enqueue(bytes);
			if (unread.length === 0 && (source.isOver() || source.isLeft())) {
				leave();
				controller.close();
			}
		}
		return false;
	};
	// The readers share the pieces. A byte stream would take their buffers, and reserve 16 KB for each waiting reader.
	return new ReadableStream<Uint8Array>(
		{
			// Returns only when the reader is slow or has left: a call for each piece costs a crowd a fifth of the CPU more.
			pull: async (controller) => {
				if (reader !== undefined && isShut(controller)) return;
				while (reader === undefined || send(reader, controller)) {
					const why = await waits.waitFor(reader?.source.change() ?? Promise.resolve(run));
					if (why === 'gone' || isShut(controller)) return;
					if (why === 'silence') controller.enqueue(encoder.encode(': keep-alive\n\n'));
				}
			},
			cancel: () => {
				leave();
				waits.wake('gone');
			},
		},
		{ highWaterMark: 0 },
	);
}

const encoder = new TextEncoder();

const pieceBytes = 65_536;

/** Returns the next piece of the stream. */
function takePiece(unread: Uint8Array[]): Uint8Array | undefined {
	const [only] = unread;
	if (only === undefined) return undefined;
	if (unread.length === 1 && only.length <= pieceBytes) return unread.pop();
	const parts: Uint8Array[] = [];
	let size = 0;
	for (const bytes of unread) {
		const part = bytes.subarray(0, pieceBytes - size);
		parts.push(part);
		size += part.length;
		if (size === pieceBytes) break;
	}
	const last = unread[parts.length - 1]?.subarray(parts.at(-1)?.length);
	unread.splice(0, parts.length, ...(last?.length ? [last] : []));
	return joinBytes(...parts);
}

/** The bytes of large events, and of the texts that a crowd reads. The readers of a log share them. */
const shared = new WeakMap<RunEvent, { readonly id: string | undefined; readonly bytes: Uint8Array }>();

function encodeOnce(event: RunEvent, id: string | undefined, writer: RunWriter): Uint8Array {
	const known = shared.get(event);
	if (known !== undefined && known.id === id) return known.bytes;
	const bytes = encoder.encode(writer.event(event, id));
	if (bytes.length > pieceBytes || event.type === 'text' || event.type === 'reasoning')
		shared.set(event, { id, bytes });
	return bytes;
}

/** The milliseconds of silence after which a connection gets a comment, so that no proxy closes it. */
const keepAliveMs = 15_000;

/** Why a wait ended: a change, silence, a reader that has left, or a lease that is over. */
type Waking = 'change' | 'silence' | 'gone' | 'over';

/**
 * Lets a reader wait for one change at a time. The waits share a timer, because most of them end before it fires.
 *
 * @param left returns the milliseconds until the lease expires
 */
function createWaits(left: () => number = () => keepAliveMs) {
	let wake: ((why: Waking) => void) | undefined;
	let timer: ReturnType<typeof setTimeout> | undefined;
	let due = 0;
	const check = (): void => {
		timer = undefined;
		if (wake === undefined) return;
		const ms = due - Date.now();
		if (ms > 0) timer = setTimeout(check, ms);
		else wake('silence');
	};
	return {
		waitFor: (change: Promise<unknown>): Promise<Waking> =>
			new Promise((resolve, reject) => {
				const end = (why: Waking): void => {
					if (wake === end) wake = undefined;
					resolve(why);
				};
				wake = end;
				const ms = Math.max(0, Math.min(keepAliveMs, left()));
				due = Date.now() + ms;
				timer ??= setTimeout(check, ms);
				change.then(() => end('change'), reject);
			}),
		wake: (why: Waking): void => wake?.(why),
		close: (): void => clearTimeout(timer),
	};
}

/** The shown events of entries. Readers at the same place get the same entries. */
const shownEntries = new WeakMap<readonly LogEntry[], readonly ShownEvent[]>();

function showEntries(entries: readonly LogEntry[]): readonly ShownEvent[] {
	const known = shownEntries.get(entries);
	if (known !== undefined) return known;
	const shown = entries.map(({ event, id }) => ({ event, id: id && formatEventId(id) }));
	shownEntries.set(entries, shown);
	return shown;
}

function createSource(log: RunLog, from?: EventId): EventSource {
	const cursor = log.cursor(from);
	log.readers++;
	return {
		read: () => showEntries(log.read(cursor)),
		isOver: () => log.settle(cursor),
		isLeft: () => log.isLeft && cursor.index === log.size,
		isCrowded: () => log.isCrowded,
		change: () => log.change(),
		leave: () => {
			log.readers--;
		},
	};
}
