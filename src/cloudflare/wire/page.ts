import * as v from 'valibot';

const cursorMessage = 'Expected a cursor that this route gave';

/** A place in a history, as text. */
export const place = v.pipe(v.string(), v.regex(/^\d{1,15}$/, cursorMessage), v.transform(Number));

/** How many entries a page may have. */
export const count = (most: number) =>
	v.pipe(v.string(), v.regex(/^\d{1,4}$/, 'Expected a number'), v.transform(Number), v.minValue(1), v.maxValue(most));

/** A cursor of that form. */
export const cursor = (form: RegExp) => v.pipe(v.string(), v.regex(form, cursorMessage));

/** Where the next page begins, in an answer. */
export const nextCursor = v.optional(
	v.pipe(v.string(), v.description('Where the next page begins. Missing after the last.')),
);

/** The place behind a session in the list of sessions. */
export const sessionCursor = /^(\d{1,16})\.([\w-]{1,128})$/;
