import * as v from 'valibot';
import { countBytes, hashSecurely } from '../../base/bytes.ts';
import { truncateText } from '../../base/text.ts';
import { fromMarkdown } from '../markdown.ts';
import { toAllowedText } from '../skill.ts';
import {
	bodyKey,
	defaultPrefix,
	type Entry,
	indexKey,
	listNamedKeys,
	maxValueBytes,
	type Put,
	parseJson,
	parseSkillSet,
	retiredKey,
	searchKey,
	type Vectors,
	vectorsKey,
} from './layout.ts';
import { writeFullText } from './search.ts';

/** The reason why a skill is not published. `line` counts from 1. `file` is relative to the skills folder. */
export interface SkillProblem {
	readonly skill: string;
	readonly file: string;
	readonly message: string;
	readonly line?: number;
}

/** The contents of KV: all keys, the index as text, and the record of retired keys as text (`null` if missing). */
interface Stored {
	readonly index: string | null;
	readonly retired: string | null;
	readonly keys: readonly string[];
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

/** How long a value is kept after it left the index, because the cache of KV and runs still use an older index. */
export const keptMs = 60 * 60_000;

/** How long the record remembers a deleted key, in milliseconds. KV can still list and serve the key for some time. */
const rememberedMs = keptMs + 10 * 60_000;

/** The index size above which descriptions are cut. It is limited because readers parse the whole index. */
const maxIndexBytes = 1_900_000;

/** Compares KV with the skills. Treats a text that is not an index as missing. `now` is in milliseconds since 1970. */
export async function planSkills(
	stored: Stored,
	{ skills, problems = [], kept: staying = [], vectors }: Wanted,
	{ prefix = defaultPrefix, now = Date.now() }: { readonly prefix?: string; readonly now?: number } = {},
): Promise<SkillsPlan> {
	const before = parseSkillSet(stored.index);
	const failed = new Set(problems.map(({ skill }) => skill));
	const valid = new Set(skills.map(({ entry }) => entry.name));
	const kept = [...staying, ...before.entries.filter(({ name }) => failed.has(name) && !valid.has(name))];
	const entries = [...skills.map(({ entry }) => entry), ...kept].sort((a, b) => (a.name < b.name ? -1 : 1));
	const { listed, descriptions } = cutDescriptions(entries);
	const documents = await createDocuments(prefix, { entries, descriptions, vectors });
	const index = JSON.stringify({
		version: 1,
		search: documents.search,
		vectors: documents.vectors,
		skills: listed,
	});
	if (countBytes(index) > maxValueBytes) throw new Error('The index is too large for an entry of KV.');

	const values = new Map([
		...skills.map(({ entry, body }): Put => [bodyKey(prefix, entry.hash), body]),
		...documents.puts,
	]);
	const needed = new Set([...values.keys(), ...kept.map(({ hash }) => bodyKey(prefix, hash))]);
	const named = listNamedKeys(prefix, before);
	const { record, retired, deletes } = retire(stored, needed, named, prefix, now);
	const there = new Set(stored.keys);
	const names = new Set(entries.map(({ name }) => name));
	const isSame = (entry: Entry) => JSON.stringify(before.byName.get(entry.name)) === JSON.stringify(entry);
	const changed = listed.filter(({ name }) => valid.has(name));
	return {
		// Write the value of a retired key again, because KV possibly still lists the key although it is deleted.
		puts: [...values].filter(([key]) => !there.has(key) || (record.has(key) && !named.has(key))),
		retired: retired !== null && retired !== stored.retired ? [retiredKey(prefix), retired] : undefined,
		index: index !== stored.index ? [indexKey(prefix), index] : undefined,
		deletes,
		published: changed.filter((entry) => !isSame(entry)).map(({ name }) => name),
		unchanged: changed.filter(isSame).map(({ name }) => name),
		removed: before.entries.map(({ name }) => name).filter((name) => !names.has(name)),
		problems: [...problems, ...documents.problems],
	};
}

/** Creates the search documents, with their hashes for the index. Reports a document that is too large for KV. */
async function createDocuments(
	prefix: string,
	given: {
		readonly entries: readonly Entry[];
		readonly descriptions?: Readonly<Record<string, string>>;
		readonly vectors?: Vectors;
	},
) {
	const { entries, descriptions, vectors } = given;
	const puts: Put[] = [];
	const problems: SkillProblem[] = [];
	const add = async (value: unknown, key: typeof searchKey, what: string): Promise<string | undefined> => {
		const text = JSON.stringify(value);
		const hash = await hashContent(text);
		if (countBytes(text) <= maxValueBytes) {
			puts.push([key(prefix, hash), text]);
			return hash;
		}
		const message = `${what} is too large for an entry of KV (${maxValueBytes} bytes): left out`;
		problems.push({ skill: '', file: '', message });
		return undefined;
	};
	const search = { version: 1, descriptions, index: JSON.parse(writeFullText(entries)) };
	const searchHash = entries.length === 0 ? undefined : await add(search, searchKey, 'The search index');
	const hash = vectors && (await add(vectors, vectorsKey, 'The set of vectors'));
	return { puts, problems, search: searchHash, vectors: vectors && hash && { hash, model: vectors.model } };
}

const retiredSchema = v.object({ at: v.record(v.string(), v.number()) });

/** Finds the keys that are no longer needed, each with the time it was retired, and the keys to delete now. */
function retire(stored: Stored, needed: ReadonlySet<string>, named: ReadonlySet<string>, prefix: string, now: number) {
	const parsed = v.safeParse(retiredSchema, parseJson(stored.retired));
	const record = new Map(parsed.success ? Object.entries(parsed.output.at) : []);
	const there = new Set(stored.keys.filter((key) => key !== indexKey(prefix) && key !== retiredKey(prefix)));
	const unneeded = [...new Set([...there, ...named, ...record.keys()])].filter((key) => !needed.has(key)).sort();
	// If a publish was interrupted, the record can have a time for a key that the index still names. Ignore this time.
	const since = unneeded.map((key) => [key, named.has(key) ? now : (record.get(key) ?? now)] as const);
	const at = since.filter(([key, time]) => there.has(key) || time + rememberedMs > now);
	return {
		record,
		retired: at.length === 0 && stored.retired === null ? null : JSON.stringify({ at: Object.fromEntries(at) }),
		deletes: since.filter(([key, time]) => there.has(key) && time + keptMs <= now).map(([key]) => key),
	};
}

/** Cuts descriptions until the index is small enough. Also returns the whole texts of the cut descriptions. */
function cutDescriptions(entries: readonly Entry[]): {
	readonly listed: readonly Entry[];
	readonly descriptions?: Record<string, string>;
} {
	// The length is reduced in large steps, so one more skill rarely changes all entries.
	for (const length of [1_024, 512, 256, 192, 160, 128, 96, 64, 32]) {
		const listed = entries.map((entry) => ({ ...entry, description: shorten(entry.description, length) }));
		if (length > 32 && countBytes(JSON.stringify(listed)) > maxIndexBytes) continue;
		const cut = entries.filter(({ description }, at) => description !== listed[at]?.description);
		if (cut.length === 0) return { listed };
		return { listed, descriptions: Object.fromEntries(cut.map(({ name, description }) => [name, description])) };
	}
	return { listed: entries };
}

function shorten(text: string, length: number): string {
	return text.length <= length ? text : `${truncateText(text, length - 1).trimEnd()}…`;
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
}

/** Prepares the skill of a valid SKILL.md. Throws if the SKILL.md is unreadable. */
export async function prepareSkill(
	name: string,
	markdown: string,
	{ files = {}, keepsFrontMatter = false }: PrepareOptions = {},
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
export function toEtag({ files: _, ...entry }: Entry): Promise<string> {
	return hashContent(JSON.stringify(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** Returns the first 128 bits of a text's SHA-256, in hexadecimal digits. */
export async function hashContent(text: string): Promise<string> {
	return (await hashSecurely(text)).slice(0, 32);
}
