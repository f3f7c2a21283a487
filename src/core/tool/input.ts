import { isTooDeep } from '../ground/json.ts';

/**
 * Parses the JSON of a call's arguments. An empty text becomes `{}`. A text that is not JSON, or is nested too deep,
 * stays a text: the model is told so later.
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

/**
 * Converts the arguments of a call back to text: to JSON, or to the text itself if they never were JSON. Takes any
 * depth.
 */
export function toInputText(input: unknown): string {
	if (typeof input === 'string') return input;
	try {
		return JSON.stringify(input ?? {}) ?? '{}';
	} catch {
		return 'The arguments were nested too deep to be kept.';
	}
}
