import * as v from 'valibot';
import { toMessageText } from '../../ground/errors.ts';
import { withTimeLimit } from '../../ground/time-limit.ts';
import { type FullText, readFullText } from './full-text.ts';
import {
	bodyKey,
	bodySchema,
	indexKey,
	noSkills,
	readSkillSet,
	type SkillSet,
	searchKey,
	searchSchema,
	vectorsKey,
	vectorsSchema,
} from './layout.ts';
import type { SkillStore } from './store.ts';
import { type ByMeaning, readVectors } from './vectors.ts';

/** What is wrong with published skills, or with reading them. */
export type SkillsProblem =
	| 'not_read'
	| 'index_invalid'
	| 'entry_invalid'
	| 'not_published'
	| 'text_missing'
	| 'not_searchable'
	| 'not_embedded';

/**
 * Is told of what was skipped because it is missing or broken: in words that name the skill, by a name that may stand in
 * any log, and by the name of the skill that it is about.
 */
export type OnProblem = (message: string, problem: SkillsProblem, skill?: string) => void;

export interface DocumentsOptions {
	readonly prefix: string;
	/** How long a read of KV may take, in milliseconds. */
	readonly timeoutMs: number;
	readonly onProblem: OnProblem;
}

/** The published documents as an isolate reads them. What is missing or broken is `undefined`, and reported. */
export interface Documents {
	/** The index, read again when the isolate's copy is older. A failed read is not kept: the last good copy serves. */
	readonly readIndex: (maxAgeMs: number) => Promise<SkillSet | undefined>;
	/** A text with its files. Is not cached, and not reported when it is missing. */
	readonly readBody: (hash: string) => Promise<v.InferOutput<typeof bodySchema> | undefined>;
	/** Each parsed once an isolate. */
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
	const load = async <T>(slot: Slot<T>, key: string, parse: (json: unknown) => T): Promise<T | undefined> => {
		if (slot.loaded?.key === key) return slot.loaded.value;
		const json = await getJson(key);
		if (json === undefined) return undefined;
		try {
			slot.loaded = { key, value: parse(json) };
			return slot.loaded.value;
		} catch (error) {
			const why = toMessageText(error);
			onProblem(`${key}: cannot be searched (${why}). Publish again: npm run skills.`, 'not_searchable');
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
		readSearch: (hash) => load(cache.search, searchKey(prefix, hash), parseSearch),
		readVectors: (hash) => load(cache.vectors, vectorsKey(prefix, hash), parseVectors),
	};
}

function parseSearch(json: unknown): SearchDocument {
	const { index, descriptions = {} } = v.parse(searchSchema, json);
	return { find: readFullText(index), descriptions };
}

function parseVectors(json: unknown): VectorsDocument {
	const vectors = v.parse(vectorsSchema, json);
	return { find: readVectors(vectors), names: new Set(vectors.names) };
}

interface Slot<T> {
	loaded?: { readonly key: string; readonly value: T };
}

/** What an isolate has read of one published set: resolvers come and go with their runs. */
interface Cache {
	index?: { readonly set: SkillSet; readonly readAt: number };
	readonly search: Slot<SearchDocument>;
	readonly vectors: Slot<VectorsDocument>;
}

const caches = new WeakMap<SkillStore, Map<string, Cache>>();

function findCache(kv: SkillStore, prefix: string): Cache {
	const known = caches.get(kv) ?? new Map<string, Cache>();
	caches.set(kv, known);
	const cache = known.get(prefix) ?? { search: {}, vectors: {} };
	known.set(prefix, cache);
	return cache;
}
