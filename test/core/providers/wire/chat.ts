import * as v from 'valibot';
import { providers } from '../../../../src/core/index.ts';
import {
	type Dialect,
	type Fault,
	fromDataUrl,
	type Memory,
	type NeutralReply,
	type NeutralUsage,
	pieces,
	secretKey,
	sse,
	usualUsage,
	type WirePart,
	type WireRequest,
	type WireTurn,
} from './dialect.ts';

/** The last line of a stream. */
export const done = sse('[DONE]');

const finishOf: Readonly<Record<NeutralReply['stop'], string>> = {
	end_turn: 'stop',
	stop_sequence: 'stop',
	tool_use: 'tool_calls',
	max_tokens: 'length',
	refusal: 'content_filter',
};

/** OpenAI's Chat Completions. Groq and many other providers have the same API. */
export const chatCompletions: Dialect = {
	name: 'openai-chat',
	model: 'groq/llama-9',
	wireModel: 'llama-9',
	provider: (baseURL, settings = {}) =>
		providers.openaiChat({
			apiKey: secretKey,
			baseURL: `${baseURL}/v1`,
			name: 'groq',
			prefix: 'groq/',
			...settings,
		}),
	paths: { stream: '/v1/chat/completions', whole: '/v1/chat/completions' },
	keys: [['authorization', `Bearer ${secretKey}`]],
	events: readEvents,
	ending: 3,
	body: readBody,
	errorEvent: (kind) =>
		kind === 'overloaded'
			? sse({ error: { message: 'The model is overloaded.', type: 'overloaded_error', code: 503 } })
			: sse({ error: { message: 'Rate limit reached.', type: 'tokens', code: 'rate_limit_exceeded' } }),
	errorBody: (kind, message) => {
		const [status, type, code, text] = faults[kind];
		return { status, body: { error: { message: message ?? text, type, param: null, code } } };
	},
	unknownEvents: [
		sse({ id: 'w-1', object: 'chat.weather', mood: 'sunny' }),
		chunk({ hologram: [1, 2], annotations: [] }),
		sse({ id: 'chatcmpl-1', object: 'chat.completion.chunk', choices: [], prompt_filter_results: [] }),
	],
	refusals: [
		{
			name: 'finish_reason content_filter',
			events: readEvents({ text: 'I was about', stop: 'refusal' }),
			body: readBody({ text: 'I was about', stop: 'refusal' }),
		},
		{
			name: 'a refusal field',
			events: [
				chunk({ role: 'assistant', content: null, refusal: '' }),
				...pieces('I cannot help with that.').map((refusal) => chunk({ refusal })),
				chunk({}, 'stop'),
				usageChunk(usualUsage),
				done,
			],
			body: readCompletion({ role: 'assistant', content: null, refusal: 'I cannot help with that.' }, 'stop'),
		},
	],
	memories: [
		memory('deepseek', 'reasoning_content', {
			deltas: [{ reasoning_content: 'thought-' }, { reasoning_content: 'deepseek' }],
			whole: { reasoning_content: 'thought-deepseek' },
			sent: ({ reasoning_content }) => reasoning_content,
			expected: 'thought-deepseek',
			secrets: ['thought-deepseek'],
		}),
		memory('openrouter', 'reasoning_details', {
			deltas: [
				{
					reasoning: 'thought-',
					reasoning_details: [{ type: 'reasoning.text', text: 'thought-', format: 'anthropic-claude-v1', index: 0 }],
				},
				{
					reasoning: 'openrouter',
					reasoning_details: [{ type: 'reasoning.text', text: 'openrouter', format: 'anthropic-claude-v1', index: 0 }],
				},
				{
					reasoning_details: [
						{ type: 'reasoning.text', signature: 'sig-openrouter', format: 'anthropic-claude-v1', index: 0 },
					],
				},
				{
					reasoning_details: [
						{ type: 'reasoning.encrypted', data: 'encrypted-openrouter', id: 'rs_1', format: 'openai-v1', index: 1 },
					],
				},
			],
			whole: {
				reasoning: 'thought-openrouter',
				reasoning_details: [
					{
						type: 'reasoning.text',
						text: 'thought-openrouter',
						signature: 'sig-openrouter',
						format: 'anthropic-claude-v1',
						index: 0,
					},
					{ type: 'reasoning.encrypted', data: 'encrypted-openrouter', id: 'rs_1', format: 'openai-v1', index: 1 },
				],
			},
			sent: ({ reasoning_details }) => joined(reasoning_details ?? []),
			expected: [
				{
					type: 'reasoning.text',
					text: 'thought-openrouter',
					signature: 'sig-openrouter',
					format: 'anthropic-claude-v1',
					index: 0,
				},
				{ type: 'reasoning.encrypted', data: 'encrypted-openrouter', id: 'rs_1', format: 'openai-v1', index: 1 },
			],
			secrets: ['thought-openrouter', 'sig-openrouter', 'encrypted-openrouter'],
		}),
		memory('gemini-compat', 'extra_content of a call', {
			deltas: [],
			whole: {},
			call: { extra_content: { google: { thought_signature: 'sig-gemini-compat' } } },
			sent: ({ tool_calls }) => tool_calls?.[0]?.extra_content,
			expected: { google: { thought_signature: 'sig-gemini-compat' } },
			secrets: ['sig-gemini-compat'],
		}),
	],
	readRequest,
	can: {
		reasoning: true,
		stopSequence: false,
		earlyUsage: false,
		reasoningUsage: true,
		callIds: true,
		textArguments: true,
		audio: true,
		files: true,
		resultImages: false,
		errorResults: false,
		retryAfter: true,
		endsItself: true,
	},
};

