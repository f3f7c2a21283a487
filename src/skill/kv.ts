import * as v from 'valibot';
import { explain } from '../check.ts';
import { messageOf } from '../errors.ts';
import { indexLine } from './list.ts';
import type { SkillResolver } from './resolver.ts';
import { searchSkillsOf } from './search.ts';
import type { Skill } from './skill.ts';

/** The part of a Workers KV namespace that reading needs. */
export interface SkillStore {
	get(key: string, type: 'json'): Promise<unknown>;
}

export interface KvResolverOptions {
	/** In front of every key; `skill:`. */
	readonly prefix?: string;
	/** Serve only these skills, and list them whatever their number. */
	readonly names?: readonly string[];
	/** Characters of index that are listed whole; beyond them only `alwaysOn` is listed and the rest is searched. 4,000. */
	readonly listLimit?: number;
	/** Names that are always listed, however many skills there are. */
	readonly alwaysOn?: readonly string[];
	/** How long an isolate keeps the index; 60,000 ms, which is KV's own delay. */
	readonly cacheMs?: number;
	/** Told of an entry that was skipped because it is missing or broken. */
	readonly onProblem?: (message: string) => void;
}

const entry = v.object({
	name: v.string(),
	description: v.string(),
	when: v.optional(v.array(v.string())),
	modalities: v.optional(v.array(v.string())),
	requires: v.optional(v.array(v.string())),
	'allowed-tools': v.optional(v.string()),
	hash: v.string(),
});
const indexSchema = v.object({ version: v.literal(1), skills: v.array(v.unknown()) });
const bodySchema = v.object({ body: v.string(), files: v.optional(v.record(v.string(), v.string())) });

type Entry = v.InferOutput<typeof entry>;

/**
 * Skills published to Workers KV by `npm run skills` (design.md, "Skills"). A turn costs one read, and none while the
 * isolate's copy of the index is fresh; bodies are read when a model asks, by content hash, so an index never shows
 * another version's text. What is missing or broken is skipped and reported, and never fails a turn.
 */
export function kvResolver(
	kv: SkillStore,
	{
		prefix = 'skill:',
		names,
		listLimit = 4_000,
		alwaysOn = [],
		cacheMs = 60_000,
		onProblem = () => {},
	}: KvResolverOptions = {},
): SkillResolver {
	const key = `${prefix}index`;
	const entries = async (maxAgeMs = cacheMs): Promise<readonly Entry[]> => {
		const cached = cachedIndex(kv, key);
		if (cached !== undefined && Date.now() < cached.readAt + maxAgeMs) return cached.entries;
		const read = await readIndex(kv, key, onProblem);
		// A failed read is not kept: the next turn tries again, and meanwhile the last good index serves.
		if (read === undefined) return cached?.entries ?? [];
		indexes.get(kv)?.set(key, { entries: read, readAt: Date.now() });
		return read;
	};
	const served = async (maxAgeMs?: number): Promise<readonly Entry[]> => {
		const all = await entries(maxAgeMs);
		return names === undefined ? all : all.filter(({ name }) => names.includes(name));
	};
	const read = async (name: string, maxAgeMs?: number): Promise<Skill | 'no text' | undefined> => {
		const found = (await served(maxAgeMs)).find((skill) => skill.name === name);
		if (found === undefined) return undefined;
		const body = v.safeParse(bodySchema, await getJson(kv, `${prefix}body:${found.hash}`, onProblem));
		return body.success ? { ...skillOf(found), ...body.output } : 'no text';
	};

	return {
		listFn: async () => {
			const all = await served();
			const missing = names?.filter((name) => !all.some((skill) => skill.name === name)) ?? [];
			if (missing.length > 0)
				onProblem(`Not published: ${missing.join(', ')}. Mend the name, or publish: npm run skills.`);
			if (names !== undefined) return all;
			const length = all.reduce((sum, skill) => sum + indexLine(skill).length + 1, 0);
			return length <= listLimit ? all : all.filter(({ name }) => alwaysOn.includes(name));
		},
		readFn: async (name) => {
			const found = await read(name);
			// Published again since the index was read: the new index knows the new text.
			const skill = found === 'no text' ? await read(name, 0) : found;
			if (skill !== 'no text') return skill;
			onProblem(`${name}: its text is not in KV. Publish again: npm run skills.`);
			return undefined;
		},
		findFn: async (name) => (await served()).map(skillOf).find((skill) => skill.name === name),
		hasFiles: true,
		searchFn: async (query, options): Promise<Skill[]> => searchSkillsOf(await served(), query, options),
	};
}

function skillOf({ 'allowed-tools': allowed, ...skill }: Entry): Skill {
	return allowed === undefined ? skill : { ...skill, frontMatter: { 'allowed-tools': allowed } };
}

interface CachedIndex {
	readonly entries: readonly Entry[];
	readonly readAt: number;
}

/** The indexes that this isolate has read, by namespace and key: resolvers come and go with their runs. */
const indexes = new WeakMap<SkillStore, Map<string, CachedIndex>>();

function cachedIndex(kv: SkillStore, key: string): CachedIndex | undefined {
	if (!indexes.has(kv)) indexes.set(kv, new Map());
	return indexes.get(kv)?.get(key);
}

async function readIndex(
	kv: SkillStore,
	key: string,
	onProblem: (message: string) => void,
): Promise<Entry[] | undefined> {
	const json = await getJson(kv, key, onProblem);
	if (json === null) return [];
	if (json === undefined) return undefined;
	const index = v.safeParse(indexSchema, json);
	if (!index.success) {
		onProblem(`${key}: not an index that this version reads. Publish again: npm run skills.`);
		return undefined;
	}
	return index.output.skills.flatMap((item) => {
		const parsed = v.safeParse(entry, item);
		if (parsed.success) return [parsed.output];
		onProblem(`${key}: skipped an entry (${explain(parsed.issues, 'entry').message}).`);
		return [];
	});
}

async function getJson(kv: SkillStore, key: string, onProblem: (message: string) => void): Promise<unknown> {
	try {
		return await kv.get(key, 'json');
	} catch (error) {
		onProblem(`${key}: could not be read from KV (${messageOf(error)}).`);
		return undefined;
	}
}
