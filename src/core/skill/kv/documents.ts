import * as v from 'valibot';
import { toMessageText } from '../../base/errors.ts';
import { withTimeLimit } from '../../base/promises.ts';
import type { SkillStore } from './layout.ts';
import {
	bodyKey,
	bodySchema,
	descriptionsSchema,
	type Entry,
	indexKey,
	leafKey,
	noSkills,
	type OnBroken,
	readSkillSet,
	type Shards,
	type SkillSet,
	searchKey,
	vectorsKey,
	vectorsSchema,
} from './layout.ts';
import { type ByMeaning, type FullText, readFullText, readVectors } from './search.ts';
import { findEntry, readLeaf, readShardsFor } from './shards.ts';

/** A problem with published skills, or with reading them. */
export type SkillsProblem =
	| 'not_read'
	| 'index_invalid'
	| 'entry_invalid'
	| 'not_published'
	| 'text_missing'
	| 'not_searchable'
	| 'not_embedded';

/** Called for a skipped, missing or broken value. `message` names the skill. `problem` is safe to log anywhere. */
export type OnProblem = (message: string, problem: SkillsProblem, skill?: string) => void;

export interface DocumentsOptions {
	readonly prefix: string;
	/** The time limit for each read of KV, in milliseconds. */
	readonly timeoutMs: number;
	readonly onProblem: OnProblem;
}

/** Reads the published documents through the isolate's cache. Returns `undefined` for a missing or broken document. */
export interface Documents {
	/** Reads the index again if the isolate's copy is too old. If the read fails, returns the last good copy. */
	readonly readIndex: (maxAgeMs: number) => Promise<SkillSet | undefined>;
	/** Reads a skill's text and files. Does not cache them, and does not report a missing text. */
	readonly readBody: (hash: string) => Promise<v.InferOutput<typeof bodySchema> | undefined>;
	/** Finds a skill of a set. Returns `null` if the part of the set with the skill cannot be read. */
	readonly findEntry: (set: SkillSet, name: string) => Promise<Entry | undefined | null>;
	/** Reads the shards for the search of a query. Does not cache them. */
	readonly readShards: (shards: Shards, query: string) => Promise<SearchDocument | undefined>;
	/** Reads the document for the search. Each isolate parses a document only once. */
	readonly readSearch: (hash: string) => Promise<SearchDocument | undefined>;
	readonly readVectors: (hash: string) => Promise<VectorsDocument | undefined>;
}

export interface SearchDocument {
	readonly find: FullText;
	readonly descriptions: Readonly<Record<string, string>>;
}

export interface VectorsDocument {
	readonly find: ByMeaning;
	readonly names: ReadonlySet<string>;
}

export function createDocuments(kv: SkillStore, { prefix, timeoutMs, onProblem }: DocumentsOptions): Documents {
	const cache = findCache(kv, prefix);
	const getJson = async (key: string): Promise<unknown> => {
		try {
			return await withTimeLimit(kv.get(key, 'json'), timeoutMs, 'KV');
		} catch (error) {
			onProblem(`${key}: could not be read from KV (${toMessageText(error)}).`, 'not_read');
			return undefined;
		}
	};
	const reportUnsearchable = (key: string, error: unknown) => {
		const why = toMessageText(error);
		onProblem(`${key}: cannot be searched (${why}). Publish again: npm run skills.`, 'not_searchable');
	};
	const readLeafOnce = async (hash: string) => {
		const known = cache.leaves.get(hash);
		if (known !== undefined) return known;
		const report: OnBroken = (message, skill) =>
			onProblem(`${leafKey(prefix, hash)}: ${message}`, 'entry_invalid', skill);
		const reading = readLeaf(prefix, hash, getJson, report);
		cache.leaves.set(hash, reading);
		const [oldest] = cache.leaves.keys();
		if (cache.leaves.size > mostLeaves && oldest !== undefined) cache.leaves.delete(oldest);
		const leaf = await reading;
		if (leaf === undefined) cache.leaves.delete(hash);
		return leaf;
	};
	const load = async <T>(slot: Slot<T>, key: string, parse: (json: unknown) => T): Promise<T | undefined> => {
		if (slot.loaded?.key === key) return slot.loaded.value;
		const json = await getJson(key);
		if (json === undefined) return undefined;
		try {
			slot.loaded = { key, value: parse(json) };
			return slot.loaded.value;
		} catch (error) {
			reportUnsearchable(key, error);
			return undefined;
		}
	};
	return {
		readIndex: async (maxAgeMs) => {
			const { index: cached } = cache;
			if (cached !== undefined && Date.now() < cached.readAt + maxAgeMs) return cached.set;
			const key = indexKey(prefix);
			const json = await getJson(key);
			if (json === undefined) return cached?.set;
			const report = (message: string, skill?: string) => onProblem(`${key}: ${message}`, 'entry_invalid', skill);
			const set = json === null ? noSkills : readSkillSet(json, report);
			if (set === undefined)
				onProblem(`${key}: not an index of skills. Publish again: npm run skills.`, 'index_invalid');
			else cache.index = { set, readAt: Date.now() };
			return set ?? cached?.set;
		},
		readBody: async (hash) => {
			const body = v.safeParse(bodySchema, await getJson(bodyKey(prefix, hash)));
			return body.success ? body.output : undefined;
		},
		findEntry: (set, name) => findEntry(set, name, readLeafOnce),
		readShards: async (shards, query) => {
			try {
				return { find: await readShardsFor(query, shards, prefix, getJson), descriptions: {} };
			} catch (error) {
				reportUnsearchable(prefix, error);
				return undefined;
			}
		},
		readSearch: (hash) => load(cache.search, searchKey(prefix, hash), parseSearch),
		readVectors: (hash) => load(cache.vectors, vectorsKey(prefix, hash), parseVectors),
	};
}

function parseSearch(json: unknown): SearchDocument {
	const { descriptions = {} } = v.parse(descriptionsSchema, json);
	return { find: readFullText(json), descriptions };
}

function parseVectors(json: unknown): VectorsDocument {
	const vectors = v.parse(vectorsSchema, json);
	return { find: readVectors(vectors), names: new Set(vectors.names) };
}

/** A leaf has some 200 kB, so an isolate keeps a few. */
const mostLeaves = 32;

interface Slot<T> {
	loaded?: { readonly key: string; readonly value: T };
}

/** The values of a published set that an isolate has read. The resolvers of many runs share them. */
interface Cache {
	index?: { readonly set: SkillSet; readonly readAt: number };
	/** The leaves of a set with shards, by their hashes. */
	readonly leaves: Map<string, Promise<ReadonlyMap<string, Entry> | undefined>>;
	readonly search: Slot<SearchDocument>;
	readonly vectors: Slot<VectorsDocument>;
}

const caches = new WeakMap<SkillStore, Map<string, Cache>>();

function findCache(kv: SkillStore, prefix: string): Cache {
	const known = caches.get(kv) ?? new Map<string, Cache>();
	caches.set(kv, known);
	const cache = known.get(prefix) ?? { leaves: new Map(), search: {}, vectors: {} };
	known.set(prefix, cache);
	return cache;
}
