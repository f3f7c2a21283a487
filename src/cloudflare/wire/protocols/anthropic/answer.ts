/** The schemas of the answers. The code uses their types, and the API's document uses the schemas themselves. */
import * as v from 'valibot';

const count = v.pipe(v.number(), v.integer(), v.minValue(0));

const usageSchema = v.object({
	/** Input that came from no cache. */
	input_tokens: count,
	cache_creation_input_tokens: count,
	cache_read_input_tokens: count,
	output_tokens: count,
	/** US dollars. Missing if the price is unknown. */
	cost: v.optional(v.number()),
});

const citation = v.object({
	type: v.literal('web_search_result_location'),
	url: v.string(),
	title: v.string(),
	/** Empty if the cited words are unknown. */
	cited_text: v.string(),
	encrypted_index: v.string(),
});
const textBlock = v.object({
	type: v.literal('text'),
	text: v.string(),
	/** Missing without a citation, because some clients refuse `null`. */
	citations: v.optional(v.array(citation)),
});
const thinkingBlock = v.object({ type: v.literal('thinking'), thinking: v.string(), signature: v.string() });
const toolUseBlock = v.object({ type: v.literal('tool_use'), id: v.string(), name: v.string(), input: v.unknown() });
const block = v.variant('type', [textBlock, thinkingBlock, toolUseBlock]);

const stopReason = v.picklist(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal']);
const stop = { stop_reason: v.nullable(stopReason), stop_sequence: v.nullable(v.string()) };

/** An answer without streaming. */
export const messageSchema = v.object({
	id: v.string(),
	type: v.literal('message'),
	role: v.literal('assistant'),
	model: v.string(),
	content: v.array(block),
	...stop,
	usage: usageSchema,
});

/** An error, on every route of this protocol and in streams. */
export const errorSchema = v.object({
	type: v.literal('error'),
	/** `code` is Runlet's name of the error. */
	error: v.object({
		type: v.string(),
		message: v.string(),
		code: v.string(),
		/** Only for a request with `thread`: the package then sends all messages instead. */
		details: v.optional(v.object({ error_code: v.string(), unsupported: v.array(v.string()) })),
	}),
	request_id: v.string(),
});

const delta = v.variant('type', [
	v.object({ type: v.literal('text_delta'), text: v.string() }),
	v.object({ type: v.literal('thinking_delta'), thinking: v.string() }),
	v.object({ type: v.literal('signature_delta'), signature: v.string() }),
	v.object({ type: v.literal('citations_delta'), citation }),
	v.object({ type: v.literal('input_json_delta'), partial_json: v.string() }),
]);

/** An event of a stream. */
export const eventSchema = v.variant('type', [
	v.object({ type: v.literal('message_start'), message: messageSchema }),
	v.object({ type: v.literal('content_block_start'), index: count, content_block: block }),
	v.object({ type: v.literal('content_block_delta'), index: count, delta }),
	v.object({ type: v.literal('content_block_stop'), index: count }),
	v.object({ type: v.literal('message_delta'), delta: v.object(stop), usage: usageSchema }),
	v.object({ type: v.literal('message_stop') }),
	v.object({ type: v.literal('ping') }),
	errorSchema,
]);

export const countSchema = v.object({ input_tokens: count });

export type AnswerMessage = v.InferOutput<typeof messageSchema>;
export type AnswerEvent = v.InferOutput<typeof eventSchema>;
export type AnswerBlock = v.InferOutput<typeof block>;
export type AnswerDelta = v.InferOutput<typeof delta>;
export type AnswerUsage = v.InferOutput<typeof usageSchema>;
export type ErrorBody = v.InferOutput<typeof errorSchema>;
