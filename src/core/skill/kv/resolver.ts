import { toMessageText } from '../../base/errors.ts';
import type { SkillResolver } from '../resolver.ts';
import { type FoundSkill, indexLine, type SearchOptions, scoreSkills } from '../resolver.ts';
import type { Skill } from '../skill.ts';
import { createDocuments, type Documents, type OnProblem } from './documents.ts';
import type { SkillStore } from './layout.ts';
import { defaultPrefix, type Entry, noSkills, type SkillSet } from './layout.ts';
import type { Scored } from './search.ts';

/** Computes the vectors of texts with the named model. */
type EmbedTexts = (model: string, texts: readonly string[]) => Promise<readonly (readonly number[])[]>;

export interface KvResolverOptions {
	/** The prefix of all keys. The default is `skill:`. */
	readonly prefix?: string;
	/** Serves only these skills, and lists all of them. */
	readonly names?: readonly string[];
	/**
	 * The maximum length of a full listing in characters. The default is 4,000. If a full listing is longer, only the
	 * skills of `alwaysOn` are listed, as many as fit. The model finds the other skills by a search.
	 */
	readonly listLimit?: number;
	/** The names of skills that are always listed. */
	readonly alwaysOn?: readonly string[];
	/** How long an isolate caches the index, in milliseconds. The default is 60,000, the same as the delay of KV. */
	readonly cacheMs?: number;
	/** The time limit for each read of KV, in milliseconds. The default is 5,000. A slower read fails. */
	readonly timeoutMs?: number;
	/**
	 * Computes the vector of a query, for a search by meaning in skills with vectors (`npm run skills -- --embed
	 * MODEL`). If the function is missing or fails, the search compares words.
	 */
	readonly embedFn?: EmbedTexts;
	readonly onProblem?: OnProblem;
}

/**
 * Resolves skills in Workers KV for one run (docs/skills.md). Make a new resolver for each run.
 *
 * It keeps its first index, so a run sees one set of skills even if another set is published. The index costs one read,
 * or none while the isolate's copy is fresh. Texts and search documents are read when they are needed. If
 * there are vectors and an `embedFn`, a search compares vectors, and it compares words for skills without a vector.
 * Otherwise a search uses the full text index, or looks for substrings if there is no such index. `score` is the
 * cosine, the BM25 score or the substring score. Missing and broken skills are reported, and never make a turn fail.
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

	const toView = async (set: SkillSet): Promise<View> => {
		const pick = async (wanted: readonly string[]) => {
			const found = await Promise.all([...new Set(wanted)].map((name) => documents.findEntry(set, name)));
			// The next turn tries again to read what could not be read.
			if (found.includes(null)) view = undefined;
			return new Map(found.flatMap((entry) => (entry ? [[entry.name, entry]] : [])));
		};
		const chosen = names && (await pick(names));
		const missing = names?.filter((name) => !chosen?.has(name)) ?? [];
		for (const name of missing)
			onProblem(`Not published: ${name}. Mend the name, or publish: npm run skills.`, 'not_published', name);
		const count = chosen?.size ?? set.count;
		if (chosen !== undefined) return { set, chosen, count, listed: [...chosen.values()] };
		if (set.shards === undefined && set.length <= listLimit) return { set, count, listed: set.entries };
		return { set, count, listed: selectFitting([...(await pick(alwaysOn)).values()], listLimit) };
	};
	/** Finds a skill that the run may use. Returns `null` if this cannot be known. */
	const find = async ({ set, chosen }: View, name: string) =>
		chosen === undefined ? documents.findEntry(set, name) : chosen.get(name);

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
			// Without an index, the number of unlisted skills is unknown. The next turn tries to read the index again.
			const { count, listed } = (await view) ?? { count: 0, listed: [] };
			return count - listed.length;
		},
		readFn: async (name) => {
			const entry = await find(await begin(), name);
			if (entry === undefined) return undefined;
			const body = entry && (await documents.readBody(entry.hash));
			if (entry && body) return { ...toSkill(entry), ...body };
			// The text was deleted, so the run's index is too old. The newest index names the newest text.
			const latest = await find(await toView((await documents.readIndex(0)) ?? noSkills), name);
			if (latest === undefined) return undefined;
			const text = latest && (await documents.readBody(latest.hash));
			if (latest && text) return { ...toSkill(latest), ...text };
			onProblem(`${name}: its text is not in KV. Publish again: npm run skills.`, 'text_missing', name);
			return undefined;
		},
		findFn: async (name) => {
			const entry = await find(await begin(), name);
			return entry ? toSkill(entry) : undefined;
		},
		hasFiles: true,
		searchFn: async (query, options) =>
			query.trim() === '' ? [] : search(documents, await begin(), query, { embedFn, onProblem, ...options }),
	};
}

