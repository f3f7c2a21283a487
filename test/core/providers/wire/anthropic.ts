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

const model = 'claude-sonnet-4-5';

/** Anthropic's Messages API. */
export const anthropic: Dialect = {
	name: 'anthropic',
	model,
	wireModel: model,
	provider: (baseURL, settings = {}) => providers.anthropic({ apiKey: secretKey, baseURL, ...settings }),
	paths: { stream: '/v1/messages', whole: '/v1/messages' },
	keys: [
		['x-api-key', secretKey],
		['authorization', `Bearer ${secretKey}`],
	],
	events: (reply) => readEvents(readBlocks(reply), reply),
	ending: 1,
	body: (reply) => readBody(readBlocks(reply), reply),
	errorEvent: (kind) => {
		const [, type, message] = faults[kind];
		return event({ type: 'error', error: { type, message } });
	},
	errorBody: (kind, message) => {
		if (kind === 'quota') return undefined;
		const [status, type, text] = faults[kind];
		const error = { type, message: message ?? text };
		return { status, body: { type: 'error', error, request_id: 'req_011Cd65WVh8Zrvno3NunpJ73' } };
	},
	unknownEvents: [
		event({ type: 'weather_report', mood: 'sunny' }),
		event({ type: 'content_block_start', index: 90, content_block: { type: 'hologram', frames: [1, 2] } }),
		event({ type: 'content_block_delta', index: 90, delta: { type: 'hologram_delta', frame: 3 } }),
		event({ type: 'content_block_stop', index: 90 }),
	],
	refusals: [
		{
			name: 'stop_reason refusal',
			...both([{ type: 'text', text: 'I was about' }], { stop: 'refusal' }),
		},
	],
	memories: [
		{
			name: 'thinking with its signature, and redacted thinking',
			...both(
				[
					{ type: 'thinking', thinking: 'thought-anthropic', signature: 'sig-anthropic' },
					{ type: 'redacted_thinking', data: 'redacted-anthropic' },
					{ type: 'text', text: 'Let me look.' },
					{ type: 'tool_use', id: 'toolu_1', name: 'look', json: '{"city":"Ulm"}' },
				],
				{ stop: 'tool_use' },
			),
			sent: (body) => v.parse(request, body).messages.find(({ role }) => role === 'assistant')?.content,
			expected: [
				{ type: 'thinking', thinking: 'thought-anthropic', signature: 'sig-anthropic' },
				{ type: 'redacted_thinking', data: 'redacted-anthropic' },
				{ type: 'text', text: 'Let me look.' },
				{ type: 'tool_use', id: 'toolu_1', name: 'look', input: { city: 'Ulm' } },
			],
			secrets: ['thought-anthropic', 'sig-anthropic', 'redacted-anthropic'],
		},
	],
	readRequest,
	can: {
		reasoning: true,
		stopSequence: true,
		earlyUsage: true,
		reasoningUsage: true,
		callIds: true,
		textArguments: true,
		audio: false,
		files: true,
		resultImages: true,
		errorResults: true,
		retryAfter: true,
		endsItself: true,
	},
};

