import * as v from 'valibot';
import { fromBase64, joinBytes, toBase64 } from '../../base/bytes.ts';
import { groupBy } from '../../base/group.ts';
import { countEdits, stem } from '../../base/text.ts';
import type { Searched } from '../resolver.ts';
import type { Vectors } from './layout.ts';

/** A name with its score. Higher is better. */
export type Scored = readonly [name: string, score: number];

/** A word of a skill: in which field it is, how often, and how many different words the field has. */
export type Posting = readonly [name: string, field: number, count: number, length: number];

/** The postings of words, in the order of the words. */
export type Words = readonly (readonly [word: string, postings: readonly Posting[]])[];

/** The number of skills, and the sum of the lengths of each field over all skills. */
export interface Totals {
	readonly count: number;
	readonly lengths: readonly number[];
}

/** Postings are not checked one by one: a set has millions, and the key is a hash of the value. */
export const wordsSchema = v.array(v.tuple([v.string(), v.custom<Posting[]>(Array.isArray)]));

/** Stop words, including words that are common in descriptions. */
const empty = new Set(
	`a about after all am an and any are as asked asks at be been before by can could do does doing for from get had has
	have how i if in into is it its let make me my need needs new of on onto or our out over please should so some such
	task than that the their them then there these they this those to up us use used user users using want wants was way
	we what when where whether which while who why will with working would you your`.split(/\s+/),
);

/** How much a match counts in each field: name, description, `when`. */
const boosts = [2, 1, 2];

function listFields({ name, description, when = [] }: Searched): string[] {
	return [name, description, when.join('\n')];
}

function splitWords(text: string): string[] {
	return text.split(/[\n\r\p{Z}\p{P}]+/u);
}

/** Returns the form of a word that is compared. Empty for a word that is not searched. */
function normalize(word: string): string {
	const plain = word.toLowerCase().normalize('NFKD').replaceAll(/\p{M}/gu, '');
	return plain.length < 2 || empty.has(plain) ? '' : stem(plain);
}

/** Returns the words of a skill, each with its posting, and the length of each field. */
export function listPostings(skill: Searched) {
	const postings: (readonly [word: string, posting: Posting])[] = [];
	const lengths = listFields(skill).map((text, field) => {
		const words = splitWords(text);
		const length = new Set(words).size;
		const counts = new Map<string, number>();
		for (const word of words.map(normalize)) if (word !== '') counts.set(word, (counts.get(word) ?? 0) + 1);
		for (const [word, count] of counts) postings.push([word, [skill.name, field, count, length]]);
		return length;
	});
	return { postings, lengths };
}

/** Replaces the postings of the skills `names` by `added`. */
export function replacePostings(
	words: Words,
	names: ReadonlySet<string>,
	added: readonly (readonly [word: string, posting: Posting])[],
): Words {
	const all = new Map(words.map(([word, postings]) => [word, postings.filter(([name]) => !names.has(name))]));
	for (const [word, posting] of added) {
		const postings = all.get(word) ?? [];
		all.set(word, postings);
		postings.push(posting);
	}
	for (const word of new Set(added.map(([word]) => word))) all.get(word)?.sort(([a], [b]) => compare(a, b));
	return [...all].filter(([, postings]) => postings.length > 0).sort(([a], [b]) => compare(a, b));
}

export function compare(a: string, b: string): number {
	return a < b ? -1 : a > b ? 1 : 0;
}

/** The value under `searchKey`: all words of a set that has no shards. */
export function toSearchDocument(skills: readonly Searched[]): Totals & { readonly version: 2; readonly words: Words } {
	const found = skills.map(listPostings);
	const words = replacePostings(
		[],
		new Set(),
		found.flatMap(({ postings }) => postings),
	);
	return { version: 2, count: skills.length, lengths: sumLengths(found.map(({ lengths }) => lengths)), words };
}

export function sumLengths(rows: readonly (readonly number[])[]): number[] {
	return boosts.map((_, field) => rows.reduce((sum, row) => sum + (row[field] ?? 0), 0));
}

/** The number of letters at the beginning of a word that a typing mistake must leave as they are. */
const stemLength = 3;

