import * as v from 'valibot';
import { described } from './field.ts';

/** The error of every route, except the routes of other protocols. */
export const errorBody = v.object({
	error: v.object({
		code: described(v.string(), 'A stable name to branch on.'),
		message: described(v.string(), 'The mistake with its field, and the remedy.'),
		data: v.optional(described(v.record(v.string(), v.unknown()), 'Details, such as the field.')),
	}),
});

/** The meaning of each error status on every route, with an example. */
export const failures = {
	400: {
		says: 'The request is not valid. The message names the field and says what is wrong with it.',
		example: { code: 'invalid_request', message: 'agent: missing', data: { field: 'agent' } },
	},
	401: {
		says: 'The key is missing, unknown, revoked or expired.',
		example: { code: 'auth', message: 'Authorization: this key is not known, or was revoked.' },
	},
	402: {
		says: 'A budget is used up. The call to the model was not made. A run that had begun keeps this answer: the same `Idempotency-Key` gets it again. Raise the budget, then `POST /v1/sessions/ID/continue`.',
		example: { code: 'budget_exceeded', message: 'The budget of this session is used up. Raise it, and continue.' },
	},
	403: {
		says: 'The key or token may not do this.',
		example: { code: 'forbidden', message: 'This needs a key with the scope admin; this one has run.' },
	},
	404: {
		says: 'It does not exist, or it belongs to another owner.',
		example: { code: 'not_found', message: 'There is no such session.' },
	},
	408: {
		says: 'The run took too long.',
		example: { code: 'timeout', message: 'The model sent nothing for 60 seconds.' },
	},
	409: {
		says: 'Not possible in the current state, or the Idempotency-Key belongs to another request. Nothing was changed.',
		example: {
			code: 'conflict',
			message: 'The session is running: POST step is not possible now. Possible: POST cancel.',
		},
	},
	412: {
		says: 'If-Match or If-None-Match does not hold. Nothing was changed.',
		example: { code: 'precondition_failed', message: 'If-Match: somebody else has changed this skill.' },
	},
	413: {
		says: 'The body is too large, or the conversation is too long for the model.',
		example: { code: 'too_large', message: 'body: more than 4000000 bytes. Send less, or files by their URL.' },
	},
	415: {
		says: 'This route does not take the content type of the body.',
		example: { code: 'unsupported_media_type', message: 'content-type: expected application/json, got text/plain.' },
	},
	422: {
		says: 'The provider of the model refused the content.',
		example: { code: 'content_filtered', message: 'The provider refused this content.' },
	},
	428: {
		says: 'If-Match is missing. Read the current version first, then replace it under its ETag.',
		example: { code: 'precondition_required', message: 'If-Match: missing. This skill is there already.' },
	},
	429: {
		says: 'Too many requests.',
		example: { code: 'rate_limited', message: 'Too many requests. Wait 10 seconds, then try again.' },
	},
	500: {
		says: 'The run made more turns than its agent allows, or something went wrong that Runlet did not expect.',
		example: { code: 'max_iterations', message: 'The run did not come to an end in 10 turns.' },
	},
	502: {
		says: 'The provider of the model failed or could not be reached, or the run was cut off too often.',
		example: { code: 'provider_error', message: 'Anthropic answered 500.' },
	},
	503: {
		says: 'The Worker is overloaded: try again in a moment. Or a setting is missing: the message names it.',
		example: { code: 'not_configured', message: 'ANTHROPIC_API_KEY: missing. Set it in .dev.vars.' },
	},
} as const;

export type FailureStatus = keyof typeof failures;

export interface Problem {
	/** The variable, binding or agent with the problem. */
	readonly where: string;
	readonly message: string;
	/** The name of the variable, if the only mistake is that it is not set. */
	readonly unset?: string;
}
