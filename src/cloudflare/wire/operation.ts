import type * as v from 'valibot';
import type { FailureStatus } from './error.ts';

/** Request headers that operations know, and what they do. */
export const requestHeaders = {
	accept: {
		says: 'text/event-stream streams the run; text/markdown gives a skill as its SKILL.md; application/x-ndjson an export as lines. Else the answer is JSON.',
		example: 'application/json',
	},
	prefer: {
		says: 'respond-async: the answer is 202 with the run’s id, as soon as the request is stored.',
		example: 'respond-async',
	},
	'idempotency-key': {
		says: 'A request that comes again under its key gets the first answer: the same session, the same run. 1 to 255 visible ASCII characters.',
		example: 'order-1042',
	},
	'runlet-session': {
		says: 'The session to go on with: its id, or a name of your own with 1 to 200 characters. Without it a request is a session of its own, which is gone after an hour.',
		example: 'user-42',
	},
	'last-event-id': {
		says: 'The id of the last event that was seen: the stream goes on behind it.',
		example: '1.0.0.1.0.0.12.0.0.0',
	},
	'if-match': {
		says: 'Entity tags in quotes, or *: the change is made only where what is there is one of them.',
		example: '"3q2-7w"',
	},
	'if-none-match': {
		says: 'On GET an entity tag that the client has: 304 where it is the newest. On PUT only *: the skill is created, never replaced.',
		example: '*',
	},
} as const;

export type RequestHeader = keyof typeof requestHeaders;

/** Headers of answers. */
export const answerHeaders = {
	location: 'Where the session is.',
	'runlet-session': 'The id of the session.',
	etag: 'The entity tag of the skill as it is now.',
} as const;

export type AnswerHeader = keyof typeof answerHeaders;

/** A body that no schema checks. */
export interface OtherMedia {
	/** A text, or the JSON of an object. */
	readonly example: string | Readonly<Record<string, unknown>>;
	/** What is to be known of it. */
	readonly says?: string;
	/** Of a stream of events: what the `data:` of each is, as JSON. */
	readonly events?: v.GenericSchema;
}

/** One of the answers of an operation. */
export interface Answer {
	/** What it is, in a sentence. */
	readonly says: string;
	/** The JSON that it holds. */
	readonly json?: v.GenericSchema;
	/** Examples of the JSON by what they show. */
	readonly examples?: Readonly<Record<string, unknown>>;
	/** The same as other media types. */
	readonly also?: Readonly<Record<string, OtherMedia>>;
	readonly headers?: readonly AnswerHeader[];
}

/**
 * Who may ask for it: anybody; a sender that signs; who has the session’s token, or a key of its owner; its owner only;
 * who has a key with the scope run, any key, or one with the scope admin.
 */
export type Access = 'anybody' | 'sender' | 'token' | 'owner' | 'run' | 'key' | 'admin';

/** One thing that can be asked of the API: what it takes and what it answers. Its route checks by it, and the document is made from it. */
export interface Operation {
	/** Its name in the document. */
	readonly id: string;
	readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
	/** As the router has it, such as `/v1/sessions/:id`. */
	readonly path: string;
	readonly tag: string;
	/** A few words. */
	readonly summary: string;
	/** More, in Markdown, where a few words do not say it all. */
	readonly description?: string;
	readonly access: Access;
	/** Whether a key with the scope admin may do it, too: with what belongs to any owner. */
	readonly adminToo?: true;
	readonly headers?: readonly RequestHeader[];
	readonly query?: v.GenericSchema<unknown, object> & { readonly entries: Readonly<Record<string, v.GenericSchema>> };
	/**
	 * Whether query parameters that it does not know are left alone instead of refused: senders of webhooks, clients of
	 * other protocols and browsers that follow a link add their own.
	 */
	readonly ignoresQuery?: true;
	/** The JSON body. */
	readonly json?: v.GenericSchema<unknown, object>;
	/** Examples of the JSON body by what they show. */
	readonly examples?: Readonly<Record<string, unknown>>;
	/** A body that the route reads by itself. */
	readonly body?: Readonly<Record<string, OtherMedia>>;
	/** What the answers are, by their status. */
	readonly answers: { readonly [status in 200 | 201 | 202 | 204 | 304]?: Answer };
	/** Errors of its own, beside those that follow from what it takes. */
	readonly errors?: readonly FailureStatus[];
	/** Errors that no other operation has, by their status: what each is, in a sentence. */
	readonly ownErrors?: Readonly<Record<number, string>>;
	/** The form of its errors, where it is not Runlet's own. */
	readonly failure?: Pick<Answer, 'json' | 'also'>;
	/** Whether it answers with a run, so that the run’s errors are its own. */
	readonly runs?: true;
}

/** An operation, with the types of its schemas kept. */
export function operation<const O extends Operation>(given: O): O {
	return given;
}

/** What the parameters of paths are. */
export const pathParameters: Readonly<Record<string, { readonly says: string; readonly example: string }>> = {
	id: { says: 'The session’s id.', example: '5f3c9a1e7b2d4860f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708' },
	tokenId: { says: 'The token’s id.', example: '4f0c9b1e2a7d8356' },
	message: { says: 'The message’s id.', example: '65536' },
	agent: { says: 'The agent’s name.', example: 'assistant' },
	chat: { says: 'The chat’s id: any text, or the id of a session.', example: 'chat-1' },
	model: { says: 'The agent’s name.', example: 'assistant' },
	name: { says: 'The skill’s name.', example: 'customer-tone' },
	source: { says: 'Who sends it: standard (Standard Webhooks), github, stripe, slack or hmac.', example: 'github' },
};
