import { at, count, text } from './json.ts';

/** Statuses by the words of an error body, for recordings that come without theirs. */
const statuses: Readonly<Record<string, number>> = { invalid_request_error: 400, not_found_error: 404 };

/** The status that this error body was sent with: the body's own number, or the one of its kind. */
export function readStatus(body: unknown): number {
	const status = count(body, 'error', 'code') ?? statuses[text(body, 'error', 'type')];
	if (status === undefined) throw new Error(`which status has ${JSON.stringify(body)}?`);
	return status;
}

/** The status that an error inside a stream speaks of. */
export function statusInStream(event: unknown): number {
	return count(event, 'error', 'status_code') ?? readStatus(event);
}

const codes: Readonly<Record<number, string>> = { 400: 'invalid_request', 404: 'invalid_request', 429: 'rate_limited' };

/** Runlet's code for what a provider refuses with this status. */
export function readCode(status: number): string {
	const code = codes[status];
	if (code === undefined) throw new Error(`which code has a ${status}?`);
	return code;
}

export function isError(value: unknown): boolean {
	const error = at(value, 'error');
	return typeof error === 'object' && error !== null;
}
