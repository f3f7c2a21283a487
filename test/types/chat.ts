/** Types of `chat` that compile, and types that do not. `tsc` is the test. */

import * as v from 'valibot';
import {
	type ChatOptions,
	type ChatReply,
	type ChatUsage,
	chat,
	fn,
	type Message,
	type MessagePart,
	type Provider,
	type ProviderRegistration,
	providers,
	type ReplyDelta,
	type Run,
	type RunEvent,
	type RunResult,
	type StreamStop,
	type Tool,
} from '../../src/core/index.ts';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>): void => {};

// The functions of a program's own provider.
const chatFn = async (_model: string, _messages: readonly Message[], _system?: string, _tools?: readonly Tool[]) =>
	({ text: 'Hi', stopReason: 'end_turn' }) satisfies ChatReply;
const chatStreamFn = async (
	_model: string,
	_messages: readonly Message[],
	_system: string | undefined,
	_tools: readonly Tool[] | undefined,
	onDelta: (delta: ReplyDelta) => void | Promise<void>,
): Promise<ChatReply> => {
	await onDelta({ type: 'text', text: 'Hi' });
	return { stopReason: 'end_turn' };
};
const add = fn({ name: 'add', params: [['x', v.number()]] }, (x) => x + 1);
const options: ChatOptions = {
	model: 'any',
	chatFn,
	chatStreamFn,
	system: undefined,
	tools: [add],
	skills: [],
	skillContext: { sender: 'Ada' },
	providers: chat.withProviders([providers.demo(), providers.scripted(['Hi'])]),
	maxIterations: 5,
	maxContextTokens: 1,
	maxOutputTokens: 1,
	warnContextPct: 0.5,
	emitSteps: true,
	stepDataType: 'a',
	emitStreamDeltas: true,
	deltaDataType: 'b',
	countTokensFn: chat.countTokensHeuristic,
	modelContextWindow: 1,
	mode: 'manual',
	signal: new AbortController().signal,
	emit: (_type, _data) => {},
	context: { sessionId: 's' },
	maxRetries: 0,
	timeouts: { firstEventMs: 1, idleMs: 1, toolMs: 1, runMs: 1 },
};

export const promised: Promise<string>[] = [
	chat.runLoop(options, 'Hi'),
	chat.runLoopMessages(options, [chat.userMessage('Hi')]),
	chat.runLoopStream(options, 'Hi'),
	chat.runLoopStream(options, 'Hi', (delta) => console.log(delta.type)),
	chat.runLoopStreamMessages(options, [], async () => {}),
];

const run: Run = chat.run(options, []);
same<typeof run.result, Promise<RunResult>>(true);
same<typeof run.events, AsyncIterable<RunEvent>>(true);
same<ReturnType<typeof run.toStream>, ReadableStream<Uint8Array>>(true);
same<RunResult['status'], 'completed' | 'awaiting_tools' | 'awaiting_user' | 'halted'>(true);

// The type of the output follows outputSchema.
const typed = await chat.run({ ...options, outputSchema: v.object({ city: v.string() }) }, []).result;
same<typeof typed.output, { city: string } | undefined>(true);
const literal = await chat.run(
	{ ...options, outputSchema: { type: 'object', properties: { people: { type: 'integer' } }, required: ['people'] } },
	[],
).result;
same<typeof literal.output, { people: number } | undefined>(true);
// @ts-expect-error not in the schema
export const noField = literal.output?.city;
const untyped = await run.result;
same<typeof untyped.output, unknown>(true);
// @ts-expect-error maxIterations
export const mistyped = chat.run({ model: 'any', maxIteration: 3 }, []);
export const prompted: ChatOptions = {
	...options,
	system: ({ metadata, skillContext }) => `${metadata.plan} ${skillContext.sender}`,
};

// A `default` case covers unknown event types. A known type has its fields.
export function readText(event: RunEvent): string {
	switch (event.type) {
		case 'text':
		case 'reasoning':
			return event.text;
		case 'tool_use_input':
			return event.partialInputJson;
		case 'tool_result':
			return String(event.output);
		case 'awaiting':
			return event.question?.question ?? '';
		case 'error':
			return event.code;
		default:
			return '';
	}
}

// The open types accept unknown values.
export const open: [Provider, ReplyDelta, ChatReply, StreamStop, ChatUsage, MessagePart] = [
	'mistral',
	{ type: 'acme:citation', url: 'u' },
	{ stopReason: 'acme_special' },
	{ reason: 'acme_special' },
	{},
	{ kind: 'file', name: 'a.pdf' },
];
export const registration: ProviderRegistration = {
	variant: 'mistral',
	displayName: 'Mistral',
	detect: chat.prefixDetector('mistral'),
};

// @ts-expect-error a run needs a model
export const noModel: ChatOptions = {};
// @ts-expect-error a message has one of four roles
export const noRole: Message = { role: 'robot', content: '' };
// @ts-expect-error a tool message names its call
export const noCall: Message = { role: 'tool', content: '' };
// @ts-expect-error a text delta has its text
export const noText: ReplyDelta = { type: 'text' };
