import * as v from 'valibot';
import { shortText } from './length.ts';

/**
 * What a token may do. `read` reads the session. `message` sends messages, answers what tools ask and stops runs.
 * `approve` decides about calls that wait for an approval.
 */
export const tokenScopes = ['read', 'message', 'approve'] as const;
export type TokenScope = (typeof tokenScopes)[number];

/** The default scopes: a page shows which calls wait for an approval, and somebody else decides. */
export const defaultTokenScopes: readonly TokenScope[] = ['read', 'message'];

/** The default lifetime of a token in seconds: a day. */
export const tokenSeconds = 86_400;

/** The longest lifetime of a token in seconds: 30 days. */
const longestTokenSeconds = 2_592_000;

const holder = v.pipe(shortText(200), v.nonEmpty(), v.description('Who holds it, for the `approvers` of the agent.'));

/** The body that makes a token. */
export const tokenBody = v.strictObject({
	for: v.optional(holder),
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
				'What the token may do: `read` the session, `message` (send messages, answer what tools ask, stop runs), `approve` (decide about calls that wait for an approval). The default is `read` and `message`.',
			),
		),
	),
});

/** A token that gives access to one session only. */
export const sessionToken = v.object({
	token: v.string(),
	tokenId: v.pipe(v.string(), v.description('The id that revokes the token.')),
	tokenScopes: v.array(v.picklist(tokenScopes)),
	tokenExpiresAt: v.pipe(v.string(), v.isoTimestamp()),
});
