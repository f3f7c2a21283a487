import * as v from 'valibot';

const cursorMessage = 'Expected a cursor that this route gave';

/** A position in a history. The arrow function keeps it a text in the API's document, where `Number` means an integer. */
export const place = v.pipe(
	v.string(),
	v.regex(/^\d{1,15}$/, cursorMessage),
	v.transform((text) => Number(text)),
);

/** A limit on the entries of a page. */
export const count = (most: number) =>
	v.pipe(v.string(), v.regex(/^\d{1,4}$/, 'Expected a number'), v.transform(Number), v.minValue(1), v.maxValue(most));

/** The name of an agent in a query. */
export const agentName = v.optional(v.pipe(v.string(), v.nonEmpty('Expected the name of an agent'), v.maxLength(64)));

/** A cursor of the given form. */
export const cursor = (form: RegExp) => v.pipe(v.string(), v.regex(form, cursorMessage));

/** The cursor of the next page, in an answer. */
export const nextCursor = v.optional(
	v.pipe(v.string(), v.description('The cursor of the next page. Missing on the last page.')),
);

/** The cursor that follows a session in the session list. */
export const sessionCursor = /^(\d{1,16})\.([\w-]{1,128})$/;

/** The cursor that follows a waiting call in the list of approvals. */
export const waitingCursor = /^(\d{1,16})\.([\w-]{1,128})\.(\d{1,16})$/;

/** An owner in a query, or all owners. */
export const ownerOrAll = v.pipe(
	v.string(),
	v.regex(/^[\x21-\x7e]{1,128}$/, 'Expected the name of an owner, or * for all of them'),
	v.description('What belongs to this owner, or to all owners with *. Another owner needs a key with the scope admin.'),
);

/** One owner in a query. */
export const ownerName = v.pipe(
	v.string(),
	v.regex(/^(?!\*$)[\x21-\x7e]{1,128}$/, 'Expected the name of an owner'),
	v.description('Another owner than your own. Needs a key with the scope admin.'),
);
