import type { RunletError } from '../../core/ground/errors.ts';

/** Lets the stack of an error begin where a function was called, so that it shows a line of the caller. */
export function withCallerFirst(error: RunletError, called: (...args: never[]) => unknown): RunletError {
	// Only V8 has it, and not all types know it.
	const capture: unknown = Reflect.get(Error, 'captureStackTrace');
	if (typeof capture === 'function') Reflect.apply(capture, Error, [error, called]);
	return error;
}
