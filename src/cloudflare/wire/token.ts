import * as v from 'valibot';

/**
 * What a token may do: read the session; talk in it, which is also to answer what its tools ask and to stop it; decide
 * about calls that wait for an approval.
 */
export const tokenScopes = ['read', 'message', 'approve'] as const;
export type TokenScope = (typeof tokenScopes)[number];

/** What a token may do where nobody says: a page shows what waits for an approval, and somebody else decides. */
export const defaultTokenScopes: readonly TokenScope[] = ['read', 'message'];

/** How long a token opens its session, in seconds, where nobody says: a day. */
export const tokenSeconds = 86_400;

/** The longest that a token may be asked for, in seconds: 30 days. */
const longestTokenSeconds = 2_592_000;

/** What a token is made with. */
export const tokenBody = v.strictObject({
	expiresInSeconds: v.optional(
		v.pipe(
			v.number(),
			v.integer(),
			v.minValue(60),
			v.maxValue(longestTokenSeconds),
			v.description('A day, where it is missing.'),
		),
	),
	scopes: v.optional(
		v.pipe(
			v.array(v.picklist(tokenScopes)),
			v.nonEmpty(),
			v.maxLength(tokenScopes.length),
			v.description(
				'What it may do: `read` the session, `message` (say something, answer what tools ask, stop), `approve` (decide about calls that wait for an approval). `read` and `message`, where it is missing.',
			),
		),
	),
});

/** A token that opens one session only. */
export const sessionToken = v.object({
	token: v.string(),
	tokenId: v.pipe(v.string(), v.description('What it is revoked by.')),
	tokenScopes: v.array(v.picklist(tokenScopes)),
	tokenExpiresAt: v.pipe(v.string(), v.isoTimestamp()),
});
