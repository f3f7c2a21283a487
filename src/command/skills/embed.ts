import { chat, type ProviderRegistration } from '../../core/index.ts';
import type { SkillsKv } from '../../core/skill/kv/layout.ts';
import { hashContent, indexKey, parseSkillSet, readStoredVectors, type Vectors } from '../../core/skill/kv/layout.ts';
import type { PreparedSkill } from '../../core/skill/kv/plan.ts';
import { readRows, toBytes, toEmbeddedText, writeValues } from '../../core/skill/kv/search.ts';

/** The model that computes the vectors, and the providers that are searched for it. */
export interface Embedder {
	readonly model: string;
	readonly providers: readonly ProviderRegistration[];
}

/** The number of texts in a request. */
const batch = 100;

/** Computes a vector for each skill. Reuses vectors in KV that the same model computed for the same text. */
export async function embedSkills(
	kv: SkillsKv,
	prefix: string,
	skills: readonly PreparedSkill[],
	{ model, providers }: Embedder,
	onProgress: (done: number, total: number) => void,
): Promise<Vectors> {
	const known = await readKnownVectors(kv, prefix, model);
	const texts = skills.map(({ entry }) => toEmbeddedText(entry));
	const hashes = await Promise.all(texts.map(hashContent));
	const missing = [...new Map(hashes.map((hash, at) => [hash, texts[at] ?? '']))].filter(([hash]) => !known.has(hash));
	for (let from = 0; from < missing.length; from += batch) {
		const some = missing.slice(from, from + batch);
		const vectors = await chat.embed(
			{ model, providers },
			some.map(([, text]) => text),
		);
		for (const [at, [hash]] of some.entries()) known.set(hash, toBytes(vectors[at] ?? []));
		onProgress(from + some.length, missing.length);
	}
	return {
		model,
		names: skills.map(({ entry }) => entry.name),
		texts: hashes,
		values: writeValues(hashes.map((hash) => known.get(hash) ?? new Int8Array())),
	};
}

/** Maps the hash of each published text to its vector. The map is empty if another model computed the vectors. */
async function readKnownVectors(kv: SkillsKv, prefix: string, model: string): Promise<Map<string, Int8Array>> {
	const stored = await readStoredVectors(kv, prefix, parseSkillSet(await kv.get(indexKey(prefix))));
	if (stored?.model !== model) return new Map();
	const rows = readRows(stored);
	return new Map(stored.texts.flatMap((hash, at) => (rows[at] === undefined ? [] : [[hash, rows[at]]])));
}
