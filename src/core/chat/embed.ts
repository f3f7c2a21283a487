import { RunletError } from '../base/errors.ts';
import { isCut, readUsage, retry, toModelError } from './model-error.ts';
import type { ChatOptions } from './options.ts';
import type { EmbedFn } from './provider.ts';
import { canTalk, createUnknownModel, resolveRegistration } from './registry.ts';
import { raceAbort } from './signal.ts';
import { estimateTokens } from './tokens.ts';
import { addUsage, type ChatUsage } from './usage.ts';

type Vectors = Awaited<ReturnType<EmbedFn>>;

/**
 * Returns the vectors of texts in order, from the `embedFn` of the model's provider. Retries like a chat call. A `meter`
 * is told of each request. Throws `unknown_model` if no provider knows the model, and `invalid_request` if its provider has no embeddings.
 */
export async function embed(
	options: Pick<ChatOptions, 'model' | 'providers' | 'signal' | 'maxRetries' | 'meter'>,
	texts: readonly string[],
): Promise<Vectors> {
	const { model, providers = [], signal = new AbortController().signal } = options;
	const found = resolveRegistration({ model, providers });
	if (found?.embedFn === undefined) {
		if (found === undefined || !canTalk(found)) throw createUnknownModel(model, providers);
		throw new RunletError(
			'invalid_request',
			`${found.displayName} has no embeddings: name a model of another provider.`,
			{
				model,
			},
		);
	}
	if (texts.length === 0) return [];
	const { embedFn } = found;
	const request = { embedFn, model, texts, signal, meter: options.meter };
	const vectors = await retry(() => requestVectors(request), {
		model,
		maxRetries: options.maxRetries ?? found.maxRetries ?? 2,
		signal,
	});
	if (vectors.length === texts.length) return vectors;
	throw new RunletError('provider_error', `${model} gave ${vectors.length} vectors for ${texts.length} texts.`, {
		model,
	});
}

/** The margin of the estimate, and the tokens around each text. */
const margin = 1.1;
const aroundText = 2;

/** Makes one request. Reports it to the meter before and after. */
async function requestVectors({
	embedFn,
	model,
	texts,
	signal,
	meter,
}: {
	readonly embedFn: EmbedFn;
	readonly model: string;
	readonly texts: readonly string[];
	readonly signal: AbortSignal;
	readonly meter: ChatOptions['meter'];
}): Promise<Vectors> {
	if (meter === undefined) return raceAbort(embedFn(model, texts, { signal }), signal);
	const sent = texts.reduce((sum, text) => sum + aroundText + estimateTokens(text), 0);
	const inputTokens = Math.ceil(sent * margin);
	// Vectors have no output tokens.
	await meter.reserve({ model, inputTokens, maxOutputTokens: 1, isEmbedding: true, signal });
	let said: ChatUsage | undefined;
	const onUsage = (usage: ChatUsage): void => {
		said = said === undefined ? usage : addUsage(said, usage);
	};
	let vectors: Vectors;
	try {
		vectors = await raceAbort(embedFn(model, texts, { signal, onUsage }), signal);
	} catch (thrown) {
		const error = toModelError(thrown, model);
		await meter.lost(said ?? readUsage(error), signal.aborted || isCut(error), 0);
		throw error;
	}
	await meter.lost({ inputTokens, outputTokens: 0, ...said }, false, 0);
	return vectors;
}
