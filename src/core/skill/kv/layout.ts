import * as v from 'valibot';
import { hashSecurely } from '../../base/bytes.ts';
import { explain } from '../../base/check.ts';
import { indexLine } from '../resolver.ts';

/**
 * The layout of published skills in Workers KV. One index lists all skills, or the shards of a large set (shards.ts).
 * The key of every other value is a hash of the value, so a value never changes. Readers follow the index, so writing
 * the index once publishes a whole set.
 */

/** The default prefix of all keys. */
export const defaultPrefix = 'skill:';

export const indexKey = (prefix: string): string => `${prefix}index`;
export const retiredKey = (prefix: string): string => `${prefix}retired`;
export const bodyKey = (prefix: string, hash: string): string => `${prefix}body:${hash}`;
export const searchKey = (prefix: string, hash: string): string => `${prefix}search:${hash}`;
export const vectorsKey = (prefix: string, hash: string): string => `${prefix}vectors:${hash}`;
export const leafKey = (prefix: string, hash: string): string => `${prefix}leaf:${hash}`;
export const wordsKey = (prefix: string, hash: string): string => `${prefix}words:${hash}`;
export const recentKey = (prefix: string, hash: string): string => `${prefix}recent:${hash}`;

/** The maximum size of a value in bytes: https://developers.cloudflare.com/kv/platform/limits/ */
export const maxValueBytes = 25 * 1024 * 1024;

/** A skill in the index. */
const entrySchema = v.object({
	name: v.string(),
	/** In a large index of an older version, the description is cut and ends with `…`. The search document has it whole. */
	description: v.string(),
	when: v.optional(v.array(v.string())),
	modalities: v.optional(v.array(v.string())),
	requires: v.optional(v.array(v.string())),
	'allowed-tools': v.optional(v.string()),
	/** The hash in the key of the skill's text and files (`bodyKey`). */
	hash: v.string(),
	/** The paths of the skill's files. */
	files: v.optional(v.array(v.string())),
	/** In a set with shards: another skill has the same text under the same key. */
	shared: v.optional(v.boolean()),
});

export type Entry = v.InferOutput<typeof entrySchema>;

/** The hash in the key of the vectors (`vectorsKey`), and the model that made the vectors. */
const namedVectors = v.optional(v.object({ hash: v.string(), model: v.string() }));

/** The value under `indexKey`. Entries are parsed one by one, so a broken entry does not hide the others. */
const indexSchema = v.object({
	version: v.literal(1),
	/** The hash in the key of the search document (`searchKey`). */
	search: v.optional(v.string()),
	vectors: namedVectors,
	skills: v.array(v.unknown()),
});

/** The value under `indexKey` of a set with shards. Its size hardly depends on the number of skills. */
const shardsSchema = v.object({
	version: v.literal(2),
	/** The number of skills, and the number of characters in a listing of all. */
	count: v.number(),
	length: v.number(),
	/** The sum of the lengths of each searched field. */
	lengths: v.array(v.number()),
	/** The number of changes since the shards were built. */
	at: v.number(),
	/** The entries in the order of their names: the name from which a leaf has the skills, and its hash (`leafKey`). */
	leaves: v.array(v.tuple([v.string(), v.string()])),
	/** The search: the hash of each shard of words (`wordsKey`), and the last change that the shard has. */
	words: v.array(v.tuple([v.string(), v.number()])),
	/** The hash of the changes that some shards of words do not have yet (`recentKey`). */
	recent: v.optional(v.string()),
	vectors: namedVectors,
});

export type Shards = v.InferOutput<typeof shardsSchema>;

/** The whole texts of cut descriptions, which the search document of an older version has. */
export const descriptionsSchema = v.object({ descriptions: v.optional(v.record(v.string(), v.string())) });

/** The value under `bodyKey`. */
export const bodySchema = v.object({
	body: v.string(),
	files: v.optional(v.record(v.string(), v.string())),
	/** The SKILL.md keys that are not in the index. Present only for skills that were written over HTTP. */
	frontMatter: v.optional(v.record(v.string(), v.unknown())),
});

/** The value under `vectorsKey`: one vector for each skill, all from one embedding model. Each number is a byte. */
export const vectorsSchema = v.object({
	model: v.string(),
	names: v.array(v.string()),
	/** For each name, the hash of the text that was embedded. */
	texts: v.array(v.string()),
	/** All vectors, one after the other, as signed bytes in base64. */
	values: v.string(),
});

/** One set of skills, published together. */
export interface SkillSet {
	/** Empty if the set has shards. */
	readonly entries: readonly Entry[];
	readonly byName: ReadonlyMap<string, Entry>;
	readonly count: number;
	/** The number of characters in a listing of the whole set. */
	readonly length: number;
	readonly shards?: Shards;
	readonly search?: string;
	readonly vectors?: { readonly hash: string; readonly model: string };
}

export const noSkills: SkillSet = { entries: [], byName: new Map(), count: 0, length: 0 };

/** Called for a broken or duplicate entry. */
export type OnBroken = (message: string, skill?: string) => void;

/** Reads the JSON of an index. Returns `undefined` for other JSON. Skips and reports broken and duplicate entries. */
export function readSkillSet(json: unknown, onProblem: OnBroken = () => {}): SkillSet | undefined {
	const sharded = v.safeParse(shardsSchema, json);
	if (sharded.success) {
		const { count, length, vectors } = sharded.output;
		return { ...noSkills, count, length, vectors, shards: sharded.output };
	}
	const index = v.safeParse(indexSchema, json);
	if (!index.success) return undefined;
	const { search, vectors, skills } = index.output;
	const byName = readEntries(skills, onProblem);
	const entries = [...byName.values()];
	const length = entries.reduce((sum, entry) => sum + measureEntry(entry), 0);
	return { entries, byName, count: entries.length, length, search, vectors };
}

