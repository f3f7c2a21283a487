import { RunletError } from '../ground/errors.ts';
import type { ChatOptions } from './options.ts';
import type { EmbedFn } from './provider.ts';
import { canTalk, createUnknownModel, resolveRegistration } from './registry.ts';
import { retry } from './retry.ts';
import { raceAbort } from './signal.ts';

type Vectors = Awaited<ReturnType<EmbedFn>>;

/**
 * Returns the vectors of texts in order, from the `embedFn` of the model's provider. Retries like a chat call. Throws
 * `unknown_model` if no provider knows the model, and `invalid_request` if its provider has no embeddings.
 */
export async function embed(
	options: Pick<ChatOptions, 'model' | 'providers' | 'signal' | 'maxRetries'>,
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
	const vectors = await retry(() => raceAbort(embedFn(model, texts, { signal }), signal), {
		model,
		maxRetries: options.maxRetries ?? found.maxRetries ?? 2,
		signal,
	});
	if (vectors.length === texts.length) return vectors;
	throw new RunletError('provider_error', `${model} gave ${vectors.length} vectors for ${texts.length} texts.`, {
		model,
	});
}
