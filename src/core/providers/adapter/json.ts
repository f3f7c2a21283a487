/** Reads JSON from outside. A field that is missing, `null` or of another type counts as missing. */

import { RunletError } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';

export type Json = Readonly<Record<string, unknown>>;

/** Parses a text. Returns `undefined` if it is not JSON. */
export function readJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** Reads a count of tokens from an answer. Throws `interrupted` if there is no count. */
export async function readCount(response: Response, key: string): Promise<number> {
	const answer: unknown = await response.json();
	const count = isRecord(answer) ? getNumber(answer, key) : undefined;
	if (count === undefined) throw new RunletError('interrupted', 'the answer holds no count of tokens.');
	return count;
}

/** Returns the object under a key, or an empty object. */
export function getObject(from: Json, key: string): Json {
	const value = from[key];
	return isRecord(value) ? value : empty;
}

/** Returns the objects of the list under a key. */
export function getObjects(from: Json, key: string): readonly Json[] {
	const value = from[key];
	return Array.isArray(value) ? value.filter(isRecord) : none;
}

export function getString(from: Json, key: string): string | undefined {
	const value = from[key];
	return typeof value === 'string' ? value : undefined;
}

export function getNumber(from: Json, key: string): number | undefined {
	const value = from[key];
	return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** Returns the numbers of a list. */
export function getNumbers(value: unknown): readonly number[] {
	return Array.isArray(value) ? value.filter((entry) => typeof entry === 'number') : [];
}

const empty: Json = {};
const none: readonly Json[] = [];
