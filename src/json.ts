import { RunletError } from './errors.ts';

/** Levels of JSON that are read: what is passed on cannot be deeper. */
const maxDepth = 100;

/** The JSON of a request's body; throws `invalid_request` where it is none, or is nested too deep. */
export function parseJson(text: string): unknown {
	let json: unknown;
	try {
		json = JSON.parse(text);
	} catch (error) {
		const why = error instanceof Error ? error.message.slice(0, 120) : 'unreadable';
		throw new RunletError('invalid_request', `body: not valid JSON (${why}).`, { field: 'body' });
	}
	if (isDeep(json))
		throw new RunletError('invalid_request', `body: nested more than ${maxDepth} levels deep.`, { field: 'body' });
	return json;
}

function isDeep(json: unknown): boolean {
	let level: unknown[] = [json];
	for (let depth = 0; level.length > 0; depth++) {
		if (depth > maxDepth) return true;
		level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
	}
	return false;
}
