import { createFieldError, type RunletError } from '../../../core/base/errors.ts';
import { isDelta, isTerminal } from '../../../core/chat/event.ts';
import type { RunEvent } from '../../../core/chat/index.ts';

/**
 * The position of a reader in a run: the `id` of an SSE event. It counts characters, not deltas, so it means the same
 * in the live stream and in a stream from stored messages.
 */
export interface EventId {
	/** The run's number in its session, from 1. */
	readonly run: number;
	/** The finished turns; a `step` event ends a turn. -1 after the run's last event. */
	readonly turn: number;
	/** The restarts of the turn. */
	readonly restarts: number;
	/** The events of the turn that are neither deltas nor notes. */
	readonly items: number;
	/** The notes, task lists and warnings of the turn. The next message stores them, so they are counted separately. */
	readonly notes: number;
	/** Characters of reasoning. */
	readonly reasoning: number;
	readonly text: number;
	/** The begun tool calls. */
	readonly starts: number;
	/** Characters of the newest call's input. */
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

/** Returns the part of an event at `at` that a reader at `seen` has not seen: all, the rest of its text, or nothing. */
export function cutSeenPart(event: RunEvent, at: EventId, seen: EventId): RunEvent | undefined {
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

/** Whether an event is stored and so has an id. Stacks and unknown kinds of events are not stored. */
export function isStored(event: RunEvent): boolean {
	if (event.type === 'tool_stack') return false;
	return event.type === 'stop' || !isDelta(event) || deltaKinds.has(event.type);
}

const deltaKinds: ReadonlySet<string> = new Set([
	'text',
	'reasoning',
	'tool_use_start',
	'tool_use_input',
	'tool_use_end',
]);
