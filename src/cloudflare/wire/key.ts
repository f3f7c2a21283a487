import * as v from 'valibot';

/** What the Worker knows of a key. Contains no secret. */
export const listedKey = v.object({
	id: v.string(),
	owner: v.string(),
	scopes: v.array(v.string()),
	budget: v.optional(
		v.pipe(
			v.object({ tokens: v.optional(v.number()), usd: v.optional(v.number()) }),
			v.description('What the owner may spend on a UTC day.'),
		),
	),
	expiresAt: v.optional(v.pipe(v.string(), v.isoTimestamp(), v.description('When a rotated key expires.'))),
	isOver: v.pipe(v.boolean(), v.description('Whether the key has expired.')),
});

export const keyList = v.object({ keys: v.array(listedKey) });
