import { createFieldError, type RunletError } from '../../../core/base/errors.ts';
import { createDeferred, type Deferred } from '../../../core/base/promises.ts';
import { truncateText } from '../../../core/base/text.ts';
import { isDelta, isTerminal, joinPieces } from '../../../core/chat/event.ts';
import type { RunEvent } from '../../../core/chat/index.ts';

/**
 * The position of a reader in a run: the `id` of an SSE event. The position counts characters, not deltas. So an
 * id has the same meaning in the live stream and in a stream from stored messages.
 */
export interface EventId {
	/** The run's number in its session, from 1. */
	readonly run: number;
	/** The number of finished turns: a `step` event ends a turn. -1 after the run's last event. */
	readonly turn: number;
	/** The number of restarts of the turn. */
	readonly restarts: number;
	/** The number of events of the turn that are neither deltas nor notes. */
	readonly items: number;
	/** The number of notes, task lists and warnings. The next message stores them, so they are counted separately. */
	readonly notes: number;
	/** The number of characters of reasoning. */
	readonly reasoning: number;
	readonly text: number;
	/** The number of begun tool calls. */
	readonly starts: number;
	/** The number of characters of the newest call's input. */
	readonly input: number;
	readonly ends: number;
}

const idNumbers = 10;
const ended = 'end';

export function toStart(run: number): EventId {
	return { run, turn: 0, restarts: 0, items: 0, notes: 0, reasoning: 0, text: 0, starts: 0, input: 0, ends: 0 };
}

export function isEnd({ turn }: EventId): boolean {
	return turn < 0;
}

export function formatEventId(id: EventId): string {
	if (isEnd(id)) return `${id.run}.${ended}`;
	const { run, turn, restarts, items, notes, reasoning, text, starts, input, ends } = id;
	return `${run}.${turn}.${restarts}.${items}.${notes}.${reasoning}.${text}.${starts}.${input}.${ends}`;
}

/** Parses a `Last-Event-ID`. Throws `invalid_request` for any other text. */
export function parseEventId(text: string): EventId {
	const [first = '', ...rest] = text.trim().split('.');
	const fields = rest.join('.') === ended ? [first, '-1', ...Array<string>(8).fill('0')] : [first, ...rest];
	const numbers = fields.map((field) => (/^(-1|\d{1,15})$/.test(field) ? Number(field) : Number.NaN));
	if (numbers.length !== idNumbers || numbers.some(Number.isNaN) || numbers.slice(2).some((n) => n < 0))
		throw createNoSuchEvent();
	const [run = 0, turn = 0, restarts = 0, items = 0, notes = 0, ...pieces] = numbers;
	const [reasoning = 0, characters = 0, starts = 0, input = 0, ends = 0] = pieces;
	return { run, turn, restarts, items, notes, reasoning, text: characters, starts, input, ends };
}

export function createNoSuchEvent(): RunletError {
	const what = 'this session has no such event. Leave it out to read from the start.';
	return createFieldError('invalid_request', 'Last-Event-ID', what);
}

export function advance(id: EventId, event: RunEvent): EventId {
	switch (event.type) {
		case 'text':
			return { ...id, text: id.text + event.text.length };
		case 'reasoning':
			return { ...id, reasoning: id.reasoning + event.text.length };
		case 'tool_use_start':
			return { ...id, starts: id.starts + 1, input: 0 };
		case 'tool_use_input':
			return { ...id, input: id.input + event.partialInputJson.length };
		case 'tool_use_end':
			return { ...id, ends: id.ends + 1 };
		case 'note':
		case 'tasks':
		case 'warning':
			return { ...id, notes: id.notes + 1 };
		case 'step':
			return { ...toStart(id.run), turn: id.turn + 1 };
		case 'turn.restarted':
			return { ...toStart(id.run), turn: id.turn, restarts: id.restarts + 1 };
		default:
			if (isTerminal(event)) return { ...toStart(id.run), turn: -1 };
			return isStored(event) ? { ...id, items: id.items + 1 } : id;
	}
}

