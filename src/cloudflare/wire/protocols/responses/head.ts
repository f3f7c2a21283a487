import * as v from 'valibot';
import type { FunctionTool, ResponseRequest } from './schema.ts';

const headSchema = v.looseObject({
	created_at: v.number(),
	model: v.string(),
	store: v.boolean(),
	metadata: v.record(v.string(), v.string()),
	tools: v.array(
		v.looseObject({
			type: v.string(),
			name: v.optional(v.string()),
			tools: v.optional(v.array(v.looseObject({ name: v.string() }))),
		}),
	),
	text: v.looseObject({ format: v.looseObject({ type: v.string() }) }),
});

/** The fields of a response that repeat its request. They are kept with the run. */
export type ResponseHead = v.InferOutput<typeof headSchema>;

/** Reads what a run keeps of its request. Returns undefined for a run that no request of this protocol began. */
export function readHead(kept: unknown): ResponseHead | undefined {
	const read = v.safeParse(headSchema, kept);
	return read.success ? read.output : undefined;
}

/** Finds a function of the client by its name. Its namespace is missing if it has none. */
export function findFunction({ tools }: ResponseHead, name: string): { readonly namespace?: string } | undefined {
	const found = tools.find((tool) => (tool.tools ?? [tool]).some((one) => one.name === name));
	return found && (found.type === 'namespace' ? { namespace: found.name } : {});
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
		tools: tools.map((tool) => repeatTool(tool, isLong)),
		top_logprobs: 0,
		top_p: body.top_p ?? 1,
		truncation: 'disabled',
		user: body.user ?? null,
	};
}

function repeatTool(tool: ResponseRequest['tools'][number], isLong: boolean): ResponseHead['tools'][number] {
	if (tool.type === 'namespace') return { ...tool, tools: tool.tools.map((one) => repeatFunction(one, isLong)) };
	return tool.type === 'function' ? repeatFunction(tool, isLong) : tool;
}

function repeatFunction(
	{ type, name, description = null, parameters = null, strict = null }: FunctionTool,
	isLong: boolean,
) {
	return { type, name, ...(isLong ? { description: null, parameters: null } : { description, parameters }), strict };
}
