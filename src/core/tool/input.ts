import { isTooDeep } from '../ground/json.ts';

/**
 * The arguments of a call from the JSON that a model wrote: none are `{}`. What is no JSON, or is nested deeper than
 * anything that is passed on, stays the text that it is, for the model to be told.
 */
export function parseToolInput(json: string): unknown {
	if (json.trim() === '') return {};
	try {
		const input: unknown = JSON.parse(json);
		return isTooDeep(input) ? json : input;
	} catch {
		return json;
	}
}

/** The arguments of a call as text: their JSON, or the text itself where they are none. Takes any depth. */
export function toInputText(input: unknown): string {
	if (typeof input === 'string') return input;
	try {
		return JSON.stringify(input ?? {}) ?? '{}';
	} catch {
		return 'The arguments were nested too deep to be kept.';
	}
}