/** A query with more different words is searched by its first ones, so that it reads few values of KV. */
const mostWords = 20;

/** Returns the beginning that a word has in common with each word that can match it. */
export function toStem(word: string): string {
	return word.slice(0, stemLength);
}

/** Returns the words of a query, each with the number of its occurrences. */
export function listQueryWords(query: string): ReadonlyMap<string, number> {
	const counts = new Map<string, number>();
	for (const word of splitWords(query).map(normalize))
		if (word !== '' && (counts.has(word) || counts.size < mostWords)) counts.set(word, (counts.get(word) ?? 0) + 1);
	return counts;
}

/** Finds names by words, best first: BM25+ over name, description and `when`. Tolerates word forms and typos. */
export type FullText = (query: string, isServed: (name: string) => boolean) => Scored[];

/** Prepares a search in words. Words with other beginnings than those of the query can be missing. */
export function createFullText(totals: Totals, words: Words): FullText {
	const byStem = groupBy(words, ([word]) => toStem(word));
	return (query, isServed) => {
		const found = new Map<string, { score: number; words: number }>();
		for (const [wanted, times] of listQueryWords(query)) {
			const scores = new Map<string, number>();
			for (const [word, postings] of byStem.get(toStem(wanted)) ?? []) {
				const weight = times * weigh(wanted, word);
				if (weight > 0) addScores(scores, weight, postings, totals);
			}
			for (const [name, score] of scores) {
				const before = found.get(name) ?? { score: 0, words: 0 };
				found.set(name, { score: before.score + score, words: before.words + 1 });
			}
		}
		return [...found]
			.filter(([name]) => isServed(name))
			.map(([name, { score, words }]): Scored => [name, score * words])
			.sort(([a, one], [b, other]) => other - one || compare(a, b));
	};
}

/** How well a word matches a word of the query: 1 for the same word, less for a longer or misspelled word, or 0. */
function weigh(wanted: string, word: string): number {
	if (word === wanted) return 1;
	if (wanted.length > 3 && word.startsWith(wanted))
		return (0.4 * word.length) / (word.length + 0.3 * (word.length - wanted.length));
	const most = wanted.length > 5 ? Math.min(6, Math.round(wanted.length * 0.15)) : 0;
	if (Math.abs(word.length - wanted.length) > most) return 0;
	const edits = countEdits(wanted, word);
	return edits > most ? 0 : (0.2 * word.length) / (word.length + edits);
}

/** Adds the BM25+ score of one word (k = 1.2, b = 0.7, d = 0.5): https://en.wikipedia.org/wiki/Okapi_BM25 */
function addScores(
	scores: Map<string, number>,
	weight: number,
	postings: readonly Posting[],
	{ count: all, lengths }: Totals,
): void {
	const matching = boosts.map(() => 0);
	for (const [, field] of postings) matching[field] = (matching[field] ?? 0) + 1;
	const rarity = matching.map((some) => Math.log(1 + (all - some + 0.5) / (some + 0.5)));
	for (const [name, field, count, length] of postings) {
		const share = (length * all) / (lengths[field] ?? 1);
		const score = (rarity[field] ?? 0) * (0.5 + (count * 2.2) / (count + 1.2 * (0.3 + 0.7 * share)));
		scores.set(name, (scores.get(name) ?? 0) + weight * (boosts[field] ?? 1) * score);
	}
}

const documentSchema = v.object({
	version: v.literal(2),
	count: v.number(),
	lengths: v.array(v.number()),
	words: wordsSchema,
});

const byId = <T extends v.GenericSchema>(value: T) => v.record(v.string(), value);

/** The index of MiniSearch, which sets had that were published by older versions. */
const olderSchema = v.object({
	index: v.object({
		serializationVersion: v.literal(2),
		documentIds: byId(v.string()),
		fieldLength: byId(v.array(v.number())),
		index: v.array(v.tuple([v.string(), byId(byId(v.number()))])),
	}),
});

