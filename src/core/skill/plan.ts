import * as v from 'valibot';
import { hashContent } from './content-hash.ts';
import { writeFullText } from './full-text.ts';
import { bodyKey, type Entry, entrySchema, indexKey, indexSchema, searchKey, vectorsKey } from './kv-index.ts';
import { countBytes, maxValueBytes, type PublishedEntry, type ToPublish } from './publish.ts';
import type { Vectors } from './vectors.ts';

/** Why a skill is not published. `line` counts from 1; `file` is its path below the folder of all skills. */
export interface SkillProblem {
	readonly skill: string;
	readonly file: string;
	readonly message: string;
	readonly line?: number;
}

/** What stands in KV: the index and the record of what was retired, as text (`null` for none), and every key there is. */
export interface Stored {
	readonly index: string | null;
	readonly retired: string | null;
	readonly keys: readonly string[];
}

/** What is to stand there. */
export interface Wanted {
	readonly skills: readonly ToPublish[];
	readonly problems: readonly SkillProblem[];
	/** Entries that stay, with their whole descriptions; their texts are in KV. */
	readonly kept?: readonly PublishedEntry[];
	readonly vectors?: Vectors;
}

/**
 * What to write, in this order: `puts`, then `retired`, then `index`, then `deletes`. The one write of the index is what a
 * reader sees: before it the old set, after it the new one, each whole.
 */
export interface SkillsPlan {
	readonly puts: readonly Put[];
	/** Missing when it stands in KV already, as `index`. */
	readonly retired?: Put;
	readonly index?: Put;
	readonly deletes: readonly string[];
	/** Names of skills. One that has a problem is in none of these, and what KV has of it stays. */
	readonly published: readonly string[];
	readonly unchanged: readonly string[];
	readonly removed: readonly string[];
	readonly problems: readonly SkillProblem[];
}

export type Put = readonly [key: string, value: string];

export const toRetiredKey = (prefix: string): string => `${prefix}retired`;

/**
 * How long what an index no longer names is kept, in milliseconds: an hour. KV may serve an old index for a minute, and a
 * run keeps the one that it began with.
 */
export const keptMs = 60 * 60_000;

/** Some KV lists and reads may be older than a deletion: so long it is remembered that a key may be gone. */
const rememberedMs = keptMs + 10 * 60_000;

/** Beyond it descriptions are cut in the index: a reader parses it as a whole. */
const maxIndexBytes = 1_900_000;

const storedIndex = v.object({ ...indexSchema.entries, vectors: v.optional(v.unknown()) });
const storedRetired = v.object({ at: v.record(v.string(), v.number()) });

/** The difference between KV and the skills. Pure; an index that cannot be read counts as none. `now` is in milliseconds. */
export function planSkills(
	stored: Stored,
	{ skills, problems, kept: staying = [], vectors }: Wanted,
	{ prefix = 'skill:', now = Date.now() }: { readonly prefix?: string; readonly now?: number } = {},
): SkillsPlan {
	const { entries: before, named } = readIndex(stored.index, prefix);
	const failed = new Set(problems.map(({ skill }) => skill));
	const valid = new Set(skills.map(({ entry }) => entry.name));
	const kept = [...staying, ...[...before.values()].filter(({ name }) => failed.has(name) && !valid.has(name))];
	const entries = [...skills.map(({ entry }) => entry), ...kept].sort((a, b) => (a.name < b.name ? -1 : 1));
	const { listed, descriptions } = cut(entries);

	const wanted = new Map(skills.map(({ entry, body }) => [bodyKey(prefix, entry.hash), body]));
	const search = JSON.stringify({
		version: 1,
		...(descriptions && { descriptions }),
		index: JSON.parse(writeFullText(entries)),
	});
	const more = [...problems];
	const document = (value: string, key: typeof searchKey, what: string): string | undefined => {
		const hash = hashContent(value);
		if (countBytes(value) <= maxValueBytes) {
			wanted.set(key(prefix, hash), value);
			return hash;
		}
		more.push({
			skill: '',
			file: '',
			message: `${what} is too large for an entry of KV (${maxValueBytes} bytes): left out`,
		});
		return undefined;
	};
	const searchHash = entries.length === 0 ? undefined : document(search, searchKey, 'The search index');
	const vectorsHash = vectors && document(JSON.stringify(vectors), vectorsKey, 'The set of vectors');

	const index = JSON.stringify({
		version: 1,
		...(searchHash && { search: searchHash }),
		...(vectors && vectorsHash && { vectors: { hash: vectorsHash, model: vectors.model } }),
		skills: listed,
	});
	if (countBytes(index) > maxValueBytes) throw new Error(`The index is too large for an entry of KV.`);

	const needed = new Set([...wanted.keys(), ...kept.map(({ hash }) => bodyKey(prefix, hash))]);
	const { record, retired, deletes } = retire(stored, needed, named, prefix, now);
	const there = new Set(stored.keys);
	const names = new Set(entries.map(({ name }) => name));
	const isSame = (entry: Entry) => JSON.stringify(before.get(entry.name)) === JSON.stringify(entry);
	const changed = listed.filter(({ name }) => valid.has(name));
	return {
		// What was retired once may have been deleted since, whatever the list says.
		puts: [...wanted].filter(([key]) => !there.has(key) || (record.has(key) && !named.has(key))),
		...(retired !== null && retired !== stored.retired && { retired: [toRetiredKey(prefix), retired] }),
		...(index !== stored.index && { index: [indexKey(prefix), index] }),
		deletes,
		published: changed.filter((entry) => !isSame(entry)).map(({ name }) => name),
		unchanged: changed.filter(isSame).map(({ name }) => name),
		removed: [...before.keys()].filter((name) => !names.has(name)),
		problems: more,
	};
}

