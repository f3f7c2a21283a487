import * as v from 'valibot';
import { hashText } from '../../base/bytes.ts';
import {
	type Entry,
	leafKey,
	type OnBroken,
	readEntries,
	recentKey,
	type Shards,
	type SkillSet,
	wordsKey,
} from './layout.ts';
import {
	compare,
	createFullText,
	type FullText,
	listPostings,
	listQueryWords,
	replacePostings,
	toStem,
	type Words,
	wordsSchema,
} from './search.ts';

/**
 * How a large set is read from KV. Its entries are in leaves, each with the skills of a range of names. Its words are in
 * shards by the first letters of a word, because a search also finds longer and misspelled words. A change is in a shard
 * of words, or else in the list of recent changes.
 */

/** The number of shards of words. A set keeps this number, because each shard is named by its position. */
export const wordShards = 256;

export function toWordShard(word: string): number {
	return Number.parseInt(hashText(toStem(word)), 36) % wordShards;
}

/** Reads the JSON of a key. Returns `null` or `undefined` if the value is missing. */
export type ReadJson = (key: string) => Promise<unknown>;

/** Returns the position of the leaf that has the skill, if there is one. */
export function findLeaf({ leaves }: Shards, name: string): number {
	return Math.max(
		0,
		leaves.findLastIndex(([from]) => from <= name),
	);
}

/** Reads the entries of a leaf. Returns `undefined` if the leaf is missing. */
export async function readLeaf(
	prefix: string,
	hash: string,
	readJson: ReadJson,
	onProblem?: OnBroken,
): Promise<ReadonlyMap<string, Entry> | undefined> {
	const json = await readJson(leafKey(prefix, hash));
	return Array.isArray(json) ? readEntries(json, onProblem) : undefined;
}

/** Finds a skill with at most one read. Returns `null` if the read fails: then nobody knows whether the skill exists. */
export async function findEntry(
	{ shards, byName }: SkillSet,
	name: string,
	read: (hash: string) => Promise<ReadonlyMap<string, Entry> | undefined>,
): Promise<Entry | undefined | null> {
	if (shards === undefined) return byName.get(name);
	const leaf = await read(shards.leaves[findLeaf(shards, name)]?.[1] ?? '');
	return leaf === undefined ? null : leaf.get(name);
}

/** Lists skills with names after `after`, in the order of the names. Throws if a leaf cannot be read. */
export async function listEntries(
	{ shards, byName }: SkillSet,
	{ after, limit }: { readonly after: string; readonly limit: number },
	read: (hash: string) => Promise<ReadonlyMap<string, Entry> | undefined>,
): Promise<Entry[]> {
	const isAfter = ({ name }: Entry) => name > after;
	const found: Entry[] = [];
	if (shards === undefined) found.push(...[...byName.values()].filter(isAfter).sort((a, b) => compare(a.name, b.name)));
	else
		for (let at = findLeaf(shards, after); at < shards.leaves.length && found.length < limit; at++) {
			const leaf = await read(shards.leaves[at]?.[1] ?? '');
			if (leaf === undefined) throw new Error(`the skills after ${after} cannot be read`);
			found.push(...[...leaf.values()].filter(isAfter));
		}
	return found.slice(0, limit);
}

/** A changed skill in the list of recent changes. Without a description, the skill was removed. */
const recentSchema = v.array(
	v.object({
		name: v.string(),
		/** The number of the change. */
		at: v.number(),
		description: v.optional(v.string()),
		when: v.optional(v.array(v.string())),
	}),
);

export type Recent = v.InferOutput<typeof recentSchema>;

/** Throws if the list is missing or broken. */
export async function readRecent({ recent }: Shards, prefix: string, readJson: ReadJson): Promise<Recent> {
	return recent === undefined ? [] : v.parse(recentSchema, await readJson(recentKey(prefix, recent)));
}

/** Reads a shard of words, and adds the recent changes that it lacks. Throws if the shard is missing or broken. */
export async function readWords(
	{ words }: Shards,
	shard: number,
	recent: Recent,
	prefix: string,
	readJson: ReadJson,
): Promise<Words> {
	const [hash, since] = words[shard] ?? ['', 0];
	const stored = v.parse(wordsSchema, await readJson(wordsKey(prefix, hash)));
	const changed = recent.filter(({ at }) => at > since);
	const added = changed.flatMap(({ name, description, when }) =>
		description === undefined ? [] : listPostings({ name, description, when }).postings,
	);
	return replacePostings(
		stored,
		new Set(changed.map(({ name }) => name)),
		added.filter(([word]) => toWordShard(word) === shard),
	);
}

/** Reads the shards that have the words of a query: at most one for each word. Throws if one is missing or broken. */
export async function readShardsFor(
	query: string,
	shards: Shards,
	prefix: string,
	readJson: ReadJson,
): Promise<FullText> {
	const recent = await readRecent(shards, prefix, readJson);
	const wanted = new Set([...listQueryWords(query).keys()].map(toWordShard));
	const read = [...wanted].map((shard) => readWords(shards, shard, recent, prefix, readJson));
	return createFullText(shards, (await Promise.all(read)).flat());
}
