import type { Message, RunEvent, SideEvent, TerminalEvent } from '../../../core/chat/index.ts';
import { findJson } from '../../../core/chat/requirements.ts';

/** The last event of a run without the content of its last message. */
export type StoredEvent = TerminalEvent & {
	readonly isOutputText?: true;
};

/** The end of a run, with everything that was shown after its last message. */
export interface RunEnd {
	readonly before: readonly SideEvent[];
	readonly draft: readonly RunEvent[];
	/** The number of restarts of the last turn. */
	readonly restarts?: number;
	/** The number of turns that were shown completely. */
	readonly steps: number;
	readonly event: StoredEvent;
}

/** Characters of each part of a stored end. All parts, escaped as JSON, fit a row of 2 MB. */
export const longestPart = 100_000;

export function shortenRunEnd({ before, event, ...rest }: RunEnd): RunEnd {
	let room = longestPart;
	const kept = before.filter((side) => {
		room -= JSON.stringify(side).length;
		return room > 0;
	});
	return { ...rest, before: kept, event: shortenEvent(event) };
}

function shortenEvent(event: StoredEvent): StoredEvent {
	if (JSON.stringify(event).length <= longestPart) return event;
	if (event.type === 'error') return { type: 'error', code: event.code, message: event.message.slice(0, 10_000) };
	if (event.type === 'halted') return { type: 'halted', reason: event.reason.slice(0, 10_000) };
	if (event.type !== 'awaiting' || event.question === undefined) return event;
	const { callId, question } = event.question;
	return { ...event, question: { callId, question: question.slice(0, 10_000) } };
}

export function dropText(event: TerminalEvent): StoredEvent {
	if (event.type === 'done') return dropOutput({ ...event, text: '' }, event.text);
	if (event.type !== 'awaiting' || event.toolCalls === undefined) return event;
	return { ...event, toolCalls: event.toolCalls.map((call) => ({ ...call, input: null })) };
}

function dropOutput(event: StoredEvent & { readonly type: 'done' }, text: string): StoredEvent {
	const { output, ...rest } = event;
	return output !== undefined && JSON.stringify(output) === toCompactJson(text)
		? { ...rest, isOutputText: true }
		: event;
}

function toCompactJson(text: string): string | undefined {
	const json = findJson(text);
	return json === undefined ? undefined : JSON.stringify(JSON.parse(json));
}

/** Turns an end whose transformed output does not fit a row into a failure. */
export function limitOutput<E extends TerminalEvent>(event: E): E | TerminalEvent {
	const stored = dropText(event);
	const length = stored.type === 'done' ? (JSON.stringify(stored.output)?.length ?? 0) : 0;
	if (length <= longestPart) return event;
	const message = `output: outputSchema makes ${length} characters of the answer, and ${longestPart} can be kept. Let it transform less.`;
	return { type: 'error', code: 'invalid_output', message };
}

/** Restores the whole event. `last` is the run's last assistant message. */
export function restoreText(event: StoredEvent, last: Message | undefined): TerminalEvent {
	if (last?.role !== 'assistant') return event;
	if (event.type === 'done') {
		const { isOutputText, ...done } = { isOutputText: undefined, ...event };
		const json = isOutputText === true ? findJson(last.content) : undefined;
		return { ...done, text: last.content, ...(json !== undefined && { output: JSON.parse(json) }) };
	}
	if (event.type !== 'awaiting' || event.toolCalls === undefined) return event;
	const inputs = new Map(last.toolCalls?.map(({ id, input }) => [id, input]));
	return { ...event, toolCalls: event.toolCalls.map((call) => ({ ...call, input: inputs.get(call.id) })) };
}