/** The skills of a set that are available to one run. */
interface View {
	readonly set: SkillSet;
	/** Only these skills are available. If it is missing, all of the set are. */
	readonly chosen?: ReadonlyMap<string, Entry>;
	/** The number of available skills. */
	readonly count: number;
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
	const { set, chosen } = view;
	const known = chosen ?? (set.shards === undefined ? set.byName : undefined);
	const isServed = (name: string) => known === undefined || known.has(name);
	const document = await readDocument(documents, set, query);
	const byWords =
		document?.find(query, isServed) ??
		scoreSkills([...(known?.values() ?? [])], query).map(({ skill, score }): Scored => [skill.name, score]);
	const byMeaning =
		embedFn && (await searchByMeaning(documents, { set, isServed }, query, byWords, { embedFn, onProblem }));
	const best = (byMeaning ?? byWords).filter(([, score]) => score >= minScore).slice(0, Math.max(0, limit));
	const found = best.map(async ([name, score]) => {
		const entry = known === undefined ? await documents.findEntry(set, name) : known.get(name);
		if (!entry) return [];
		return [{ ...toSkill(entry), description: document?.descriptions[name] ?? entry.description, score }];
	});
	return (await Promise.all(found)).flat();
}

async function readDocument(documents: Documents, { shards, search }: SkillSet, query: string) {
	if (shards !== undefined) return documents.readShards(shards, query);
	return search === undefined ? undefined : documents.readSearch(search);
}

/** Finds skills by meaning. Returns `undefined` if there are no vectors, or if the query has no vector. */
async function searchByMeaning(
	documents: Documents,
	{ set: { vectors }, isServed }: { readonly set: SkillSet; readonly isServed: (name: string) => boolean },
	query: string,
	byWords: readonly Scored[],
	{ embedFn, onProblem }: { readonly embedFn: EmbedTexts; readonly onProblem: OnProblem },
): Promise<readonly Scored[] | undefined> {
	const loaded = vectors && (await documents.readVectors(vectors.hash));
	if (vectors === undefined || loaded === undefined) return undefined;
	try {
		const [vector = []] = await embedFn(vectors.model, [query]);
		return mergeRankings(loaded.find(vector, isServed), byWords, loaded.names);
	} catch (error) {
		onProblem(`Searched by words, not by meaning: ${toMessageText(error)}`, 'not_embedded');
		return undefined;
	}
}

/** Merges both rankings. A skill without a vector is ranked by its word score, scaled to the best cosine. */
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

function toSkill({ 'allowed-tools': allowed, hash: _, files: __, shared: ___, ...skill }: Entry): Skill {
	return allowed === undefined ? skill : { ...skill, frontMatter: { 'allowed-tools': allowed } };
}

/** Selects the first entries that fit into the limit. */
function selectFitting(entries: readonly Entry[], limit: number): Entry[] {
	let room = limit;
	return entries.filter((entry) => {
		room -= indexLine(entry).length + 1;
		return room >= 0;
	});
}
