import { countBytes } from '../../base/bytes.ts';
import { fromMarkdown } from '../markdown.ts';
import { toAllowedText } from '../skill.ts';
import { buildShards } from './change.ts';
import {
	bodyKey,
	defaultPrefix,
	type Entry,
	hashContent,
	indexKey,
	listNamedKeys,
	maxValueBytes,
	type Put,
	parseJson,
	parseSkillSet,
	retiredKey,
	type SkillSet,
	searchKey,
	type Vectors,
	vectorsKey,
} from './layout.ts';
import { retire, type Stored } from './retired.ts';
import { compare, toSearchDocument } from './search.ts';
import { findEntry, type ReadJson, readLeaf } from './shards.ts';

/** The reason why a skill is not published. `line` counts from 1. `file` is relative to the skills folder. */
export interface SkillProblem {
	readonly skill: string;
	readonly file: string;
	readonly message: string;
	readonly line?: number;
}

interface Wanted {
	readonly skills: readonly PreparedSkill[];
	/** Skills with problems. The published version of such a skill is kept. */
	readonly problems?: readonly SkillProblem[];
	/** Unchanged entries with their whole descriptions. KV already has their texts. */
	readonly kept?: readonly Entry[];
	readonly vectors?: Vectors;
}

/**
 * The writes in their order: `puts`, `retired`, `index`, `deletes`. Until the index is written, readers get the whole
 * old set. After that, they get the whole new set.
 */
export interface SkillsPlan {
	readonly puts: readonly Put[];
	/** The record of retired keys. Like `index`, it is missing if KV already has the same value. */
	readonly retired?: Put;
	readonly index?: Put;
	readonly deletes: readonly string[];
	/** The names of skills that are new or changed. */
	readonly published: readonly string[];
	readonly unchanged: readonly string[];
	readonly removed: readonly string[];
	readonly problems: readonly SkillProblem[];
}

/** The size of an index above which a set has shards. It is limited because readers parse the whole index. */
const maxIndexBytes = 1_900_000;

/** Compares KV with the skills. Treats a text that is not an index as missing. `now` is in milliseconds since 1970. */
export async function planSkills(
	stored: Stored,
	{ skills, problems = [], kept: staying = [], vectors }: Wanted,
	{ prefix = defaultPrefix, now = Date.now() }: { readonly prefix?: string; readonly now?: number } = {},
): Promise<SkillsPlan> {
	const before = parseSkillSet(stored.index);
	const readJson = async (key: string) => parseJson((await stored.get?.(key)) ?? null);
	const valid = new Set(skills.map(({ entry }) => entry.name));
	const failed = new Set(problems.map(({ skill }) => skill).filter((name) => !valid.has(name)));
	const found = await Promise.all(
		[...failed].map((name) => findEntry(before, name, (hash) => readLeaf(prefix, hash, readJson))),
	);
	const kept = [...staying, ...found.filter((entry) => entry !== undefined && entry !== null)];
	const entries = [...skills.map(({ entry }) => entry), ...kept]
		.map(({ shared: _, ...entry }): Entry => entry)
		.sort((a, b) => compare(a.name, b.name));
	const documents = await createIndex(prefix, entries, before, vectors);
	const { index } = documents;

	const values = new Map([
		...skills.map(({ entry, body }): Put => [bodyKey(prefix, entry.hash), body]),
		...documents.puts,
	]);
	const needed = new Set([...values.keys(), ...kept.map(({ hash }) => bodyKey(prefix, hash))]);
	const known = await readKnown(before, new Map(documents.puts), prefix, readJson);
	const named = listNamedKeys(prefix, { ...before, entries: [...known.values()] });
	const { record, retired, deletes } = retire(stored, needed, named, prefix, now);
	const there = new Set(stored.keys);
	const names = new Set(entries.map(({ name }) => name));
	const isSame = (entry: Entry) => JSON.stringify(known.get(entry.name)) === JSON.stringify(entry);
	const changed = documents.entries.filter(({ name }) => valid.has(name));
	return {
		// Write the value of a retired key again, because KV possibly still lists the key although it is deleted.
		puts: [...values].filter(([key]) => !there.has(key) || (record.has(key) && !named.has(key))),
		retired: retired !== null && retired !== stored.retired ? [retiredKey(prefix), retired] : undefined,
		index: index !== stored.index ? [indexKey(prefix), index] : undefined,
		deletes,
		published: changed.filter((entry) => !isSame(entry)).map(({ name }) => name),
		unchanged: changed.filter(isSame).map(({ name }) => name),
		removed: [...known.keys()].filter((name) => !names.has(name)),
		problems: [...problems, ...documents.problems],
	};
}

