/** What Open Responses 2026-04-24 requires of answers, as far as Runlet gives them. Other fields are possible. */
import * as v from 'valibot';

const count = v.pipe(v.number(), v.integer());
const text = v.nullable(v.string());
const status = v.picklist(['in_progress', 'completed', 'incomplete']);

const citation = v.looseObject({
	type: v.literal('url_citation'),
	url: v.string(),
	title: v.string(),
	start_index: count,
	end_index: count,
});
const outputText = v.looseObject({
	type: v.literal('output_text'),
	text: v.string(),
	annotations: v.array(citation),
	logprobs: v.optional(v.array(v.unknown())),
});
const summaryText = v.looseObject({ type: v.literal('summary_text'), text: v.string() });

const item = v.variant('type', [
	v.looseObject({
		type: v.literal('message'),
		id: v.string(),
		status,
		role: v.picklist(['user', 'assistant', 'system', 'developer']),
		content: v.array(outputText),
	}),
	v.looseObject({
		type: v.literal('function_call'),
		id: v.string(),
		call_id: v.string(),
		name: v.string(),
		arguments: v.string(),
		status,
	}),
	v.looseObject({ type: v.literal('reasoning'), id: v.string(), summary: v.array(summaryText) }),
	v.looseObject({ type: v.literal('compaction'), id: v.string(), encrypted_content: v.string() }),
]);

const usage = v.looseObject({
	input_tokens: count,
	output_tokens: count,
	total_tokens: count,
	input_tokens_details: v.looseObject({ cached_tokens: count }),
	output_tokens_details: v.looseObject({ reasoning_tokens: count }),
});

const namedFunction = v.looseObject({ type: v.literal('function'), name: v.optional(v.string()) });
const mode = v.picklist(['none', 'auto', 'required']);

export const response = v.looseObject({
	id: v.string(),
	object: v.literal('response'),
	created_at: count,
	completed_at: v.nullable(count),
	status: v.string(),
	incomplete_details: v.nullable(v.looseObject({ reason: v.string() })),
	model: v.string(),
	previous_response_id: text,
	instructions: text,
	output: v.array(item),
	error: v.nullable(v.looseObject({ code: v.string(), message: v.string() })),
	tools: v.array(
		v.looseObject({
			type: v.literal('function'),
			name: v.string(),
			description: text,
			parameters: v.nullable(v.record(v.string(), v.unknown())),
			strict: v.nullable(v.boolean()),
		}),
	),
	tool_choice: v.union([
		mode,
		namedFunction,
		v.looseObject({ type: v.literal('allowed_tools'), tools: v.array(namedFunction), mode }),
	]),
	truncation: v.picklist(['auto', 'disabled']),
	parallel_tool_calls: v.boolean(),
	text: v.looseObject({ format: v.looseObject({ type: v.string() }) }),
	top_p: v.number(),
	presence_penalty: v.number(),
	frequency_penalty: v.number(),
	top_logprobs: count,
	temperature: v.number(),
	reasoning: v.nullable(v.looseObject({ effort: text, summary: text })),
	usage: v.nullable(usage),
	max_output_tokens: v.nullable(count),
	max_tool_calls: v.nullable(count),
	store: v.boolean(),
	background: v.boolean(),
	service_tier: v.string(),
	metadata: v.unknown(),
	safety_identifier: text,
	prompt_cache_key: text,
});

export const compaction = v.looseObject({
	id: v.string(),
	object: v.literal('response.compaction'),
	created_at: count,
	output: v.array(item),
	usage,
});

const event = <const T extends string, const E extends v.ObjectEntries>(type: T, entries: E) =>
	v.looseObject({ type: v.literal(type), sequence_number: count, ...entries });
const inItem = { item_id: v.string(), output_index: count };
const inContent = { ...inItem, content_index: count };
const inSummary = { ...inItem, summary_index: count };
const failure = v.looseObject({ type: v.string(), code: text, message: v.string(), param: text });

export const streamEvent = v.variant('type', [
	event('response.created', { response }),
	event('response.in_progress', { response }),
	event('response.completed', { response }),
	event('response.incomplete', { response }),
	event('response.failed', { response }),
	event('response.output_item.added', { output_index: count, item }),
	event('response.output_item.done', { output_index: count, item }),
	event('response.content_part.added', { ...inContent, part: outputText }),
	event('response.content_part.done', { ...inContent, part: outputText }),
	event('response.output_text.delta', { ...inContent, delta: v.string() }),
	event('response.output_text.done', { ...inContent, text: v.string() }),
	event('response.output_text.annotation.added', { ...inContent, annotation_index: count, annotation: citation }),
	event('response.reasoning_summary_part.added', { ...inSummary, part: summaryText }),
	event('response.reasoning_summary_part.done', { ...inSummary, part: summaryText }),
	event('response.reasoning_summary_text.delta', { ...inSummary, delta: v.string() }),
	event('response.reasoning_summary_text.done', { ...inSummary, text: v.string() }),
	event('response.function_call_arguments.delta', { ...inItem, delta: v.string() }),
	event('response.function_call_arguments.done', { ...inItem, arguments: v.string() }),
	event('error', { error: failure }),
]);

/** A failure over a WebSocket. */
export const socketFailure = v.looseObject({
	type: v.literal('error'),
	status: count,
	error: v.looseObject({ code: v.string(), message: v.string(), param: v.optional(text) }),
});

export type Response = v.InferOutput<typeof response>;
export type StreamEvent = v.InferOutput<typeof streamEvent>;
