import { toMessageText } from '../../ground/errors.ts';
import type { SkillResolver } from '../resolver.ts';
import { type FoundSkill, indexLine, type SearchOptions, scoreSkills } from '../resolver.ts';
import type { Skill } from '../skill.ts';
import { createDocuments, type Documents, type OnProblem } from './documents.ts';
import type { SkillStore } from './layout.ts';
import { defaultPrefix, type Entry, noSkills, type SkillSet } from './layout.ts';
import type { Scored } from './search.ts';

/** Makes the vectors of texts by the named model. */
type EmbedTexts = (model: string, texts: readonly string[]) => Promise<readonly (readonly number[])[]>;

export interface KvResolverOptions {
	/** In front of every key; `skill:`. */
	readonly prefix?: string;
	/** Serves only these skills, and lists them whatever their number. */
	readonly names?: readonly string[];
	/** Characters of index that are listed whole; 4,000. Beyond them only `alwaysOn` is listed, as far as it fits, and the rest is searched. */
	readonly listLimit?: number;
	/** Names that are listed first, however many skills there are. */
	readonly alwaysOn?: readonly string[];
	/** How long an isolate keeps the index; 60,000 ms, which is KV's own delay. */
	readonly cacheMs?: number;
	/** How long a read of KV may take; 5,000 ms. One that takes longer is skipped like one that failed. */
	readonly timeoutMs?: number;
	/**
	 * Makes the vector of a query, so that skills published with vectors (`npm run skills -- --embed MODEL`) are found by
	 * meaning. Without it, or when it fails, they are found by their words.
	 */
	readonly embedFn?: EmbedTexts;
	readonly onProblem?: OnProblem;
}

/**
 * Skills published to Workers KV by `npm run skills` (docs/skills.md), as one run sees them: make one resolver a run.
 *
 * It keeps the index that it read first, so that a run sees one set of skills from its beginning to its end, whatever is
 * published meanwhile. That costs one read, and none while the isolate's copy is fresh. Bodies are read when a model
 * asks, by content hash, and what a search needs by the first search. A search goes by meaning when there are vectors and
 * an `embedFn` (what has no vector by its words), else by full text, else by substring; `score` is the cosine, the BM25
 * score or the substring score. What is missing or broken is skipped and reported, and never fails a turn.
 */
export function kvResolver(
	kv: SkillStore,
	{
		prefix = defaultPrefix,
		names,
		listLimit = 4_000,
		alwaysOn = [],
		cacheMs = 60_000,
		timeoutMs = 5_000,
		embedFn,
		onProblem = () => {},
	}: KvResolverOptions = {},
): SkillResolver {
	const documents = createDocuments(kv, { prefix, timeoutMs, onProblem });

	const toView = (set: SkillSet): View => {
		const pick = (wanted: readonly string[]) => [...new Set(wanted)].flatMap((name) => set.byName.get(name) ?? []);
		const served = names === undefined ? set.entries : pick(names);
		const missing = names?.filter((name) => !set.byName.has(name)) ?? [];
		for (const name of missing)
			onProblem(`Not published: ${name}. Mend the name, or publish: npm run skills.`, 'not_published', name);
		const isWhole = names !== undefined || set.length <= listLimit;
		const byName = names === undefined ? set.byName : new Map(served.map((entry) => [entry.name, entry]));
		return { set, served, byName, listed: isWhole ? served : selectFitting(pick(alwaysOn), listLimit) };
	};

	let view: Promise<View> | undefined;
	const begin = (): Promise<View> => {
		view ??= documents.readIndex(cacheMs).then((set) => {
			if (set === undefined) view = undefined;
			return toView(set ?? noSkills);
		});
		return view;
	};

	return {
		listFn: async () => (await begin()).listed.map(toSkill),
		moreFn: async () => {
			// Without an index there is nothing to count, and asking KV again is for the next turn.
			const { served, listed } = (await view) ?? { served: [], listed: [] };
			return served.length - listed.length;
		},
		readFn: async (name) => {
			const entry = (await begin()).byName.get(name);
			if (entry === undefined) return undefined;
			const body = await documents.readBody(entry.hash);
			if (body !== undefined) return { ...toSkill(entry), ...body };
			// Its text is gone, so the run's index is older than what publishing keeps: the newest one knows the newest text.
			const latest = toView((await documents.readIndex(0)) ?? noSkills).byName.get(name);
			if (latest === undefined) return undefined;
			const text = await documents.readBody(latest.hash);
			if (text !== undefined) return { ...toSkill(latest), ...text };
			onProblem(`${name}: its text is not in KV. Publish again: npm run skills.`, 'text_missing', name);
			return undefined;
		},
		findFn: async (name) => {
			const entry = (await begin()).byName.get(name);
			return entry && toSkill(entry);
		},
		hasFiles: true,
		searchFn: async (query, options) =>
			query.trim() === '' ? [] : search(documents, await begin(), query, { embedFn, onProblem, ...options }),
	};
}

/** What one run sees of a set. */
interface View {
	readonly set: SkillSet;
	readonly served: readonly Entry[];
	readonly byName: ReadonlyMap<string, Entry>;
	readonly listed: readonly Entry[];
}

interface Searching extends SearchOptions {
	readonly embedFn?: EmbedTexts;
	readonly onProblem: OnProblem;
}

async function search(
	documents: Documents,
	view: View,
	query: string,
	{ limit = 10, minScore = 0, embedFn, onProblem }: Searching,
): Promise<FoundSkill[]> {
	const { served, byName, set } = view;
	const document = set.search === undefined ? undefined : await documents.readSearch(set.search);
	const byWords =
		document?.find(query, (name) => byName.has(name)) ??
		scoreSkills(served, query).map(({ skill, score }): Scored => [skill.name, score]);
	const byMeaning = embedFn && (await searchByMeaning(documents, view, query, byWords, { embedFn, onProblem }));
	return (byMeaning ?? byWords)
		.filter(([, score]) => score >= minScore)
		.flatMap(([name, score]) => {
			const entry = byName.get(name);
			if (entry === undefined) return [];
			return [{ ...toSkill(entry), description: document?.descriptions[name] ?? entry.description, score }];
		})
		.slice(0, Math.max(0, limit));
}

/** Returns `undefined` when there are no vectors, or when the query has none. */
async function searchByMeaning(
	documents: Documents,
	{ set: { vectors }, byName }: View,
	query: string,
	byWords: readonly Scored[],
	{ embedFn, onProblem }: { readonly embedFn: EmbedTexts; readonly onProblem: OnProblem },
): Promise<readonly Scored[] | undefined> {
	const loaded = vectors && (await documents.readVectors(vectors.hash));
	if (vectors === undefined || loaded === undefined) return undefined;
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

function toSkill({ 'allowed-tools': allowed, hash: _, files: __, ...skill }: Entry): Skill {
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
