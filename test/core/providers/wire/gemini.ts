import * as v from 'valibot';
import { providers } from '../../../../src/core/index.ts';
import {
	type Dialect,
	type Fault,
	type NeutralReply,
	type NeutralUsage,
	pieces,
	secretKey,
	sse,
	usualUsage,
	type WireMedia,
	type WirePart,
	type WireRequest,
} from './dialect.ts';

const model = 'gemini-3-pro-preview';

const finishOf: Readonly<Record<NeutralReply['stop'], string>> = {
	end_turn: 'STOP',
	stop_sequence: 'STOP',
	tool_use: 'STOP',
	max_tokens: 'MAX_TOKENS',
	refusal: 'SAFETY',
};

/** Google's Gemini API, native. */
export const gemini: Dialect = {
	name: 'gemini',
	model,
	wireModel: model,
	provider: (baseURL, settings = {}) => providers.gemini({ apiKey: secretKey, baseURL, ...settings }),
	paths: {
		stream: `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
		whole: `/v1beta/models/${model}:generateContent`,
	},
	keys: [['x-goog-api-key', secretKey]],
	events: (reply) => readEvents(readParts(reply, true), reply),
	ending: 1,
	body: (reply) => readBody(readParts(reply, false), reply),
	errorEvent: (kind) => {
		const [code, status, message] = faults[kind];
		return sse({ error: { code, message, status } });
	},
	errorBody: (kind, message) => {
		if (kind === 'quota' || kind === 'filter') return undefined;
		const [code, status, text] = faults[kind];
		return { status: code, body: { error: { code, message: message ?? text, status } } };
	},
	unknownEvents: [
		sse({ weatherReport: { mood: 'sunny' }, usageMetadata: readMetadata({ input: 100, output: 0 }) }),
		piece([{ hologram: { frames: [1, 2] } }], { input: 100, output: 0 }),
		sse({ candidates: [{ index: 0, groundingMetadata: {} }], modelVersion: model }),
	],
	refusals: [
		{
			name: 'finishReason SAFETY',
			events: readEvents([{ text: 'I was about' }], { stop: 'refusal' }),
			body: readBody([{ text: 'I was about' }], { stop: 'refusal' }),
		},
	],
	memories: [
		memory(
			'a thought signature on a call, and not on its neighbour',
			[
				{ text: 'thought-gemini', thought: true },
				{ text: 'Let me look.' },
				{ functionCall: { id: 'call_1', name: 'look', args: { city: 'Ulm' } }, thoughtSignature: 'sig-gemini-call' },
				{ functionCall: { id: 'call_2', name: 'look', args: { city: 'Bonn' } } },
			],
			[
				['text', undefined],
				['look', 'sig-gemini-call'],
				['look', undefined],
			],
			['thought-gemini', 'sig-gemini-call'],
		),
		memory(
			'a thought signature on a text',
			[{ text: 'Let me look.', thoughtSignature: 'sig-gemini-text' }],
			[['text', 'sig-gemini-text']],
			['sig-gemini-text'],
		),
	],
	readRequest,
	can: {
		reasoning: true,
		stopSequence: false,
		earlyUsage: true,
		reasoningUsage: true,
		callIds: true,
		textArguments: false,
		audio: true,
		files: true,
		resultImages: true,
		errorResults: false,
		retryAfter: true,
		endsItself: false,
	},
};

const faults: Readonly<
	Record<Exclude<Fault, 'quota' | 'filter'>, readonly [code: number, status: string, message: string]>
> = {
	rate_limit: [429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota, please check your plan.'],
	overloaded: [503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'],
	auth: [403, 'PERMISSION_DENIED', 'Method doesn’t allow unregistered callers.'],
	not_found: [404, 'NOT_FOUND', 'models/gemini-unknown is not found for API version v1beta.'],
	context: [
		400,
		'INVALID_ARGUMENT',
		'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
	],
	too_large: [413, 'INVALID_ARGUMENT', 'Request payload size exceeds the limit: 20971520 bytes.'],
};

export interface Part {
	readonly text?: string;
	readonly thought?: boolean;
	readonly thoughtSignature?: string;
	readonly functionCall?: { readonly id?: string; readonly name: string; readonly args?: unknown };
	readonly hologram?: unknown;
}

type Ending = Pick<NeutralReply, 'stop' | 'usage'>;

function readParts({ reasoning, text, calls = [] }: NeutralReply, streamed: boolean): Part[] {
	const cut = (whole: string | undefined) => (whole === undefined ? [] : streamed ? pieces(whole) : [whole]);
	return [
		...cut(reasoning).map((piece) => ({ text: piece, thought: true })),
		...cut(text).map((piece) => ({ text: piece })),
		...calls.map(({ id, name, argumentsJson }) => ({
			functionCall: { id, name, ...(argumentsJson !== '' && { args: JSON.parse(argumentsJson) }) },
		})),
	];
}

/** Creates the events of a reply: one event for each part, and an empty text at the end, as in the recordings. */
export function readEvents(parts: readonly Part[], { stop, usage = usualUsage }: Ending): string[] {
	return [
		...parts.map((part) => piece([part], { ...usage, output: usage.reasoning ?? 0 })),
		piece([{ text: '' }], usage, finishOf[stop]),
	];
}

export function readBody(parts: readonly Part[], { stop, usage = usualUsage }: Ending) {
	return readAnswer(parts, usage, finishOf[stop]);
}

function piece(parts: readonly Part[], usage: NeutralUsage, finishReason?: string): string {
	return sse(readAnswer(parts, usage, finishReason));
}

function readAnswer(parts: readonly Part[], usage: NeutralUsage, finishReason?: string) {
	return {
		candidates: [{ content: { parts, role: 'model' }, finishReason, index: 0 }],
		usageMetadata: readMetadata(usage),
		modelVersion: model,
		responseId: 'M3iLaY-AI7zTxN8P3Piw4Qg',
	};
}

function readMetadata({ input, output, cached = 0, reasoning = 0 }: NeutralUsage) {
	return {
		promptTokenCount: input,
		...(cached > 0 && { cachedContentTokenCount: cached }),
		candidatesTokenCount: output - reasoning,
		totalTokenCount: input + output,
		promptTokensDetails: [{ modality: 'TEXT', tokenCount: input }],
		...(reasoning > 0 && { thoughtsTokenCount: reasoning }),
	};
}

/** @param expected the kind and the signature of each part that was sent back */
function memory(name: string, parts: readonly Part[], expected: readonly unknown[], secrets: readonly string[]) {
	const stop = parts.some(({ functionCall }) => functionCall !== undefined) ? 'tool_use' : 'end_turn';
	return {
		name,
		events: readEvents(parts, { stop }),
		body: readBody(parts, { stop }),
		sent: (body: unknown) =>
			v
				.parse(request, body)
				.contents.filter(({ role }) => role === 'model')
				.flatMap((content) => content.parts)
				.flatMap((part) => {
					if ('functionCall' in part) return [[part.functionCall.name, part.thoughtSignature]];
					return 'text' in part && part.thought !== true ? [['text', part.thoughtSignature]] : [];
				}),
		expected,
		secrets,
	};
}

// The schema of the request with the fields of the API. It refuses other fields.

const nonEmpty = v.pipe(v.string(), v.nonEmpty());
const toolName = v.pipe(v.string(), v.regex(/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/));
const inlineData = v.strictObject({
	inlineData: v.strictObject({ mimeType: nonEmpty, data: nonEmpty, displayName: v.optional(v.string()) }),
});
const fileData = v.strictObject({
	fileData: v.strictObject({ fileUri: nonEmpty, mimeType: v.optional(nonEmpty) }),
});
const part = v.union([
	v.strictObject({
		text: v.string(),
		thought: v.optional(v.boolean()),
		thoughtSignature: v.optional(nonEmpty),
	}),
	inlineData,
	fileData,
	v.strictObject({
		functionCall: v.strictObject({
			id: v.optional(nonEmpty),
			name: toolName,
			args: v.optional(v.record(v.string(), v.unknown())),
		}),
		thoughtSignature: v.optional(nonEmpty),
	}),
	v.strictObject({
		functionResponse: v.strictObject({
			id: v.optional(nonEmpty),
			name: toolName,
			response: v.record(v.string(), v.unknown()),
			parts: v.optional(v.array(v.union([inlineData, fileData]))),
		}),
	}),
]);
const system = v.strictObject({
	role: v.optional(v.string()),
	parts: v.pipe(v.array(v.strictObject({ text: nonEmpty })), v.nonEmpty()),
});

const request = v.strictObject({
	contents: v.pipe(
		v.array(v.strictObject({ role: v.picklist(['user', 'model']), parts: v.pipe(v.array(part), v.nonEmpty()) })),
		v.nonEmpty(),
	),
	systemInstruction: v.optional(system),
	tools: v.optional(
		v.array(
			v.strictObject({
				functionDeclarations: v.array(
					v.strictObject({
						name: toolName,
						description: v.optional(v.string()),
						parameters: v.optional(v.looseObject({})),
						parametersJsonSchema: v.optional(v.looseObject({})),
					}),
				),
			}),
		),
	),
	toolConfig: v.optional(
		v.strictObject({
			functionCallingConfig: v.strictObject({
				mode: v.picklist(['AUTO', 'NONE', 'ANY', 'VALIDATED']),
				allowedFunctionNames: v.optional(v.array(toolName)),
			}),
		}),
	),
	generationConfig: v.optional(
		v.strictObject({
			maxOutputTokens: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
			responseMimeType: v.optional(v.string()),
			responseSchema: v.optional(v.looseObject({})),
			responseJsonSchema: v.optional(v.looseObject({})),
			thinkingConfig: v.optional(
				v.strictObject({
					includeThoughts: v.optional(v.boolean()),
					thinkingBudget: v.optional(v.pipe(v.number(), v.integer(), v.minValue(-1))),
					thinkingLevel: v.optional(v.pipe(v.string(), v.regex(/^(minimal|low|medium|high)$/i))),
				}),
			),
			stopSequences: v.optional(v.array(v.string())),
			temperature: v.optional(v.number()),
		}),
	),
	safetySettings: v.optional(v.array(v.looseObject({}))),
});

type SentPart = v.InferOutput<typeof part>;

function readRequest(body: unknown, path: string): WireRequest {
	const sent = v.parse(request, body);
	for (const [index, { role, parts }] of sent.contents.entries()) refuse(role, parts, sent.contents[index + 1]?.parts);
	const { generationConfig = {}, toolConfig, tools = [] } = sent;
	const { thinkingLevel, thinkingBudget } = generationConfig.thinkingConfig ?? {};
	if (thinkingLevel !== undefined && thinkingBudget !== undefined) {
		throw new Error('You can only set only one of thinking budget and thinking level.');
	}
	const outputSchema = generationConfig.responseJsonSchema ?? generationConfig.responseSchema;
	if (outputSchema !== undefined && generationConfig.responseMimeType !== 'application/json') {
		throw new Error('a response schema needs responseMimeType application/json');
	}
	const declared = tools.flatMap(({ functionDeclarations }) => functionDeclarations);
	return {
		model: /models\/([^:]+):/.exec(path)?.[1] ?? '',
		stream: path.includes(':streamGenerateContent'),
		system: sent.systemInstruction?.parts.map(({ text }) => text).join('\n\n'),
		maxOutputTokens: generationConfig.maxOutputTokens,
		toolChoice: readChoice(toolConfig?.functionCallingConfig),
		tools: declared.map(({ name, description, parameters, parametersJsonSchema }) => ({
			name,
			schema: parametersJsonSchema ?? parameters,
			description,
		})),
		turns: sent.contents.map(({ role, parts }) => ({
			role: role === 'model' ? 'assistant' : 'user',
			parts: parts.map(heardPart),
		})),
		outputSchema,
		effort: thinkingBudget === 0 ? 'none' : (thinkingLevel ?? thinkingBudget),
	};
}

/** Refuses what the API answers with 400. */
function refuse(role: string, parts: readonly SentPart[], next: readonly SentPart[] = []): void {
	const calls = parts.filter((one) => 'functionCall' in one).length;
	const answers = next.filter((one) => 'functionResponse' in one).length;
	if (role === 'user' && calls > 0) throw new Error('a function call cannot be the user’s');
	if (role === 'model' && parts.some((one) => 'functionResponse' in one)) throw new Error('a response is the user’s');
	if (calls !== answers && calls > 0) {
		throw new Error(
			'the number of function response parts must equal the number of function call parts of the function call turn',
		);
	}
}

function readChoice(
	config: NonNullable<v.InferOutput<typeof request>['toolConfig']>['functionCallingConfig'] | undefined,
): WireRequest['toolChoice'] {
	const [name] = config?.allowedFunctionNames ?? [];
	if (name !== undefined) return { name };
	if (config === undefined) return undefined;
	return config.mode === 'NONE' ? 'none' : config.mode === 'ANY' ? 'required' : 'auto';
}

function heardPart(one: SentPart): WirePart {
	if ('functionCall' in one) {
		const { id, name, args = {} } = one.functionCall;
		return { kind: 'call', id, name, input: args };
	}
	if ('functionResponse' in one) {
		const { id, name, response, parts = [] } = one.functionResponse;
		const text = Object.values(response)
			.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
			.join('\n');
		return { kind: 'result', id, name, text, media: parts.map(readMedia), isError: 'error' in response };
	}
	if ('text' in one) return one.thought === true ? { kind: 'own', value: one } : { kind: 'text', text: one.text };
	return readMedia(one);
}

function readMedia(one: v.InferOutput<typeof inlineData | typeof fileData>): WireMedia {
	if ('fileData' in one) return { kind: 'image', url: one.fileData.fileUri };
	const { mimeType, data } = one.inlineData;
	const kind = mimeType.startsWith('image/') ? 'image' : mimeType.startsWith('audio/') ? 'audio' : 'file';
	return { kind, data, mime: mimeType };
}