const faults: Readonly<Record<Fault, readonly [status: number, type: string, code: string | null, message: string]>> = {
	rate_limit: [429, 'tokens', 'rate_limit_exceeded', 'Rate limit reached for model `llama-9`.'],
	quota: [429, 'insufficient_quota', 'insufficient_quota', 'You exceeded your current quota.'],
	overloaded: [503, 'service_unavailable', null, 'The service is overloaded.'],
	auth: [401, 'invalid_request_error', 'invalid_api_key', 'Invalid API Key'],
	not_found: [404, 'invalid_request_error', 'model_not_found', 'The model `llama-0` does not exist.'],
	context: [
		400,
		'invalid_request_error',
		'context_length_exceeded',
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
	],
	too_large: [413, 'invalid_request_error', null, 'Request Entity Too Large'],
	filter: [
		400,
		'invalid_request_error',
		'content_filter',
		"The response was filtered due to the prompt triggering the provider's content management policy.",
	],
};

/** Creates a piece of a streamed reply. */
export function chunk(delta: unknown, finish_reason: string | null = null): string {
	return sse({ ...head('chat.completion.chunk'), choices: [{ index: 0, delta, logprobs: null, finish_reason }] });
}

/** Creates the last piece with the usage. */
export function usageChunk(usage: NeutralUsage): string {
	return sse({ ...head('chat.completion.chunk'), choices: [], usage: readUsage(usage) });
}

function head(object: string) {
	return { id: 'chatcmpl-C1KMEUDb1vVwsROQUCZTgG6A6vtWo', object, created: 1754432618, model: 'llama-9-preview' };
}

export function readEvents({
	reasoning = '',
	text = '',
	calls = [],
	stop,
	usage = usualUsage,
}: NeutralReply): string[] {
	return [
		chunk({ role: 'assistant', content: '' }),
		...pieces(reasoning).map((reasoning_content) => chunk({ reasoning_content, content: null })),
		...pieces(text).map((content) => chunk({ content })),
		...calls.flatMap(({ id, name, argumentsJson }, index) => [
			chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
			...pieces(argumentsJson).map((part) => chunk({ tool_calls: [{ index, function: { arguments: part } }] })),
		]),
		chunk({}, finishOf[stop]),
		usageChunk(usage),
		done,
	];
}

