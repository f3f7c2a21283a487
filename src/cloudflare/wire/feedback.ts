import * as v from 'valibot';
import { userName } from '../auth/rights.ts';
import { described, time } from './field.ts';
import { shortText } from './limits.ts';
import { agentName, count, cursor, nextCursor, ownerOrAll, waitingCursor } from './page.ts';

export const rating = v.picklist(['up', 'down']);

/** What a person says about an answer. */
export const feedbackBody = v.strictObject({
	rating,
	note: v.optional(v.pipe(shortText(2_000), v.nonEmpty('must not be empty. Leave it out'))),
});

/** The feedback about a run. */
export const feedback = v.object({ rating, note: v.optional(v.string()), createdAt: time });

const listedFeedback = v.object({
	sessionId: v.string(),
	runId: v.string(),
	agent: v.string(),
	owner: v.optional(described(v.string(), 'The owner. Present if the query has `owner`.')),
	user: v.optional(described(v.string(), 'The user of the session.')),
	title: v.optional(v.string()),
	...feedback.entries,
});

export const feedbackPage = v.object({ feedback: v.array(listedFeedback), cursor: nextCursor });

export const feedbackQuery = v.object({
	cursor: v.optional(cursor(waitingCursor)),
	limit: v.optional(count(100), '20'),
	rating: v.optional(rating),
	agent: agentName,
	user: v.optional(described(userName, 'Only feedback in sessions of this user.')),
	owner: v.optional(ownerOrAll),
});
