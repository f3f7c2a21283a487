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
import { hashText } from '../../../ground/hash.ts';
import { isRecord } from '../../../ground/json.ts';
import { type JsonSchema, providerName } from '../../../tool/index.ts';
import type { ModelRequest } from '../../adapter/adapter.ts';
import { getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import { decodeText, isImage, toDataUrl, toMedia } from '../../adapter/parts.ts';
import { isStrict } from '../../adapter/schema.ts';

export { chatReader } from './reader.ts';

/** Where an endpoint's Chat Completions differ from OpenAI's. What is not said is as OpenAI has it. */
export interface ChatQuirks {
	/** The field for the longest reply; `max_tokens`, which more servers know. */
	readonly maxTokens?: 'max_tokens' | 'max_completion_tokens';
	/** Takes images; without, they become placeholders. */
	readonly images?: boolean;
	/** Takes audio, as WAV or MP3. */
	readonly audio?: boolean;
	/** How it takes a PDF: as OpenAI does, as Mistral does, or not at all. */
	readonly pdf?: 'file' | 'document_url' | false;
	/** Its word for a turn that must call a tool; `required`. */
	readonly required?: 'required' | 'any';
	/** How it is told the schema of a reply; one that knows JSON only is told the schema in words. */
	readonly outputSchema?: 'json_schema' | 'json_object';
	/** The request's fields for how much to think; `reasoning_effort` with that very word. */
	readonly effort?: (effort: ReasoningEffort, model: string) => Json;
	/** A stream says what it cost only when it is asked to, which is the default; some refuse the question. */
	readonly streamOptions?: boolean;
	/** Call ids are exactly this many letters and digits. Without, they are at most 40 characters of any kind. */
	readonly callIdLength?: number;
	/** What stands for the assistant between a tool's result and a user message, where the one may not follow the other. */
	readonly afterTool?: string;
	/** Every turn with calls must have `reasoning_content`, though it be empty: those of other providers too. */
	readonly wantsReasoning?: boolean;
}

/** The quirks of an endpoint, and the name under which what it needs back is kept. */
export interface ChatDialect extends ChatQuirks {
	readonly variant: string;
}

/** A request in the words of Chat Completions. `stream_options` and such are in it as the dialect wants them. */
export function chatBody(request: ModelRequest, dialect: ChatDialect): Json {
	const { model, tools, toolChoice, maxOutputTokens, outputSchema, reasoningEffort, stream } = request;
	const { maxTokens = 'max_tokens', required = 'required', streamOptions = true } = dialect;
	const { effort = (word: ReasoningEffort): Json => ({ reasoning_effort: word }) } = dialect;
	return {
		model,
		messages: chatMessages(request, dialect),
		...(tools.length > 0 && {
			tools: tools.map(({ name, description, inputSchema }) => ({
				type: 'function',
				function: { name, ...(description !== '' && { description }), parameters: { type: 'object', ...inputSchema } },
			})),
			...(typeof toolChoice === 'object' && { tool_choice: { type: 'function', function: toolChoice } }),
			...(typeof toolChoice === 'string' && { tool_choice: toolChoice === 'required' ? required : toolChoice }),
		}),
		...(maxOutputTokens !== undefined && { [maxTokens]: maxOutputTokens }),
		...(outputSchema !== undefined && { response_format: responseFormat(outputSchema, dialect) }),
		...(reasoningEffort !== undefined && effort(reasoningEffort, model)),
		...(stream && { stream, ...(streamOptions && { stream_options: { include_usage: true } }) }),
	};
}

function responseFormat(schema: JsonSchema, { outputSchema = 'json_schema' }: ChatQuirks): Json {
	if (outputSchema === 'json_object') return { type: outputSchema };
	return { type: outputSchema, json_schema: { name: 'reply', schema, strict: isStrict(schema) } };
}

function chatMessages(request: ModelRequest, dialect: ChatDialect): Json[] {
	const { messages, outputSchema } = request;
	const inWords = dialect.outputSchema === 'json_object' && outputSchema !== undefined;
	const system = [
		request.system,
		...messages.filter(({ role }) => role === 'system').map(messageText),
		inWords ? `Answer with JSON of this JSON Schema, and nothing else:\n${JSON.stringify(outputSchema)}` : undefined,
	].filter((text) => text !== undefined && text !== '');
	const thinking = findThinkingTurns(messages);
	const wire: Json[] = system.length > 0 ? [{ role: 'system', content: system.join('\n\n') }] : [];
	// Images of results follow all results of their turn: nothing may stand between those.
	let shown: Json[] = [];
	const user = (content: string | Json[]): void => {
		if (dialect.afterTool !== undefined && wire.at(-1)?.role === 'tool')
			wire.push({ role: 'assistant', content: dialect.afterTool });
		wire.push({ role: 'user', content });
	};
	const show = (): void => {
		if (shown.length > 0) user([{ type: 'text', text: 'What the tools above attached to their results:' }, ...shown]);
		shown = [];
	};
	for (const message of messages) {
		if (message.role === 'tool') {
			wire.push({ role: 'tool', tool_call_id: callId(message.toolCallId, dialect), content: resultText(message) });
			const media = message.parts?.map((part) => mediaPart(part, dialect)) ?? [];
			shown.push(...media.filter((one) => one !== undefined));
			continue;
		}
		show();
		if (message.role === 'user') user(userContent(message, dialect));
		if (message.role === 'assistant') wire.push(...assistantMessage(message, thinking.has(message), dialect));
	}
	show();
	return wire;
}

function userContent({ content, parts }: UserMessage, dialect: ChatDialect): string | Json[] {
	if (parts === undefined || parts.length === 0) return content;
	const media = parts.map((part) => mediaPart(part, dialect));
	if (media.every((one) => one === undefined)) return parts.map(partText).join('\n\n');
	return parts.flatMap((part, index) => {
		const own = media[index];
		const text = own === undefined ? partText(part) : (part.text ?? '');
		return [...(own === undefined ? [] : [own]), ...(text === '' ? [] : [{ type: 'text', text }])];
	});
}

/** A part as text: what a text file says, else as everywhere. */
function partText(part: MessagePart): string {
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

/** A part that is no text, if the endpoint takes its kind. */
function mediaPart(part: MessagePart, { images = true, audio = true, pdf = 'file' }: ChatQuirks): Json | undefined {
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

/** Chat has no word for a result that is an error. */
function resultText(message: ToolMessage): string {
	const text = message.parts?.length ? message.parts.map(partText).join('\n\n') : messageText(message);
	return message.isError && !/^error\b/i.test(text) ? `Error: ${text}` : text;
}

/** An assistant's turn with what its endpoint gave for it to be sent back; none for a turn that says nothing. */
function assistantMessage(message: AssistantMessage, thinks: boolean, dialect: ChatDialect): Json[] {
	const kept = getObject(message.providerMetadata ?? {}, dialect.variant);
	const ofCalls = getObject(kept, 'calls');
	const text = messageText(message);
	const calls = (message.toolCalls ?? []).map(({ id, name, input }) => ({
		id: callId(id, dialect),
		type: 'function',
		// Servers that read the arguments refuse a conversation in which some are no JSON.
		function: {
			name: providerName(name),
			arguments: JSON.stringify(isRecord(input) ? input : { invalid_json: input }),
		},
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
 * The assistant messages between two user messages where a tool was called. Their thinking goes on from one to the
 * next, so it is sent back; that of other turns is over (api-docs.deepseek.com/guides/thinking_mode).
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

/** A call's id as the endpoint takes it: the same for a call and its result, in every request. */
function callId(id: string, { callIdLength }: ChatQuirks): string {
	if (callIdLength !== undefined)
		return id.length === callIdLength && /^[a-zA-Z0-9]+$/.test(id) ? id : hashText(id).slice(-callIdLength);
	return id.length <= 40 ? id : `call_${hashText(id)}`;
}
