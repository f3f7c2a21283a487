import * as v from 'valibot';

/** Characters of an id that is not made here, such as that of a model's call. */
export const maxId = 1_000;

/** Characters of a name. */
export const maxName = 255;

/** Characters of a content: no body is longer (`routes/request.ts`). */
export const maxContent = 4_000_000;

/** A text that may be as long as a body. */
export const longText = v.pipe(v.string(), v.maxLength(maxContent));

/** A text of so many characters at most. */
export const shortText = (most: number) => v.pipe(v.string(), v.maxLength(most, `at most ${most} characters`));
