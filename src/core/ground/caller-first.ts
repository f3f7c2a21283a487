import { RunletError } from './errors.ts';

/** Lets the stack of an error begin where a function was called, so that it shows a line of the caller. */
export function withCallerFirst(error: RunletError, called: (...args: never[]) => unknown): RunletError {
	// Only V8 has it, and not all types know it.
	const capture: unknown = Reflect.get(Error, 'captureStackTrace');
	if (typeof capture === 'function') Reflect.apply(capture, Error, [error, called]);
	return error;
}

/** Does the work of a function that a program calls. The stack of a `RunletError` begins where it was called. */
export function blameCaller<T>(called: (...args: never[]) => unknown, work: () => T): T {
	try {
		return work();
	} catch (error) {
		throw error instanceof RunletError ? withCallerFirst(error, called) : error;
	}
}
