import * as v from 'valibot';
import { isBase64 } from '../../../../core/base/bytes.ts';
import { isPublicUrl } from '../../../../core/base/public-fetch.ts';
import { userName } from '../../../auth/rights.ts';
import { described } from '../../field.ts';
import { longText, maxContent, maxId, maxName, shortText } from '../../limits.ts';
import { createList, omit } from '../fields.ts';

const mostMessages = 10_000;

/** The maximum number of tools of a request. OpenAI has the same limit. */
const mostTools = 128;

const mostCalls = 1_000;

/** The plugin `files` has put the file in its place before the body is checked. */
export const noFiles = omit('Add the plugin files, or send the file itself');

const textPart = v.object({ type: v.literal('text'), text: longText });
const imagePart = v.object({
	type: v.literal('image_url'),
	image_url: v.object({
		url: v.pipe(
			longText,
			v.check(isImageUrl, 'Expected an https URL at a public name, or a data: URL of an image in base64'),
		),
		detail: v.nullish(v.pipe(v.string(), v.maxLength(20))),
	}),
});
const audioPart = v.object({
	type: v.literal('input_audio'),
	input_audio: v.object({
		data: v.pipe(longText, v.nonEmpty('Expected base64'), v.check(isBase64, 'Expected base64')),
		format: v.picklist(['wav', 'mp3']),
	}),
});
const filePart = v.object({
	type: v.literal('file'),
	file: v.object({
		file_id: noFiles,
		file_data: v.pipe(
			v.string(),
			v.maxLength(maxContent),
			v.check((url) => readDataUrl(url) !== undefined, 'Expected a data: URL in base64'),
		),
		filename: v.nullish(v.pipe(v.string(), v.maxLength(255))),
	}),
});

const texts = v.union([longText, createList(textPart, mostCalls, 1)]);
const userContent = v.union([
	longText,
	createList(v.variant('type', [textPart, imagePart, audioPart, filePart]), mostCalls, 1),
]);
const refusalPart = v.object({ type: v.literal('refusal'), refusal: longText });
const assistantContent = v.union([longText, createList(v.variant('type', [textPart, refusalPart]), mostCalls)]);

const callSchema = v.object({
	id: v.pipe(v.string(), v.nonEmpty('must not be empty'), v.maxLength(256)),
	type: v.optional(v.literal('function', 'Only functions can be called here'), 'function'),
	function: v.object({ name: v.pipe(shortText(maxName), v.nonEmpty('must not be empty')), arguments: longText }),
});

/** A message of the client. It may also have other fields of a model's answer; they are ignored. */
export const messageSchema = v.variant('role', [
	v.object({ role: v.picklist(['system', 'developer']), content: texts }),
	v.object({ role: v.literal('user'), content: userContent }),
	v.object({
		role: v.literal('assistant'),
		content: v.nullish(assistantContent),
		refusal: v.nullish(longText),
		tool_calls: v.nullish(createList(callSchema, mostCalls)),
		function_call: omit('Use tool_calls'),
		audio: omit('Send what was said as content'),
	}),
	v.object({ role: v.literal('tool'), tool_call_id: shortText(maxId), content: texts }),
]);

/** A tool of the client. The client itself runs the calls. */
const toolSchema = v.object({
	type: v.literal('function', 'Only functions are possible here'),
	function: v.object({
		name: v.pipe(v.string(), v.regex(/^[a-zA-Z0-9_-]{1,64}$/, 'Expected 1 to 64 letters, digits, _ and -')),
		description: v.nullish(shortText(100_000)),
		parameters: v.nullish(v.record(longText, v.unknown())),
	}),
});

const tokens = v.nullish(v.pipe(v.number(), v.safeInteger(), v.minValue(1)));
const toolChoice = v.union(
	[
		v.picklist(['auto', 'none', 'required']),
		v.object({ type: v.literal('function'), function: v.object({ name: v.pipe(v.string(), v.maxLength(200)) }) }),
	],
	'Expected auto, none, required, or one of your tools',
);

const responseFormat = v.variant('type', [
	v.object({ type: v.literal('text') }),
	v.object({ type: v.literal('json_object') }),
	v.object({
		type: v.literal('json_schema'),
		json_schema: v.object({
			name: v.optional(v.pipe(v.string(), v.maxLength(200))),
			description: v.nullish(v.pipe(v.string(), v.maxLength(10_000))),
			schema: v.nullish(v.record(longText, v.unknown())),
			strict: v.nullish(v.boolean()),
		}),
	}),
]);

const person = v.nullish(userName);

const stopText = v.pipe(v.string(), v.nonEmpty('must not be empty'), v.maxLength(500));

/**
 * The body of `POST /v1/chat/completions`. Unsupported fields that would change the answer are refused. Other unknown
 * fields are accepted and ignored.
 */
export const completionRequest = v.object({
	model: v.pipe(v.string(), v.nonEmpty('must not be empty'), v.maxLength(200)),
	messages: createList(messageSchema, mostMessages, 1),
	stream: v.nullish(v.boolean(), false),
	stream_options: v.nullish(v.object({ include_usage: v.nullish(v.boolean(), false) })),
	tools: v.nullish(createList(toolSchema, mostTools)),
	tool_choice: v.nullish(toolChoice, 'auto'),
	max_tokens: tokens,
	max_completion_tokens: tokens,
	n: v.nullish(v.literal(1, 'An agent gives one answer: leave it out')),
	response_format: v.nullish(responseFormat),
	parallel_tool_calls: v.nullish(v.boolean()),
	logprobs: v.nullish(v.literal(false, 'No probabilities are known here: leave it out')),
	top_logprobs: v.nullish(v.literal(0, 'No probabilities are known here: leave it out')),
	modalities: v.nullish(v.pipe(v.array(v.literal('text', 'An agent answers in text: leave it out')), v.maxLength(10))),
	audio: omit('An agent answers in text: leave it out'),
	stop: v.nullish(v.union([stopText, createList(stopText, 4)], 'Expected a text, or a list of at most 4')),
	user: person,
	safety_identifier: person,
	metadata: v.nullish(v.looseObject({ user: person })),
	functions: omit('Use tools'),
	function_call: omit('Use tools'),
	web_search_options: v.nullish(
		described(v.looseObject({}), 'A hint. The agent needs a web search of its own, and decides its options.'),
	),
});

export type CompletionRequest = v.InferOutput<typeof completionRequest>;
export type ClientMessage = v.InferOutput<typeof messageSchema>;
export type ClientPart = Exclude<v.InferOutput<typeof userContent>, string>[number];

/** Returns the media type and the base64 of a `data:` URL. Returns undefined for any other text. */
export function readDataUrl(url: string): { readonly mime: string; readonly data: string } | undefined {
	const comma = url.indexOf(',');
	const head = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w.+-]+=[\w.+-]+)*;base64$/i.exec(
		url.slice(0, comma === -1 ? 0 : comma),
	);
	const data = url.slice(comma + 1);
	const [, mime] = head ?? [];
	return mime === undefined || data === '' || !isBase64(data) ? undefined : { mime: mime.toLowerCase(), data };
}

export function isImageUrl(url: string): boolean {
	return /^data:/i.test(url) ? readDataUrl(url)?.mime.startsWith('image/') === true : isPublicUrl(url);
}