const faults: Readonly<Record<Exclude<Fault, 'quota'>, readonly [status: number, type: string, message: string]>> = {
	rate_limit: [429, 'rate_limit_error', 'This request would exceed your rate limit.'],
	overloaded: [529, 'overloaded_error', 'Overloaded'],
	auth: [401, 'authentication_error', 'invalid x-api-key'],
	not_found: [404, 'not_found_error', 'model: claude-unknown'],
	context: [400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'],
	too_large: [413, 'request_too_large', 'Request exceeds the maximum size'],
	filter: [400, 'invalid_request_error', 'Output blocked by content filtering policy'],
};

type Block =
	| { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
	| { readonly type: 'redacted_thinking'; readonly data: string }
	| { readonly type: 'text'; readonly text: string }
	| { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly json: string };

type Ending = Pick<NeutralReply, 'stop' | 'usage'>;

function readBlocks({ reasoning, text, calls = [] }: NeutralReply): Block[] {
	return [
		...(reasoning === undefined ? [] : [{ type: 'thinking', thinking: reasoning, signature: 'sig' } as const]),
		...(text === undefined ? [] : [{ type: 'text', text } as const]),
		...calls.map(({ id, name, argumentsJson }) => ({ type: 'tool_use', id, name, json: argumentsJson }) as const),
	];
}

function both(blocks: readonly Block[], ending: Ending) {
	return { events: readEvents(blocks, ending), body: readBody(blocks, ending) };
}

function readEvents(blocks: readonly Block[], { stop, usage = usualUsage }: Ending): string[] {
	const begun = { ...readBody([], { stop, usage: { ...usage, output: 1, reasoning: 0 } }), stop_reason: null };
	const delta = { stop_reason: stop, stop_sequence: stop === 'stop_sequence' ? 'END' : null };
	return [
		event({ type: 'message_start', message: begun }),
		event({ type: 'ping' }),
		...blocks.flatMap(blockEvents),
		event({ type: 'message_delta', delta, usage: readUsage(usage) }),
		event({ type: 'message_stop' }),
	];
}

function readBody(blocks: readonly Block[], { stop, usage = usualUsage }: Ending) {
	return {
		id: 'msg_01GE2RKp1VYsPzdFs3sS9z5S',
		type: 'message',
		role: 'assistant',
		model: 'claude-sonnet-4-5-20250929',
		content: blocks.map(wholeBlock),
		stop_reason: stop,
		stop_sequence: stop === 'stop_sequence' ? 'END' : null,
		usage: readUsage(usage),
	};
}

function blockEvents(block: Block, index: number): string[] {
	const start = (content_block: unknown) => event({ type: 'content_block_start', index, content_block });
	const delta = (delta: unknown) => event({ type: 'content_block_delta', index, delta });
	const stop = event({ type: 'content_block_stop', index });
	switch (block.type) {
		case 'thinking':
			return [
				start({ type: 'thinking', thinking: '', signature: '' }),
				...pieces(block.thinking).map((thinking) => delta({ type: 'thinking_delta', thinking })),
				delta({ type: 'signature_delta', signature: block.signature }),
				stop,
			];
		case 'redacted_thinking':
			return [start(block), stop];
		case 'text':
			return [
				start({ type: 'text', text: '' }),
				...pieces(block.text).map((text) => delta({ type: 'text_delta', text })),
				stop,
			];
		case 'tool_use':
			return [
				start({ type: 'tool_use', id: block.id, name: block.name, input: {} }),
				...['', ...pieces(block.json)].map((partial_json) => delta({ type: 'input_json_delta', partial_json })),
				stop,
			];
	}
}

function wholeBlock(block: Block): unknown {
	if (block.type !== 'tool_use') return block;
	const { type, id, name, json } = block;
	return { type, id, name, input: json === '' ? {} : JSON.parse(json) };
}

function readUsage({ input, output, cached = 0, reasoning = 0 }: NeutralUsage) {
	return {
		input_tokens: input - cached,
		cache_creation_input_tokens: 0,
		cache_read_input_tokens: cached,
		cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
		output_tokens: output,
		output_tokens_details: { thinking_tokens: reasoning },
		service_tier: 'standard',
	};
}

function event(data: { readonly type: string; readonly [field: string]: unknown }): string {
	return sse(data, data.type);
}

// The schema of the request with all fields of the API. It refuses other fields.

const cache_control = v.optional(v.looseObject({ type: v.literal('ephemeral') }));
const nonEmpty = v.pipe(v.string(), v.nonEmpty());
const textBlock = v.strictObject({ type: v.literal('text'), text: nonEmpty, cache_control });
const base64 = (mime: RegExp) =>
	v.strictObject({ type: v.literal('base64'), media_type: v.pipe(v.string(), v.regex(mime)), data: nonEmpty });
const byUrl = v.strictObject({ type: v.literal('url'), url: nonEmpty });
const imageBlock = v.strictObject({
	type: v.literal('image'),
	source: v.variant('type', [base64(/^image\/(png|jpeg|gif|webp)$/), byUrl]),
	cache_control,
});
const documentBlock = v.strictObject({
	type: v.literal('document'),
	source: v.variant('type', [base64(/^application\/pdf$/), byUrl]),
	title: v.optional(v.nullable(v.string())),
	cache_control,
});
const toolUseBlock = v.strictObject({
	type: v.literal('tool_use'),
	id: v.pipe(v.string(), v.regex(/^[a-zA-Z0-9_-]+$/)),
	name: v.pipe(v.string(), v.regex(/^[a-zA-Z0-9_-]{1,64}$/)),
	input: v.record(v.string(), v.unknown()),
	cache_control,
});
const toolResultBlock = v.strictObject({
	type: v.literal('tool_result'),
	tool_use_id: nonEmpty,
	content: v.optional(v.union([v.string(), v.array(v.variant('type', [textBlock, imageBlock, documentBlock]))])),
	is_error: v.optional(v.boolean()),
	cache_control,
});
const thinkingBlock = v.strictObject({ type: v.literal('thinking'), thinking: v.string(), signature: nonEmpty });
const redactedBlock = v.strictObject({ type: v.literal('redacted_thinking'), data: nonEmpty });
const block = v.variant('type', [
	textBlock,
	imageBlock,
	documentBlock,
	toolUseBlock,
	toolResultBlock,
	thinkingBlock,
	redactedBlock,
]);

const request = v.strictObject({
	model: nonEmpty,
	max_tokens: v.pipe(v.number(), v.integer(), v.minValue(1)),
	messages: v.pipe(
		v.array(
			v.strictObject({
				role: v.picklist(['user', 'assistant']),
				content: v.union([nonEmpty, v.pipe(v.array(block), v.nonEmpty())]),
			}),
		),
		v.nonEmpty(),
	),
	system: v.optional(v.union([nonEmpty, v.pipe(v.array(textBlock), v.nonEmpty())])),
	stream: v.optional(v.boolean()),
	tools: v.optional(
		v.array(
			v.strictObject({
				type: v.optional(v.literal('custom')),
				name: v.pipe(v.string(), v.regex(/^[a-zA-Z0-9_-]{1,64}$/)),
				description: v.optional(v.string()),
				input_schema: v.looseObject({ type: v.literal('object') }),
				strict: v.optional(v.boolean()),
				cache_control,
			}),
		),
	),
	tool_choice: v.optional(
		v.variant('type', [
			v.strictObject({ type: v.picklist(['auto', 'any']), disable_parallel_tool_use: v.optional(v.boolean()) }),
			v.strictObject({ type: v.literal('none') }),
			v.strictObject({ type: v.literal('tool'), name: nonEmpty, disable_parallel_tool_use: v.optional(v.boolean()) }),
		]),
	),
	thinking: v.optional(
		v.variant('type', [
			v.strictObject({
				type: v.literal('enabled'),
				budget_tokens: v.pipe(v.number(), v.integer(), v.minValue(1024)),
				display: v.optional(v.nullable(v.string())),
			}),
			v.strictObject({ type: v.literal('adaptive'), display: v.optional(v.nullable(v.string())) }),
			v.strictObject({ type: v.literal('disabled') }),
		]),
	),
	output_config: v.optional(
		v.strictObject({
			effort: v.optional(v.picklist(['low', 'medium', 'high', 'xhigh', 'max'])),
			format: v.optional(v.strictObject({ type: v.literal('json_schema'), schema: v.looseObject({}) })),
		}),
	),
	cache_control,
	metadata: v.optional(v.looseObject({})),
	stop_sequences: v.optional(v.array(v.string())),
	temperature: v.optional(v.number()),
	top_p: v.optional(v.number()),
	top_k: v.optional(v.number()),
});

type Content = v.InferOutput<typeof block>;

function readRequest(body: unknown): WireRequest {
	const sent = v.parse(request, body);
	const { tool_choice, thinking, output_config } = sent;
	const turns = sent.messages.map(({ role, content }) => ({
		role,
		content: typeof content === 'string' ? [{ type: 'text', text: content } as const] : content,
	}));
	if (turns[0]?.role !== 'user') throw new Error('the first message must be the user’s');
	for (const [index, { role, content }] of turns.entries()) refuse(role, content, turns[index + 1]?.content);
	if (thinking?.type === 'enabled' && thinking.budget_tokens >= sent.max_tokens) {
		throw new Error('max_tokens must be greater than thinking.budget_tokens');
	}
	if (thinking?.type === 'enabled' && (tool_choice?.type === 'any' || tool_choice?.type === 'tool')) {
		throw new Error('Thinking may not be enabled when tool_choice forces tool use.');
	}
	if (tool_choice !== undefined && (sent.tools ?? []).length === 0) {
		throw new Error('tool_choice may only be specified while providing tools');
	}
	return {
		model: sent.model,
		stream: sent.stream === true,
		system: typeof sent.system === 'object' ? sent.system.map(({ text }) => text).join('\n\n') : sent.system,
		maxOutputTokens: sent.max_tokens,
		toolChoice: tool_choice === undefined ? undefined : readChoice(tool_choice),
		tools: (sent.tools ?? []).map(({ name, description, input_schema }) => ({
			name,
			schema: input_schema,
			description,
		})),
		turns: turns.map(({ role, content }) => ({ role, parts: content.map(readPart) })),
		outputSchema: output_config?.format?.schema,
		effort:
			thinking?.type === 'disabled'
				? 'none'
				: thinking?.type === 'enabled'
					? thinking.budget_tokens
					: (output_config?.effort ?? thinking?.type),
	};
}

/** Refuses what the API answers with 400. */
function refuse(role: string, content: readonly Content[], next: readonly Content[] = []): void {
	const results = content.findLastIndex(({ type }) => type === 'tool_result');
	if (results >= 0 && content.slice(0, results).some(({ type }) => type !== 'tool_result')) {
		throw new Error('tool_result blocks must come first in the user message');
	}
	if (role === 'user' && content.some(({ type }) => type === 'tool_use' || type === 'thinking')) {
		throw new Error('tool_use and thinking blocks can only be in assistant messages');
	}
	if (role === 'assistant' && results >= 0) throw new Error('tool_result blocks can only be in user messages');
	const answered = next.flatMap((part) => (part.type === 'tool_result' ? [part.tool_use_id] : []));
	for (const part of content) {
		if (part.type !== 'tool_use') continue;
		if (answered.filter((id) => id === part.id).length !== 1) {
			throw new Error(`tool_use ids were found without tool_result blocks immediately after: ${part.id}`);
		}
	}
}

function readChoice(choice: NonNullable<v.InferOutput<typeof request>['tool_choice']>): WireRequest['toolChoice'] {
	if (choice.type === 'tool') return { name: choice.name };
	return choice.type === 'any' ? 'required' : choice.type;
}

function readPart(part: Content): WirePart {
	switch (part.type) {
		case 'text':
			return { kind: 'text', text: part.text };
		case 'image':
		case 'document':
			return readMedia(part);
		case 'tool_use':
			return { kind: 'call', id: part.id, name: part.name, input: part.input };
		case 'tool_result': {
			const content =
				typeof part.content === 'string' ? [{ type: 'text', text: part.content } as const] : (part.content ?? []);
			return {
				kind: 'result',
				id: part.tool_use_id,
				text: content.flatMap((one) => (one.type === 'text' ? [one.text] : [])).join('\n'),
				media: content.flatMap((one) => (one.type === 'text' ? [] : [readMedia(one)])),
				isError: part.is_error === true,
			};
		}
		case 'thinking':
		case 'redacted_thinking':
			return { kind: 'own', value: part };
	}
}

function readMedia({ type, source }: v.InferOutput<typeof imageBlock | typeof documentBlock>): WireMedia {
	const kind = type === 'image' ? 'image' : 'file';
	return source.type === 'url' ? { kind, url: source.url } : { kind, data: source.data, mime: source.media_type };
}
