import * as v from 'valibot';
import { described } from './field.ts';

const cursorMessage = 'Expected a cursor that this route gave';

/** With the plain function `Number`, the API's document would show an integer instead of a text. */
export const place = v.pipe(
	v.string(),
	v.regex(/^\d{1,15}$/, cursorMessage),
	v.transform((text) => Number(text)),
);

export const count = (most: number) =>
	v.pipe(v.string(), v.regex(/^\d{1,4}$/, 'Expected a number'), v.transform(Number), v.minValue(1), v.maxValue(most));

export const agentName = v.optional(v.pipe(v.string(), v.nonEmpty('Expected the name of an agent'), v.maxLength(64)));

export const cursor = (form: RegExp) => v.pipe(v.string(), v.regex(form, cursorMessage));

export const nextCursor = v.optional(described(v.string(), 'The cursor of the next page. Missing on the last page.'));

export const sessionCursor = /^(\d{1,16})\.([\w-]{1,128})$/;

export const waitingCursor = /^(\d{1,16})\.([\w-]{1,128})\.(\d{1,16})$/;

export const ownerCursor = /^[\x21-\x7e]{1,128}$/;

export const ownerOrAll = v.pipe(
	v.string(),
	v.regex(/^[\x21-\x7e]{1,128}$/, 'Expected the name of an owner, or * for all of them'),
	v.description('The entries of this owner, or of all owners with *. Another owner needs a key with the scope admin.'),
);

export const ownerName = v.pipe(
	v.string(),
	v.regex(/^(?!\*$)[\x21-\x7e]{1,128}$/, 'Expected the name of an owner'),
	v.description('Another owner than your own. Needs a key with the scope admin.'),
);
