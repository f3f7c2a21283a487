import { createFieldError } from '../../../base/errors.ts';
import { isRecord } from '../../../base/json.ts';
import { type Media, toMedia } from '../../../base/part.ts';
import {
	type AssistantMessage,
	type Message,
	type MessagePart,
	messageText,
	type ReasoningEffort,
	renderPart,
	type ToolMessage,
} from '../../../chat/index.ts';
import { providerName, type ToolCall } from '../../../tool/index.ts';
import type { ModelRequest } from '../../adapter/adapter.ts';
import { dropFirstSystem, joinSystem, roundEffort, toSystemText } from '../../adapter/body.ts';
import { getObject, getObjects, getString, type Json } from '../../adapter/json.ts';

export function toGeminiBody(request: ModelRequest): Json {
	const { model, messages, tools, maxOutputTokens, outputSchema } = request;
	const version = readVersion(model);
	// Before version 3 the API refuses a JSON answer together with tools. Then the schema is part of the prompt.
	const enforced = outputSchema !== undefined && (tools.length === 0 || version >= 3);
	const system = joinSystem(
		request.system,
		messages,
		outputSchema === undefined || enforced
			? ''
			: `Give the final answer as JSON alone, without code fences, by this JSON Schema: ${JSON.stringify(outputSchema)}`,
	);
	const thinkingConfig = toThinking(request);
	const generationConfig = {
		...(maxOutputTokens !== undefined && { maxOutputTokens }),
		...(enforced && { responseMimeType: 'application/json', responseJsonSchema: outputSchema }),
		...(thinkingConfig !== undefined && { thinkingConfig }),
	};
	return {
		...(system !== '' && { systemInstruction: { parts: [{ text: system }] } }),
		contents: toContents(messages, version),
		...(tools.length > 0 && {
			tools: [
				{
					functionDeclarations: tools.map(({ name, description, inputSchema }) => ({
						name: toWireName(name),
						...(description !== '' && { description }),
						parametersJsonSchema: { type: 'object', ...inputSchema },
					})),
				},
			],
			...toToolConfig(request, version),
		}),
		...(Object.keys(generationConfig).length > 0 && { generationConfig }),
	};
}

/** Reads the major and minor version in a model's name. Returns 99 if there is none, as in `gemini-flash-latest`. */
function readVersion(model: string): number {
	const [, version] = /gemini-(\d+(?:\.\d+)?)/i.exec(model) ?? [];
	return version === undefined ? 99 : Number(version);
}

/** Converts an alias to a name that Gemini accepts: the name begins with a letter or `_`. */
export function toWireName(alias: string): string {
	return /^[a-zA-Z_]/.test(alias) ? alias : `_${alias}`.slice(0, 64);
}

/** Sets how functions are called. From version 3 on, a request can combine functions with Google's own tools. */
function toToolConfig({ model, toolChoice, providerTools = [] }: ModelRequest, version: number): Json {
	const isMixed = providerTools.length > 0;
	if (isMixed && version < 3)
		throw createFieldError(
			'invalid_request',
			'providerTools',
			`${model} takes them only without other tools. Use a model since gemini-3, or leave one of both out.`,
		);
	const mixed = isMixed && { includeServerSideToolInvocations: true };
	if (toolChoice === undefined) return isMixed ? { toolConfig: mixed } : {};
	const functionCallingConfig =
		typeof toolChoice === 'object'
			? { mode: 'ANY', allowedFunctionNames: [toWireName(toolChoice.name)] }
			: { mode: toolChoice === 'required' ? 'ANY' : toolChoice.toUpperCase() };
	return { toolConfig: { functionCallingConfig, ...mixed } };
}

const budgets = { none: 0, minimal: 512, low: 1_024, medium: 8_192, high: 24_576, xhigh: 32_768, max: 32_768 };

const levels: readonly ReasoningEffort[] = ['minimal', 'low', 'medium', 'high'];
const proLevels: readonly ReasoningEffort[] = ['low', 'high'];
const laterProLevels: readonly ReasoningEffort[] = ['low', 'medium', 'high'];

/** From version 3 on, models think by levels. Models of version 2.5 think within a budget. */
function toThinking({ model, reasoningEffort: effort }: ModelRequest): Json | undefined {
	const version = readVersion(model);
	if (effort === undefined || version < 2.5 || /image|tts|audio|live/i.test(model)) return undefined;
	const pro = /-pro/i.test(model);
	const shown = effort === 'none' ? {} : { includeThoughts: true };
	if (version < 3) {
		const [least, most] = pro ? [128, 32_768] : [effort === 'none' ? 0 : 512, 24_576];
		return { thinkingBudget: Math.min(Math.max(budgets[effort], least), most), ...shown };
	}
	return { thinkingLevel: roundEffort(effort, pro ? (version === 3 ? proLevels : laterProLevels) : levels), ...shown };
}

/** Converts messages to contents in the same order. Joins neighbours of one role, as parallel results require. */
function toContents(messages: readonly Message[], version: number): Json[] {
	const contents: { role: string; parts: Json[] }[] = [];
	const add = (role: string, parts: readonly Json[]): void => {
		const last = contents.at(-1);
		if (last?.role === role) last.parts.push(...parts);
		else if (parts.length > 0) contents.push({ role, parts: [...parts] });
	};
	let caller: AssistantMessage | undefined;
	let results: ToolMessage[] = [];
	const addResults = (): void => {
		add('user', toResultParts(results, caller, version));
		results = [];
	};
	for (const message of dropFirstSystem(messages)) {
		if (message.role === 'tool') results.push(message);
		if (message.role === 'tool' || (message.role === 'system' && message.content.trim() === '')) continue;
		addResults();
		if (message.role === 'system') add('user', [{ text: toSystemText(message.content) }]);
		else if (message.role === 'assistant') {
			caller = message;
			add('model', toModelParts(message, version));
		} else add('user', toParts(message.parts ?? [{ kind: 'text', text: message.content }]));
	}
	addResults();
	return contents;
}

