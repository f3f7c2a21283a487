import * as v from 'valibot';
import { countBytes } from '../../base/bytes.ts';
import { groupBy } from '../../base/group.ts';
import {
	bodyKey,
	type Entry,
	hashContent,
	leafKey,
	listNamedKeys,
	maxValueBytes,
	measureEntry,
	type Put,
	recentKey,
	type Shards,
	vectorsKey,
	vectorsSchema,
	wordsKey,
} from './layout.ts';
import { compare, filterVectors, listPostings, replacePostings, sumLengths, toEmbeddedText } from './search.ts';
import {
	findLeaf,
	type ReadJson,
	type Recent,
	readLeaf,
	readRecent,
	readWords,
	toWordShard,
	wordShards,
} from './shards.ts';

/** A leaf with more entries is split into leaves of half as many. */
const mostInLeaf = 512;

/** How many shards of words get the recent changes with each changed skill. So about 128 changes are recent. */
const shardsPerChange = 2;
/** The maximum for many skills that change together, because all new values are in memory. */
const mostShards = 32;

/** New values, and the index that names them. */
export interface ShardsChange {
	readonly puts: readonly Put[];
	readonly shards: Shards;
}

/**
 * Builds the shards of a whole set. The entries are in the order of their names. The leaves begin at the names at which
 * the leaves of `before` begin, so that an unchanged leaf has the same key.
 */
export async function buildShards(
	prefix: string,
	entries: readonly Entry[],
	before: Pick<Shards, 'leaves'> = { leaves: [] },
): Promise<ShardsChange> {
	const { puts, add } = createValues(prefix);
	const found = entries.map(listPostings);
	const groups = groupBy(
		found.flatMap(({ postings }) => postings),
		([word]) => toWordShard(word),
	);
	const words: Shards['words'] = [];
	for (let shard = 0; shard < wordShards; shard++)
		words.push([await add(wordsKey, replacePostings([], new Set(), groups.get(shard) ?? [])), 0]);
	const shards: Shards = {
		version: 2,
		count: entries.length,
		length: entries.reduce((sum, entry) => sum + measureEntry(entry), 0),
		lengths: sumLengths(found.map(({ lengths }) => lengths)),
		at: 0,
		leaves: await addLeaves(
			add,
			entries,
			before.leaves.map(([from]) => from),
		),
		words,
	};
	return { puts, shards };
}

/**
 * Changes skills of a set with shards: a skill without an entry is removed. For each skill it writes its leaf, two
 * shards of words and the list of recent changes, however many skills there are. Each shard of words takes its turn, and
 * then has all recent changes. `retired` are
 * the keys that the set no longer needs, those of texts with their skills. Throws if a value cannot be read.
 */
export async function changeShards(
	prefix: string,
	shards: Shards,
	changes: ReadonlyMap<string, Entry | undefined>,
	readJson: ReadJson,
): Promise<ShardsChange & { readonly retired: ReadonlyMap<string, string | undefined> }> {
	const { puts, add } = createValues(prefix);
	const { leaves, before: old } = await changeLeaves(add, shards, changes, (hash) => readLeaf(prefix, hash, readJson));
	const at = shards.at + 1;
	const kept = (await readRecent(shards, prefix, readJson)).filter(({ name }) => !changes.has(name));
	const changed = [...changes].map(([name, entry]) => ({
		name,
		at,
		description: entry?.description,
		when: entry?.when,
	}));
	const recent: Recent = [...kept, ...changed];
	const words = [...shards.words];
	const oldest = words.map(([, since], shard) => ({ since, shard })).sort((a, b) => a.since - b.since);
	for (const { shard } of oldest.slice(0, Math.min(shardsPerChange * changes.size, mostShards))) {
		words[shard] = [await add(wordsKey, await readWords(shards, shard, recent, prefix, readJson)), at];
	}
	const least = words.reduce((min, [, since]) => Math.min(min, since), at);
	const waiting = recent.filter((one) => one.at > least);
	const now = [...changes.values()].filter((entry) => entry !== undefined);
	const sum = (all: readonly Entry[], measure: (entry: Entry) => number) =>
		all.reduce((total, entry) => total + measure(entry), 0);
	const [added, removed] = [now, old].map((all) => sumLengths(all.map((entry) => listPostings(entry).lengths)));
	const next: Shards = {
		...shards,
		vectors: await keepVectors(shards, changes, old, { prefix, readJson, add }),
		count: shards.count + now.length - old.length,
		length: shards.length + sum(now, measureEntry) - sum(old, measureEntry),
		lengths: shards.lengths.map((length, field) => length + (added?.[field] ?? 0) - (removed?.[field] ?? 0)),
		at,
		leaves,
		words,
		recent: waiting.length === 0 ? undefined : await add(recentKey, waiting),
	};
	const named = listNamedKeys(prefix, { entries: [], shards: next });
	const values = [...listNamedKeys(prefix, { entries: [], shards })].filter((key) => !named.has(key));
	const texts = old.filter(({ name, hash, shared }) => !shared && changes.get(name)?.hash !== hash);
	const retired = new Map<string, string | undefined>(values.map((key) => [key, undefined]));
	for (const { name, hash } of texts) retired.set(bodyKey(prefix, hash), name);
	return { puts, shards: next, retired };
}

