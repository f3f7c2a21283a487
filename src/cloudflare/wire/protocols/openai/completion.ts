/** The schemas of the answers. The code uses their types, and the API's document uses the schemas themselves. */
import * as v from 'valibot';

const count = v.pipe(v.number(), v.integer(), v.minValue(0));

const usageSchema = v.object({
	prompt_tokens: count,
	completion_tokens: count,
	total_tokens: count,
	prompt_tokens_details: v.object({ cached_tokens: count }),
	completion_tokens_details: v.object({ reasoning_tokens: count }),
	/** US dollars, in the field that OpenRouter uses. Missing if the price is unknown. */
	cost: v.optional(v.number()),
});

const finishReason = v.picklist(['stop', 'length', 'tool_calls', 'content_filter']);
const about = { id: v.string(), created: count, model: v.string() };
/** A page that the answer cites. The indices are 0 if the cited words are unknown. */
const annotation = v.object({
	type: v.literal('url_citation'),
	url_citation: v.object({ url: v.string(), title: v.string(), start_index: count, end_index: count }),
});
const annotations = v.optional(v.array(annotation));
const shownCall = v.object({
	id: v.string(),
	type: v.literal('function'),
	function: v.object({ name: v.string(), arguments: v.string() }),
});

/** An answer without streaming. */
export const completionSchema = v.object({
	...about,
	object: v.literal('chat.completion'),
	choices: v.array(
		v.object({
			index: v.literal(0),
			message: v.object({
				role: v.literal('assistant'),
				content: v.nullable(v.string()),
				refusal: v.null(),
				/** The model's visible thinking, in the field that DeepSeek and others use. */
				reasoning_content: v.optional(v.string()),
				tool_calls: v.optional(v.array(shownCall)),
				annotations,
			}),
			logprobs: v.null(),
			finish_reason: finishReason,
		}),
	),
	usage: usageSchema,
});

export const chunkSchema = v.object({
	...about,
	object: v.literal('chat.completion.chunk'),
	choices: v.array(
		v.object({
			index: v.literal(0),
			delta: v.object({
				role: v.optional(v.literal('assistant')),
				content: v.optional(v.string()),
				reasoning_content: v.optional(v.string()),
				tool_calls: v.optional(
					v.array(
						v.object({
							index: count,
							id: v.optional(v.string()),
							type: v.optional(v.literal('function')),
							function: v.object({ name: v.optional(v.string()), arguments: v.string() }),
						}),
					),
				),
				annotations,
			}),
			logprobs: v.null(),
			finish_reason: v.nullable(finishReason),
		}),
	),
	usage: v.optional(v.nullable(usageSchema)),
});

/** US dollars of a token, as a decimal number. */
const price = v.string();

/** An agent as a model. OpenAI has the first four fields, and OpenRouter the others. */
export const modelSchema = v.object({
	id: v.string(),
	object: v.literal('model'),
	created: count,
	owned_by: v.string(),
	description: v.string(),
	/** The most tokens of a request to the model. Missing if unknown. */
	context_length: v.optional(count),
	/** The agent's limit of each reply. Missing without a limit. */
	max_completion_tokens: v.optional(count),
	architecture: v.object({ input_modalities: v.array(v.string()), output_modalities: v.array(v.string()) }),
	supported_parameters: v.array(v.string()),
	/** Only the staff reads prices. Missing if the price is unknown. */
	pricing: v.optional(v.object({ prompt: price, completion: price, input_cache_read: price })),
});

export const modelListSchema = v.object({ object: v.literal('list'), data: v.array(modelSchema) });

/** An error, on every route of this protocol and in streams. */
export const errorSchema = v.object({
	error: v.object({
		message: v.string(),
		type: v.string(),
		param: v.nullable(v.string()),
		code: v.nullable(v.string()),
	}),
});

export type Completion = v.InferOutput<typeof completionSchema>;
export type Chunk = v.InferOutput<typeof chunkSchema>;
export type Delta = Chunk['choices'][number]['delta'];
export type FinishReason = v.InferOutput<typeof finishReason>;
export type CompletionUsage = v.InferOutput<typeof usageSchema>;
export type ShownModel = v.InferOutput<typeof modelSchema>;
export type ErrorBody = v.InferOutput<typeof errorSchema>;
