import * as v from 'valibot';
import { vi } from 'vitest';
import {
	type ChatOptions,
	chat,
	fn,
	type Message,
	providers,
	type RunEvent,
	RunletError,
	type RunResult,
	type Tool,
	type ToolCall,
	tool,
} from '../../../src/core/index.ts';

export type Script = Parameters<typeof providers.scripted>[0];
export type Requests = ReturnType<typeof providers.scripted>['requests'];

/** The outcome of a run that was read to its end. */
export interface Played {
	readonly events: RunEvent[];
	readonly requests: Requests;
	/** The result of the run. It is missing if the run failed. */
	readonly result: RunResult | undefined;
	/** The failure of the run. */
	readonly error: RunletError | undefined;
}

/** Runs a script to its end and reads all events. Only the model is scripted. */
export async function play(
	script: Script,
	options: Partial<ChatOptions> = {},
	messages: readonly Message[] = [chat.userMessage('Hello')],
): Promise<Played> {
	const model = providers.scripted(script);
	const run = chat.run({ model: 'scripted', providers: [model], ...options }, messages);
	const events: RunEvent[] = [];
	for await (const event of run.events) events.push(event);
	const [settled] = await Promise.allSettled([run.result]);
	if (settled.status === 'fulfilled')
		return { events, requests: model.requests, result: settled.value, error: undefined };
	return { events, requests: model.requests, result: undefined, error: asRunletError(settled.reason) };
}

/** Like `play`, for a run that must not fail. */
export async function finish(...args: Parameters<typeof play>): Promise<Played & { readonly result: RunResult }> {
	const { result, error, ...rest } = await play(...args);
	if (result === undefined) throw error;
	return { ...rest, result, error };
}

/** Like `play`, for a run that must fail. */
export async function fail(...args: Parameters<typeof play>): Promise<Played & { readonly error: RunletError }> {
	const { error, ...rest } = await play(...args);
	if (error === undefined) throw new Error('the run did not fail');
	return { ...rest, error };
}

/** Returns the `RunletError` of a rejection. */
export async function refusal(promise: Promise<unknown>): Promise<RunletError> {
	const [settled] = await Promise.allSettled([promise]);
	if (settled.status === 'fulfilled') throw new Error('nothing was thrown');
	return asRunletError(settled.reason);
}

export function asRunletError(error: unknown): RunletError {
	if (error instanceof RunletError) return error;
	throw new Error('not a RunletError', { cause: error });
}

const terminal: readonly string[] = ['done', 'awaiting', 'halted', 'cancelled', 'error'];

/** Returns the terminal events. There must be exactly one, as the last event. */
export function endings(events: readonly RunEvent[]): RunEvent[] {
	return events.filter(({ type }) => terminal.includes(type));
}

/** Returns the events of one type, in order. */
export function only<T extends RunEvent['type']>(
	events: readonly RunEvent[],
	type: T,
): Extract<RunEvent, { readonly type: T }>[] {
	return events.filter((event): event is Extract<RunEvent, { readonly type: T }> => event.type === type);
}

/** Joins the text events. */
export function readText(events: readonly RunEvent[]): string {
	return only(events, 'text')
		.map(({ text }) => text)
		.join('');
}

/** Creates a reply with calls. */
export function calling(...toolCalls: ToolCall[]) {
	return { toolCalls, stopReason: 'tool_use' } as const;
}

export function echoCall(id: string, text = id): ToolCall {
	return { id, name: 'echo', input: { text } };
}

export const echo = fn({ name: 'echo', params: [['text', v.string()]] }, (text) => text);

export const byHand = tool.define({
	name: 'by_hand',
	description: 'Somebody else does it.',
	inputSchema: v.object({}),
	manual: true,
});

/** Creates a tool that takes any arguments. */
export function readTool(name: string, work: Tool['fn'], more: Partial<Tool> = {}): Tool {
	return { name, inputSchema: { type: 'object' }, passInput: true, fn: work, ...more };
}

/** Returns the ids and contents of the tool messages. */
export function results(messages: readonly Message[]): [id: string, content: unknown][] {
	return messages.flatMap((message) => (message.role === 'tool' ? [[message.toolCallId, message.content]] : []));
}

/** Creates a plain error as an HTTP client throws it. */
export function httpError(status: number, fields: Readonly<Record<string, unknown>> = {}): Error {
	return Object.assign(new Error(`HTTP ${status}`), { status, ...fields });
}

/** Runs timers until the promise settles. Needs `vi.useFakeTimers()`. */
export async function settled<T>(promise: Promise<T>): Promise<T> {
	let open = true;
	const watched = promise.finally(() => {
		open = false;
	});
	watched.catch(() => {});
	for (let idle = 0; open && idle < 100; idle = vi.getTimerCount() === 0 ? idle + 1 : 0) {
		await vi.advanceTimersToNextTimerAsync();
	}
	if (open) throw new Error('nothing is left to wait for, and it has not settled');
	return watched;
}