/** Leaves out the vectors of skills whose text changed. They are found by words until `npm run skills` makes the vectors. */
async function keepVectors(
	{ vectors }: Shards,
	changes: ReadonlyMap<string, Entry | undefined>,
	before: readonly Entry[],
	{ prefix, readJson, add }: { readonly prefix: string; readonly readJson: ReadJson; readonly add: AddValue },
): Promise<Shards['vectors']> {
	if (vectors === undefined) return undefined;
	const texts = new Map(before.map((entry) => [entry.name, toEmbeddedText(entry)]));
	const isSame = (name: string) => {
		const entry = changes.get(name);
		return entry === undefined ? !changes.has(name) : toEmbeddedText(entry) === texts.get(name);
	};
	const stored = v.safeParse(vectorsSchema, await readJson(vectorsKey(prefix, vectors.hash)));
	return stored.success ? { ...vectors, hash: await add(vectorsKey, filterVectors(stored.output, isSame)) } : undefined;
}

type AddValue = (key: (prefix: string, hash: string) => string, value: unknown) => Promise<string>;

/** Collects new values. `add` returns the hash of a value. */
function createValues(prefix: string): { readonly puts: readonly Put[]; readonly add: AddValue } {
	const puts: Put[] = [];
	const add: AddValue = async (key, value) => {
		const text = JSON.stringify(value);
		if (countBytes(text) > maxValueBytes) throw new Error('A shard of the skills is too large for an entry of KV.');
		const hash = await hashContent(text);
		puts.push([key(prefix, hash), text]);
		return hash;
	};
	return { puts, add };
}

/** Adds the leaves of entries, split at the names `froms`, and in parts if they are too many. */
async function addLeaves(
	add: AddValue,
	entries: readonly Entry[],
	froms: readonly string[],
): Promise<[from: string, hash: string][]> {
	const groups = groupBy(entries, ({ name }) => froms.findLast((from) => from <= name) ?? froms[0] ?? '');
	const leaves: [string, string][] = [];
	for (const [from, group] of groups) {
		const size = group.length > mostInLeaf ? mostInLeaf / 2 : mostInLeaf;
		for (let at = 0; at < group.length; at += size)
			leaves.push([at === 0 ? from : (group[at]?.name ?? ''), await add(leafKey, group.slice(at, at + size))]);
	}
	return leaves;
}

/** Changes the leaves of the changed skills. `before` are the entries that these skills had. */
async function changeLeaves(
	add: AddValue,
	shards: Shards,
	changes: ReadonlyMap<string, Entry | undefined>,
	read: (hash: string) => Promise<ReadonlyMap<string, Entry> | undefined>,
) {
	const byLeaf = groupBy(changes, ([name]) => findLeaf(shards, name));
	const before: Entry[] = [];
	const leaves: [string, string][] = [];
	for (const [at, leaf] of shards.leaves.entries()) {
		const changed = byLeaf.get(at);
		if (changed === undefined) {
			leaves.push(leaf);
			continue;
		}
		const stored = await read(leaf[1]);
		if (stored === undefined) throw new Error(`the skills from ${leaf[0]} on cannot be read`);
		const entries = new Map(stored);
		for (const [name, entry] of changed) {
			before.push(...[entries.get(name) ?? []].flat());
			entries.delete(name);
			if (entry !== undefined) entries.set(name, entry);
		}
		const sorted = [...entries.values()].sort((a, b) => compare(a.name, b.name));
		leaves.push(...(await addLeaves(add, sorted, [leaf[0]])));
	}
	if (leaves.length === 0) leaves.push(['', await add(leafKey, [])]);
	return { leaves, before };
}
