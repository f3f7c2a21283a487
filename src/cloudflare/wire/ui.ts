import * as v from 'valibot';
import { taskList } from '../../core/tool/tasks.ts';
import { described } from './field.ts';

/** The maximum number of characters of a chat id or a message id. */
const maxId = 256;

/** The limit is far above the few hundred parts of an answer with many turns. */
const parts = v.pipe(v.array(v.unknown()), v.maxLength(10_000, 'at most 10000 parts'));

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

/** A message of the page. Parts of unknown kinds are ignored. */
export const postedMessage = v.variant('role', [
	v.object({ role: v.literal('user'), id: v.optional(v.pipe(v.string(), v.maxLength(maxId))), parts }),
	v.object({ role: v.literal('assistant'), id: v.optional(v.pipe(v.string(), v.maxLength(maxId))), parts }),
]);

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

const id = v.string();
const toolCallId = v.string();
const toolName = v.string();
const errorText = v.string();
const input = v.unknown();
const data = v.record(v.string(), v.unknown());
const messageMetadata = v.optional(data);
const providerExecuted = v.optional(described(v.literal(true), 'The provider of the model ran the tool itself.'));
const sourceId = v.string();
const providerMetadata = v.optional(
	described(v.object({ runlet: v.object({ quote: v.string() }) }), 'The words of the source that the answer cites.'),
);

/** A chunk of the UI message stream. AI SDK 5, 6 and 7 read it, but only 6 and 7 read the two approval kinds. */
export const uiChunk = v.variant('type', [
	v.object({ type: v.literal('start'), messageId: v.optional(v.string()), messageMetadata }),
	v.object({ type: v.literal('message-metadata'), messageMetadata: data }),
	v.object({ type: v.picklist(['start-step', 'finish-step', 'abort']) }),
	v.object({ type: v.picklist(['text-start', 'text-end', 'reasoning-start', 'reasoning-end']), id }),
	v.object({ type: v.picklist(['text-delta', 'reasoning-delta']), id, delta: v.string() }),
	v.object({ type: v.literal('tool-input-start'), toolCallId, toolName, providerExecuted }),
	v.object({ type: v.literal('tool-input-delta'), toolCallId, inputTextDelta: v.string() }),
	v.object({ type: v.literal('tool-input-available'), toolCallId, toolName, input, providerExecuted }),
	v.object({ type: v.literal('tool-input-error'), toolCallId, toolName, input, errorText }),
	v.object({ type: v.literal('tool-output-available'), toolCallId, output: v.unknown(), providerExecuted }),
	v.object({ type: v.literal('tool-output-error'), toolCallId, errorText, providerExecuted }),
	v.object({ type: v.literal('file'), url: v.string(), mediaType: v.string() }),
	v.object({
		type: v.literal('source-url'),
		sourceId,
		url: v.string(),
		title: v.optional(v.string()),
		providerMetadata,
	}),
	v.object({
		type: v.literal('source-document'),
		sourceId,
		mediaType: v.string(),
		title: v.string(),
		providerMetadata,
	}),
	v.object({ type: v.literal('tool-approval-request'), approvalId: v.string(), toolCallId }),
	v.object({ type: v.literal('tool-output-denied'), toolCallId }),
	v.object({
		type: v.picklist(['data-note', 'data-warning', 'data-restarted']),
		data,
		transient: v.optional(v.literal(true)),
	}),
	v.object({ type: v.literal('data-tasks'), id, data: taskList }),
	v.object({
		type: v.literal('finish'),
		finishReason: v.picklist(['stop', 'length', 'content-filter', 'tool-calls', 'other']),
		messageMetadata,
	}),
	v.object({ type: v.literal('error'), errorText }),
]);
