import * as v from 'valibot';
import type { Scored, Searched } from './full-text.ts';

/** Vectors of skills by one embedding model, a byte a number. `texts` says what each was made of. */
export interface Vectors {
	readonly model: string;
	readonly names: readonly string[];
	/** Of each name: a hash of the text that was embedded. */
	readonly texts: readonly string[];
	/** All of them one after another, signed bytes in base64. */
	readonly values: string;
}

/** How vectors stand in KV. */
export const vectorsSchema = v.object({
	model: v.string(),
	names: v.array(v.string()),
	texts: v.array(v.string()),
	values: v.string(),
});

/** Finds names by the vector of a query, nearest first, by the cosine of the angle between them. */
export type ByMeaning = (query: readonly number[], isServed: (name: string) => boolean) => Scored[];

/** What of a skill is embedded. */
export function toEmbeddedText({ name, description, when = [] }: Searched): string {
	return [name, description, ...when].join('\n');
}

/** A vector as signed bytes: the direction is kept, to about a hundredth; the length is not. */
export function toBytes(vector: readonly number[]): Int8Array {
	const most = vector.reduce((max, value) => Math.max(max, Math.abs(value)), 0) || 1;
	return Int8Array.from(vector, (value) => Math.round((value / most) * 127));
}

/** Throws for what is not a whole vector a name. */
export function readVectors({ names, values }: Vectors): ByMeaning {
	const bytes = toInt8(values);
	const dimensions = names.length === 0 ? 0 : bytes.length / names.length;
	if (!Number.isInteger(dimensions))
		throw new Error(`${bytes.length} numbers are no vectors for ${names.length} skills`);
	const lengths = names.map((_, row) => measureLength(bytes.subarray(row * dimensions, (row + 1) * dimensions)));
	return (query, isServed) => {
		if (names.length > 0 && query.length !== dimensions) {
			throw new Error(`the query has ${query.length} dimensions, the skills have ${dimensions}`);
		}
		const length = measureLength(query);
		const found = names.flatMap((name, row): Scored[] => {
			if (!isServed(name)) return [];
			const score = dot(query, bytes, row * dimensions) / (length * (lengths[row] ?? 0));
			return score > 0 ? [[name, score]] : [];
		});
		return found.sort(([, a], [, b]) => b - a);
	};
}

/** Those vectors alone whose name and text's hash are wanted. */
export function filterVectors(vectors: Vectors, isWanted: (name: string, text: string) => boolean): Vectors {
	const { model, names, texts, values } = vectors;
	const bytes = atob(values);
	const dimensions = bytes.length / (names.length || 1);
	const rows = names.flatMap((name, row) => (isWanted(name, texts[row] ?? '') ? [row] : []));
	if (rows.length === names.length) return vectors;
	return {
		model,
		names: rows.map((row) => names[row] ?? ''),
		texts: rows.map((row) => texts[row] ?? ''),
		values: btoa(rows.map((row) => bytes.slice(row * dimensions, (row + 1) * dimensions)).join('')),
	};
}

function measureLength(vector: ArrayLike<number>): number {
	let sum = 0;
	for (let at = 0; at < vector.length; at++) sum += (vector[at] ?? 0) ** 2;
	return Math.sqrt(sum);
}

function dot(query: readonly number[], bytes: Int8Array, from: number): number {
	let sum = 0;
	for (let at = 0; at < query.length; at++) sum += (query[at] ?? 0) * (bytes[from + at] ?? 0);
	return sum;
}

function toInt8(base64: string): Int8Array {
	const text = atob(base64);
	const bytes = new Int8Array(text.length);
	for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
	return bytes;
}
