import * as v from 'valibot';
import { RunletError } from '../../core/base/errors.ts';

/** The maximum number of characters of an id from outside, such as a model's call id. */
export const maxId = 1_000;

export const maxName = 255;

/** The maximum number of characters of a text: the same number as `maxBody`. */
export const maxContent = 4_000_000;

export const longText = v.pipe(v.string(), v.maxLength(maxContent));

export const shortText = (most: number) => v.pipe(v.string(), v.maxLength(most, `at most ${most} characters`));

/** The maximum number of bytes of a request body. */
export const maxBody = 4_000_000;

/** The highest limit that an agent may set for a webhook body, in bytes. */
export const maxWebhookBody = 25_000_000;

/** The maximum number of bytes of a file in a session with a bucket. */
export const maxFile = 104_857_600;

export function bodyTooLarge(limit: number): RunletError {
	const advice = limit === maxBody ? 'Send less, or files by their URL' : 'Send less';
	return new RunletError('too_large', `body: more than ${limit} bytes. ${advice}.`, { field: 'body', limit });
}

/** Milliseconds from the last activity to the removal. At most a hundred years: alarms cannot be set after 2189. */
export const expirySchema = v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(3_155_760_000_000));
