import * as v from 'valibot';
import { type TokenScope, tokenScopes, userName } from '../auth/rights.ts';
import { described, time } from './field.ts';
import { maxId, shortText } from './limits.ts';

/** With these scopes a page can show which calls wait for an approval, but only somebody else can decide. */
export const defaultTokenScopes: readonly TokenScope[] = ['read', 'message'];

/** The seconds of a day. */
export const tokenSeconds = 86_400;

/** The seconds of 30 days. */
const longestTokenSeconds = 2_592_000;

export const holder = described(
	userName,
	'The person who holds it and decides by it, such as `kim`. The default is the user of the session.',
);

export const tokenBody = v.strictObject({
	for: v.optional(holder),
	user: v.optional(described(userName, 'The user of the session, if you want to be sure of it.')),
	expiresInSeconds: v.optional(
		v.pipe(
			v.number(),
			v.integer(),
			v.minValue(60),
			v.maxValue(longestTokenSeconds),
			v.description('The default is a day.'),
		),
	),
	scopes: v.optional(
		v.pipe(
			v.array(v.picklist(tokenScopes)),
			v.nonEmpty(),
			v.maxLength(tokenScopes.length),
			v.description(
				'The rights of the token: `read` the session, `message` (send messages, answer questions of tools, stop runs), `approve` (decide about calls that wait for an approval). The default is `read` and `message`.',
			),
		),
	),
});

/** A token that gives access to one session. */
export const sessionToken = v.object({
	token: v.string(),
	tokenId: described(v.string(), 'The id that revokes the token.'),
	tokenScopes: v.array(v.picklist(tokenScopes)),
	tokenExpiresAt: time,
});

export const linkBody = v.strictObject({
	callId: v.pipe(shortText(maxId), v.nonEmpty()),
	for: v.optional(
		described(holder, 'The person who decides by the links: shown on the page, and given to `approvers`.'),
	),
	expiresInSeconds: v.optional(
		v.pipe(v.number(), v.integer(), v.minValue(60), v.maxValue(604_800), v.description('The default is an hour.')),
	),
});

/** Whoever has a link can decide. */
export const decisionLinks = v.object({
	approve: v.string(),
	deny: v.string(),
	expiresAt: time,
});
