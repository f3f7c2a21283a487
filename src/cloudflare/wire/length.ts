import * as v from 'valibot';

/** The most characters of an id from outside, such as a model's call id. */
export const maxId = 1_000;

/** The most characters of a name. */
export const maxName = 255;

/** The most characters of a text: no body is longer (`body.ts`). */
export const maxContent = 4_000_000;

/** A text that may fill the body. */
export const longText = v.pipe(v.string(), v.maxLength(maxContent));

/** A text of at most `most` characters. */
export const shortText = (most: number) => v.pipe(v.string(), v.maxLength(most, `at most ${most} characters`));
