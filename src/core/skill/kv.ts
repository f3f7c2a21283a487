import * as v from 'valibot';
import { toMessageText } from '../errors.ts';
import { withTimeLimit } from '../time-limit.ts';
import { type FullText, readFullText, type Scored } from './full-text.ts';
import {
	bodyKey,
	bodySchema,
	type Entry,
	indexKey,
	noSkills,
	readSkillSet,
	type SkillSet,
	searchKey,
	searchSchema,
	vectorsKey,
} from './kv-index.ts';
import { indexLine } from './list.ts';
import type { SkillResolver } from './resolver.ts';
import { type FoundSkill, scoreSkills } from './search.ts';
import type { Skill } from './skill.ts';
import { type ByMeaning, readVectors, vectorsSchema } from './vectors.ts';

/** The part of a Workers KV namespace that reading needs. */
export interface SkillStore {
	get(key: string, type: 'json'): Promise<unknown>;
}

/** What is wrong with published skills, or with reading them. */
export type SkillsProblem =
	| 'not_read'
	| 'index_invalid'
	| 'entry_invalid'
	| 'not_published'
	| 'text_missing'
	| 'not_searchable'
	| 'not_embedded';

export interface KvResolverOptions {
	/** In front of every key; `skill:`. */
	readonly prefix?: string;
	/** Serve only these skills, and list them whatever their number. */
	readonly names?: readonly string[];
	/** Characters of index that are listed whole; beyond them only `alwaysOn` is listed, as far as it fits, and the rest is searched. 4,000. */
	readonly listLimit?: number;
	/** Names that are listed first, however many skills there are. */
	readonly alwaysOn?: readonly string[];
	/** How long an isolate keeps the index; 60,000 ms, which is KV's own delay. */
	readonly cacheMs?: number;
	/** How long a read of KV may take; 5,000 ms. One that takes longer is skipped like one that failed. */
	readonly timeoutMs?: number;
	/**
	 * Makes the vector of a query by the named model, so that skills published with vectors (`npm run skills -- --embed MODEL`)
	 * are found by meaning. Missing, or failing, they are found by their words.
	 */
	readonly embedFn?: (model: string, texts: readonly string[]) => Promise<readonly (readonly number[])[]>;
	/**
	 * Told of what was skipped because it is missing or broken: in words that name the skill, by a name that may stand in
	 * any log, and by the skill's name where it is about one.
	 */
	readonly onProblem?: (message: string, problem: SkillsProblem, skill?: string) => void;
}

/**
 * Skills published to Workers KV by `npm run skills` (README, "Write a skill"), as one run sees them: make one resolver
 * a run.
 *
 * It keeps the index that it read first, so that a run sees one set of skills from its beginning to its end, whatever
 * is published meanwhile. That costs one read, and none while the isolate's copy is fresh; bodies are read when a model
 * asks, by content hash, and what a search needs by the first search. A search goes by meaning where there are vectors
 * and an `embedFn` (what has no vector by its words), else by full text, else by substring; `score` is the cosine, the
 * BM25 score or the substring score. What is missing or broken is skipped and reported, and never fails a turn.
 */
