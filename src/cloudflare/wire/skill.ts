import * as v from 'valibot';
import { described } from './field.ts';
import { count, cursor, nextCursor } from './page.ts';

export const listedSkill = v.object({
	name: v.string(),
	description: v.string(),
	when: v.optional(v.array(v.string())),
	modalities: v.optional(v.array(v.string())),
	requires: v.optional(v.array(v.string())),
	'allowed-tools': v.optional(v.string()),
	etag: described(v.string(), 'The entity tag. Send it in quotes as If-Match.'),
	score: v.optional(described(v.number(), 'How well the skill fits the query.')),
});

export const skillPage = v.object({ skills: v.array(listedSkill), cursor: nextCursor });

export const skill = v.object({
	...v.omit(listedSkill, ['score']).entries,
	body: v.string(),
	files: v.optional(described(v.record(v.string(), v.string()), 'The text files beside SKILL.md, by path.')),
	frontMatter: v.optional(v.record(v.string(), v.unknown())),
});

export const publishedSkill = v.object({
	name: v.string(),
	etag: v.string(),
	warnings: v.optional(
		described(
			v.array(
				v.object({
					severity: v.picklist(['error', 'warning']),
					field: v.string(),
					message: v.string(),
					line: v.optional(v.number()),
				}),
			),
			'Where the skill violates the format. It works here all the same.',
		),
	),
});

export const skillQuery = v.pipe(
	v.object({
		query: v.optional(
			v.pipe(v.string(), v.maxLength(1_000), v.description('Words to search for. The best skills come first.')),
		),
		cursor: v.optional(cursor(/^[a-z0-9-]{1,64}$/)),
		limit: v.optional(count(100), '50'),
	}),
	v.forward(
		v.check(({ query, cursor }) => query === undefined || cursor === undefined, 'not possible with query'),
		['cursor'],
	),
);
