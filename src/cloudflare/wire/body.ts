import { RunletError } from '../../core/ground/errors.ts';

/** The most bytes of a request body. */
export const maxBody = 4_000_000;

/** The most bytes that an agent may allow for a webhook body. */
export const maxWebhookBody = 25_000_000;

/** The most bytes of a file of a session, where a bucket is bound. */
export const maxFile = 104_857_600;

/** Creates the error for a body that is larger than its route allows. */
export function bodyTooLarge(limit: number): RunletError {
	const advice = limit === maxBody ? 'Send less, or files by their URL' : 'Send less';
	return new RunletError('too_large', `body: more than ${limit} bytes. ${advice}.`, { field: 'body', limit });
}
