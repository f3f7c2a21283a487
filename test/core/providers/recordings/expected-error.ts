import { at, count, text } from './json.ts';

/** The status for each kind of error in a body, for recordings without a status. */
const statuses: Readonly<Record<string, number>> = { invalid_request_error: 400, not_found_error: 404 };

/** Returns the status of an error body: the number in the body, or the status of the kind of error. */
export function readStatus(body: unknown): number {
	const status = count(body, 'error', 'code') ?? statuses[text(body, 'error', 'type')];
	if (status === undefined) throw new Error(`which status has ${JSON.stringify(body)}?`);
	return status;
}

/** Returns the status of an error within a stream. */
export function statusInStream(event: unknown): number {
	return count(event, 'error', 'status_code') ?? readStatus(event);
}

const codes: Readonly<Record<number, string>> = { 400: 'invalid_request', 404: 'invalid_request', 429: 'rate_limited' };

/** Returns Runlet's code for a status. */
export function readCode(status: number): string {
	const code = codes[status];
	if (code === undefined) throw new Error(`which code has a ${status}?`);
	return code;
}

export function isError(value: unknown): boolean {
	const error = at(value, 'error');
	return typeof error === 'object' && error !== null;
}
