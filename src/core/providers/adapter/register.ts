import { raceAbort, toAbortError } from '../../base/promises.ts';
import {
	type CallEstimate,
	type CallOptions,
	type ChatReply,
	type ChatUsage,
	type Message,
	type MostCost,
	type OnDelta,
	type ProviderRegistration,
	prefixDetector,
} from '../../chat/index.ts';
import { callDirectly, type ModelCall } from '../../chat/model-call.ts';
import { assertEffort } from '../../chat/provider.ts';
import type { ProviderChoices } from '../../chat/provider-tool.ts';
import { providerName, type Tool } from '../../tool/index.ts';
import { toCurrentDraft } from '../../tool/json-schema/keywords.ts';
import { findContextWindow } from '../prices/list.ts';
import type { OwnPrice } from '../prices/own.ts';
import type { Adapter, ModelRequest } from './adapter.ts';
import { ask } from './ask.ts';
import { type Caller, toProviderError } from './failure.ts';
import type { Json } from './json.ts';
import { createPrices, type Prices } from './price.ts';
import { capLength, listSecrets, type ProviderSettings, withBody } from './settings.ts';
import { countMostInput } from './tools.ts';
import { keepCounts } from './units.ts';

/**
 * Makes a provider from an adapter. Adds aliases for tool names, and retries and timeouts for calls outside of runs.
 */
export function register(adapter: Adapter, settings: Partial<ProviderSettings>): ProviderRegistration {
	const { variant, displayName, detect, keyName, prefix = '', embed, countTokens } = adapter;
	const { maxRetries, timeouts, price } = settings;
	const prices = createPrices(variant, price, adapter.prefix);
	const secrets = listSecrets(settings);
	const caller = (model: string): Caller => ({ displayName, variant, model, secrets, keyName });
	// A provider may also recognize models without the prefix.
	const hasPrefix = prefixDetector(prefix);
	const stripPrefix = (model: string): string => (hasPrefix(model) ? model.slice(prefix.length) : model);
	const toFields = (choices: ProviderChoices): Json => withBody(adapter.choose?.(choices) ?? {}, settings.body);
	const call = createCall(adapter, settings, prices, toFields, stripPrefix, caller);
	const computeMost = createMost(adapter, prices, toFields);
	const about = {
		variant,
		displayName,
		detect,
		maxRetries,
		timeouts,
		meta: adapter.meta,
		contextWindow: (model: string) => findContextWindow(variant, stripPrefix(model)),
		computePrice: (model: string, usage: ChatUsage) => {
			const price = prices.findCost([stripPrefix(model)], {}, usage);
			return 'usd' in price ? price.usd : undefined;
		},
		computeMost: (model: string, call: CallEstimate) => computeMost(stripPrefix(model), call),
		cancelReply: adapter.background?.cancel,
		withPrices: (own: OwnPrice) => register(adapter, { ...settings, price: price ?? own }),
	};
	const lacksKey = adapter.needsKey !== false && !settings.apiKey;
	const needs = adapter.needs ?? (lacksKey ? keyName : undefined);
	if (needs !== undefined) return { ...about, needs };
	return {
		...about,
		chatFn: (model, messages, system, tools, options) =>
			call(model, messages, system, tools, () => undefined, options, false),
		chatStreamFn: (model, messages, system, tools, onDelta, options) =>
			call(model, messages, system, tools, onDelta, options, true),
		embedFn:
			embed &&
			((model, texts, { signal = new AbortController().signal, onUsage = () => {}, dimensions } = {}) =>
				guardCall(() => embed(stripPrefix(model), texts, signal, onUsage, dimensions), caller(model), signal)),
		countTokens:
			countTokens &&
			((messages, model) => {
				const { signal } = new AbortController();
				const request = toRequest({ model: stripPrefix(model), messages, stream: false, signal });
				return guardCall(() => countTokens(request), caller(model), signal);
			}),
	};
}

