import { createFieldError, RunletError, toMessageText } from '../base/errors.ts';
import type { Tool } from '../tool/index.ts';
import type { Message } from './message.ts';
import { type ChatOptions, writeSystem } from './options.ts';
import type { CallOptions, Provider, ProviderRegistration, TextChatFn, TextChatStreamFn } from './provider.ts';
import type { ChatReply, OnDelta } from './reply.ts';

const builtins: readonly ProviderRegistration[] = [
	{ variant: 'anthropic', displayName: 'Anthropic', detect: prefixDetector('claude') },
	{ variant: 'openai', displayName: 'OpenAI', detect: prefixDetector('gpt', 'o1', 'o3', 'o4', 'chatgpt') },
	{ variant: 'xai', displayName: 'xAI', detect: prefixDetector('grok') },
	{ variant: 'gemini', displayName: 'Google Gemini', detect: prefixDetector('gemini') },
];

/** Lists the built-in providers, which only recognize and name models. For calls, pass providers to `withProviders`. */
export function builtinProviders(): readonly ProviderRegistration[] {
	return builtins;
}

/** Adds entries to the built-in registry. If two entries fit a model, the later entry is used. */
export function withProviders(extras: readonly ProviderRegistration[]): readonly ProviderRegistration[] {
	return [...builtins, ...extras];
}

/** Makes a `detect` function that tests whether a model's name begins with one of the prefixes. Ignores case. */
export function prefixDetector(...prefixes: readonly string[]): (model: string) => boolean {
	return (model) => prefixes.some((prefix) => model.toLowerCase().startsWith(prefix.toLowerCase()));
}

/** Returns the provider of a model by its name. Throws `unknown_model` if there is none. */
export function detectProvider(model: string): Provider {
	const found = detectProviderFrom(builtins, model);
	if (found !== undefined) return found.variant;
	const known = builtins.map(({ displayName }) => displayName).join(', ');
	const message = `No built-in provider knows the model "${model}". Known: ${known}.`;
	throw new RunletError('unknown_model', message, { model });
}

/** Returns the entry for a model, or `undefined`. If two entries fit, the later entry is used. */
export function detectProviderFrom(
	registry: readonly ProviderRegistration[],
	model: string,
): ProviderRegistration | undefined {
	const name = model.toLowerCase();
	return registry.findLast((entry, index) => {
		if (typeof entry?.detect === 'function') return entry.detect(name);
		const message = `entry ${index} is no provider. Call the function: demo(), not demo.`;
		throw createFieldError('invalid_request', 'providers', message);
	});
}

/** Returns the display name of a built-in provider, or the given name of any other provider. */
export function providerName(provider: Provider): string {
	return builtins.find(({ variant }) => variant === provider)?.displayName ?? provider;
}

/** Returns the entry for a model: from `providers`, else from the built-in entries, else `undefined`. */
export function resolveRegistration(options: Omit<Target, 'system' | 'context'>): ProviderRegistration | undefined {
	const { model, providers = [] } = options;
	return detectProviderFrom(providers, model) ?? detectProviderFrom(builtins, model);
}

/**
 * Creates the error for a model without a provider: `not_configured` with the missing variable, else `unknown_model`.
 */
export function createUnknownModel(model: string, registry: readonly ProviderRegistration[]): RunletError {
	const found = resolveRegistration({ model, providers: registry });
	const able = registry.filter(canTalk).map(({ displayName }) => displayName);
	const configured = able.length === 0 ? 'No provider is configured.' : `Configured: ${[...new Set(able)].join(', ')}.`;
	if (found?.needs !== undefined) {
		const { displayName, needs } = found;
		const others = able.length === 0 ? '' : ` ${configured}`;
		const message = `The model "${model}" is ${displayName}'s, which is not configured: set ${needs}.${others}`;
		return new RunletError('not_configured', message, { model, needs });
	}
	const remedy =
		found === undefined
			? `No provider knows the model "${model}".`
			: `The model "${model}" is ${found.displayName}'s, which is not configured: add it to providers, with its key.`;
	return new RunletError('unknown_model', `${remedy} ${configured}`, { model });
}

/**
 * Checks without a request whether a model can be called. Returns the error if the model has no provider
 * (`not_configured`, `unknown_model`), or if its provider lacks a tool (`invalid_request`).
 */
export function findObstacle(
	options: Pick<ChatOptions, 'model' | 'providers' | 'providerTools'>,
): RunletError | undefined {
	const { model, providers = [], providerTools = [] } = options;
	const found = resolveRegistration({ model, providers });
	try {
		if (providerTools.length > 0) found?.computeMost?.(model, { providerTools, inputTokens: 0, outputTokens: 0 });
	} catch (thrown) {
		return thrown instanceof RunletError
			? thrown
			: new RunletError('invalid_request', toMessageText(thrown), { model });
	}
	return found !== undefined && canTalk(found) ? undefined : createUnknownModel(model, providers);
}

/** Whether a provider or a run's options have a function that calls a model. */
export function canTalk({ chatFn, chatStreamFn }: Pick<ChatOptions, 'chatFn' | 'chatStreamFn'>): boolean {
	return chatFn !== undefined || chatStreamFn !== undefined;
}

/** Returns the provider of a model, or `undefined` if the options have their own functions. */
export function findProvider(options: Omit<Target, 'system' | 'context'>): ProviderRegistration | undefined {
	return canTalk(options) ? undefined : resolveRegistration(options);
}

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

/** Returns the functions for whole and for streamed replies. If one of them is missing, the other replaces it. */
function findModelFns(options: Target) {
	const { chatFn, chatStreamFn } = findProvider(options) ?? options;
	const whole: TextChatFn | undefined =
		chatFn ??
		(chatStreamFn && ((m, messages, s, tools, call) => chatStreamFn(m, messages, s, tools, noopOnDelta, call)));
	const streamed: TextChatStreamFn | undefined =
		chatStreamFn ?? (chatFn && ((m, messages, s, tools, _, call) => chatFn(m, messages, s, tools, call)));
	if (whole === undefined || streamed === undefined) throw createUnknownModel(options.model, options.providers ?? []);
	return { whole, streamed };
}

function toReply(reply: ChatReply | string | undefined): ChatReply | undefined {
	return typeof reply === 'string' ? { text: reply, stopReason: 'end_turn' } : reply;
}