export function kvResolver(
	kv: SkillStore,
	{
		prefix = 'skill:',
		names,
		listLimit = 4_000,
		alwaysOn = [],
		cacheMs = 60_000,
		timeoutMs = 5_000,
		embedFn,
		onProblem = () => {},
	}: KvResolverOptions = {},
): SkillResolver {
	const cache = findCache(kv, prefix);
	const getJson = async (key: string): Promise<unknown> => {
		try {
			return await withTimeLimit(kv.get(key, 'json'), timeoutMs, 'KV');
		} catch (error) {
			onProblem(`${key}: could not be read from KV (${toMessageText(error)}).`, 'not_read');
			return undefined;
		}
	};

	/** A failed read is not kept: the next run tries again, and meanwhile the last good index serves. */
	const readIndex = async (maxAgeMs: number): Promise<SkillSet | undefined> => {
		const { index: cached } = cache;
		if (cached !== undefined && Date.now() < cached.readAt + maxAgeMs) return cached.set;
		const key = indexKey(prefix);
		const json = await getJson(key);
		if (json === undefined) return cached?.set;
		const set =
			json === null
				? noSkills
				: readSkillSet(json, (message, skill) => onProblem(`${key}: ${message}`, 'entry_invalid', skill));
		if (set === undefined)
			onProblem(`${key}: not an index that this version reads. Publish again: npm run skills.`, 'index_invalid');
		else cache.index = { set, readAt: Date.now() };
		return set ?? cached?.set;
	};

	const toView = (set: SkillSet): View => {
		const pick = (wanted: readonly string[]) => [...new Set(wanted)].flatMap((name) => set.byName.get(name) ?? []);
		const served = names === undefined ? set.entries : pick(names);
		const missing = names?.filter((name) => !set.byName.has(name)) ?? [];
		for (const name of missing)
			onProblem(`Not published: ${name}. Mend the name, or publish: npm run skills.`, 'not_published', name);
		const all = names !== undefined || set.length <= listLimit;
		const byName = names === undefined ? set.byName : new Map(served.map((entry) => [entry.name, entry]));
		return { set, served, byName, listed: all ? served : selectFitting(pick(alwaysOn), listLimit) };
	};

	let view: Promise<View> | undefined;
	const begin = (): Promise<View> => {
		view ??= readIndex(cacheMs).then((set) => {
			if (set === undefined) view = undefined;
			return toView(set ?? noSkills);
		});
		return view;
	};

	const withBody = async (entry: Entry | undefined): Promise<Skill | 'no text' | undefined> => {
		if (entry === undefined) return undefined;
		const body = v.safeParse(bodySchema, await getJson(bodyKey(prefix, entry.hash)));
		return body.success ? { ...toSkill(entry), ...body.output } : 'no text';
	};

	/** A document beside the index, parsed once an isolate. */
	const load = async <T>(slot: Slot<T>, key: string, parse: (json: unknown) => T): Promise<T | undefined> => {
		if (slot.loaded?.key === key) return slot.loaded.value;
		const json = await getJson(key);
		if (json === undefined) return undefined;
		try {
			slot.loaded = { key, value: parse(json) };
			return slot.loaded.value;
		} catch (error) {
			onProblem(
				`${key}: cannot be searched (${toMessageText(error)}). Publish again: npm run skills.`,
				'not_searchable',
			);
			return undefined;
		}
	};
	const searchDocument = ({ set: { search } }: View): Promise<SearchDocument | undefined> | undefined =>
		search === undefined ? undefined : load(cache.search, searchKey(prefix, search), parseSearch);

	const byMeaning = async (
		{ set: { vectors }, byName }: View,
		query: string,
		byWords: readonly Scored[],
	): Promise<readonly Scored[] | undefined> => {
		if (vectors === undefined || embedFn === undefined) return undefined;
		const loaded = await load(cache.vectors, vectorsKey(prefix, vectors.hash), parseVectors);
		if (loaded === undefined) return undefined;
		try {
			const [vector = []] = await embedFn(vectors.model, [query]);
			return mergeRankings(
				loaded.find(vector, (name) => byName.has(name)),
				byWords,
				loaded.names,
			);
		} catch (error) {
			onProblem(`Searched by words, not by meaning: ${toMessageText(error)}`, 'not_embedded');
			return undefined;
		}
	};

	return {
		listFn: async () => (await begin()).listed,
		moreFn: async () => {
			// Without an index there is nothing to count, and asking KV again is for the next turn.
			const { served, listed } = (await view) ?? { served: [], listed: [] };
			return served.length - listed.length;
		},
		readFn: async (name) => {
			const found = await withBody((await begin()).byName.get(name));
			if (found !== 'no text') return found;
			// Its text is gone, so the run's index is older than what publishing keeps: the newest one knows the newest text.
			const latest = await withBody(toView((await readIndex(0)) ?? noSkills).byName.get(name));
			if (latest !== 'no text') return latest;
			onProblem(`${name}: its text is not in KV. Publish again: npm run skills.`, 'text_missing', name);
			return undefined;
		},
		findFn: async (name) => {
			const entry = (await begin()).byName.get(name);
			return entry && toSkill(entry);
		},
		hasFiles: true,
		searchFn: async (query, { limit = 10, minScore = 0 } = {}): Promise<FoundSkill[]> => {
			if (query.trim() === '') return [];
			const current = await begin();
			const document = await searchDocument(current);
			const byWords =
				document?.find(query, (name) => current.byName.has(name)) ??
				scoreSkills(current.served, query).map(({ skill, score }): Scored => [skill.name, score]);
			const found = (await byMeaning(current, query, byWords)) ?? byWords;
			return found
				.filter(([, score]) => score >= minScore)
				.flatMap(([name, score]) => {
					const entry = current.byName.get(name);
					if (entry === undefined) return [];
					return [{ ...toSkill(entry), description: document?.descriptions[name] ?? entry.description, score }];
				})
				.slice(0, Math.max(0, limit));
		},
	};
}

/** What one run sees of a set. */
interface View {
	readonly set: SkillSet;
	readonly served: readonly Entry[];
	readonly byName: ReadonlyMap<string, Entry>;
	readonly listed: readonly Entry[];
}

function toSkill({ 'allowed-tools': allowed, ...skill }: Entry): Skill {
	return allowed === undefined ? skill : { ...skill, frontMatter: { 'allowed-tools': allowed } };
}

/** As many as have room, in their order. */
function selectFitting(entries: readonly Entry[], limit: number): Entry[] {
	let room = limit;
	return entries.filter((entry) => {
		room -= indexLine(entry).length + 1;
		return room >= 0;
	});
}

interface SearchDocument {
	readonly find: FullText;
	readonly descriptions: Readonly<Record<string, string>>;
}

function parseSearch(json: unknown): SearchDocument {
	const { index, descriptions = {} } = v.parse(searchSchema, json);
	return { find: readFullText(index), descriptions };
}

interface VectorsDocument {
	readonly find: ByMeaning;
	readonly names: ReadonlySet<string>;
}

function parseVectors(json: unknown): VectorsDocument {
	const vectors = v.parse(vectorsSchema, json);
	return { find: readVectors(vectors), names: new Set(vectors.names) };
}

/** Skills put over HTTP have no vector: they are found by their words, the best word score counting as the best cosine. */
function mergeRankings(
	byMeaning: readonly Scored[],
	byWords: readonly Scored[],
	hasVector: ReadonlySet<string>,
): Scored[] {
	const [[, bestCosine] = ['', 1]] = byMeaning;
	const [[, bestWords] = ['', 1]] = byWords;
	const more = byWords.flatMap(([name, score]): Scored[] =>
		hasVector.has(name) ? [] : [[name, (score / bestWords) * bestCosine]],
	);
	return [...more, ...byMeaning].sort(([, a], [, b]) => b - a);
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
