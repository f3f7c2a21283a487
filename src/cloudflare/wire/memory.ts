import * as v from 'valibot';
import { described, time } from './field.ts';
import { count, nextCursor, ownerName } from './page.ts';

/** The maximum number of characters of a memory. */
export const longestMemory = 8_000;
/** The maximum number of memories of a person. */
export const mostMemories = 1_000;
/** The maximum number of characters of all memories of a person. */
export const mostCharacters = 1_000_000;

export const shownMemory = v.object({
	path: described(v.string(), 'Its name. A / makes folders.'),
	text: v.string(),
	version: described(v.string(), 'Another one after each change. Send it in quotes as If-Match.'),
	source: described(
		v.object({
			via: v.picklist(['call', 'http']),
			agent: v.optional(v.string()),
			sessionId: v.optional(v.string()),
			runId: v.optional(v.string()),
			callId: v.optional(v.string()),
			outside: v.optional(described(v.literal(true), 'The session held text of strangers, so the memory may, too.')),
		}),
		'Who changed it last: the call of an agent, or a request over HTTP.',
	),
	createdAt: time,
	updatedAt: time,
});

export const memoryPage = v.object({ memories: v.array(shownMemory), cursor: nextCursor });

const user = v.optional(
	v.pipe(
		v.string(),
		v.nonEmpty('must not be empty. Leave it out for the memories of the owner'),
		v.maxLength(512),
		v.description('Whose memories: those of sessions of this user. The owner’s own if it is missing.'),
	),
);

export const memoryHolder = v.object({ user });

/** A key with the scope `admin` may name another owner. */
export const memoryReader = v.object({ user, owner: v.optional(ownerName) });

export const memoryQuery = v.pipe(
	v.object({
		user,
		owner: v.optional(ownerName),
		query: v.optional(
			v.pipe(v.string(), v.maxLength(1_000), v.description('Words to search for. The best memories come first.')),
		),
		cursor: v.optional(v.pipe(v.string(), v.maxLength(1_024))),
		limit: v.optional(count(100), '50'),
	}),
	v.forward(
		v.check(({ query, cursor }) => query === undefined || cursor === undefined, 'not possible with query'),
		['cursor'],
	),
);

export const memoryBody = v.strictObject({
	text: v.pipe(
		v.string(),
		v.check((text) => text.trim() !== '', 'must not be empty. Delete the memory instead'),
		v.description(`At most ${longestMemory} characters.`),
	),
});