/** Creates an adapter's calls. A caller that passes `onActivity` retries calls itself, so each call is one request. */
function createCall(
	adapter: Adapter,
	{ maxRetries = 0, timeouts }: Partial<ProviderSettings>,
	prices: Prices,
	toFields: (choices: ProviderChoices) => Json,
	stripPrefix: (model: string) => string,
	caller: (model: string) => Caller,
) {
	return async (
		model: string,
		messages: readonly Message[],
		system: string | undefined,
		tools: readonly Tool[] = [],
		onDelta: OnDelta,
		options: CallOptions = {},
		stream: boolean,
	): Promise<ChatReply | undefined> => {
		const { signal = new AbortController().signal, onActivity, ...rest } = options;
		assertEffort(rest.reasoningEffort);
		// The tools' own names by their aliases, for tools that need an alias.
		const aliases = tools.map(({ name }) => [providerName(name), name] as const);
		const names = new Map(aliases.filter(([alias, name]) => alias !== name));
		const more = capLength(toFields(rest), rest.maxOutputTokens);
		const makeRequest: ModelCall = (take, signal, onActivity) => {
			const request = toRequest({ model: stripPrefix(model), messages, system, stream, signal }, tools, rest);
			return ask({ adapter, request, caller: caller(model), prices, more, names }, take, onActivity);
		};
		if (onActivity !== undefined) return makeRequest(onDelta, signal, onActivity);
		return callDirectly(makeRequest, onDelta, {
			model,
			stream,
			timeouts: { ...timeouts, ...rest.timeouts },
			maxRetries: rest.maxRetries ?? maxRetries,
			maxReplyBytes: rest.maxReplyBytes,
			signal,
		});
	};
}

async function guardCall<T>(work: () => Promise<T>, caller: Caller, signal: AbortSignal): Promise<T> {
	try {
		return await raceAbort(work(), signal);
	} catch (thrown) {
		throw signal.aborted ? toAbortError(signal) : toProviderError(thrown, caller);
	}
}

function toRequest(
	call: Pick<ModelRequest, 'model' | 'messages' | 'system' | 'stream' | 'signal'>,
	tools: readonly Tool[] = [],
	options: CallOptions = {},
): ModelRequest {
	const { toolChoice, outputSchema, foundBy } = options;
	return {
		...options,
		...call,
		tools: tools.map(({ name, description = '', inputSchema, provider }) => ({
			name: providerName(name),
			description,
			inputSchema: toCurrentDraft(inputSchema),
			provider,
			foundBy: foundBy?.get(name),
		})),
		toolChoice: typeof toolChoice === 'object' ? { name: providerName(toolChoice.name) } : toolChoice,
		outputSchema: outputSchema && toCurrentDraft(outputSchema),
	};
}

function createMost(
	{ foresee, meta }: Pick<Adapter, 'foresee' | 'meta'>,
	prices: Prices,
	toFields: (choices: ProviderChoices) => Json,
): (model: string, call: CallEstimate) => MostCost {
	return (model, call) => {
		const { uses = 0, texts = 0, units = {}, ...terms } = foresee?.(toFields(call), model, call) ?? {};
		const inputTokens = countMostInput(call.inputTokens, uses);
		const outputTokens = call.outputTokens * (1 + texts);
		// After each use of a tool the model gets all audio again.
		const audio = meta.audio === false ? 0 : (call.inputAudioTokens ?? 0) * (uses + 1);
		const counts = keepCounts({ ...units, input_audio_tokens: audio });
		const price = prices.findMost(model, { ...terms, inputTokens, outputTokens, units: counts });
		const pieces = Object.entries(units).filter(([unit, count]) => (count ?? 0) > 0 && !unit.endsWith('_tokens'));
		const bare = { ...terms, inputTokens: 0, outputTokens: 0, units: Object.fromEntries(pieces) };
		const ofPieces: MostCost = { inputTokens, ...(pieces.length > 0 && prices.findMost(model, bare)) };
		return { inputTokens, ...(texts > 0 && { texts }), unitsUsd: ofPieces.usd, ...price };
	};
}
