import * as v from 'valibot';

/** The most characters of a chat id or a message id. */
const maxId = 256;

/** An answer of many turns has a few hundred parts. */
const parts = v.pipe(v.array(v.unknown()), v.maxLength(10_000, 'at most 10000 parts'));

/** The body that an AI SDK page posts. Only the last message is read: the session keeps the history. */
export const uiPost = v.object({
	id: v.pipe(v.string(), v.nonEmpty('must not be empty'), v.maxLength(maxId), v.description('The chat’s id.')),
	messages: v.pipe(
		v.array(v.unknown()),
		v.minLength(1, 'must hold a message'),
		v.maxLength(10_000, 'at most 10000 messages'),
		v.description('UI messages. Only the last one is read: the session keeps the history.'),
	),
	trigger: v.optional(v.picklist(['submit-message', 'regenerate-message']), 'submit-message'),
	messageId: v.nullish(
		v.pipe(
			v.string(),
			v.maxLength(maxId),
			v.description('The message that the page edits, or whose answer it regenerates.'),
		),
	),
	model: v.nullish(
		v.pipe(
			v.string(),
			v.nonEmpty('must not be empty'),
			v.maxLength(200),
			v.description('The model to use from now on, one that the agent allows. The chat keeps it.'),
		),
	),
});

/** The last message of a post. Parts of unknown kinds are ignored. */
export const postedMessage = v.variant('role', [
	v.object({ role: v.literal('user'), id: v.optional(v.pipe(v.string(), v.maxLength(maxId))), parts }),
	v.object({ role: v.literal('assistant'), id: v.optional(v.pipe(v.string(), v.maxLength(maxId))), parts }),
]);

/** The conversation as a page shows it. */
export const uiMessageList = v.object({
	messages: v.array(
		v.object({
			id: v.string(),
			role: v.picklist(['user', 'assistant']),
			metadata: v.optional(v.record(v.string(), v.unknown())),
			parts: v.array(v.looseObject({ type: v.string() })),
		}),
	),
});