/** The entries of an index as they stand there, and every key that it names. */
export function readIndex(text: string | null, prefix: string) {
	const entries = new Map<string, Entry>();
	const named = new Set<string>();
	const parsed = v.safeParse(storedIndex, parseJson(text));
	if (!parsed.success) return { entries, named };
	const { skills, search, vectors } = parsed.output;
	for (const item of skills) {
		if (!v.is(entrySchema, item)) continue;
		entries.set(item.name, item);
		named.add(bodyKey(prefix, item.hash));
	}
	if (search !== undefined) named.add(searchKey(prefix, search));
	if (v.is(v.looseObject({ hash: v.string() }), vectors)) named.add(vectorsKey(prefix, vectors.hash));
	return { entries, named };
}

/** What is not needed any more: since when, and what of it no reader can want now. */
function retire(stored: Stored, needed: ReadonlySet<string>, named: ReadonlySet<string>, prefix: string, now: number) {
	const parsed = v.safeParse(storedRetired, parseJson(stored.retired));
	const record = new Map(parsed.success ? Object.entries(parsed.output.at) : []);
	const there = new Set(stored.keys.filter((key) => key !== indexKey(prefix) && key !== toRetiredKey(prefix)));
	const unneeded = [...new Set([...there, ...named, ...record.keys()])].filter((key) => !needed.has(key)).sort();
	// A time that an interrupted publishing left of what the index still named does not count.
	const since = unneeded.map((key) => [key, named.has(key) ? now : (record.get(key) ?? now)] as const);
	const at = since.filter(([key, time]) => there.has(key) || time + rememberedMs > now);
	return {
		record,
		retired: at.length === 0 && stored.retired === null ? null : JSON.stringify({ at: Object.fromEntries(at) }),
		deletes: since.filter(([key, time]) => there.has(key) && time + keptMs <= now).map(([key]) => key),
	};
}

/** Entries whose index is small enough, with the descriptions as they were, where they had to be cut. */
function cut(entries: readonly Entry[]): { listed: readonly Entry[]; descriptions?: Record<string, string> } {
	// In steps, so that one skill more or less does not change every entry.
	for (const length of [1_024, 512, 256, 192, 160, 128, 96, 64, 32]) {
		const listed = entries.map((entry) => ({ ...entry, description: shorten(entry.description, length) }));
		if (length > 32 && countBytes(JSON.stringify(listed)) > maxIndexBytes) continue;
		const cutOnes = entries.filter(({ description }, at) => description !== listed[at]?.description);
		if (cutOnes.length === 0) return { listed };
		return { listed, descriptions: Object.fromEntries(cutOnes.map(({ name, description }) => [name, description])) };
	}
	return { listed: entries };
}

function shorten(text: string, length: number): string {
	const characters = [...text];
	return characters.length <= length
		? text
		: `${characters
				.slice(0, length - 1)
				.join('')
				.trimEnd()}…`;
}

function parseJson(text: string | null): unknown {
	try {
		return text === null ? undefined : JSON.parse(text);
	} catch {
		return undefined;
	}
}
