import { Chat as Chat5 } from 'ai-react5';
import { Chat as Chat6 } from 'ai-react6';
import { Chat as Chat7 } from 'ai-react7';
import * as ai5 from 'ai5';
import * as ai6 from 'ai6';
import * as ai7 from 'ai7';

/** The fields of a message that tests read. */
export interface ChatMessage {
	readonly id: string;
	readonly role: string;
	readonly metadata?: unknown;
	readonly parts: readonly Part[];
}

export type Part = Readonly<Record<string, unknown>> & { readonly type: string };

export interface ChatOptions {
	readonly api: string;
	readonly id?: string;
	readonly messages?: readonly ChatMessage[];
	/** Whether the chat posts by itself after all calls are answered. */
	readonly automatic?: boolean;
	readonly onToolCall?: (call: { readonly toolCallId: string; readonly toolName: string }, chat: AnyChat) => void;
	readonly fetch?: typeof fetch;
	readonly onData?: (part: { readonly type: string }) => void;
}

/** The common interface of the chats of all versions. */
export interface AnyChat {
	readonly id: string;
	readonly status: string;
	readonly error: Error | undefined;
	readonly messages: readonly ChatMessage[];
	sendMessage(message?: {
		readonly text: string;
		readonly messageId?: string;
		readonly files?: readonly File[];
	}): Promise<void>;
	regenerate(options?: { readonly messageId?: string }): Promise<void>;
	resumeStream(): Promise<void>;
	stop(): Promise<void>;
	addToolOutput(output: { readonly toolCallId: string; readonly output: unknown }): Promise<void>;
	/** Exists from version 6 on. */
	addToolApprovalResponse?(response: {
		readonly id: string;
		readonly approved: boolean;
		readonly reason?: string;
	}): void | PromiseLike<void>;
}

interface File {
	readonly type: 'file';
	readonly mediaType: string;
	readonly filename?: string;
	readonly url: string;
}

/** The published chat class of each version, with the default transport of the version. */
export const chats: Readonly<Record<5 | 6 | 7, (options: ChatOptions) => AnyChat>> = {
	5: (options) => make(options, Chat5, ai5, [ai5.lastAssistantMessageIsCompleteWithToolCalls]),
	6: (options) =>
		make(options, Chat6, ai6, [
			ai6.lastAssistantMessageIsCompleteWithToolCalls,
			ai6.lastAssistantMessageIsCompleteWithApprovalResponses,
		]),
	7: (options) =>
		make(options, Chat7, ai7, [
			ai7.lastAssistantMessageIsCompleteWithToolCalls,
			ai7.lastAssistantMessageIsCompleteWithApprovalResponses,
		]),
};

type Made = new (init: object) => unknown;
type Complete = (chat: never) => boolean;

/** Makes a chat. The types of the versions differ in parts that no test reads, so this function ignores types. */
function make(
	{ api, fetch, automatic = false, onToolCall, ...more }: ChatOptions,
	Chat: Made,
	{ DefaultChatTransport }: { readonly DefaultChatTransport: Made },
	complete: readonly Complete[],
): AnyChat {
	const chat = new Chat({
		...more,
		transport: new DefaultChatTransport({ api, fetch }),
		...(automatic && { sendAutomaticallyWhen: (given: never) => complete.some((one) => one(given)) }),
		onToolCall: ({ toolCall }: { readonly toolCall: { readonly toolCallId: string; readonly toolName: string } }) =>
			onToolCall?.(toolCall, chat),
	}) as AnyChat;
	return chat;
}

/** The parts of a message (default: the last) without step marks and irrelevant fields. */
export function shown({ messages }: AnyChat, at = -1): unknown[] {
	return (messages.at(at)?.parts ?? []).flatMap(({ type, text, state, input, output, errorText }) => {
		if (type === 'step-start') return [];
		if (type === 'text' || type === 'reasoning') return [{ [type]: text }];
		const answered = errorText ?? output;
		return [{ [type]: input, state, answered }];
	});
}
