import * as v from 'valibot';
import { taskList } from '../../core/tool/tasks.ts';

const id = v.string();
const toolCallId = v.string();
const toolName = v.string();
const errorText = v.string();
const input = v.unknown();
const data = v.record(v.string(), v.unknown());
const messageMetadata = v.optional(data);
const providerExecuted = v.optional(
	v.pipe(v.literal(true), v.description('The provider of the model ran the tool itself.')),
);
const sourceId = v.string();
const providerMetadata = v.optional(
	v.pipe(
		v.object({ runlet: v.object({ quote: v.string() }) }),
		v.description('The words of the source that the answer cites.'),
	),
);

/** A chunk of the UI message stream. AI SDK 5, 6 and 7 read it; the two approval kinds need 6 or 7. */
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
