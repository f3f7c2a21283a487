import * as v from 'valibot';
import { maxId, shortText } from './length.ts';
import { holder } from './token.ts';

/** The body that makes links to decide about a call. */
export const linkBody = v.strictObject({
	callId: v.pipe(shortText(maxId), v.nonEmpty()),
	for: v.optional(
		v.pipe(holder, v.description('The person who decides by them: shown on the page, and told to `approvers`.')),
	),
	expiresInSeconds: v.optional(
		v.pipe(v.number(), v.integer(), v.minValue(60), v.maxValue(604_800), v.description('The default is an hour.')),
	),
});

/** Links to decide about a call. Whoever has one can decide. */
export const decisionLinks = v.object({
	approve: v.string(),
	deny: v.string(),
	expiresAt: v.pipe(v.string(), v.isoTimestamp()),
});
