import { RunletError } from './errors.ts';

/** Levels of JSON that are read: what is passed on cannot be deeper. */
export const maxLevels = 100;

/** The JSON of a request's body; throws `invalid_request` where it is none, or is nested too deep. */
export function parseJson(text: string): unknown {
	let json: unknown;
	try {
		json = JSON.parse(text);
	} catch (error) {
		const why = error instanceof Error ? error.message.slice(0, 120) : 'unreadable';
		throw new RunletError('invalid_request', `body: not valid JSON (${why}).`, { field: 'body' });
	}
	if (isTooDeep(json))
		throw new RunletError('invalid_request', `body: nested more than ${maxLevels} levels deep.`, { field: 'body' });
	return json;
}

/** Whether lists and objects stand more than `maxLevels` levels within each other, or in a circle. Takes any depth. */
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

/** Whether a value is an object that is no list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}
