import { fromBase64, joinBytes, toBase64 } from '../../ground/bytes.ts';
import type { Searched } from '../search.ts';
import type { Scored } from './full-text.ts';
import type { Vectors } from './layout.ts';

/** Finds names by the vector of a query, nearest first, by the cosine of the angle between them. */
export type ByMeaning = (query: readonly number[], isServed: (name: string) => boolean) => Scored[];

/** The text of a skill that is embedded. */
export function toEmbeddedText({ name, description, when = [] }: Searched): string {
	return [name, description, ...when].join('\n');
}

/** Converts a vector to signed bytes. Keeps the direction to about a hundredth, and loses the length. */
export function toBytes(vector: readonly number[]): Int8Array {
	const most = vector.reduce((max, value) => Math.max(max, Math.abs(value)), 0) || 1;
	return Int8Array.from(vector, (value) => Math.round((value / most) * 127));
}

/** Joins vectors into the `values` of `Vectors`. */
export function writeValues(rows: readonly Int8Array[]): string {
	return toBase64(joinBytes(...rows.map((row) => new Uint8Array(row.buffer, row.byteOffset, row.length))));
}

/** Splits `values` into one vector for each name. Throws if the length does not fit. */
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

/** Keeps the vectors whose name and hash of the text are wanted. */
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
