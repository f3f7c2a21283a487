import * as v from 'valibot';
import { chat, type ProviderRegistration } from '../src/core/index.ts';
import { hashContent } from '../src/core/skill/content-hash.ts';
import { indexKey, indexSchema, vectorsKey } from '../src/core/skill/kv-index.ts';
import type { ToPublish } from '../src/core/skill/publish.ts';
import { toBytes, toEmbeddedText, type Vectors, vectorsSchema } from '../src/core/skill/vectors.ts';
import type { SkillsKv } from './skills-kv.ts';

/** The model that makes the vectors, and who has it. */
export interface Embedder {
	readonly model: string;
	readonly providers: readonly ProviderRegistration[];
}

/** Texts a request. */
const batch = 100;

/** A vector for each skill. What KV has by the same model of the same text is taken from there. */
export async function embedSkills(
	kv: SkillsKv,
	prefix: string,
	skills: readonly ToPublish[],
	{ model, providers }: Embedder,
	onProgress: (done: number, total: number) => void,
): Promise<Vectors> {
	const known = await readStoredVectors(kv, prefix, model);
	const texts = skills.map(({ entry }) => toEmbeddedText(entry));
	const hashes = texts.map(hashContent);
	const missing = [...new Map(hashes.map((hash, at) => [hash, texts[at] ?? ''])).entries()].filter(
		([hash]) => !known.has(hash),
	);
	for (let from = 0; from < missing.length; from += batch) {
		const some = missing.slice(from, from + batch);
		const vectors = await chat.embed(
			{ model, providers },
			some.map(([, text]) => text),
		);
		for (const [at, [hash]] of some.entries()) known.set(hash, toBytes(vectors[at] ?? []));
		onProgress(from + some.length, missing.length);
	}
	const rows = hashes.map((hash) => known.get(hash) ?? new Int8Array());
	return {
		model,
		names: skills.map(({ entry }) => entry.name),
		texts: hashes,
		values: Buffer.concat(rows.map((row) => Buffer.from(row.buffer, row.byteOffset, row.length))).toString('base64'),
	};
}

/** The vectors that the index in KV names, by the hash of their text; none where another model made them. */
async function readStoredVectors(kv: SkillsKv, prefix: string, model: string): Promise<Map<string, Int8Array>> {
	const index = await readJson(kv, indexKey(prefix), indexSchema);
	if (index?.vectors?.model !== model) return new Map();
	const stored = await readJson(kv, vectorsKey(prefix, index.vectors.hash), vectorsSchema);
	if (stored === undefined) return new Map();
	const bytes = new Int8Array(Buffer.from(stored.values, 'base64'));
	const dimensions = bytes.length / stored.texts.length;
	return new Map(stored.texts.map((hash, row) => [hash, bytes.subarray(row * dimensions, (row + 1) * dimensions)]));
}

async function readJson<S extends v.GenericSchema>(
	kv: SkillsKv,
	key: string,
	schema: S,
): Promise<v.InferOutput<S> | undefined> {
	const text = await kv.get(key);
	if (text === null) return undefined;
	try {
		return v.parse(schema, JSON.parse(text));
	} catch {
		return undefined;
	}
}
