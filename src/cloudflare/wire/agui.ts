import * as v from 'valibot';
import { described } from './field.ts';
import { longText, maxId, shortText } from './limits.ts';

const id = v.pipe(shortText(256), v.nonEmpty('must not be empty'));

/** Makes a list that may be missing or null, and that checks its length before its entries. */
function createList<const S extends v.GenericSchema>(entry: S, most: number) {
	return v.nullish(v.pipe(v.array(v.unknown()), v.maxLength(most, `at most ${most} entries`), v.array(entry)));
}

/** The maximum number of characters of all `context` entries of a request. */
const mostContext = 50_000;

const context = v.pipe(
	v.object({ description: longText, value: longText }),
	v.description('What the page knows, such as the open document. The model gets it with the new message.'),
);

/** The body of `POST /v1/ag-ui/:agent`: a `RunAgentInput` of AG-UI 1.0. Unknown fields are ignored. */
export const aguiInput = v.object({
	threadId: described(id, 'The thread’s name, or the id of a session.'),
	runId: described(id, 'A repeated request with the same runId gets the same run.'),
	protocolVersion: v.nullish(shortText(20)),
	messages: v.pipe(
		v.array(v.looseObject({ role: shortText(20) })),
		v.maxLength(10_000, 'at most 10000 messages'),
		v.description('Only the messages after the last assistant message are read: the session keeps the history.'),
	),
	tools: createList(
		v.object({
			name: v.pipe(v.string(), v.regex(/^[a-zA-Z0-9_-]{1,64}$/, 'Expected 1 to 64 letters, digits, _ and -')),
			description: v.nullish(shortText(100_000)),
			parameters: v.nullish(v.record(longText, v.unknown())),
		}),
		128,
	),
	context: v.pipe(
		createList(context, 100),
		v.check(
			(entries) => JSON.stringify(entries ?? []).length <= mostContext,
			`at most ${mostContext} characters of JSON`,
		),
	),
	state: v.nullish(
		described(v.unknown(), 'The page’s own state. `STATE_SNAPSHOT` returns it with the task lists of the session.'),
	),
	resume: createList(
		v.object({
			interruptId: shortText(maxId + 20),
			status: v.picklist(['resolved', 'cancelled']),
			payload: v.optional(v.unknown()),
		}),
		1_000,
	),
});

const source = v.variant('type', [
	v.object({ type: v.literal('data'), value: longText, mimeType: longText }),
	v.object({ type: v.literal('url'), value: longText, mimeType: v.nullish(longText) }),
]);

/** A part of a user's message. `metadata.filename` names the file. */
const contentPart = v.variant('type', [
	v.object({ type: v.literal('text'), text: longText }),
	v.object({
		type: v.picklist(['image', 'audio', 'video', 'document']),
		source,
		metadata: v.nullish(v.looseObject({ filename: v.optional(longText) })),
	}),
]);

const texts = v.pipe(v.array(v.looseObject({ text: v.optional(longText, '') })), v.maxLength(1_000));

/** A new message of the page. */
export const aguiMessage = v.variant('role', [
	v.object({
		role: v.literal('user'),
		id: v.nullish(shortText(256)),
		content: v.union([longText, v.pipe(v.array(contentPart), v.minLength(1), v.maxLength(1_000))]),
	}),
	v.object({
		role: v.literal('tool'),
		toolCallId: shortText(maxId),
		content: v.union([longText, texts]),
		error: v.nullish(longText),
	}),
]);

/** The answer to an interrupt that asks for permission. */
export const aguiDecision = v.object({
	approved: v.boolean(),
	editedArgs: v.optional(v.unknown()),
	reason: v.optional(v.unknown()),
});

const messageId = v.string();
const toolCallId = v.string();
const delta = v.string();
const record = v.looseObject({});
const messages = v.array(v.looseObject({ role: v.string() }));
const metadata = v.optional(record);

/** An event of AG-UI 1.0. */
export const aguiEvent = v.variant('type', [
	v.object({
		type: v.literal('RUN_STARTED'),
		threadId: v.string(),
		runId: v.string(),
		protocolVersion: v.optional(v.string()),
		metadata,
	}),
	v.object({ type: v.picklist(['TEXT_MESSAGE_START', 'REASONING_MESSAGE_START']), messageId, role: v.string() }),
	v.object({ type: v.picklist(['TEXT_MESSAGE_CONTENT', 'REASONING_MESSAGE_CONTENT']), messageId, delta }),
	v.object({
		type: v.picklist(['TEXT_MESSAGE_END', 'REASONING_START', 'REASONING_MESSAGE_END', 'REASONING_END']),
		messageId,
	}),
	v.object({
		type: v.literal('TOOL_CALL_START'),
		toolCallId,
		toolCallName: v.string(),
		parentMessageId: v.string(),
	}),
	v.object({ type: v.literal('TOOL_CALL_ARGS'), toolCallId, delta }),
	v.object({ type: v.literal('TOOL_CALL_END'), toolCallId }),
	v.object({
		type: v.literal('TOOL_CALL_RESULT'),
		messageId,
		toolCallId,
		content: v.union([v.string(), v.array(record)]),
		role: v.literal('tool'),
	}),
	v.object({ type: v.literal('MESSAGES_SNAPSHOT'), messages }),
	v.object({ type: v.literal('STATE_SNAPSHOT'), snapshot: record }),
	v.object({ type: v.literal('CUSTOM'), name: v.string(), value: record }),
	v.object({
		type: v.literal('RUN_FINISHED'),
		threadId: v.string(),
		runId: v.string(),
		outcome: v.looseObject({ type: v.picklist(['success', 'interrupt', 'cancelled']) }),
		result: v.optional(v.unknown()),
		usage: v.optional(v.array(record)),
		metadata,
	}),
	v.object({ type: v.literal('RUN_ERROR'), message: v.string(), code: v.string() }),
]);

export type AguiInput = v.InferOutput<typeof aguiInput>;
