import {
	type ChatReply,
	chat,
	type Message,
	type ProviderRegistration,
	type RunEvent,
	type RunletError,
	type Tool,
	type ToolCall,
} from '../../../../src/core/index.ts';
import { asRunletError, endings } from '../../chat/support.ts';

export type CallOptions = NonNullable<Parameters<NonNullable<ProviderRegistration['chatFn']>>[4]>;
export type Delta = Parameters<chat.OnDelta>[0];

/** What a provider is asked. */
export interface Question {
	readonly model: string;
	readonly messages?: readonly Message[];
	readonly system?: string;
	readonly tools?: readonly Tool[];
	readonly options?: CallOptions;
	/** Told of every delta as it comes. */
	readonly onDelta?: (delta: Delta) => void;
}

/** What came of it: a reply or an error, and all that was streamed. */
export interface Outcome {
	readonly reply: ChatReply | undefined;
	readonly error: RunletError | undefined;
	readonly deltas: readonly Delta[];
	/** The events of a run, where there was one. */
	readonly events: readonly RunEvent[];
}

/** One of the ways to call a model. */
export interface Way {
	readonly way: string;
	readonly ask: (provider: ProviderRegistration, question: Question) => Promise<Outcome>;
}

export const hello: readonly Message[] = [chat.userMessage('Hello')];

/** `chatStreamFn`, directly. */
export const streamed: Way = {
	way: 'chatStreamFn',
	ask: async (provider, { model, messages = hello, system, tools, options, onDelta }) => {
		const { chatStreamFn } = provider;
		if (chatStreamFn === undefined) throw new Error('the provider cannot stream');
		const deltas: Delta[] = [];
		const take = (delta: Delta): undefined => {
			deltas.push(delta);
			onDelta?.(delta);
		};
		const asked = async () => chatStreamFn(model, messages, system, tools, take, options);
		return { ...(await settle(asked())), deltas, events: [] };
	},
};

/** `chatFn`, directly. */
export const whole: Way = {
	way: 'chatFn',
	ask: async (provider, { model, messages = hello, system, tools, options }) => {
		const { chatFn } = provider;
		if (chatFn === undefined) throw new Error('the provider cannot answer whole');
		const asked = async () => chatFn(model, messages, system, tools, options);
		return { ...(await settle(asked())), deltas: [], events: [] };
	},
};

/** `chat.run`, one turn: no call is run, so the reply is seen as it came. Has exactly one terminal event, the last. */
export const ran: Way = {
	way: 'chat.run',
	ask: async (provider, { model, messages = hello, onDelta, options = {}, ...rest }) => {
		const { timeouts, ...given } = options;
		const run = chat.run(
			{
				model,
				providers: [provider],
				mode: 'manual',
				maxRetries: 0,
				...rest,
				...given,
				timeouts,
			},
			messages,
		);
		const events: RunEvent[] = [];
		for await (const event of run.events) {
			events.push(event);
			if (isDelta(event)) onDelta?.(event);
		}
		const ends = endings(events);
		if (ends.length !== 1 || ends[0] !== events.at(-1)) throw new Error(`${ends.length} terminal events`);
		const deltas = events.filter(isDelta);
		const { reply, error } = await settle(
			run.result.then(({ text, metadata, messages: all, usage }): ChatReply => {
				const last = all.findLast(({ role }) => role === 'assistant');
				return {
					text,
					toolCalls: metadata.manualToolCalls ?? [],
					stopReason: metadata.stopReason ?? '',
					usage,
					...(last?.role === 'assistant' && { reasoning: last.reasoning, providerMetadata: last.providerMetadata }),
				};
			}),
		);
		return { reply, error, deltas, events };
	},
};

const deltaTypes: ReadonlySet<string> = new Set([
	'text',
	'reasoning',
	'tool_use_start',
	'tool_use_input',
	'tool_use_end',
	'stop',
]);

function isDelta(event: RunEvent): event is chat.KnownDelta {
	return deltaTypes.has(event.type);
}

async function settle(
	promise: Promise<ChatReply | undefined>,
): Promise<{ readonly reply: ChatReply | undefined; readonly error: RunletError | undefined }> {
	const [settled] = await Promise.allSettled([promise]);
	if (settled.status === 'rejected') return { reply: undefined, error: asRunletError(settled.reason) };
	return { reply: settled.value, error: undefined };
}

/** The reply of a call that must not fail. */
export function readReply({ reply, error }: Outcome): ChatReply {
	if (reply === undefined) throw error ?? new Error('neither a reply nor an error');
	return reply;
}

/** The error of a call that must fail. */
export function readError({ reply, error }: Outcome): RunletError {
	if (error === undefined) throw new Error(`it did not fail: ${JSON.stringify(reply)}`);
	return error;
}

/** The calls of a reply; none where it has no list. */
export function readCalls({ toolCalls = [] }: ChatReply): readonly ToolCall[] {
	return toolCalls;
}

/** What the deltas of one kind add up to. */
export function joinedText(deltas: readonly Delta[], type: 'text' | 'reasoning'): string {
	return deltas
		.flatMap((delta) => (delta.type === type && typeof delta.text === 'string' ? [delta.text] : []))
		.join('');
}
