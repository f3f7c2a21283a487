import type { Context } from 'hono';
import { toBase64 } from '../../core/base/bytes.ts';
import { createFieldError, toRunletError } from '../../core/base/errors.ts';
import { embed, type Meter, type ProviderRegistration, resolveRegistration } from '../../core/chat/index.ts';
import type { Runtime } from '../agent/runtime.ts';
import { readConfig } from '../config/config.ts';
import { findUser } from '../routes/conversation.ts';
import { getPerson, type RouteEnv } from '../routes/identity.ts';
import { getReader } from '../routes/reader.ts';
import { mount } from '../routes/request.ts';
import { findLedger } from '../session/run/lease.ts';
import { createOwnerMeter } from '../session/run/meter.ts';
import { createEmbedding } from '../wire/protocols/embeddings/endpoints.ts';
import { toRunError } from '../wire/protocols/failure.ts';

/** `/v1/embeddings` (docs/openai.md, "Embeddings"). */
export function createEmbeddingRoutes(runtime: Pick<Runtime, 'providers'>) {
	return [
		mount(createEmbedding, async (c) => {
			const caller = getPerson(c);
			const config = readConfig(c.env);
			const { model, input, encoding_format, dimensions, user } = c.req.valid('json');
			const providers = [findEmbedder(c, runtime.providers(config), { model, dimensions: dimensions ?? undefined })];
			const owner = findLedger(config, { owner: caller.owner, user: findUser(caller, user) });
			const { meter, count } = countTokens(createOwnerMeter({ providers, owner }));
			const texts = typeof input === 'string' ? [input] : input;
			const options = { model, providers, meter, signal: c.req.raw.signal };
			const vectors = await embed(options, texts).catch((error: unknown) => {
				throw toRunError(toRunletError(error));
			});
			const [{ length } = []] = vectors;
			if (dimensions != null && length !== dimensions)
				throw createFieldError('invalid_request', 'dimensions', `the vectors of ${model} have ${length} numbers.`);
			const data = vectors.map((vector, index) => ({
				object: 'embedding',
				index,
				embedding: encoding_format === 'base64' ? packVector(vector) : vector,
			}));
			const tokens = count();
			return Response.json({ object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } });
		}),
	];
}

interface Wanted {
	readonly model: string;
	readonly dimensions: number | undefined;
}

/**
 * Finds the provider of a model, and has it make vectors of a length. Throws `model_not_found` for a model without
 * embeddings. Only an operator reads which variable it needs.
 */
function findEmbedder(
	c: Context<RouteEnv>,
	providers: readonly ProviderRegistration[],
	{ model, dimensions }: Wanted,
): ProviderRegistration {
	const found = resolveRegistration({ model, providers });
	if (found?.embedFn !== undefined) {
		const { embedFn } = found;
		return { ...found, embedFn: (name, texts, options) => embedFn(name, texts, { ...options, dimensions }) };
	}
	const remedy = found?.needs !== undefined && getReader(c).isOperator ? ` Set ${found.needs}.` : '';
	throw createFieldError('model_not_found', 'model', `no provider of this Worker makes vectors with it.${remedy}`);
}

/** Counts the tokens of the requests for which a meter is charged. */
function countTokens(meter: Meter): { readonly meter: Meter; readonly count: () => number } {
	let tokens = 0;
	const lost: Meter['lost'] = (usage, ...rest) => {
		tokens += usage?.inputTokens ?? 0;
		return meter.lost(usage, ...rest);
	};
	return { meter: { ...meter, lost }, count: () => tokens };
}

/** Packs a vector as little-endian floats of 32 bits. */
function packVector(vector: readonly number[]): string {
	const packed = new DataView(new ArrayBuffer(4 * vector.length));
	for (const [at, value] of vector.entries()) packed.setFloat32(4 * at, value, true);
	return toBase64(new Uint8Array(packed.buffer));
}
