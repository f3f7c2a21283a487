import { RunletError } from '../base/errors.ts';
import { raceAbort } from '../base/promises.ts';
import { isCut, readUsage, retry, toModelError } from './model-error.ts';
import type { ChatOptions } from './options.ts';
import type { EmbedFn } from './provider.ts';
import { canTalk, createUnknownModel, resolveRegistration } from './registry.ts';
import { addUsage, type ChatUsage } from './reply.ts';
import { estimateTokens } from './tokens.ts';

type Vectors = Awaited<ReturnType<EmbedFn>>;

/** The factor that raises the estimate, and the tokens that are added for each text. */
const margin = 1.1;
const aroundText = 2;

/**
 * Returns the vectors of texts in order, from the `embedFn` of the model's provider. Retries like a chat call, and
 * reports each request to the `meter`. Throws `unknown_model` if no provider knows the model, and `invalid_request` if
 * its provider has no embeddings.
 */
export async function embed(
	options: Pick<ChatOptions, 'model' | 'providers' | 'signal' | 'maxRetries' | 'meter'>,
	texts: readonly string[],
): Promise<Vectors> {
	const { model, providers = [], signal = new AbortController().signal, meter } = options;
	const found = resolveRegistration({ model, providers });
	if (found?.embedFn === undefined) {
		if (found === undefined || !canTalk(found)) throw createUnknownModel(model, providers);
		const message = `${found.displayName} has no embeddings: name a model of another provider.`;
		throw new RunletError('invalid_request', message, { model });
	}
	if (texts.length === 0) return [];
	const { embedFn } = found;
	const requestVectors = async (): Promise<Vectors> => {
		if (meter === undefined) return raceAbort(embedFn(model, texts, { signal }), signal);
		const sent = texts.reduce((sum, text) => sum + aroundText + estimateTokens(text), 0);
		const inputTokens = Math.ceil(sent * margin);
		// Vectors have no output tokens.
		await meter.reserve({ model, inputTokens, maxOutputTokens: 1, isEmbedding: true, signal });
		let reported: ChatUsage | undefined;
		const onUsage = (usage: ChatUsage): void => {
			reported = reported === undefined ? usage : addUsage(reported, usage);
		};
		let vectors: Vectors;
		try {
			vectors = await raceAbort(embedFn(model, texts, { signal, onUsage }), signal);
		} catch (thrown) {
			const error = toModelError(thrown, model);
			await meter.lost(reported ?? readUsage(error), signal.aborted || isCut(error), 0);
			throw error;
		}
		await meter.lost({ inputTokens, outputTokens: 0, ...reported }, false, 0);
		return vectors;
	};
	const maxRetries = options.maxRetries ?? found.maxRetries ?? 2;
	const vectors = await retry(requestVectors, { model, maxRetries, signal });
	if (vectors.length === texts.length) return vectors;
	const message = `${model} gave ${vectors.length} vectors for ${texts.length} texts.`;
	throw new RunletError('provider_error', message, { model });
}