export function readBody({ reasoning, text, calls = [], stop, usage = usualUsage }: NeutralReply) {
	const message = {
		role: 'assistant',
		content: text ?? null,
		reasoning_content: reasoning,
		...(calls.length > 0 && {
			tool_calls: calls.map(({ id, name, argumentsJson }) => ({
				id,
				type: 'function',
				function: { name, arguments: argumentsJson },
			})),
		}),
	};
	return readCompletion(message, finishOf[stop], usage);
}

function readCompletion(message: unknown, finish_reason: string, usage: NeutralUsage = usualUsage) {
	const choices = [{ index: 0, message, logprobs: null, finish_reason }];
	return { ...head('chat.completion'), choices, usage: readUsage(usage) };
}

function readUsage({ input, output, cached = 0, reasoning = 0 }: NeutralUsage) {
	return {
		prompt_tokens: input,
		completion_tokens: output,
		total_tokens: input + output,
		prompt_tokens_details: { cached_tokens: cached },
		completion_tokens_details: { reasoning_tokens: reasoning },
	};
}

/** A turn with a call by a compatible provider. The provider's own fields are sent back. */
function memory(
	name: string,
	what: string,
	own: {
		readonly deltas: readonly unknown[];
		readonly whole: Readonly<Record<string, unknown>>;
		readonly call?: Readonly<Record<string, unknown>>;
		readonly sent: (message: Assistant) => unknown;
		readonly expected: unknown;
		readonly secrets: readonly string[];
	},
): Memory {
	const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"city":"Ulm"}' }, ...own.call };
	return {
		name: `${name}: ${what}`,
		provider: (baseURL) =>
			providers.openaiChat({ apiKey: secretKey, baseURL: `${baseURL}/v1`, name, prefix: `${name}/` }),
		model: `${name}/model-1`,
		events: [
			chunk({ role: 'assistant', content: '' }),
			...own.deltas.map((delta) => chunk(delta)),
			chunk({ content: 'Let me look.' }),
			chunk({ tool_calls: [{ index: 0, ...call }] }),
			chunk({}, 'tool_calls'),
			usageChunk(usualUsage),
			done,
		],
		body: readCompletion(
			{ role: 'assistant', content: 'Let me look.', ...own.whole, tool_calls: [call] },
			'tool_calls',
		),
		sent: (body) => {
			const turn = v.parse(request, body).messages.find(({ role }) => role === 'assistant');
			return turn?.role === 'assistant' ? own.sent(turn) : undefined;
		},
		expected: own.expected,
		secrets: own.secrets,
	};
}

/** Joins the reasoning details of the same index. */
function joined(details: readonly Readonly<Record<string, unknown>>[]): unknown[] {
	const byIndex = new Map<unknown, Record<string, unknown>>();
	for (const detail of details) {
		const before = byIndex.get(detail.index);
		const texts = [before?.text, detail.text].filter((text) => typeof text === 'string');
		byIndex.set(detail.index, { ...before, ...detail, ...(texts.length > 0 && { text: texts.join('') }) });
	}
	return [...byIndex.values()];
}

// The schema of the request with the fields of the API. It refuses other fields.

