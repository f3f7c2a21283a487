import * as v from 'valibot';
import { explain } from '../../base/check.ts';
import { indexLine } from '../resolver.ts';

/**
 * The layout of published skills in Workers KV. One index lists all skills. The key of every other value is a hash of
 * the value, so a value never changes. Readers follow the index, so writing the index once publishes a whole set.
 */

/** The default prefix of all keys. */
export const defaultPrefix = 'skill:';

export const indexKey = (prefix: string): string => `${prefix}index`;
export const retiredKey = (prefix: string): string => `${prefix}retired`;
export const bodyKey = (prefix: string, hash: string): string => `${prefix}body:${hash}`;
export const searchKey = (prefix: string, hash: string): string => `${prefix}search:${hash}`;
export const vectorsKey = (prefix: string, hash: string): string => `${prefix}vectors:${hash}`;

/** The maximum size of a value in bytes: https://developers.cloudflare.com/kv/platform/limits/ */
export const maxValueBytes = 25 * 1024 * 1024;

/** A skill in the index. */
const entrySchema = v.object({
	name: v.string(),
	/** In a very large index, the description is cut and ends with `…`. The search document has the whole text. */
	description: v.string(),
	when: v.optional(v.array(v.string())),
	modalities: v.optional(v.array(v.string())),
	requires: v.optional(v.array(v.string())),
	'allowed-tools': v.optional(v.string()),
	/** The hash in the key of the skill's text and files (`bodyKey`). */
	hash: v.string(),
	/** The paths of the skill's files. */
	files: v.optional(v.array(v.string())),
});

export type Entry = v.InferOutput<typeof entrySchema>;

/** The value under `indexKey`. Entries are parsed one by one, so a broken entry does not hide the others. */
const indexSchema = v.object({
	version: v.literal(1),
	/** The hash in the key of the search document (`searchKey`). */
	search: v.optional(v.string()),
	/** The hash in the key of the vectors (`vectorsKey`), and the model that made the vectors. */
	vectors: v.optional(v.object({ hash: v.string(), model: v.string() })),
	skills: v.array(v.unknown()),
});

/** The value under `searchKey`: the full text index, and the whole texts of cut descriptions. */
export const searchSchema = v.object({
	index: v.unknown(),
	descriptions: v.optional(v.record(v.string(), v.string())),
});

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
	readonly entries: readonly Entry[];
	readonly byName: ReadonlyMap<string, Entry>;
	/** The number of characters in a listing of the whole set. */
	readonly length: number;
	readonly search?: string;
	readonly vectors?: { readonly hash: string; readonly model: string };
}

export const noSkills: SkillSet = { entries: [], byName: new Map(), length: 0 };

const namedSchema = v.object({ name: v.string() });

/** Reads the JSON of an index. Returns `undefined` for other JSON. Skips and reports broken and duplicate entries. */
export function readSkillSet(
	json: unknown,
	onProblem: (message: string, skill?: string) => void = () => {},
): SkillSet | undefined {
	const index = v.safeParse(indexSchema, json);
	if (!index.success) return undefined;
	const byName = new Map<string, Entry>();
	for (const item of index.output.skills) {
		const { success, output, issues } = v.safeParse(entrySchema, item);
		if (!success) {
			const named = v.safeParse(namedSchema, item);
			const name = named.success ? named.output.name : undefined;
			const which = name === undefined ? 'an entry without a name' : `the entry of ${name}`;
			onProblem(`skipped ${which} (${explain(issues, 'entry').message}).`, name);
		} else if (byName.has(output.name)) onProblem(`skipped the second ${output.name}.`, output.name);
		else byName.set(output.name, output);
	}
	const { search, vectors } = index.output;
	const entries = [...byName.values()];
	const length = entries.reduce((sum, entry) => sum + indexLine(entry).length + 1, 0);
	return { entries, byName, length, search, vectors };
}

/** Reads the text of an index. Any other text counts as an empty set. */
export function parseSkillSet(text: string | null): SkillSet {
	return readSkillSet(parseJson(text)) ?? noSkills;
}

/** Returns all keys to which the index of a set refers. */
export function listNamedKeys(prefix: string, { entries, search, vectors }: SkillSet): Set<string> {
	const keys = entries.map(({ hash }) => bodyKey(prefix, hash));
	if (search !== undefined) keys.push(searchKey(prefix, search));
	if (vectors !== undefined) keys.push(vectorsKey(prefix, vectors.hash));
	return new Set(keys);
}

/** Returns the entries of a set with their whole descriptions. */
export async function readWholeEntries(
	kv: { get(key: string, type: 'json'): Promise<unknown> },
	prefix: string,
	{ entries, search }: SkillSet,
): Promise<Map<string, Entry>> {
	const byName = new Map(entries.map((entry) => [entry.name, entry]));
	if (search === undefined || !entries.some(({ description }) => description.endsWith('…'))) return byName;
	const document = v.safeParse(searchSchema, await kv.get(searchKey(prefix, search), 'json'));
	for (const [name, description] of Object.entries((document.success && document.output.descriptions) || {})) {
		const entry = byName.get(name);
		if (entry !== undefined) byName.set(name, { ...entry, description });
	}
	return byName;
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
			for (const [key, value] of entries) await namespace.put(key, value);
		},
		delete: async (keys) => {
			for (const key of keys) await namespace.delete(key);
		},
	};
}
