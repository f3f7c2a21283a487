import * as v from 'valibot';
import { RunletError } from '../../core/base/errors.ts';

/** The most characters of an id from outside, such as a model's call id. */
export const maxId = 1_000;

/** The most characters of a name. */
export const maxName = 255;

/** The most characters of a text, as many as a body has. */
export const maxContent = 4_000_000;

/** A text that may fill the body. */
export const longText = v.pipe(v.string(), v.maxLength(maxContent));

/** A text of at most `most` characters. */
export const shortText = (most: number) => v.pipe(v.string(), v.maxLength(most, `at most ${most} characters`));

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

/**
 * Milliseconds from a session's last activity to its removal. At most a hundred years: alarms cannot be set after 2189.
 */
export const expirySchema = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(3_155_760_000_000));
