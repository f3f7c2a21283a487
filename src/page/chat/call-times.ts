/** How long the tool calls of a chat took, as their session has it: from the end of their turn to their result. */

import type { Message } from '../../client/types.ts';
import type { CallView } from './tool-call.ts';

/** Messages that are read after a run. What more it had is told when the chat is opened again. */
const newest = 50;

interface TimesClient {
	listEarlier(
		id: string,
		options: { readonly limit: number; readonly signal: AbortSignal },
	): Promise<{ readonly messages: readonly Message[] }>;
}

/** Shows at calls how long they took. A call that waited for somebody has no time: its result is another run's. */
export function showCallTimes(calls: ReadonlyMap<string, CallView>, messages: readonly Message[]): void {
	const begun = new Map<string, { readonly at: number; readonly runId: string | undefined }>();
	for (const message of messages) {
		if (message.role === 'assistant')
			for (const { id } of message.toolCalls ?? [])
				begun.set(id, { at: Date.parse(message.createdAt), runId: message.runId });
		if (message.role !== 'tool') continue;
		const from = begun.get(message.toolCallId);
		if (from !== undefined && from.runId === message.runId)
			calls.get(message.toolCallId)?.setTime(Date.parse(message.createdAt) - from.at);
	}
}

/** Reads after a run how long its calls took. It is an aid: where it cannot be read, the chat goes on without it. */
export function createCallTimes(client: TimesClient, calls: ReadonlyMap<string, CallView>) {
	let read: (() => Promise<void>) | undefined;
	return {
		use(id: string, signal: AbortSignal): void {
			read = async () => {
				const { messages } = await client.listEarlier(id, { limit: newest, signal });
				if (!signal.aborted) showCallTimes(calls, messages);
			};
		},
		refresh(): void {
			if (calls.size > 0) read?.().catch(() => {});
		},
	};
}
