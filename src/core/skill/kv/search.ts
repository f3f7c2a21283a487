import MiniSearch, { type AsPlainObject, type Options } from 'minisearch';
import * as v from 'valibot';
import { fromBase64, joinBytes, toBase64 } from '../../base/bytes.ts';
import { stem } from '../../base/text.ts';
import type { Searched } from '../resolver.ts';
import type { Vectors } from './layout.ts';

/** A name with its score. Higher is better. */
export type Scored = readonly [name: string, score: number];

/** Finds names by words, best first: BM25 over name, description and `when`. Tolerates word forms and typos. */
export type FullText = (query: string, isServed: (name: string) => boolean) => Scored[];

/** Stop words, including words that are common in descriptions. */
const empty = new Set(
	`a about after all am an and any are as asked asks at be been before by can could do does doing for from get had has
	have how i if in into is it its let make me my need needs new of on onto or our out over please should so some such
	task than that the their them then there these they this those to up us use used user users using want wants was way
	we what when where whether which while who why will with working would you your`.split(/\s+/),
);

const options: Options<Searched> = {
	idField: 'name',
	fields: ['title', 'description', 'when'],
	extractField: (skill, field) => {
		if (field === 'when') return skill.when?.join('\n') ?? '';
		return field === 'description' ? skill.description : skill.name;
	},
	processTerm: (term) => {
		const word = term.toLowerCase().normalize('NFKD').replaceAll(/\p{M}/gu, '');
		return word.length < 2 || empty.has(word) ? null : stem(word);
	},
	searchOptions: {
		boost: { title: 2, when: 2 },
		prefix: (term) => term.length > 3,
		fuzzy: (term) => (term.length > 5 ? 0.15 : false),
		weights: { prefix: 0.4, fuzzy: 0.2 },
	},
};

/** Writes the search index of skills as JSON. Publishing calls it; `readFullText` reads the result. */
export function writeFullText(skills: readonly Searched[]): string {
	const index = new MiniSearch(options);
	index.addAll(skills);
	return JSON.stringify(index);
}

const plainIndex = v.custom<AsPlainObject>((value) => v.is(v.looseObject({ serializationVersion: v.number() }), value));

/** Reads the JSON value that `writeFullText` made. Throws for anything else. */
export function readFullText(json: unknown): FullText {
	const index = MiniSearch.loadJS(v.parse(plainIndex, json), options);
	return (query, isServed) =>
		index.search(query, { filter: ({ id }) => isServed(String(id)) }).map(({ id, score }) => [String(id), score]);
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
