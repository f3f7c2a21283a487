import * as v from 'valibot';
import { isPublicUrl } from '../../../../core/base/public-fetch.ts';
import { userName } from '../../../auth/rights.ts';
import { described } from '../../field.ts';
import { longText, maxContent, maxId, maxName, shortText } from '../../limits.ts';
import { metadata } from '../../session.ts';
import { createList, omit } from '../fields.ts';
import { isImageUrl, noFiles, readDataUrl } from '../openai/schema.ts';

const mostItems = 10_000;
const mostTools = 128;
const mostParts = 1_000;

const textPart = v.object({ type: v.picklist(['input_text', 'output_text', 'text']), text: longText });
const refusalPart = v.object({ type: v.literal('refusal'), refusal: longText });
const imagePart = v.object({
	type: v.literal('input_image'),
	file_id: noFiles,
	image_url: v.pipe(
		v.string(),
		v.maxLength(maxContent),
		v.check(isImageUrl, 'Expected an https URL at a public name, or a data: URL of an image in base64'),
	),
	detail: v.nullish(v.pipe(v.string(), v.maxLength(20))),
});
const filePart = v.pipe(
	v.object({
		type: v.literal('input_file'),
		file_id: noFiles,
		file_data: v.nullish(
			v.pipe(
				v.string(),
				v.maxLength(maxContent),
				v.check((url) => readDataUrl(url) !== undefined, 'Expected a data: URL in base64'),
			),
		),
		file_url: v.nullish(v.pipe(shortText(2_048), v.check(isPublicUrl, 'Expected an https URL at a public name'))),
		filename: v.nullish(v.pipe(v.string(), v.maxLength(255))),
	}),
	v.forward(
		v.check(({ file_data, file_url }) => (file_data ?? file_url) != null, 'missing'),
		['file_data'],
	),
);
const content = v.union([
	longText,
	createList(v.variant('type', [textPart, refusalPart, imagePart, filePart]), mostParts),
]);

const id = v.nullish(shortText(maxId + 100));
const callId = v.pipe(v.string(), v.nonEmpty('must not be empty'), v.maxLength(maxId));

const message = {
	id,
	role: v.picklist(['user', 'assistant', 'system', 'developer']),
	content,
};

/** An item of the input. It may also have other fields of an output item; they are ignored. */
const item = v.variant('type', [
	v.object({ type: v.literal('message'), ...message }),
	v.object({
		type: v.literal('function_call'),
		id,
		call_id: callId,
		name: v.pipe(shortText(maxName), v.nonEmpty('must not be empty')),
		arguments: longText,
	}),
	v.object({ type: v.literal('function_call_output'), call_id: callId, output: content }),
	v.object({
		type: v.literal('mcp_approval_response'),
		approval_request_id: shortText(maxId + 100),
		approve: v.boolean(),
		reason: v.nullish(shortText(1_000)),
	}),
	v.object({ type: v.literal('item_reference'), id: shortText(maxId + 100) }),
	v.object({ type: v.literal('compaction'), encrypted_content: longText }),
	v.object({
		type: v.picklist(['reasoning', 'mcp_call', 'mcp_list_tools', 'mcp_approval_request', 'web_search_call']),
		id,
	}),
]);

/** An item without a type is a message. */
const anyItem = v.pipe(
	v.looseObject({ type: v.optional(shortText(100), 'message') }, 'Expected an item, such as a message'),
	item,
);

const functionTool = v.object({
	type: v.literal('function'),
	name: v.pipe(v.string(), v.regex(/^[a-zA-Z0-9_-]{1,64}$/, 'Expected 1 to 64 letters, digits, _ and -')),
	description: v.nullish(shortText(100_000)),
	parameters: v.nullish(v.record(longText, v.unknown())),
	strict: v.nullish(v.boolean()),
});

/** Functions under a common name, as Codex has them. */
const namespace = v.object({
	type: v.literal('namespace'),
	name: functionTool.entries.name,
	description: v.nullish(shortText(100_000)),
	tools: createList(functionTool, mostTools),
});

