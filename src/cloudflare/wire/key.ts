import * as v from 'valibot';
import { keyFields } from '../auth/key.ts';
import { roles } from '../auth/rights.ts';
import { described, time } from './field.ts';

/** A key without its secret. */
export const listedKey = v.object({
	id: v.string(),
	name: v.optional(v.string()),
	owner: v.string(),
	user: v.optional(v.string()),
	role: v.picklist(roles),
	scopes: v.array(v.string()),
	budget: v.optional(
		described(
			v.object({ tokens: v.optional(v.number()), usd: v.optional(v.number()) }),
			'The budget of the owner for a UTC day.',
		),
	),
	rate: v.optional(described(v.number(), 'The requests that it may make in 10 seconds.')),
	expiresAt: v.optional(described(time, 'When a rotated key expires.')),
	isOver: described(v.boolean(), 'Whether the key has expired.'),
	isStored: described(v.boolean(), 'Whether it is stored in an object. If not, it is in the secret.'),
});

export const keyList = v.object({ keys: v.array(listedKey) });

export const keyBody = v.strictObject(keyFields);

export const newKey = v.object({
	...listedKey.entries,
	key: described(v.string(), 'The key. Only its hash is stored, so it is never shown again.'),
});
