/** Reading JSON from outside, where a field may be missing, `null` or of another type: such a field is not there. */

import { isRecord } from '../../ground/json.ts';

export type Json = Readonly<Record<string, unknown>>;

/** The object under a key; an empty one where there is none. */
export function getObject(from: Json, key: string): Json {
	const value = from[key];
	return isRecord(value) ? value : empty;
}

/** The objects of the list under a key. */
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

/** The numbers of a list. */
export function getNumbers(value: unknown): readonly number[] {
	return Array.isArray(value) ? value.filter((one) => typeof one === 'number') : [];
}

const empty: Json = {};
const none: readonly Json[] = [];
