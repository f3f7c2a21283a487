import { isDelta, isTerminal } from '../../../core/chat/event.ts';
import type { RunEvent } from '../../../core/chat/index.ts';
import { RunletError } from '../../../core/ground/errors.ts';

/**
 * How far a reader has come in a run; what the `id` of an SSE event says. It counts characters of text and the like
 * instead of events, so that it means the same in the live stream and in one that was rebuilt from stored messages.
 */
export interface Position {
	/** The run's number in its session, from 1. */
	readonly run: number;
	/** Turns behind the reader: a `step` event ends a turn. -1 after the run's last event. */
	readonly turn: number;
	/** Times the turn was asked again. */
	readonly attempt: number;
	/** Events of the turn that are neither deltas nor notes. */
	readonly items: number;
	/** Notes and warnings of the turn. They are stored with the next message, so they are counted by themselves. */
	readonly notes: number;
	/** Characters of reasoning and of text. */
	readonly reasoning: number;
	readonly text: number;
	/** Tool calls begun, characters of the newest one's input, tool calls ended. */
	readonly starts: number;
	readonly input: number;
	readonly ends: number;
}

const order = ['run', 'turn', 'attempt', 'items', 'notes', 'reasoning', 'text', 'starts', 'input', 'ends'] as const;
const ended = 'end';

/** The position in front of a run's first event. */
export function toStart(run: number): Position {
	return { run, turn: 0, attempt: 0, items: 0, notes: 0, reasoning: 0, text: 0, starts: 0, input: 0, ends: 0 };
}

/** Whether a reader there has seen the run's last event. */
export function isEnd({ turn }: Position): boolean {
	return turn < 0;
}

/** The position as an event id. */
export function formatPosition(position: Position): string {
	if (isEnd(position)) return `${position.run}.${ended}`;
	return order.map((field) => position[field]).join('.');
}

/** The position of a `Last-Event-ID`; throws `invalid_request` for a text that is no id of ours. */
export function parsePosition(id: string): Position {
	const [run = '', ...rest] = id.trim().split('.');
	const fields = rest.join('.') === ended ? [run, '-1', ...Array<string>(8).fill('0')] : [run, ...rest];
	const numbers = fields.map((field) => (/^(-1|\d{1,15})$/.test(field) ? Number(field) : Number.NaN));
	if (numbers.length !== order.length || numbers.some(Number.isNaN) || numbers.slice(2).some((n) => n < 0))
		throw createNoSuchEvent();
	const [n = 0, turn = 0, attempt = 0, items = 0, notes = 0, reasoning = 0, text = 0, starts = 0, input = 0, ends = 0] =
		numbers;
	return { run: n, turn, attempt, items, notes, reasoning, text, starts, input, ends };
}

/** The error for a `Last-Event-ID` that names no event of the session. */
export function createNoSuchEvent(): RunletError {
	return new RunletError(
		'invalid_request',
		'Last-Event-ID: this session has no such event. Leave it out to read from the start.',
		{ field: 'Last-Event-ID' },
	);
}

/** The position behind an event that begins at `position`. */
export function advance(position: Position, event: RunEvent): Position {
	switch (event.type) {
		case 'text':
			return { ...position, text: position.text + event.text.length };
		case 'reasoning':
			return { ...position, reasoning: position.reasoning + event.text.length };
		case 'tool_use_start':
			return { ...position, starts: position.starts + 1, input: 0 };
		case 'tool_use_input':
			return { ...position, input: position.input + event.partialInputJson.length };
		case 'tool_use_end':
			return { ...position, ends: position.ends + 1 };
		case 'note':
		case 'warning':
			return { ...position, notes: position.notes + 1 };
		case 'step':
			return { ...toStart(position.run), turn: position.turn + 1 };
		case 'turn.restarted':
			return { ...toStart(position.run), turn: position.turn, attempt: position.attempt + 1 };
		default:
			if (isTerminal(event)) return { ...toStart(position.run), turn: -1 };
			return isStored(event) ? { ...position, items: position.items + 1 } : position;
	}
}

/**
 * What of an event, which begins at `at`, a reader who has come to `seen` still lacks: the whole event, the rest of its
 * text, or nothing.
 */
export function cutSeenPart(event: RunEvent, at: Position, seen: Position): RunEvent | undefined {
	if (isEnd(seen)) return undefined;
	if (isTerminal(event)) return event;
	if (at.turn !== seen.turn || at.attempt !== seen.attempt) {
		const behind = at.turn < seen.turn || (at.turn === seen.turn && at.attempt < seen.attempt);
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
		case 'warning':
			return at.notes >= seen.notes ? event : undefined;
		case 'step':
		case 'turn.restarted':
			return event;
		default:
			if (isStored(event)) return at.items >= seen.items ? event : undefined;
			return formatPosition(at) === formatPosition(seen) ? event : undefined;
	}
}

/** Whether an event has a place of its own: a kind that this version does not know is not stored, so it has none. */
export function isStored(event: RunEvent): boolean {
	return event.type === 'stop' || !isDelta(event) || deltaKinds.has(event.type);
}

const deltaKinds: ReadonlySet<string> = new Set([
	'text',
	'reasoning',
	'tool_use_start',
	'tool_use_input',
	'tool_use_end',
]);
