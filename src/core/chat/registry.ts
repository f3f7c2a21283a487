import { createFieldError, RunletError, toMessageText } from '../base/errors.ts';
import type { Tool } from '../tool/index.ts';
import type { Message } from './message.ts';
import type { ChatOptions } from './options.ts';
import type { CallOptions, Provider, ProviderRegistration, TextChatFn, TextChatStreamFn } from './provider.ts';
import type { ChatReply, OnDelta } from './reply.ts';
import { writeSystem } from './run-context.ts';

const builtins: readonly ProviderRegistration[] = [
	{ variant: 'anthropic', displayName: 'Anthropic', detect: prefixDetector('claude') },
	{ variant: 'openai', displayName: 'OpenAI', detect: anyPrefix('gpt', 'o1', 'o3', 'o4', 'chatgpt') },
	{ variant: 'xai', displayName: 'xAI', detect: prefixDetector('grok') },
	{ variant: 'gemini', displayName: 'Google Gemini', detect: prefixDetector('gemini') },
];

/**
 * Lists the four providers that Runlet knows by name. They only recognize and name models; `withProviders([anthropic({
 * apiKey })])` can talk to them.
 */
export function builtinProviders(): readonly ProviderRegistration[] {
	return builtins;
}

/** Adds entries to the built-in registry. Later entries win. */
export function withProviders(extras: readonly ProviderRegistration[]): readonly ProviderRegistration[] {
	return [...builtins, ...extras];
}

/** Makes a `detect` function that compares the beginning of a model's name, in any case. */
export function prefixDetector(prefix: string): (model: string) => boolean {
	const wanted = prefix.toLowerCase();
	return (model) => model.toLowerCase().startsWith(wanted);
}

/** Returns the provider of a model by its name. Throws `unknown_model` if there is none. */
export function detectProvider(model: string): Provider {
	const found = detectProviderFrom(builtins, model);
	if (found !== undefined) return found.variant;
	const known = builtins.map(({ displayName }) => displayName).join(', ');
	throw new RunletError('unknown_model', `No built-in provider knows the model "${model}". Known: ${known}.`, {
		model,
	});
}

/** Returns the entry for a model, or `undefined`. A later entry wins. */
export function detectProviderFrom(
	registry: readonly ProviderRegistration[],
	model: string,
): ProviderRegistration | undefined {
	const name = model.toLowerCase();
	return registry.findLast((entry, index) => {
		if (typeof entry?.detect === 'function') return entry.detect(name);
		throw createFieldError(
			'invalid_request',
			'providers',
			`entry ${index} is no provider. Call the function: demo(), not demo.`,
		);
	});
}

/** Returns the display name of a built-in provider, or the text itself. */
export function providerName(provider: Provider): string {
	return builtins.find(({ variant }) => variant === provider)?.displayName ?? provider;
}

/**
 * Returns the entry for the model of some options: from their `providers`, else from the built-in ones, else
 * `undefined`.
 */
export function resolveRegistration({
	model,
	providers = [],
}: Pick<ChatOptions, 'model' | 'providers'>): ProviderRegistration | undefined {
	return detectProviderFrom(providers, model) ?? detectProviderFrom(builtins, model);
}

/**
 * Creates the error for a model that no provider can talk to: `not_configured` with the missing variable if only that
 * is missing, else `unknown_model` with the configured providers.
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
 * Returns why a model cannot be asked, before anything is sent: nobody can talk to it (`not_configured`, `unknown_model`),
 * or its provider lacks one of the tools (`invalid_request`). Nothing if it can be asked.
 */
export function findObstacle({
	model,
	providers = [],
	providerTools = [],
}: Pick<ChatOptions, 'model' | 'providers' | 'providerTools'>): RunletError | undefined {
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

/** Whether a provider can talk to its models. */
export function canTalk({ chatFn, chatStreamFn }: ProviderRegistration): boolean {
	return chatFn !== undefined || chatStreamFn !== undefined;
}

function anyPrefix(...prefixes: readonly string[]): (model: string) => boolean {
	const detectors = prefixes.map(prefixDetector);
	return (model) => detectors.some((detect) => detect(model));
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
