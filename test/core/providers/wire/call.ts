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

/** A request to a provider. */
export interface Question {
	readonly model: string;
	readonly messages?: readonly Message[];
	readonly system?: string;
	readonly tools?: readonly Tool[];
	readonly options?: CallOptions;
	readonly onDelta?: (delta: Delta) => void;
}

/** The outcome of a call: a reply or an error, and the streamed deltas. */
export interface Outcome {
	readonly reply: ChatReply | undefined;
	readonly error: RunletError | undefined;
	readonly deltas: readonly Delta[];
	/** The events of the run. The list is empty without a run. */
	readonly events: readonly RunEvent[];
}

/** A way to call a model. */
export interface Way {
	readonly way: string;
	readonly ask: (provider: ProviderRegistration, question: Question) => Promise<Outcome>;
}

export const hello: readonly Message[] = [chat.userMessage('Hello')];

/** Calls `chatStreamFn`. */
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

/** Calls `chatFn`. */
export const whole: Way = {
	way: 'chatFn',
	ask: async (provider, { model, messages = hello, system, tools, options }) => {
		const { chatFn } = provider;
		if (chatFn === undefined) throw new Error('the provider cannot answer whole');
		const asked = async () => chatFn(model, messages, system, tools, options);
		return { ...(await settle(asked())), deltas: [], events: [] };
	},
};

/** Runs one turn with `chat.run`, and does not run its calls. Checks that the run ends with one terminal event. */
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

/** Returns the reply of a call that must not fail. */
export function readReply({ reply, error }: Outcome): ChatReply {
	if (reply === undefined) throw error ?? new Error('neither a reply nor an error');
	return reply;
}

/** Returns the error of a call that must fail. */
export function readError({ reply, error }: Outcome): RunletError {
	if (error === undefined) throw new Error(`it did not fail: ${JSON.stringify(reply)}`);
	return error;
}

export function readCalls({ toolCalls = [] }: ChatReply): readonly ToolCall[] {
	return toolCalls;
}

/** Joins the deltas of one kind. */
export function joinedText(deltas: readonly Delta[], type: 'text' | 'reasoning'): string {
	return deltas
		.flatMap((delta) => (delta.type === type && typeof delta.text === 'string' ? [delta.text] : []))
		.join('');
}