/** Returns the entries of the set in KV. Takes a leaf that the new set also has from `puts`, and reads the others. */
async function readKnown(
	{ byName, shards }: SkillSet,
	puts: ReadonlyMap<string, string>,
	prefix: string,
	readJson: ReadJson,
): Promise<ReadonlyMap<string, Entry>> {
	if (shards === undefined) return byName;
	const known = new Map<string, Entry>();
	for (const [, hash] of shards.leaves) {
		const leaf = await readLeaf(prefix, hash, async (key) => parseJson(puts.get(key) ?? null) ?? readJson(key));
		for (const [name, entry] of leaf ?? []) known.set(name, entry);
	}
	return known;
}

/** Creates the index with the values that it names. Leaves out vectors that are too large for KV, and reports that. */
async function createIndex(
	prefix: string,
	all: readonly Entry[],
	{ shards: before }: SkillSet,
	wanted: Vectors | undefined,
) {
	const puts: Put[] = [];
	const add = async (key: typeof searchKey, text: string): Promise<string> => {
		const hash = await hashContent(text);
		puts.push([key(prefix, hash), text]);
		return hash;
	};
	const text = JSON.stringify(wanted) ?? '';
	const isTooLarge = countBytes(text) > maxValueBytes;
	const message = `The set of vectors is too large for an entry of KV (${maxValueBytes} bytes): left out`;
	const problems: SkillProblem[] = isTooLarge ? [{ skill: '', file: '', message }] : [];
	const vectors = wanted && !isTooLarge ? { hash: await add(vectorsKey, text), model: wanted.model } : undefined;
	if (countBytes(JSON.stringify(all)) > maxIndexBytes) {
		const entries = markShared(all);
		const { shards, puts: more } = await buildShards(prefix, entries, before);
		return { index: JSON.stringify({ ...shards, vectors }), entries, puts: [...puts, ...more], problems };
	}
	const search = all.length === 0 ? undefined : await add(searchKey, JSON.stringify(toSearchDocument(all)));
	return { index: JSON.stringify({ version: 1, search, vectors, skills: all }), entries: all, puts, problems };
}

/** Marks entries with one text, because a change of one of them must not retire that text. */
function markShared(entries: readonly Entry[]): Entry[] {
	const seen = new Set<string>();
	const twice = new Set(entries.map(({ hash }) => hash).filter((hash) => seen.size === seen.add(hash).size));
	return entries.map((entry) => (twice.has(entry.hash) ? { ...entry, shared: true } : entry));
}

/** A skill to publish: its entry in the index, and the value with its text and files. */
export interface PreparedSkill {
	readonly entry: Entry;
	readonly body: string;
}

interface PrepareOptions {
	/** The files beside SKILL.md, by path. */
	readonly files?: Readonly<Record<string, string>>;
	/** Whether to keep the other SKILL.md keys, such as `license`, so that the SKILL.md can be written back. */
	readonly keepsFrontMatter?: boolean;
	/** Whether no other skill may have its text under the same key. */
	readonly ownsText?: boolean;
}

/** Prepares the skill of a valid SKILL.md. Throws if the SKILL.md is unreadable. */
export async function prepareSkill(
	name: string,
	markdown: string,
	{ files = {}, keepsFrontMatter = false, ownsText = false }: PrepareOptions = {},
): Promise<PreparedSkill> {
	const {
		body = '',
		description,
		when,
		modalities,
		requires,
		frontMatter,
	} = fromMarkdown(markdown, {
		directory: name,
	});
	const paths = Object.keys(files).sort();
	const content = JSON.stringify({
		name: ownsText ? name : undefined,
		body,
		files: paths.length > 0 ? Object.fromEntries(paths.map((path) => [path, files[path]])) : undefined,
		frontMatter: keepsFrontMatter ? frontMatter : undefined,
	});
	const allowed = toAllowedText(frontMatter?.['allowed-tools']);
	const entry: Entry = {
		name,
		description,
		...(when && { when: [...when] }),
		...(modalities && { modalities: [...modalities] }),
		...(requires && { requires: [...requires] }),
		...(allowed !== undefined && { 'allowed-tools': allowed }),
		hash: await hashContent(content),
		...(paths.length > 0 && { files: paths }),
	};
	return { entry, body: content };
}

/** The entity tag of a skill: a hash of its entry with the whole description. `hash` already covers the files. */
export function toEtag({ files: _, shared: __, ...entry }: Entry): Promise<string> {
	return hashContent(JSON.stringify(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1))));
}