const nonEmpty = v.pipe(v.string(), v.nonEmpty());
const toolName = v.pipe(v.string(), v.regex(/^[a-zA-Z0-9_-]{1,64}$/));
const textPart = v.strictObject({ type: v.literal('text'), text: v.string() });
const userPart = v.variant('type', [
	textPart,
	v.strictObject({
		type: v.literal('image_url'),
		image_url: v.strictObject({
			url: v.pipe(v.string(), v.regex(/^(https?:\/\/|data:image\/)/)),
			detail: v.optional(v.picklist(['low', 'high', 'auto'])),
		}),
	}),
	v.strictObject({
		type: v.literal('input_audio'),
		input_audio: v.strictObject({ data: nonEmpty, format: v.picklist(['wav', 'mp3']) }),
	}),
	v.strictObject({
		type: v.literal('file'),
		file: v.strictObject({
			filename: nonEmpty,
			file_data: v.pipe(v.string(), v.regex(/^data:application\/pdf;base64,/)),
		}),
	}),
]);
const toolCall = v.strictObject({
	id: nonEmpty,
	type: v.literal('function'),
	function: v.strictObject({ name: toolName, arguments: v.string() }),
	index: v.optional(v.number()),
	extra_content: v.optional(v.looseObject({})),
});
const assistant = v.strictObject({
	role: v.literal('assistant'),
	content: v.optional(v.nullable(v.union([v.string(), v.array(textPart)]))),
	tool_calls: v.optional(v.pipe(v.array(toolCall), v.nonEmpty())),
	reasoning_content: v.optional(v.nullable(v.string())),
	reasoning: v.optional(v.nullable(v.string())),
	reasoning_details: v.optional(v.array(v.record(v.string(), v.unknown()))),
	extra_content: v.optional(v.looseObject({})),
	refusal: v.optional(v.nullable(v.string())),
});
const message = v.variant('role', [
	v.strictObject({
		role: v.picklist(['system', 'developer']),
		content: v.union([nonEmpty, v.pipe(v.array(textPart), v.nonEmpty())]),
	}),
	v.strictObject({
		role: v.literal('user'),
		content: v.union([v.string(), v.pipe(v.array(userPart), v.nonEmpty())]),
	}),
	assistant,
	v.strictObject({ role: v.literal('tool'), tool_call_id: nonEmpty, content: v.string() }),
]);
export const functionTool = v.strictObject({
	type: v.literal('function'),
	function: v.strictObject({
		name: toolName,
		description: v.optional(v.string()),
		parameters: v.looseObject({ type: v.literal('object') }),
		strict: v.optional(v.nullable(v.boolean())),
	}),
});
/** The fields of the request that Workers AI also accepts. */
export const shared = {
	messages: v.pipe(v.array(message), v.nonEmpty()),
	stream: v.optional(v.boolean()),
	stream_options: v.optional(v.strictObject({ include_usage: v.literal(true) })),
	max_tokens: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
	max_completion_tokens: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
	tools: v.optional(v.pipe(v.array(functionTool), v.nonEmpty())),
	tool_choice: v.optional(
		v.union([
			v.picklist(['auto', 'none', 'required']),
			v.strictObject({ type: v.literal('function'), function: v.strictObject({ name: toolName }) }),
		]),
	),
	reasoning_effort: v.optional(v.picklist(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'default'])),
	temperature: v.optional(v.number()),
	top_p: v.optional(v.number()),
};

const request = v.strictObject({
	...shared,
	model: nonEmpty,
	response_format: v.optional(
		v.strictObject({
			type: v.literal('json_schema'),
			json_schema: v.strictObject({
				name: toolName,
				schema: v.looseObject({}),
				description: v.optional(v.string()),
				strict: v.optional(v.nullable(v.boolean())),
			}),
		}),
	),
	parallel_tool_calls: v.optional(v.boolean()),
	stop: v.optional(v.union([v.string(), v.array(v.string())])),
});

type Assistant = v.InferOutput<typeof assistant>;
type SentMessage = v.InferOutput<typeof message>;

function readRequest(body: unknown): WireRequest {
	const sent = v.parse(request, body);
	if (sent.stream === true && sent.stream_options?.include_usage !== true)
		throw new Error('a stream must ask for usage');
	if (sent.stream !== true && sent.stream_options !== undefined) {
		throw new Error("The 'stream_options' parameter is only allowed when 'stream' is enabled.");
	}
	return { model: sent.model, ...hearShared(sent), outputSchema: sent.response_format?.json_schema.schema };
}

