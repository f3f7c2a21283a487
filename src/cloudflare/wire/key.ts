import * as v from 'valibot';
import { keyFields } from '../auth/key.ts';
import { roles } from '../auth/rights.ts';

/** A key without its secret. */
export const listedKey = v.object({
	id: v.string(),
	name: v.optional(v.string()),
	owner: v.string(),
	user: v.optional(v.string()),
	role: v.picklist(roles),
	scopes: v.array(v.string()),
	budget: v.optional(
		v.pipe(
			v.object({ tokens: v.optional(v.number()), usd: v.optional(v.number()) }),
			v.description('What the owner may spend on a UTC day.'),
		),
	),
	rate: v.optional(v.pipe(v.number(), v.description('The requests that it may make in 10 seconds.'))),
	expiresAt: v.optional(v.pipe(v.string(), v.isoTimestamp(), v.description('When a rotated key expires.'))),
	isOver: v.pipe(v.boolean(), v.description('Whether the key has expired.')),
	isStored: v.pipe(v.boolean(), v.description('Whether it is stored in an object. If not, it is in the secret.')),
});

export const keyList = v.object({ keys: v.array(listedKey) });

/** The body that makes a key. */
export const keyBody = v.strictObject(keyFields);

/** A new key with its secret, which no other answer shows. */
export const newKey = v.object({
	...listedKey.entries,
	key: v.pipe(v.string(), v.description('The key. Only its hash is stored, so it is never shown again.')),
});