/** Returns the part of an event that a reader has not seen: all, the rest of its text, or nothing. */
function cutSeenPart(event: RunEvent, at: EventId, seen: EventId): RunEvent | undefined {
	if (isEnd(seen)) return undefined;
	if (isTerminal(event)) return event;
	if (at.turn !== seen.turn || at.restarts !== seen.restarts) {
		const behind = at.turn < seen.turn || (at.turn === seen.turn && at.restarts < seen.restarts);
		return behind ? undefined : event;
	}
	switch (event.type) {
		case 'text':
		case 'reasoning': {
			const text = event.text.slice(Math.max(0, seen[event.type] - at[event.type]));
			return text === '' ? undefined : { type: event.type, text };
		}
		case 'tool_use_start':
			return at.starts >= seen.starts ? event : undefined;
		case 'tool_use_input': {
			if (at.starts !== seen.starts) return at.starts > seen.starts ? event : undefined;
			const partialInputJson = event.partialInputJson.slice(Math.max(0, seen.input - at.input));
			return partialInputJson === '' ? undefined : { ...event, partialInputJson };
		}
		case 'tool_use_end':
			return at.ends >= seen.ends ? event : undefined;
		case 'note':
		case 'tasks':
		case 'warning':
			return at.notes >= seen.notes ? event : undefined;
		case 'step':
		case 'turn.restarted':
			return event;
		default:
			if (isStored(event)) return at.items >= seen.items ? event : undefined;
			return formatEventId(at) === formatEventId(seen) ? event : undefined;
	}
}

/** Whether an event is stored and so has an id. Stacks, retries and unknown kinds of events are not stored. */
function isStored(event: RunEvent): boolean {
	if (event.type === 'tool_stack' || event.type === 'retry') return false;
	return event.type === 'stop' || !isDelta(event) || deltaKinds.has(event.type);
}

const deltaKinds: ReadonlySet<string> = new Set([
	'text',
	'reasoning',
	'tool_use_start',
	'tool_use_input',
	'tool_use_end',
]);

/** A shown event with its id. An event that is not stored has no id. */
export interface LogEntry {
	readonly event: RunEvent;
	readonly id: EventId | undefined;
}

export interface Cursor {
	seen: EventId;
	index: number;
	/** The position of the event at `index`. */
	at: EventId;
	version: number;
	/** The number of events before `index` that have no id. */
	passed: number;
	/** The number of shown events that have no id. */
	shown: number;
}

/** What was read between two places of a log that had so many events. */
interface Reading {
	readonly from: Cursor;
	readonly to: Cursor;
	readonly size: number;
	readonly limit: number;
	readonly out: readonly LogEntry[];
}

/** If more readers wait than this, they get the pieces of a text together, every so many milliseconds. */
const [crowd, usualWaitMs] = [50, 150];

/** The number of readers of a run that one object serves. Relays serve the others. */
export const mostReaders = 1_000;

/** If an unfinished turn has more separate events than this, neighbouring pieces of a text are joined. */
const joinAt = 4_096;

/**
 * The events of a run in order, for any number of readers (docs/events.md). A reader is only a cursor, so a slow reader
 * needs no memory and misses nothing. The log of a finished run is rebuilt from stored messages, with the same ids.
 */
export class RunLog {
	readonly run: number;
	#events: RunEvent[] = [];
	#version = 0;
	/** The index of the current turn's first event since the turn's last restart. */
	#turnAt = 0;
	#writing = false;
	#restarts = 0;
	#turns = 0;
	#steps = 0;
	#joinAt = joinAt;
	#isLeft = false;
	#changed: Deferred<void> | undefined;
	/** The number of readers that wait for the next change. */
	#waiting = 0;
	#isCrowded = false;
	#timer: ReturnType<typeof setTimeout> | undefined;
	/** What the last reader of a crowd read, for the next readers at the same place. */
	#newest: Reading | undefined;
	/** The number of open readers. */
	readers = 0;
	/** The number of readers that relays got. */
	passed = 0;
	readonly #waitMs: number;

	/** @param waitMs for how many milliseconds a crowd waits for further pieces of a text */
	constructor(run: number, events: readonly RunEvent[] = [], waitMs = usualWaitMs) {
		this.run = run;
		this.#waitMs = waitMs;
		this.append(events);
	}

	/** Whether the log ends without the run's last event. Readers have to reconnect. */
	get isLeft(): boolean {
		return this.#isLeft;
	}

	/** Whether the model is writing: the beginning of its turn was shown, and the end was not. */
	get writing(): boolean {
		return this.#writing;
	}

	get turns(): number {
		return this.#turns;
	}

	get restarts(): number {
		return this.#restarts;
	}

	get steps(): number {
		return this.#steps;
	}

	get size(): number {
		return this.#events.length;
	}

	/** Whether many readers waited for the last change, so that they probably read the same entries. */
	get isCrowded(): boolean {
		return this.#isCrowded;
	}

