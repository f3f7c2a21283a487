import { hashText } from '../../../base/bytes.ts';
import { decodeText, isImage, toDataUrl, toMedia } from '../../../base/part.ts';
import {
	type AssistantMessage,
	type Message,
	type MessagePart,
	messageText,
	type ReasoningEffort,
	renderPart,
	type ToolMessage,
	type UserMessage,
} from '../../../chat/index.ts';
import { type JsonSchema, providerName } from '../../../tool/index.ts';
import type { ModelRequest } from '../../adapter/adapter.ts';
import { dropFirstSystem, isStrict, joinSystem, toSystemText } from '../../adapter/body.ts';
import { getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import { toArguments } from '../../adapter/tools.ts';

/** The differences between an endpoint's Chat Completions and OpenAI's. The defaults are OpenAI's behavior. */
export interface ChatQuirks {
	/** The field that limits the length of the reply. The default is `max_tokens`, which most servers know. */
	readonly maxTokens?: 'max_tokens' | 'max_completion_tokens';
	/** Whether the endpoint accepts system messages within a conversation. If not, they become user messages. */
	readonly systemInPlace?: boolean;
	/** The field of the body, or the header, that names the conversation. */
	readonly cacheKey?: { readonly field: string } | { readonly header: string };
	/** Whether the endpoint accepts images. If not, they become placeholders. */
	readonly images?: boolean;
	/** Whether the endpoint accepts audio as WAV or MP3. */
	readonly audio?: boolean;
	/** How the endpoint accepts a PDF: like OpenAI, like Mistral, or not at all. */
	readonly pdf?: 'file' | 'document_url' | false;
	/** The endpoint's name for a tool choice that requires a call. The default is `required`. */
	readonly required?: 'required' | 'any';
	/** How the endpoint gets the schema of a reply. With `json_object` the schema is described in the prompt. */
	readonly outputSchema?: 'json_schema' | 'json_object';
	/** Returns the fields for the effort of thinking. The default is `reasoning_effort` with the same word. */
	readonly effort?: (effort: ReasoningEffort, model: string) => Json;
	/** Whether to request the usage of a stream. Most servers need the request, and some refuse it. */
	readonly streamOptions?: boolean;
	/** The exact length of call ids of letters and digits. The default is at most 40 characters of any kind. */
	readonly callIdLength?: number;
	/** The assistant's text to insert between a tool's result and a user message, for endpoints that require it. */
	readonly afterTool?: string;
	/** The endpoint's own `type` of each tool that it runs itself, by Runlet's name of the tool. */
	readonly providerTools?: Readonly<Record<string, string>>;
	/** The endpoint's name for each tier of service. Other tiers are left out. The default is Runlet's name. */
	readonly serviceTiers?: Readonly<Record<string, string>>;
	/** The endpoint's field for the end user, or `false` if it refuses such a field. The default is `user`. */
	readonly endUser?: string | false;
	/** Whether every turn with calls needs `reasoning_content`, even another provider's turn. An empty text is enough. */
	readonly wantsReasoning?: boolean;
}

export interface ChatDialect extends ChatQuirks {
	/** The name for the data that the endpoint wants back. */
	readonly variant: string;
}

export function toChatBody(request: ModelRequest, dialect: ChatDialect): Json {
	const { model, tools, toolChoice, maxOutputTokens, outputSchema, reasoningEffort, stream } = request;
	const { cache, cacheKey } = request;
	const { maxTokens = 'max_tokens', required = 'required', streamOptions = true } = dialect;
	const { effort = (word: ReasoningEffort): Json => ({ reasoning_effort: word }) } = dialect;
	return {
		model,
		messages: toChatMessages(request, dialect),
		...(tools.length > 0 && {
			tools: tools.map(({ name, description, inputSchema, provider: { strict } = {} }) => ({
				type: 'function',
				function: {
					name,
					...(description !== '' && { description }),
					parameters: { type: 'object', ...inputSchema },
					...(strict !== undefined && { strict }),
				},
			})),
			...(typeof toolChoice === 'object' && { tool_choice: { type: 'function', function: toolChoice } }),
			...(typeof toolChoice === 'string' && { tool_choice: toolChoice === 'required' ? required : toolChoice }),
		}),
		...(maxOutputTokens !== undefined && { [maxTokens]: maxOutputTokens }),
		...(outputSchema !== undefined && { response_format: toResponseFormat(outputSchema, dialect) }),
		...(reasoningEffort !== undefined && effort(reasoningEffort, model)),
		...(dialect.cacheKey !== undefined &&
			'field' in dialect.cacheKey &&
			cacheKey !== undefined &&
			cache !== false && { [dialect.cacheKey.field]: cacheKey }),
		...(stream && { stream, ...(streamOptions && { stream_options: { include_usage: true } }) }),
	};
}

function toResponseFormat(schema: JsonSchema, { outputSchema = 'json_schema' }: ChatQuirks): Json {
	if (outputSchema === 'json_object') return { type: outputSchema };
	return { type: outputSchema, json_schema: { name: 'reply', schema, strict: isStrict(schema) } };
}

function toChatMessages(request: ModelRequest, dialect: ChatDialect): Json[] {
	const { messages, outputSchema } = request;
	const inWords = dialect.outputSchema === 'json_object' && outputSchema !== undefined;
	const system = joinSystem(
		request.system,
		messages,
		inWords ? `Answer with JSON of this JSON Schema, and nothing else:\n${JSON.stringify(outputSchema)}` : undefined,
	);
	const thinking = findThinkingTurns(messages);
	const wire: Json[] = system === '' ? [] : [{ role: 'system', content: system }];
	// The media of results follow all results of their turn, because the API allows nothing between results.
	let media: Json[] = [];
	const addUser = (content: string | Json[]): void => {
		if (dialect.afterTool !== undefined && wire.at(-1)?.role === 'tool')
			wire.push({ role: 'assistant', content: dialect.afterTool });
		wire.push({ role: 'user', content });
	};
	const addMedia = (): void => {
		if (media.length > 0)
			addUser([{ type: 'text', text: 'What the tools above attached to their results:' }, ...media]);
		media = [];
	};
	for (const message of dropFirstSystem(messages)) {
		if (message.role === 'tool') {
			wire.push({ role: 'tool', tool_call_id: toCallId(message.toolCallId, dialect), content: toResultText(message) });
			const parts = message.parts?.map((part) => toMediaPart(part, dialect)) ?? [];
			media.push(...parts.filter((part) => part !== undefined));
			continue;
		}
		addMedia();
		if (message.role === 'system' && message.content.trim() !== '') {
			if (dialect.systemInPlace) wire.push({ role: 'system', content: message.content });
			else addUser(toSystemText(message.content));
		}
		if (message.role === 'user') addUser(toUserContent(message, dialect));
		if (message.role === 'assistant') wire.push(...toAssistantMessages(message, thinking.has(message), dialect));
	}
	addMedia();
	return wire;
}

function toUserContent({ content, parts }: UserMessage, dialect: ChatDialect): string | Json[] {
	if (parts === undefined || parts.length === 0) return content;
	const media = parts.map((part) => toMediaPart(part, dialect));
	if (media.every((part) => part === undefined)) return parts.map(toPartText).join('\n\n');
	return parts.flatMap((part, index) => {
		const own = media[index];
		const text = own === undefined ? toPartText(part) : (part.text ?? '');
		return [...(own === undefined ? [] : [own]), ...(text === '' ? [] : [{ type: 'text', text }])];
	});
}

/** Converts a part to text: the content of a text file, else a placeholder. */
function toPartText(part: MessagePart): string {
	const media = toMedia(part);
	const text = renderPart(part);
	return media?.kind === 'text' && media.data !== undefined ? `${text}\n${decodeText(media.data)}` : text;
}

const audioFormats: Readonly<Record<string, string>> = {
	'audio/wav': 'wav',
	'audio/wave': 'wav',
	'audio/x-wav': 'wav',
	'audio/vnd.wave': 'wav',
	'audio/mpeg': 'mp3',
	'audio/mp3': 'mp3',
};

/** Converts media to a part, if the endpoint accepts media of this kind. */
function toMediaPart(part: MessagePart, { images = true, audio = true, pdf = 'file' }: ChatQuirks): Json | undefined {
	const media = toMedia(part);
	if (media === undefined) return undefined;
	const url = toDataUrl(media);
	if (images && isImage(media)) {
		const detail = getString(part.meta ?? {}, 'detail');
		return { type: 'image_url', image_url: { url, detail } };
	}
	const format = audioFormats[media.mime];
	if (media.kind === 'audio' && audio && format !== undefined && media.data !== undefined)
		return { type: 'input_audio', input_audio: { data: media.data, format } };
	if (media.kind === 'pdf' && pdf === 'document_url')
		return { type: pdf, document_url: url, document_name: media.name };
	if (media.kind === 'pdf' && pdf === 'file' && media.data !== undefined)
		return { type: pdf, file: { filename: media.name ?? 'document.pdf', file_data: url } };
	return undefined;
}

/** Formats a result. Chat has no field for a failed call, so the text says that the call failed. */
function toResultText(message: ToolMessage): string {
	const text = message.parts?.length ? message.parts.map(toPartText).join('\n\n') : messageText(message);
	return message.isError && !/^error\b/i.test(text) ? `Error: ${text}` : text;
}

/** Converts an assistant's turn, with the data that its endpoint wants back. An empty turn is left out. */
function toAssistantMessages(message: AssistantMessage, thinks: boolean, dialect: ChatDialect): Json[] {
	const kept = getObject(message.providerMetadata ?? {}, dialect.variant);
	const ofCalls = getObject(kept, 'calls');
	const text = messageText(message);
	const calls = (message.toolCalls ?? []).map(({ id, name, input }) => ({
		id: toCallId(id, dialect),
		type: 'function',
		// Some servers parse the arguments and refuse a conversation with invalid JSON.
		function: { name: providerName(name), arguments: JSON.stringify(toArguments(input)) },
		...getObject(ofCalls, id),
	}));
	const content = getObjects(kept, 'content');
	if (text === '' && content.length === 0 && calls.length === 0) return [];
	const { reasoning_details, extra_content } = kept;
	const reasoning = getString(kept, 'reasoning_content') ?? (dialect.wantsReasoning ? '' : undefined);
	return [
		{
			role: 'assistant',
			content: content.length > 0 ? content : text === '' ? null : text,
			...(thinks && reasoning !== undefined && { reasoning_content: reasoning }),
			reasoning_details,
			extra_content,
			...(calls.length > 0 && { tool_calls: calls }),
		},
	];
}

/**
 * Finds the assistant messages of exchanges with tool calls. Their thinking continues from one message to the next, so
 * it is sent back. The thinking of other turns is left out (api-docs.deepseek.com/guides/thinking_mode).
 */
function findThinkingTurns(messages: readonly Message[]): ReadonlySet<Message> {
	const found = new Set<Message>();
	let turn: AssistantMessage[] = [];
	const close = (): void => {
		if (turn.some(({ toolCalls = [] }) => toolCalls.length > 0)) for (const message of turn) found.add(message);
		turn = [];
	};
	for (const message of messages) {
		if (message.role === 'user') close();
		if (message.role === 'assistant') turn.push(message);
	}
	close();
	return found;
}

/** Shortens a call's id to the endpoint's limit. The short id is the same in every request. */
function toCallId(id: string, { callIdLength }: ChatQuirks): string {
	if (callIdLength !== undefined)
		return id.length === callIdLength && /^[a-zA-Z0-9]+$/.test(id) ? id : hashText(id).slice(-callIdLength);
	return id.length <= 40 ? id : `call_${hashText(id)}`;
}