const searchTools = [
	'web_search',
	'web_search_2025_08_26',
	'web_search_preview',
	'web_search_preview_2025_03_11',
] as const;

const tool = v.variant(
	'type',
	[functionTool, namespace, v.object({ type: v.picklist(searchTools) })],
	'Only functions, namespaces of them and web_search are possible here. Give other tools to the agent',
);

const named = v.object({ type: v.literal('function'), name: v.pipe(v.string(), v.maxLength(200)) });
const toolChoice = v.union(
	[
		v.picklist(['auto', 'none', 'required']),
		named,
		v.object({
			type: v.literal('allowed_tools'),
			mode: v.picklist(['auto', 'required']),
			tools: createList(named, mostTools, 1),
		}),
	],
	'Expected auto, none, required, or one or more of your tools',
);

const textFormat = v.variant('type', [
	v.object({ type: v.literal('text') }),
	v.object({ type: v.literal('json_object') }),
	v.object({
		type: v.literal('json_schema'),
		name: v.optional(v.pipe(v.string(), v.maxLength(200))),
		description: v.nullish(v.pipe(v.string(), v.maxLength(10_000))),
		schema: v.nullish(v.record(longText, v.unknown())),
		strict: v.nullish(v.boolean()),
	}),
]);

const responseId = v.pipe(v.string(), v.maxLength(100));
const conversationId = v.pipe(v.string(), v.maxLength(100));
const number = v.nullish(v.number());
const person = v.nullish(userName);
const label = v.nullish(v.pipe(v.string(), v.maxLength(200)));

const model = v.pipe(v.string(), v.nonEmpty('must not be empty'), v.maxLength(200));
const requestInput = v.union([longText, createList(anyItem, mostItems, 1)]);

/**
 * The body of `POST /v1/responses`. Unsupported fields that would change the answer are refused. Other unknown fields
 * are accepted and ignored.
 */
export const responseRequest = v.pipe(
	v.object({
		model,
		input: requestInput,
		instructions: v.nullish(longText),
		previous_response_id: v.nullish(responseId),
		conversation: v.nullish(v.union([conversationId, v.object({ id: conversationId })])),
		background: v.nullish(v.boolean(), false),
		store: v.nullish(v.boolean(), true),
		stream: v.nullish(v.boolean(), false),
		tools: v.nullish(createList(tool, mostTools), []),
		tool_choice: v.nullish(toolChoice, 'auto'),
		parallel_tool_calls: v.nullish(v.boolean(), true),
		text: v.nullish(v.object({ format: v.nullish(textFormat), verbosity: label })),
		max_output_tokens: v.nullish(v.pipe(v.number(), v.safeInteger(), v.minValue(1))),
		max_tool_calls: omit('The agent has its own limit, maxIterations: leave it out'),
		metadata: v.nullish(metadata),
		include: v.nullish(
			v.pipe(
				v.array(v.pipe(v.string(), v.maxLength(100))),
				v.maxLength(20),
				v.check((names) => !names.includes('message.output_text.logprobs'), 'No probabilities are known here'),
			),
		),
		top_logprobs: v.nullish(v.literal(0, 'No probabilities are known here: leave it out')),
		prompt: omit('Write the prompt into the agent, or send it as instructions'),
		reasoning: v.nullish(v.object({ effort: label, summary: label })),
		temperature: number,
		top_p: number,
		presence_penalty: number,
		frequency_penalty: number,
		truncation: label,
		service_tier: label,
		client_metadata: v.nullish(v.object({ turn_id: v.optional(shortText(200)) })),
		prompt_cache_key: v.nullish(v.pipe(v.string(), v.maxLength(1_000))),
		user: person,
		safety_identifier: person,
	}),
	v.forward(
		v.check(
			({ previous_response_id: before, conversation }) => before == null || conversation == null,
			'not possible together with conversation. Leave one of them out',
		),
		['previous_response_id'],
	),
	v.forward(
		v.check(({ background, store }) => !background || store, 'needs store: true, or nobody could read the response'),
		['background'],
	),
);

const httpOnly = 'A message of a WebSocket is always answered with events: leave it out';