function toParts(parts: readonly MessagePart[]): Json[] {
	return parts.flatMap((part): Json[] => {
		const media = toMedia(part);
		if (media !== undefined && (media.url !== undefined || isAccepted(media)))
			return [toFileData(media, part), ...(part.text ? [{ text: part.text }] : [])];
		const text = renderPart(part);
		return text.trim() === '' ? [] : [{ text }];
	});
}

/** Whether Gemini accepts media of this type. With another type the whole request would fail. */
function isAccepted({ kind, mime }: Media): boolean {
	if (kind === 'image') return /^image\/(png|jpeg|webp|heic|heif)$/.test(mime);
	return kind !== 'file' || mime.startsWith('video/');
}

function toFileData(media: Media, { mime }: MessagePart): Json {
	if (media.url === undefined) return { inlineData: toInlineData(media) };
	const known = mime !== undefined || /\.\w{2,5}([?#]|$)/.test(media.url);
	return { fileData: { ...(known && { mimeType: media.mime }), fileUri: media.url } };
}

function toInlineData({ kind, mime, data }: Media): Json {
	return { mimeType: kind === 'text' ? 'text/plain' : mime, data };
}

/** Converts the results of one turn, in the order of its calls. Files that a result cannot hold follow all results. */
function toResultParts(results: readonly ToolMessage[], caller: AssistantMessage | undefined, version: number): Json[] {
	const calls = caller?.toolCalls ?? [];
	const ids = findWireIds(caller);
	const order = (message: ToolMessage): number => calls.findIndex(({ id }) => id === message.toolCallId);
	const behind: Json[] = [];
	const responses = [...results]
		.sort((a, b) => order(a) - order(b))
		.map((message) => {
			const call = calls[order(message)];
			const id = call === undefined ? undefined : ids.get(call.id);
			const within: Json[] = [];
			for (const part of message.parts ?? []) {
				const media = toMedia(part);
				if (media === undefined || (media.url === undefined && !isAccepted(media))) continue;
				// From version 3 on, a result can hold files, but no URLs and no audio.
				if (version >= 3 && media.url === undefined && media.kind !== 'audio' && media.kind !== 'file')
					within.push({ inlineData: toInlineData(media) });
				else behind.push(toFileData(media, part));
			}
			return {
				functionResponse: {
					...(id !== undefined && { id }),
					name: toWireName(providerName(call?.name ?? message.toolCallId)),
					response: toFunctionResponse(message),
					...(within.length > 0 && { parts: within }),
				},
			};
		});
	return [...responses, ...behind];
}

function toFunctionResponse(message: ToolMessage): Json {
	const { content, parts = [], isError } = message;
	if (isError) return { error: messageText(message) || 'error' };
	const result = parts.length > 0 ? messageText(message) : content;
	return isRecord(result) ? result : { result: result ?? null };
}

/** Returns the original parts of a turn, if it came from Gemini and has more than text and calls. */
function readKeptParts({ providerMetadata = {} }: AssistantMessage): readonly Json[] {
	return getObjects(getObject(providerMetadata, 'gemini'), 'parts');
}

/** Maps Runlet's ids of a turn's calls to Gemini's own ids. Most models send no ids. */
function findWireIds(message: AssistantMessage | undefined): ReadonlyMap<string, string> {
	const ids = new Map<string, string>();
	for (const part of message === undefined ? [] : readKeptParts(message)) {
		const id = getString(getObject(part, 'functionCall'), 'id');
		if (id !== undefined) ids.set(getString(part, 'callId') ?? id, id);
	}
	return ids;
}

/** The API accepts this as the signature of another model's call (its documentation, "Thought signatures"). */
const foreignSignature = 'skip_thought_signature_validator';

function toModelParts(message: AssistantMessage, version: number): Json[] {
	const { toolCalls = [] } = message;
	const content = messageText(message);
	const kept = readKeptParts(message);
	const calls = new Map(toolCalls.map((call) => [call.id, call]));
	const parts =
		kept.length > 0
			? kept.flatMap((part) => {
					const { callId, ...rest } = part;
					if (part.functionCall === undefined) return [part];
					const call = typeof callId === 'string' ? calls.get(callId) : undefined;
					return call === undefined
						? []
						: [{ ...rest, functionCall: toFunctionCall(call, getObject(part, 'functionCall')) }];
				})
			: [
					...(content.trim() === '' ? [] : [{ text: content }]),
					...toolCalls.map((call) => ({ functionCall: toFunctionCall(call) })),
				];
	const first = parts.findIndex((part: Json) => part.functionCall !== undefined);
	const call: Json | undefined = parts[first];
	// From version 3 on, the API refuses a turn whose first call has no signature.
	if (version >= 3 && call !== undefined && call.thoughtSignature === undefined)
		parts[first] = { ...call, thoughtSignature: foreignSignature };
	return parts;
}

function toFunctionCall({ name, input }: ToolCall, kept: Json = {}): Json {
	return { ...kept, name: toWireName(providerName(name)), args: isRecord(input) ? input : {} };
}
