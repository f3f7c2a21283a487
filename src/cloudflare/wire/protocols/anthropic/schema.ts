import * as v from 'valibot';
import { isBase64 } from '../../../../core/base/bytes.ts';
import { isPublicUrl } from '../../../../core/base/public-fetch.ts';
import { userName } from '../../../auth/rights.ts';
import { described } from '../../field.ts';
import { longText, maxId, maxName, shortText } from '../../limits.ts';
import { createList, omit } from '../fields.ts';

const mostMessages = 10_000;
const mostBlocks = 1_000;

/** The maximum number of tools of a request. Command-line clients bring the tools of their own MCP servers. */
const mostTools = 1_000;

const base64 = v.pipe(longText, v.nonEmpty('Expected base64'), v.check(isBase64, 'Expected base64'));
const urlSource = v.object({
	type: v.literal('url'),
	url: v.pipe(longText, v.check(isPublicUrl, 'Expected an https URL at a public name')),
});

const textBlock = v.object({ type: v.literal('text'), text: longText });
const imageBlock = v.object({
	type: v.literal('image'),
	source: v.variant(
		'type',
		[
			v.object({
				type: v.literal('base64'),
				media_type: v.pipe(v.string(), v.regex(/^image\/[\w.+-]{1,60}$/, 'Expected the media type of an image')),
				data: base64,
			}),
			urlSource,
		],
		'Expected a source of the type base64 or url. Add the plugin files for a file_id, or send the image itself',
	),
});
const documentBlock = v.object({
	type: v.literal('document'),
	title: v.nullish(shortText(500)),
	context: v.nullish(longText),
	source: v.variant(
		'type',
		[
			v.object({ type: v.literal('base64'), media_type: v.literal('application/pdf'), data: base64 }),
			v.object({ type: v.literal('text'), data: longText }),
			v.object({
				type: v.literal('content'),
				content: v.union([longText, createList(v.variant('type', [textBlock, imageBlock]), mostBlocks)]),
			}),
			urlSource,
		],
		'Expected a source of the type base64, text, content or url. Add the plugin files for a file_id, or send the document itself',
	),
});
const searchResult = v.object({
	type: v.literal('search_result'),
	source: shortText(2_048),
	title: shortText(500),
	content: createList(textBlock, mostBlocks),
});
const resultContent = v.union([
	longText,
	createList(v.variant('type', [textBlock, imageBlock, documentBlock, searchResult]), mostBlocks),
]);
const toolResult = v.object({
	type: v.literal('tool_result'),
	tool_use_id: shortText(maxId),
	content: v.nullish(resultContent),
	is_error: v.nullish(v.boolean()),
});
const toolUse = v.object({
	type: v.literal('tool_use'),
	id: v.pipe(v.string(), v.nonEmpty('must not be empty'), v.maxLength(256)),
	name: v.pipe(shortText(maxName), v.nonEmpty('must not be empty')),
	input: v.optional(v.unknown(), {}),
});
/** The session keeps the model's own thinking, so a client's copy of it is ignored. */
const thinkingBlock = v.object({ type: v.picklist(['thinking', 'redacted_thinking']) });

const texts = v.union([longText, createList(textBlock, mostBlocks)]);

const messageSchema = v.variant('role', [
	v.object({
		role: v.literal('user'),
		content: v.union([
			longText,
			createList(v.variant('type', [textBlock, imageBlock, documentBlock, searchResult, toolResult]), mostBlocks, 1),
		]),
	}),
	v.object({
		role: v.literal('assistant'),
		content: v.union([longText, createList(v.variant('type', [textBlock, toolUse, thinkingBlock]), mostBlocks)]),
	}),
	v.object({ role: v.literal('system'), content: texts }),
]);

/** A tool of the client, or with another `type` than `custom` one of Anthropic's own. */
const toolSchema = v.object({
	type: v.nullish(v.pipe(v.string(), v.maxLength(100))),
	name: v.pipe(v.string(), v.regex(/^[a-zA-Z0-9_-]{1,128}$/, 'Expected 1 to 128 letters, digits, _ and -')),
	description: v.nullish(shortText(100_000)),
	input_schema: v.nullish(v.record(longText, v.unknown())),
});

const parallel = { disable_parallel_tool_use: v.nullish(v.boolean()) };
const toolChoice = v.variant(
	'type',
	[
		v.object({ type: v.picklist(['auto', 'any']), ...parallel }),
		v.object({ type: v.literal('tool'), name: v.pipe(v.string(), v.maxLength(200)), ...parallel }),
		v.object({ type: v.literal('none') }),
	],
	'Expected a type: auto, any, tool or none',
);

const outputFormat = v.nullish(v.object({ type: v.literal('json_schema'), schema: v.record(longText, v.unknown()) }));

const conversation = {
	model: v.pipe(v.string(), v.nonEmpty('must not be empty'), v.maxLength(200)),
	messages: createList(messageSchema, mostMessages, 1),
	system: v.nullish(texts),
	tools: v.nullish(createList(toolSchema, mostTools)),
	tool_choice: v.nullish(toolChoice),
	mcp_servers: omit('Give the servers to the agent'),
};

/** The body of `POST /v1/messages/count_tokens`. */
export const countRequest = v.object(conversation);

/**
 * The body of `POST /v1/messages`. Unsupported fields that would change the answer are refused. Other unknown fields,
 * `cache_control` among them, are accepted and ignored.
 */
export const messageRequest = v.object({
	...conversation,
	max_tokens: v.nullish(v.pipe(v.number(), v.safeInteger(), v.minValue(1))),
	stream: v.nullish(v.boolean(), false),
	stop_sequences: v.nullish(createList(v.pipe(v.string(), v.nonEmpty('must not be empty'), v.maxLength(500)), 20)),
	thinking: v.nullish(
		described(
			v.object({
				type: v.nullish(v.pipe(v.string(), v.maxLength(40))),
				display: v.nullish(v.pipe(v.string(), v.maxLength(40))),
			}),
			'Shows the thinking that the model shows. Whether the model thinks is left to the agent.',
		),
	),
	output_config: v.nullish(v.object({ format: outputFormat })),
	output_format: outputFormat,
	metadata: v.nullish(v.object({ user_id: v.nullish(userName) })),
	container: omit('An agent has its own workspace'),
	thread: omit('Send all messages, or name the session in the header Runlet-Session'),
});

export type MessageRequest = v.InferOutput<typeof messageRequest>;
export type CountRequest = v.InferOutput<typeof countRequest>;
export type AnthropicMessage = v.InferOutput<typeof messageSchema>;
export type UserBlock = Exclude<Extract<AnthropicMessage, { role: 'user' }>['content'], string>[number];
export type ResultContent = v.InferOutput<typeof resultContent>;
export type ToolResultBlock = v.InferOutput<typeof toolResult>;
