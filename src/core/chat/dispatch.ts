import type { Tool } from '../tool/index.ts';
import type { Message } from './message.ts';
import type { ChatOptions } from './options.ts';
import type { CallOptions, TextChatFn, TextChatStreamFn } from './provider.ts';
import { createUnknownModel, resolveRegistration } from './registry.ts';
import type { ChatReply, OnDelta } from './reply.ts';
import { writeSystem } from './system-prompt.ts';

type Target = Pick<ChatOptions, 'model' | 'providers' | 'chatFn' | 'chatStreamFn' | 'system' | 'context'>;

/**
 * Returns one reply without streaming: from `options.chatFn`, else from the model's provider. Throws `unknown_model` if
 * no provider can talk to the model. `undefined` means that the reply broke off.
 */
export async function dispatchChat(
	options: Target,
	messages: readonly Message[],
	tools?: readonly Tool[],
	call?: CallOptions,
): Promise<ChatReply | undefined> {
	const system = await writeSystem(options.system, options.context);
	return toReply(await findModelFns(options).whole(options.model, messages, system, tools, call));
}

/** Returns one reply and streams it to `onDelta` if the provider can stream. */
export async function dispatchChatStream(
	options: Target,
	messages: readonly Message[],
	tools: readonly Tool[] | undefined,
	onDelta: OnDelta = noopOnDelta,
	call?: CallOptions,
): Promise<ChatReply | undefined> {
	const system = await writeSystem(options.system, options.context);
	return toReply(await findModelFns(options).streamed(options.model, messages, system, tools, onDelta, call));
}

/** Discards every delta. */
export function noopOnDelta(): undefined {}

/**
 * Returns both ways to call a model: the options' own functions, else those of its provider. Each can replace the
 * other.
 */
function findModelFns(options: Target) {
	const own = options.chatFn !== undefined || options.chatStreamFn !== undefined;
	const { chatFn, chatStreamFn } = (own ? options : resolveRegistration(options)) ?? {};
	const whole = chatFn ?? (chatStreamFn && toWholeFn(chatStreamFn));
	const streamed: TextChatStreamFn | undefined =
		chatStreamFn ?? (chatFn && ((m, messages, s, tools, _, call) => chatFn(m, messages, s, tools, call)));
	if (whole === undefined || streamed === undefined) throw createUnknownModel(options.model, options.providers ?? []);
	return { whole, streamed };
}

function toWholeFn(chatStreamFn: TextChatStreamFn): TextChatFn {
	return (m, messages, s, tools, call) => chatStreamFn(m, messages, s, tools, noopOnDelta, call);
}

/** Converts a text to a reply. */
function toReply(given: ChatReply | string | undefined): ChatReply | undefined {
	return typeof given === 'string' ? { text: given, stopReason: 'end_turn' } : given;
}