	append(events: readonly RunEvent[]): void {
		for (const event of events) {
			this.#events.push(event);
			if (isDelta(event)) this.#writing = event.type !== 'stop';
			if (event.type === 'turn.restarted') this.#writing = false;
			if (event.type === 'stop') this.#turns++;
			if (event.type === 'step' || event.type === 'turn.restarted') {
				if (event.type === 'step') this.#steps++;
				this.#restarts = event.type === 'step' ? 0 : this.#restarts + 1;
				this.#join();
				this.#turnAt = this.#events.length;
				this.#joinAt = this.#turnAt + joinAt;
			}
		}
		if (this.#events.length > this.#joinAt) {
			this.#join();
			this.#joinAt = this.#events.length + joinAt;
		}
		const last = events.at(-1);
		if (this.#waiting <= crowd || last === undefined || !isDelta(last) || last.type === 'stop') this.wake();
		else this.#timer ??= setTimeout(() => this.wake(), this.#waitMs);
	}

	/** Ends the log of a run whose end cannot be stored. The next attempt of the run has another log. */
	leave(): void {
		this.#isLeft = true;
		this.wake();
	}

	/** Lets all readers look whether something has changed. */
	wake(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#isCrowded = this.#waiting > crowd;
		this.#waiting = 0;
		this.#changed?.resolve();
		this.#changed = undefined;
	}

	/**
	 * Resolves at the next `append` or `leave`. Many readers wait a little longer for pieces of a text.
	 *
	 * @param readers the number of readers that wait
	 */
	change(readers = 1): Promise<void> {
		this.#waiting += readers;
		this.#changed ??= createDeferred<void>();
		return this.#changed.promise;
	}

	/** Returns where a turn begins. `iteration` is the number of the model's turn; without it, the run's start. */
	findTurn(iteration = 0): EventId {
		const isBefore = (event: RunEvent) => event.type === 'step' && event.iteration < iteration;
		return { ...toStart(this.run), turn: this.#events.filter(isBefore).length };
	}

	cursor(seen: EventId = toStart(this.run)): Cursor {
		return { seen, index: 0, at: toStart(this.run), version: this.#version, passed: 0, shown: 0 };
	}

	/**
	 * Returns about `limit` characters of unseen events, and moves the cursor. Joins neighbouring pieces of a text. The
	 * readers of a crowd get the same entries at the same place.
	 */
	read(cursor: Cursor, limit = 65_536): readonly LogEntry[] {
		if (cursor.index === this.#events.length && cursor.version === this.#version) return [];
		if (!this.#isCrowded) return this.#read(cursor, limit);
		const known = this.#newest;
		if (known?.size === this.#events.length && known.limit === limit && isSamePlace(known.from, cursor)) {
			Object.assign(cursor, known.to);
			return known.out;
		}
		const from = { ...cursor };
		const out = this.#read(cursor, limit);
		this.#newest = { from, to: { ...cursor }, size: this.#events.length, limit, out };
		return out;
	}

	#read(cursor: Cursor, limit: number): LogEntry[] {
		if (cursor.version !== this.#version) Object.assign(cursor, { ...this.cursor(cursor.seen), shown: cursor.shown });
		const out: LogEntry[] = [];
		for (let size = 0; cursor.index < this.#events.length && size < limit; ) {
			const event = this.#events[cursor.index];
			if (event === undefined) break;
			const unseen = isUnplaced(event, cursor) ? undefined : cutSeenPart(event, cursor.at, cursor.seen);
			const piece = unseen === undefined ? undefined : firstPart(unseen, limit - size);
			if (piece !== undefined) {
				size += measureEvent(piece);
				if (cursor.at.turn !== cursor.seen.turn || cursor.at.restarts !== cursor.seen.restarts) cursor.seen = cursor.at;
				cursor.seen = advance(cursor.seen, piece);
				push(out, { event: piece, id: isStored(piece) ? cursor.seen : undefined });
			}
			if (piece === unseen) {
				cursor.at = advance(cursor.at, event);
				cursor.index++;
			}
		}
		return out;
	}

	/** Returns the shown events of an unfinished turn, up to about `limit` characters. */
	draft(limit: number): RunEvent[] {
		if (!this.#writing) return [];
		const turn = this.#events.slice(this.#turnAt);
		const shown = new RunLog(
			this.run,
			turn.filter((event) => isProvided(event) || (isDelta(event) && isStored(event))).map(shortenOutput),
		);
		return shown.read(shown.cursor(), limit).map(({ event }) => event);
	}

	settle(cursor: Cursor): boolean {
		return isEnd(cursor.seen);
	}

	/** Joins neighbouring pieces of the current turn. Afterwards readers find their position again by the event id. */
	#join(): void {
		const joined: LogEntry[] = [];
		for (const event of this.#events.splice(this.#turnAt)) push(joined, { event, id: undefined });
		for (const { event } of joined) this.#events.push(event);
		this.#version++;
	}
}

function isSamePlace(one: Cursor, other: Cursor): boolean {
	return (
		one.index === other.index &&
		one.version === other.version &&
		one.passed === other.passed &&
		one.shown === other.shown &&
		(one.seen === other.seen || formatEventId(one.seen) === formatEventId(other.seen))
	);
}

/** Whether an event has no id and was already shown to the reader. Counts the events that have no id. */
function isUnplaced(event: RunEvent, cursor: Cursor): boolean {
	if (isStored(event)) return false;
	cursor.passed++;
	const before = cursor.passed <= cursor.shown;
	cursor.shown = Math.max(cursor.shown, cursor.passed);
	return before;
}

function push(out: LogEntry[], next: LogEntry): void {
	const event = joinPieces(out.at(-1)?.event, next.event);
	if (event === undefined) out.push(next);
	else out[out.length - 1] = { ...next, event };
}

/** Returns at most `length` characters of an event's text, but at least one. Other events stay whole. */
function firstPart(event: RunEvent, length: number): RunEvent {
	const size = measureEvent(event);
	if (size <= length) return event;
	if (event.type === 'text' || event.type === 'reasoning')
		return { type: event.type, text: takeStart(event.text, length) };
	if (event.type !== 'tool_use_input') return event;
	return { ...event, partialInputJson: takeStart(event.partialInputJson, length) };
}

function takeStart(text: string, length: number): string {
	return truncateText(text, length) || truncateText(text, 2);
}

function measureEvent(event: RunEvent): number {
	if (event.type === 'text' || event.type === 'reasoning') return event.text.length;
	if (isProvided(event)) return JSON.stringify(event).length;
	return event.type === 'tool_use_input' ? event.partialInputJson.length : 1;
}

/** Whether an event is from the provider's own tools. These events have no id, but drafts contain them. */
function isProvided({ type }: RunEvent): boolean {
	return type === 'provider_tool' || type === 'source';
}

function shortenOutput(event: RunEvent): RunEvent {
	if (event.type !== 'provider_tool') return event;
	const output = JSON.stringify(event.output) ?? '';
	return output.length <= longestOutput ? event : { ...event, output: `${truncateText(output, longestOutput)}…` };
}

const longestOutput = 10_000;

/**
 * Creates a filter that passes on the pieces of one tool call at a time. Some models stream several calls at once, but
 * an event id counts the characters of one call.
 */
export function createCallSorter(): (events: readonly RunEvent[]) => readonly RunEvent[] {
	let open: string | undefined;
	const waiting = new Map<string, RunEvent[]>();

	const pass = (event: RunEvent, out: RunEvent[]): void => {
		out.push(event);
		if (event.type === 'tool_use_start') open = event.id;
		if (event.type !== 'tool_use_end' || event.id !== open) return;
		open = undefined;
		const next = waiting.entries().next().value;
		if (next === undefined) return;
		waiting.delete(next[0]);
		for (const held of next[1]) pass(held, out);
	};
	const flush = (out: RunEvent[]): void => {
		open = undefined;
		for (const held of waiting.values()) for (const event of held) out.push(event);
		waiting.clear();
	};

	return (events) => {
		if (open === undefined && !events.some(({ type }) => type === 'tool_use_start')) return events;
		const out: RunEvent[] = [];
		for (const event of events) {
			const piece = isPiece(event);
			if (piece && open !== undefined && event.id !== open) {
				const held = waiting.get(event.id);
				if (held === undefined) waiting.set(event.id, [event]);
				else held.push(event);
			} else {
				// After `stop` no call of the turn gets another piece.
				if (event.type === 'stop') flush(out);
				if (event.type === 'turn.restarted') {
					open = undefined;
					waiting.clear();
				}
				pass(event, out);
			}
		}
		return out;
	};
}

function isPiece(event: RunEvent): event is RunEvent & { readonly id: string } {
	return event.type === 'tool_use_start' || event.type === 'tool_use_input' || event.type === 'tool_use_end';
}