/** Reads the common parts of Chat Completions and Workers AI. */
export function hearShared(
	sent: v.InferOutput<ReturnType<typeof v.strictObject<typeof shared, undefined>>>,
): Omit<WireRequest, 'model' | 'outputSchema'> {
	const { messages, tools = [], tool_choice } = sent;
	if (tool_choice !== undefined && tools.length === 0) {
		throw new Error("'tool_choice' is only allowed when 'tools' are specified.");
	}
	refuse(messages);
	const system = messages.flatMap((one) =>
		one.role === 'system' || one.role === 'developer' ? [readText(one.content)] : [],
	);
	const turns: { role: WireTurn['role']; parts: WirePart[] }[] = [];
	for (const one of messages) {
		if (one.role === 'system' || one.role === 'developer') continue;
		const role = one.role === 'assistant' ? 'assistant' : 'user';
		const last = turns.at(-1);
		if (last?.role === role) last.parts.push(...readParts(one));
		else turns.push({ role, parts: readParts(one) });
	}
	return {
		stream: sent.stream === true,
		system: system.length > 0 ? system.join('\n\n') : undefined,
		maxOutputTokens: sent.max_completion_tokens ?? sent.max_tokens,
		toolChoice: typeof tool_choice === 'object' ? { name: tool_choice.function.name } : tool_choice,
		tools: tools.map((one) => ({
			name: one.function.name,
			schema: one.function.parameters,
			description: one.function.description,
		})),
		turns,
		effort: sent.reasoning_effort,
	};
}

/** Refuses what the API answers with 400. */
function refuse(messages: readonly SentMessage[]): void {
	let open: string[] = [];
	for (const one of messages) {
		if (one.role === 'tool') {
			if (!open.includes(one.tool_call_id)) throw new Error(`no call before this result: ${one.tool_call_id}`);
			open = open.filter((id) => id !== one.tool_call_id);
			continue;
		}
		if (open.length > 0) throw new Error(`tool_calls must be followed by tool messages: ${open.join(', ')}`);
		if (one.role !== 'assistant') continue;
		if ((one.content ?? '') === '' && one.tool_calls === undefined)
			throw new Error('an assistant message says nothing');
		open = (one.tool_calls ?? []).map(({ id }) => id);
	}
	if (open.length > 0) throw new Error(`tool_calls must be followed by tool messages: ${open.join(', ')}`);
}

function readText(content: string | readonly { readonly text: string }[]): string {
	return typeof content === 'string' ? content : content.map(({ text }) => text).join('\n');
}

function readParts(one: SentMessage): WirePart[] {
	switch (one.role) {
		case 'tool':
			return [{ kind: 'result', id: one.tool_call_id, text: one.content, media: [] }];
		case 'assistant': {
			const text = readText(one.content ?? '');
			const calls = (one.tool_calls ?? []).map(({ id, function: { name, arguments: json } }) => ({
				kind: 'call' as const,
				id,
				name,
				input: JSON.parse(json),
			}));
			const own = [one.reasoning_content, one.reasoning, one.reasoning_details].filter((value) => value != null);
			return [
				...own.map((value) => ({ kind: 'own' as const, value })),
				...(text === '' ? [] : [{ kind: 'text' as const, text }]),
				...calls,
			];
		}
		default:
			if (typeof one.content === 'string') return [{ kind: 'text', text: one.content }];
			return one.content.map((part): WirePart => {
				if (part.type === 'text') return { kind: 'text', text: part.text };
				if (part.type === 'image_url') return { kind: 'image', ...fromDataUrl(part.image_url.url) };
				if (part.type === 'file') return { kind: 'file', ...fromDataUrl(part.file.file_data) };
				const { data, format } = part.input_audio;
				return { kind: 'audio', data, mime: format === 'wav' ? 'audio/wav' : 'audio/mpeg' };
			});
	}
}
