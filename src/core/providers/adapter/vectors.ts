import { RunletError } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';
import { type ChatUsage, makeUsage } from '../../chat/index.ts';
import { ProviderComplaint } from './failure.ts';
import { getNumber, getNumbers, getObjects } from './json.ts';

type Vector = readonly number[];

/** Requests the vectors of many texts in batches. Returns them in the texts' order. Throws if a vector is missing. */
export async function requestInBatches(
	texts: readonly string[],
	size: number,
	embed: (batch: readonly string[]) => Promise<readonly Vector[]>,
): Promise<readonly Vector[]> {
	const vectors: Vector[] = [];
	for (let at = 0; at < texts.length; at += size) {
		const batch = texts.slice(at, at + size);
		const found = (await embed(batch)).filter(({ length }) => length > 0);
		if (found.length !== batch.length)
			throw new RunletError('interrupted', `the answer holds ${found.length} vectors for ${batch.length} texts.`);
		vectors.push(...found);
	}
	return vectors;
}

/** Reads the cost of an answer with vectors, if its provider reports it. */
export function readVectorUsage(answer: unknown): ChatUsage {
	const { usage, usageMetadata } = isRecord(answer) ? answer : {};
	const { inputTokens } = makeUsage(usage ?? usageMetadata);
	return inputTokens === undefined ? {} : { inputTokens };
}

/** Reads the vectors of an `/embeddings` answer in the order of the texts. */
export function readVectors(answer: unknown): readonly Vector[] {
	if (!isRecord(answer) || !Array.isArray(answer.data)) throw new ProviderComplaint({ body: answer });
	return getObjects(answer, 'data')
		.map((entry, at) => ({ at: getNumber(entry, 'index') ?? at, vector: getNumbers(entry.embedding) }))
		.sort((a, b) => a.at - b.at)
		.map(({ vector }) => vector);
}
