import { RunletError } from '../../core/ground/errors.ts';

/** The longest arguments that a person is asked about, in characters of their JSON. Nobody decides about what is not shown. */
const longestInput = 20_000;

/** Whether the arguments of a call are too long to be shown to a person whole. */
export function isTooLongToShow(input: unknown): boolean {
	return (JSON.stringify(input) ?? '').length > longestInput;
}

/** Creates the error for a decision about such a call that a link or a form would ask for. */
export function createTooLongToShow(field: string): RunletError {
	const message = `${field}: more than ${longestInput} characters, which is too long to be shown. Decide in the session.`;
	return new RunletError('too_large', message, { field });
}