/** Reads the JSON of a search document of this version or an older one. Throws for anything else. */
export function readFullText(json: unknown): FullText {
	const older = v.safeParse(olderSchema, json);
	if (!older.success) {
		const { words, ...totals } = v.parse(documentSchema, json);
		return createFullText(totals, words);
	}
	const { documentIds, fieldLength, index } = older.output.index;
	const words = index.map(([word, fields]) => {
		const postings = Object.entries(fields).flatMap(([field, counts]) =>
			Object.entries(counts).map(
				([id, count]): Posting => [documentIds[id] ?? '', Number(field), count, fieldLength[id]?.[Number(field)] ?? 1],
			),
		);
		return [word, postings] as const;
	});
	const rows = Object.values(fieldLength);
	return createFullText({ count: rows.length, lengths: sumLengths(rows) }, words);
}

/** Finds names by the vector of a query, nearest first. The score is the cosine between the vectors. */
export type ByMeaning = (query: readonly number[], isServed: (name: string) => boolean) => Scored[];

/** Returns the text from which a skill's vector is made. */
export function toEmbeddedText({ name, description, when = [] }: Searched): string {
	return [name, description, ...when].join('\n');
}

/** Converts a vector to signed bytes. Keeps the direction with an error of about 1%, and drops the length. */
export function toBytes(vector: readonly number[]): Int8Array {
	const most = vector.reduce((max, value) => Math.max(max, Math.abs(value)), 0) || 1;
	return Int8Array.from(vector, (value) => Math.round((value / most) * 127));
}

/** Joins vectors into the `values` of `Vectors`. */
export function writeValues(rows: readonly Int8Array[]): string {
	return toBase64(joinBytes(...rows.map((row) => new Uint8Array(row.buffer, row.byteOffset, row.length))));
}

/** Splits `values` into one vector for each name. Throws if the number of bytes does not fit. */
export function readRows({ names, values }: Vectors): Int8Array[] {
	const bytes = new Int8Array(fromBase64(values).buffer);
	const dimensions = names.length === 0 ? 0 : bytes.length / names.length;
	if (!Number.isInteger(dimensions))
		throw new Error(`${bytes.length} numbers are no vectors for ${names.length} skills`);
	return names.map((_, row) => bytes.subarray(row * dimensions, (row + 1) * dimensions));
}

/** Prepares a search by meaning. Throws if the vectors do not fit the names. */
export function readVectors(vectors: Vectors): ByMeaning {
	const rows = readRows(vectors).map((row) => ({ row, length: measureLength(row) }));
	const dimensions = rows[0]?.row.length;
	return (query, isServed) => {
		if (dimensions !== undefined && query.length !== dimensions) {
			throw new Error(`the query has ${query.length} dimensions, the skills have ${dimensions}`);
		}
		const length = measureLength(query);
		const found = rows.flatMap(({ row, length: rowLength }, at): Scored[] => {
			const name = vectors.names[at] ?? '';
			if (!isServed(name)) return [];
			const score = dot(query, row) / (length * rowLength);
			return score > 0 ? [[name, score]] : [];
		});
		return found.sort(([, a], [, b]) => b - a);
	};
}

/** Keeps the vectors whose name and text hash `isWanted` accepts. */
export function filterVectors(vectors: Vectors, isWanted: (name: string, text: string) => boolean): Vectors {
	const { model, names, texts } = vectors;
	const kept = readRows(vectors).flatMap((row, at) => {
		const [name = '', text = ''] = [names[at], texts[at]];
		return isWanted(name, text) ? [{ row, name, text }] : [];
	});
	return {
		model,
		names: kept.map(({ name }) => name),
		texts: kept.map(({ text }) => text),
		values: writeValues(kept.map(({ row }) => row)),
	};
}

function measureLength(vector: ArrayLike<number>): number {
	let sum = 0;
	for (let at = 0; at < vector.length; at++) sum += (vector[at] ?? 0) ** 2;
	return Math.sqrt(sum);
}

function dot(query: readonly number[], row: Int8Array): number {
	let sum = 0;
	for (let at = 0; at < query.length; at++) sum += (query[at] ?? 0) * (row[at] ?? 0);
	return sum;
}
