import * as v from 'valibot';

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
});

/** A token that opens one session only. */
export const sessionToken = v.object({ token: v.string(), tokenExpiresAt: v.pipe(v.string(), v.isoTimestamp()) });
