import { createFieldError } from './errors.ts';

/** The deepest nesting of JSON that is read and passed on. */
export const maxLevels = 100;

/** Parses the JSON of a request's body. Throws `invalid_request` if it is not JSON or is nested too deep. */
export function parseJson(text: string): unknown {
	let json: unknown;
	try {
		json = JSON.parse(text);
	} catch (error) {
		const why = error instanceof Error ? error.message.slice(0, 120) : 'unreadable';
		throw createFieldError('invalid_request', 'body', `not valid JSON (${why}).`);
	}
	if (isTooDeep(json)) throw createFieldError('invalid_request', 'body', `nested more than ${maxLevels} levels deep.`);
	return json;
}

/** Whether lists and objects are nested more than `maxLevels` deep, or are circular. Works at any depth. */
export function isTooDeep(json: unknown): boolean {
	let level = new Set([json].filter(isContainer));
	for (let depth = 1; level.size > 0; depth++) {
		if (depth > maxLevels) return true;
		const inner = new Set<object>();
		for (const value of level) for (const one of Object.values(value)) if (isContainer(one)) inner.add(one);
		level = inner;
	}
	return false;
}

function isContainer(value: unknown): value is object {
	return typeof value === 'object' && value !== null;
}

/** Whether a value is an object and not a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Copies an object without its undefined fields. */
export function dropUndefined<T extends object>(fields: T): T {
	const kept = { ...fields };
	for (const key in kept) if (kept[key] === undefined) delete kept[key];
	return kept;
}

/** Sorts the names of objects at any depth, so that equal values have the same JSON. */
export function sortNames(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(sortNames);
	if (!isRecord(value)) return value;
	const sorted = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
	return Object.fromEntries(sorted.map(([name, inner]) => [name, sortNames(inner)]));
}
