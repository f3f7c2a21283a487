import { RunletError } from '../../core/ground/errors.ts';

/** Bytes of a request's body. */
export const maxBody = 4_000_000;

/** Bytes that an agent may allow the body of a webhook. */
export const maxWebhookBody = 25_000_000;

/** The error for a body of more bytes than its route takes. */
export function bodyTooLarge(limit: number): RunletError {
	const advice = limit === maxBody ? 'Send less, or files by their URL' : 'Send less';
	return new RunletError('too_large', `body: more than ${limit} bytes. ${advice}.`, { field: 'body', limit });
}
