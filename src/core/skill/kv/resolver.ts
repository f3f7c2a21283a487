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
			// Without an index, the number of unlisted skills is unknown. The next turn tries to read the index again.
			const { served, listed } = (await view) ?? { served: [], listed: [] };
			return served.length - listed.length;
		},
		readFn: async (name) => {
			const entry = (await begin()).byName.get(name);
			if (entry === undefined) return undefined;
			const body = await documents.readBody(entry.hash);
			if (body !== undefined) return { ...toSkill(entry), ...body };
			// The text was deleted, so the run's index is too old. The newest index names the newest text.
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

/** The skills of a set that are available to one run. */
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

/** Finds skills by meaning. Returns `undefined` if there are no vectors, or if the query has no vector. */
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

function toSkill({ 'allowed-tools': allowed, hash: _, files: __, ...skill }: Entry): Skill {
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
