import type * as v from 'valibot';
import type { Endpoint } from './endpoint.ts';
import type { FailureStatus } from './error.ts';
import { sourceNames } from './protocols/webhooks/source.ts';

/**
 * An operation of the API: an endpoint, and what its entry in the OpenAPI document and the types of the client add to it.
 * Its name in `operations/` is the `operationId`.
 */
export interface Operation extends Endpoint {
	readonly tag: string;
	readonly summary: string;
	/** A text in Markdown. */
	readonly description?: string;
	readonly headers?: readonly RequestHeader[];
	/** Examples of the JSON body, by name. */
	readonly examples?: Readonly<Record<string, unknown>>;
	/** A body that the route itself parses. */
	readonly body?: Readonly<Record<string, OtherMedia>>;
	readonly answers: { readonly [status in 101 | 200 | 201 | 202 | 204 | 206 | 304]?: Answer };
	/** The statuses of errors that do not follow from the other fields. */
	readonly errors?: readonly FailureStatus[];
	/** A sentence for each status that only this operation has. */
	readonly ownErrors?: Readonly<Record<number, string>>;
	/** The form of the errors, if it is not Runlet's own. */
	readonly failure?: Pick<Answer, 'json' | 'also'>;
	/** Whether the operation answers with a run, so that it also has the errors of a run. */
	readonly runs?: true;
}

/** Returns a function that defines operations of a tag and keeps the types of their schemas. */
export const createOperations =
	(tag: string) =>
	<const E extends Endpoint, const O extends Omit<Operation, keyof Endpoint | 'tag'>>(
		endpoint: E,
		rest: O,
	): E & O & { readonly tag: string } => ({ ...endpoint, ...rest, tag });

export const requestHeaders = {
	accept: {
		says: 'text/event-stream streams the run. text/markdown returns a skill as its SKILL.md. application/x-ndjson returns an export as lines. Anything else returns JSON.',
		example: 'application/json',
	},
	prefer: {
		says: 'respond-async returns 202 with the run’s id as soon as the request is stored.',
		example: 'respond-async',
	},
	'idempotency-key': {
		says: 'A request that is repeated with the same key gets the same session and the same run. 1 to 255 visible ASCII characters.',
		example: 'order-1042',
	},
	'runlet-session': {
		says: 'The session to continue: its id, or a name that you choose, with 1 to 200 characters. Without this header each request gets its own session, which is removed after an hour.',
		example: 'user-42',
	},
	'last-event-id': {
		says: 'The id of the last event that the client saw. The stream continues after it.',
		example: '1.0.0.1.0.0.12.0.0.0',
	},
	'if-match': {
		says: 'Entity tags in quotes, or *. The change is made only if the current version has one of these tags.',
		example: '"3q2-7w"',
	},
	'if-none-match': {
		says: 'On GET an entity tag that the client has: the answer is 304 if it is the newest. On PUT only *: it is created, never replaced.',
		example: '*',
	},
	'content-range': {
		says: 'The part of an import that the body has, and the size of all lines. `bytes */SIZE` without a body asks how much has arrived.',
		example: 'bytes 0-67108863/734003200',
	},
	range: {
		says: 'The bytes that the client wants: one range. A range outside of the file, or several, return all of it.',
		example: 'bytes=0-1023',
	},
} as const;

export type RequestHeader = keyof typeof requestHeaders;

export const answerHeaders = {
	location: 'The path of the session.',
	'runlet-session': 'The id of the session.',
	etag: 'The entity tag of the newest version of the skill or the file.',
	'content-disposition': 'Tells a browser to save the file under its name.',
	'content-range': 'The bytes that the answer has, and how many the file has.',
} as const;

export type AnswerHeader = keyof typeof answerHeaders;

/** A body of another media type than JSON, or a body that a route parses itself. */
export interface OtherMedia {
	/** A text, or an object that is shown as JSON. */
	readonly example: string | Readonly<Record<string, unknown>>;
	readonly says?: string;
	/** The schema of each `data:` of an event stream. */
	readonly events?: v.GenericSchema;
}

export interface Answer {
	readonly says: string;
	readonly json?: v.GenericSchema;
	readonly examples?: Readonly<Record<string, unknown>>;
	readonly also?: Readonly<Record<string, OtherMedia>>;
	readonly headers?: readonly AnswerHeader[];
}

interface PathParameter {
	readonly says: string;
	readonly example: string;
}

const exampleSession = '5f3c9a1e7b2d4860f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708';

export const exampleRequest = `req_0f8fad5b-d9cb-469f-a165-70867728950e_${exampleSession}`;

export const pathParameters: Readonly<Record<string, PathParameter>> = {
	id: { says: 'The session’s id.', example: exampleSession },
	request: { says: 'The `x-request-id` of an answer.', example: exampleRequest },
	link: { says: 'The end of a decision link.', example: 'eyJzZXNzaW9uIjoi' },
	tokenId: { says: 'The token’s id.', example: '4f0c9b1e2a7d8356' },
	keyId: { says: 'The key’s id, the part between its two underscores.', example: '7kq2mzt1v9xe' },
	message: { says: 'The message’s id.', example: '65536' },
	memory: { says: 'The path of the memory, with / between names.', example: 'preferences.md' },
	path: { says: 'The path of the file, with / between names.', example: 'notes/plan.md' },
	agent: { says: 'The agent’s name.', example: 'assistant' },
	chat: { says: 'The chat’s id: any text, or the id of a session.', example: 'chat-1' },
	file: { says: 'The id of an uploaded file.', example: 'file-019a1b2c3d4e0123456789abcdef0123' },
	response: { says: 'The response’s id.', example: `resp_${exampleSession}1` },
	conversation: { says: 'The conversation’s id.', example: `conv_${exampleSession}` },
	model: { says: 'The agent’s name.', example: 'assistant' },
	name: { says: 'The name of the skill, the tool or the server.', example: 'customer-tone' },
	user: { says: 'The user’s name, as sessions have it.', example: 'ada' },
	source: { says: `The sender: ${sourceNames.join(', ')}. "standard" is Standard Webhooks.`, example: 'github' },
};

/** The type of an answer: read-only at every depth. */
export type Shown<S extends v.GenericSchema> = Deep<v.InferOutput<S>>;

type Deep<T> = T extends object ? { readonly [K in keyof T]: Deep<T[K]> } : T;