/** A message that a client sends over a WebSocket. Its other fields are a request. */
export const socketMessage = v.looseObject({
	type: v.literal('response.create', 'Expected response.create'),
	previous_response_id: v.nullish(responseId),
	stream: omit(httpOnly),
	stream_options: omit(httpOnly),
	background: omit(httpOnly),
	generate: v.nullish(v.literal(true, 'There is nothing to prepare here: leave it out')),
});

/** The body of `POST /v1/responses/compact`. Other fields are accepted and ignored. */
export const compactRequest = v.object({
	model,
	input: requestInput,
	instructions: v.nullish(longText),
	previous_response_id: omit(
		'Its session has the history: go on with it, or send the items of the conversation as input',
	),
	user: person,
	safety_identifier: person,
});

export type ResponseRequest = v.InferOutput<typeof responseRequest>;
export type FunctionTool = v.InferOutput<typeof functionTool>;
export type InputItem = v.InferOutput<typeof item>;
export type InputContent = v.InferOutput<typeof content>;

const flag = v.optional(v.picklist(['true', 'false']));

/** Accepted and ignored: everything is included. */
const shown = v.optional(v.pipe(v.string(), v.maxLength(1_000)));

export const responseQuery = v.object({
	stream: flag,
	starting_after: v.optional(
		v.pipe(
			v.string(),
			v.regex(/^\d{1,16}$/, 'Expected a sequence_number'),
			v.transform(Number),
			v.description('The `sequence_number` of the last event that the client has. The stream goes on behind it.'),
		),
	),
	include: shown,
	include_obfuscation: flag,
});

export const itemQuery = v.object({
	limit: v.optional(
		v.pipe(v.string(), v.regex(/^\d{1,3}$/, 'Expected a number'), v.transform(Number), v.minValue(1), v.maxValue(100)),
		'20',
	),
	order: v.optional(v.picklist(['asc', 'desc']), 'desc'),
	after: v.optional(described(v.pipe(v.string(), v.maxLength(200)), 'The id of the last item of the page before.')),
	include: shown,
});

export const conversationRequest = v.object({
	items: v.nullish(createList(anyItem, mostItems), []),
	metadata: v.nullish(metadata),
});

export type ConversationRequest = v.InferOutput<typeof conversationRequest>;

const count = v.pipe(v.number(), v.integer(), v.minValue(0));

const itemShown = v.looseObject({ id: v.string(), type: v.string() });

const usageSchema = v.object({
	input_tokens: count,
	input_tokens_details: v.object({ cached_tokens: count }),
	output_tokens: count,
	output_tokens_details: v.object({ reasoning_tokens: count }),
	total_tokens: count,
	/** US dollars. Missing if the price is unknown. */
	cost: v.optional(v.number()),
});

export const responseSchema = v.looseObject({
	id: v.string(),
	object: v.literal('response'),
	created_at: count,
	completed_at: v.nullable(count),
	status: v.picklist(['in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
	model: v.string(),
	output: v.array(itemShown),
	error: v.nullable(v.object({ code: v.string(), message: v.string() })),
	incomplete_details: v.nullable(v.object({ reason: v.string() })),
	usage: v.nullable(usageSchema),
	metadata: v.record(v.string(), v.string()),
});

export const responseEventSchema = v.looseObject({ type: v.string(), sequence_number: count });

export const compactionSchema = v.object({
	id: v.string(),
	object: v.literal('response.compaction'),
	created_at: count,
	output: v.array(v.object({ id: v.string(), type: v.literal('compaction'), encrypted_content: v.string() })),
	usage: usageSchema,
});

export const itemListSchema = v.object({
	object: v.literal('list'),
	data: v.array(itemShown),
	first_id: v.nullable(v.string()),
	last_id: v.nullable(v.string()),
	has_more: v.boolean(),
});

export const conversationSchema = v.object({
	id: v.string(),
	object: v.literal('conversation'),
	created_at: count,
	metadata: v.record(v.string(), v.string()),
});

export const deletedSchema = v.object({ id: v.string(), object: v.string(), deleted: v.literal(true) });

export type ResponseUsage = v.InferOutput<typeof usageSchema>;
