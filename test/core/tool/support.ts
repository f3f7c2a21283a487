import { RunletError } from '../../../src/core/index.ts';

/** The `RunletError` that a call throws. */
export function refusal(call: () => unknown): RunletError {
	try {
		call();
	} catch (error) {
		if (error instanceof RunletError) return error;
		throw error;
	}
	throw new Error('nothing was thrown');
}

/** Converts a value to JSON and back. */
export function throughJson(value: unknown): unknown {
	return JSON.parse(JSON.stringify(value));
}
