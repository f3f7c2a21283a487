import * as v from 'valibot';
import type { ResponseRequest } from './schema.ts';

const headSchema = v.looseObject({
	created_at: v.number(),
	model: v.string(),
	store: v.boolean(),
	metadata: v.record(v.string(), v.string()),
	tools: v.array(v.looseObject({ type: v.string() })),
	text: v.looseObject({ format: v.looseObject({ type: v.string() }) }),
});

/** The fields of a response that repeat its request. They are kept with the run. */
export type ResponseHead = v.InferOutput<typeof headSchema>;

/** Reads what a run keeps of its request. Returns undefined for a run that no request of this protocol began. */
export function readHead(kept: unknown): ResponseHead | undefined {
	const read = v.safeParse(headSchema, kept);
	return read.success ? read.output : undefined;
}

/** The longest texts of the request that a response repeats, in characters. */
const mostRepeated = 32_000;

/** @param createdAt seconds since 1970 */
export function createHead(body: ResponseRequest, createdAt: number): ResponseHead {
	const { conversation, tools, instructions } = body;
	const conversationId = typeof conversation === 'string' ? conversation : conversation?.id;
	const isLong = JSON.stringify(tools).length > mostRepeated;
	return {
		created_at: createdAt,
		background: body.background,
		conversation: conversationId === undefined ? null : { id: conversationId },
		frequency_penalty: body.frequency_penalty ?? 0,
		instructions: instructions == null || instructions.length > mostRepeated ? null : instructions,
		max_output_tokens: body.max_output_tokens ?? null,
		max_tool_calls: null,
		metadata: body.metadata ?? {},
		model: body.model,
		parallel_tool_calls: body.parallel_tool_calls,
		presence_penalty: body.presence_penalty ?? 0,
		previous_response_id: body.previous_response_id ?? null,
		prompt_cache_key: body.prompt_cache_key ?? null,
		reasoning: { effort: body.reasoning?.effort ?? null, summary: body.reasoning?.summary ?? null },
		safety_identifier: body.safety_identifier ?? null,
		service_tier: 'default',
		store: body.store,
		temperature: body.temperature ?? 1,
		text: { format: body.text?.format ?? { type: 'text' as const } },
		tool_choice: body.tool_choice,
		tools: tools.map((tool) => {
			if (tool.type !== 'function') return tool;
			const { description = null, parameters = null, strict = null } = tool;
			const rest = isLong ? { description: null, parameters: null, strict } : { description, parameters, strict };
			return { type: tool.type, name: tool.name, ...rest };
		}),
		top_logprobs: 0,
		top_p: body.top_p ?? 1,
		truncation: 'disabled',
		user: body.user ?? null,
	};
}