/** Returns the number of characters of an entry in a listing. */
export function measureEntry(entry: Entry): number {
	return indexLine(entry).length + 1;
}

const namedSchema = v.object({ name: v.string() });

/** Reads a list of entries. Skips and reports broken and duplicate entries. */
export function readEntries(items: readonly unknown[], onProblem: OnBroken = () => {}): Map<string, Entry> {
	const byName = new Map<string, Entry>();
	for (const item of items) {
		const { success, output, issues } = v.safeParse(entrySchema, item);
		if (!success) {
			const named = v.safeParse(namedSchema, item);
			const name = named.success ? named.output.name : undefined;
			const which = name === undefined ? 'an entry without a name' : `the entry of ${name}`;
			onProblem(`skipped ${which} (${explain(issues, 'entry').message}).`, name);
		} else if (byName.has(output.name)) onProblem(`skipped the second ${output.name}.`, output.name);
		else byName.set(output.name, output);
	}
	return byName;
}

/** Reads the text of an index. Any other text counts as an empty set. */
export function parseSkillSet(text: string | null): SkillSet {
	return readSkillSet(parseJson(text)) ?? noSkills;
}

/** Returns all keys to which the index of a set refers. The leaves of a set with shards refer to further keys. */
export function listNamedKeys(
	prefix: string,
	{ entries, search, shards, vectors = shards?.vectors }: Omit<SkillSet, 'byName' | 'count' | 'length'>,
): Set<string> {
	const keys = entries.map(({ hash }) => bodyKey(prefix, hash));
	if (search !== undefined) keys.push(searchKey(prefix, search));
	if (vectors !== undefined) keys.push(vectorsKey(prefix, vectors.hash));
	for (const [, hash] of shards?.leaves ?? []) keys.push(leafKey(prefix, hash));
	for (const [hash] of shards?.words ?? []) keys.push(wordsKey(prefix, hash));
	if (shards?.recent !== undefined) keys.push(recentKey(prefix, shards.recent));
	return new Set(keys);
}

/** Returns a set without shards with its whole descriptions. Returns a set with shards as it is. */
export async function readWholeSet(
	kv: { get(key: string, type: 'json'): Promise<unknown> },
	prefix: string,
	set: SkillSet,
): Promise<SkillSet> {
	const { entries, search } = set;
	if (search === undefined || !entries.some(({ description }) => description.endsWith('…'))) return set;
	const byName = new Map(set.byName);
	const document = v.safeParse(descriptionsSchema, await kv.get(searchKey(prefix, search), 'json'));
	for (const [name, description] of Object.entries((document.success && document.output.descriptions) || {})) {
		const entry = byName.get(name);
		if (entry !== undefined) byName.set(name, { ...entry, description });
	}
	return { ...set, entries: [...byName.values()], byName };
}

export type Vectors = v.InferOutput<typeof vectorsSchema>;

/** Returns the vectors of a set, or `undefined` if they are missing or unreadable. */
export async function readStoredVectors(
	kv: { get(key: string): Promise<string | null> },
	prefix: string,
	{ vectors }: SkillSet,
): Promise<Vectors | undefined> {
	if (vectors === undefined) return undefined;
	const stored = v.safeParse(vectorsSchema, parseJson(await kv.get(vectorsKey(prefix, vectors.hash))));
	return stored.success ? stored.output : undefined;
}

/** Returns the first 128 bits of a text's SHA-256, in hexadecimal digits. */
export async function hashContent(text: string): Promise<string> {
	return (await hashSecurely(text)).slice(0, 32);
}

/** Parses stored JSON. Returns `undefined` for anything else. */
export function parseJson(text: string | null): unknown {
	try {
		return text === null ? undefined : JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** The part of a Workers KV namespace that reading skills needs. */
export interface SkillStore {
	get(key: string, type: 'json'): Promise<unknown>;
}

/** The part of a Workers KV namespace that publishing skills needs. */
export interface SkillsNamespace extends SkillStore {
	get(key: string, type: 'json'): Promise<unknown>;
	get(key: string): Promise<string | null>;
	list(options: { readonly prefix: string; readonly cursor?: string }): Promise<KeyPage>;
	put(key: string, value: string): Promise<void>;
	delete(key: string): Promise<void>;
}

/** At most a thousand keys. `cursor` is set if more keys follow. */
interface KeyPage {
	readonly keys: readonly { readonly name: string }[];
	readonly cursor?: string;
}

/** KV for publishing: writes and deletes many entries at once. */
export interface SkillsKv {
	get(key: string): Promise<string | null>;
	list(prefix: string): Promise<readonly string[]>;
	put(entries: readonly Put[]): Promise<void>;
	delete(keys: readonly string[]): Promise<void>;
}

export type Put = readonly [key: string, value: string];

const putsAtOnce = 24;

/** Adapts a namespace, which accepts one entry at a time. */
export function toSkillsKv(namespace: SkillsNamespace): SkillsKv {
	return {
		get: (key) => namespace.get(key),
		list: async (prefix) => {
			const names: string[] = [];
			let cursor: string | undefined;
			do {
				const page: KeyPage = await namespace.list({ prefix, cursor });
				names.push(...page.keys.map(({ name }) => name));
				({ cursor } = page);
			} while (cursor !== undefined);
			return names;
		},
		put: async (entries) => {
			for (let from = 0; from < entries.length; from += putsAtOnce)
				await Promise.all(entries.slice(from, from + putsAtOnce).map(([key, value]) => namespace.put(key, value)));
		},
		delete: async (keys) => {
			for (const key of keys) await namespace.delete(key);
		},
	};
}
