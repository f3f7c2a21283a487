import { withTimeLimit } from '../../core/base/promises.ts';
import type { RecallingSession } from '../agent/memory.ts';
import { log, toFailureFields } from '../log.ts';
import { askMemory, type MemoryRecord, type MemoryVector } from '../objects/memory/api.ts';

/** How many memories without a vector get one in a search at most. */
const atOnce = 32;
/** The time limit for making vectors, in milliseconds. */
const longestMs = 5_000;

/**
 * Finds memories by words and, if the agent has an embedding model, by meaning (docs/memory.md, "By meaning"). Makes
 * the vectors of new memories together with the query's vector. Without vectors, only words count.
 */
export async function searchMemories(
	session: Pick<RecallingSession, 'config' | 'holder' | 'embedding'>,
	query: string,
	limit: number,
): Promise<readonly MemoryRecord[]> {
	const { config, holder } = session;
	const near = query.trim() === '' ? undefined : await embedQuery(session, query);
	return askMemory(config.memories, holder, (one) => one.search(query, limit, near), true);
}

async function embedQuery(
	{ config, holder, embedding }: Pick<RecallingSession, 'config' | 'holder' | 'embedding'>,
	query: string,
) {
	if (embedding === undefined) return undefined;
	const { model, embed } = embedding;
	const stop = new AbortController();
	try {
		const missing = await askMemory(config.memories, holder, (one) => one.listUnembedded(model, atOnce), true);
		const texts = [query, ...missing.map(({ path, text }) => `${path}\n${text}`)];
		const [vector = [], ...more] = await withTimeLimit(embed(texts, stop.signal), longestMs, 'The embedding');
		const fresh = missing.map(({ version }, index): MemoryVector => ({ version, vector: more[index] ?? [] }));
		return { model, vector, fresh };
	} catch (cause) {
		stop.abort();
		log('warn', 'memory.not_embedded', toFailureFields(cause));
		return undefined;
	}
}
