import * as v from 'valibot';

/** A key as the Worker knows it, without what would open anything. */
export const listedKey = v.object({
	id: v.string(),
	owner: v.string(),
	scopes: v.array(v.string()),
	budget: v.optional(
		v.pipe(
			v.object({ tokens: v.optional(v.number()), usd: v.optional(v.number()) }),
			v.description('What its owner may spend on a UTC day.'),
		),
	),
	expiresAt: v.optional(v.pipe(v.string(), v.isoTimestamp(), v.description('When it ends, of one that was rotated.'))),
	isOver: v.pipe(v.boolean(), v.description('Whether it has ended.')),
});

export const keyList = v.object({ keys: v.array(listedKey) });
