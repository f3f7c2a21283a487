import * as v from 'valibot';
import { providers } from '../../../../src/core/index.ts';
import {
	type Dialect,
	type Fault,
	fromDataUrl,
	type NeutralReply,
	type NeutralUsage,
	pieces,
	secretKey,
	sse,
	usualUsage,
	type WireMedia,
	type WirePart,
	type WireRequest,
	type WireTurn,
} from './dialect.ts';

/** OpenAI's Responses API. */
export const openai: Dialect = {
	...readDialect('gpt-5.4'),
	name: 'openai',
	provider: (baseURL, settings = {}) => providers.openai({ apiKey: secretKey, baseURL: `${baseURL}/v1`, ...settings }),
	errorBody: (kind, message) => {
		const [status, type, code, text] = openaiFaults[kind];
		return { status, body: { error: { message: message ?? text, type, param: null, code } } };
	},
	readRequest: (body) => readRequest(body),
};

/** xAI's Responses API, with its own errors. */
export const xai: Dialect = {
	...readDialect('grok-4.3'),
	name: 'xai',
	provider: (baseURL, settings = {}) => providers.xai({ apiKey: secretKey, baseURL: `${baseURL}/v1`, ...settings }),
	errorBody: (kind, message) => {
		if (kind === 'quota') return undefined;
		const [status, code, text] = xaiFaults[kind];
		return { status, body: { code, error: message ?? text } };
	},
	readRequest: (body) => readRequest(body),
};

const openaiFaults: Readonly<
	Record<Fault, readonly [status: number, type: string, code: string | null, message: string]>
> = {
	rate_limit: [429, 'tokens', 'rate_limit_exceeded', 'Rate limit reached for gpt-5.4 on tokens per min (TPM).'],
	quota: [
		429,
		'insufficient_quota',
		'insufficient_quota',
		'You exceeded your current quota, please check your plan and billing details.',
	],
	overloaded: [503, 'service_unavailable_error', null, 'The engine is currently overloaded, please try again later.'],
	auth: [401, 'invalid_request_error', 'invalid_api_key', 'Incorrect API key provided: sk-secre**************cdef.'],
	not_found: [404, 'invalid_request_error', 'model_not_found', 'The model `gpt-unknown` does not exist.'],
	context: [
		400,
		'invalid_request_error',
		'context_length_exceeded',
		'Your input exceeds the context window of this model. Please adjust your input and try again.',
	],
	too_large: [413, 'invalid_request_error', null, 'Maximum content size limit exceeded.'],
	filter: [
		400,
		'invalid_request_error',
		'invalid_prompt',
		'Invalid prompt: your prompt was flagged as potentially violating our usage policy.',
	],
};

const xaiFaults: Readonly<Record<Exclude<Fault, 'quota'>, readonly [status: number, code: string, error: string]>> = {
	rate_limit: [429, 'Some resource has been exhausted', 'Too many requests for this team and model grok-4.3.'],
	overloaded: [503, 'The service is currently unavailable', 'The service is temporarily unavailable.'],
	auth: [401, 'Unauthenticated', 'Invalid or expired credentials.'],
	not_found: [404, 'The requested resource was not found', 'The model grok-unknown does not exist.'],
	context: [
		400,
		'Client specified an invalid argument',
		"This model's maximum prompt length is 131072 but the request contains 163929 tokens.",
	],
	too_large: [413, 'Request too large', 'The request body is too large.'],
	filter: [
		403,
		'The caller does not have permission to execute the specified operation',
		'Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO',
	],
};

type Item =
	| { readonly type: 'reasoning'; readonly summary: string; readonly encrypted: string }
	| { readonly type: 'message'; readonly text: string }
	| { readonly type: 'refusal'; readonly text: string }
	| { readonly type: 'function_call'; readonly callId: string; readonly name: string; readonly json: string };

type Ending = { readonly stop: NeutralReply['stop'] | 'filtered'; readonly usage?: NeutralUsage };

function readDialect(model: string): Omit<Dialect, 'name' | 'provider' | 'errorBody' | 'readRequest'> {
	const both = (items: readonly Item[], ending: Ending) => ({
		events: readEvents(model, items, ending),
		body: readBody(model, items.map(wholeItem), ending),
	});
	return {
		model,
		wireModel: model,
		paths: { stream: '/v1/responses', whole: '/v1/responses' },
		keys: [['authorization', `Bearer ${secretKey}`]],
		events: (reply) => readEvents(model, readItems(reply), reply),
		ending: 1,
		body: (reply) => readBody(model, readItems(reply).map(wholeItem), reply),
		errorEvent: (kind) => {
			if (kind === 'rate_limit') {
				const message = 'Rate limit reached for this model on tokens per min (TPM).';
				return event({ type: 'error', sequence_number: 90, code: 'rate_limit_exceeded', message, param: null });
			}
			const error = { code: 'server_is_overloaded', message: 'Our servers are currently overloaded.' };
			const response = { ...readBody(model, [], { stop: 'end_turn' }), status: 'failed', error, usage: null };
			return event({ type: 'response.failed', sequence_number: 90, response });
		},
		unknownEvents: [
			event({ type: 'response.weather.delta', sequence_number: 80, mood: 'sunny' }),
			event({
				type: 'response.output_item.added',
				sequence_number: 81,
				output_index: 90,
				item: { id: 'hg_1', type: 'hologram', frames: [] },
			}),
			event({
				type: 'response.output_item.done',
				sequence_number: 82,
				output_index: 90,
				item: { id: 'hg_1', type: 'hologram', frames: [1, 2] },
			}),
		],
		refusals: [
			{ name: 'a refusal part', ...both([{ type: 'refusal', text: 'I cannot help with that.' }], { stop: 'refusal' }) },
			{ name: 'cut by the content filter', ...both([{ type: 'message', text: 'I was about' }], { stop: 'filtered' }) },
		],
		memories: [
			{
				name: 'a reasoning item with encrypted content',
				...both(
					[
						{ type: 'reasoning', summary: `thought-${model}`, encrypted: `encrypted-${model}` },
						{ type: 'message', text: 'Let me look.' },
						{ type: 'function_call', callId: 'call_1', name: 'look', json: '{"city":"Ulm"}' },
					],
					{ stop: 'tool_use' },
				),
				sent: (body) =>
					v.parse(request, body).input.flatMap((item): unknown[] => {
						if (!('type' in item)) return [];
						if (item.type === 'reasoning') {
							return [{ type: item.type, summary: item.summary, encrypted_content: item.encrypted_content }];
						}
						return item.type === 'function_call' ? [{ type: item.type, call_id: item.call_id }] : [];
					}),
				expected: [
					{
						type: 'reasoning',
						summary: [{ type: 'summary_text', text: `thought-${model}` }],
						encrypted_content: `encrypted-${model}`,
					},
					{ type: 'function_call', call_id: 'call_1' },
				],
				secrets: [`thought-${model}`, `encrypted-${model}`],
			},
		],
		can: {
			reasoning: true,
			stopSequence: false,
			earlyUsage: false,
			reasoningUsage: true,
			callIds: true,
			textArguments: true,
			audio: false,
			files: true,
			resultImages: true,
			errorResults: false,
			retryAfter: true,
			endsItself: true,
		},
	};
}

function readItems({ reasoning, text, calls = [], stop }: NeutralReply): Item[] {
	return [
		...(reasoning === undefined ? [] : [{ type: 'reasoning', summary: reasoning, encrypted: 'enc' } as const]),
		...(text === undefined ? [] : [{ type: stop === 'refusal' ? 'refusal' : 'message', text } as const]),
		...calls.map(
			({ id, name, argumentsJson }) => ({ type: 'function_call', callId: id, name, json: argumentsJson }) as const,
		),
	];
}

function readEvents(model: string, items: readonly Item[], ending: Ending): string[] {
	const whole = readBody(model, items.map(wholeItem), ending);
	const begun = { ...whole, status: 'in_progress', output: [], usage: null, incomplete_details: null };
	const last = whole.status === 'completed' ? 'response.completed' : 'response.incomplete';
	const data = [
		{ type: 'response.created', response: begun },
		{ type: 'response.in_progress', response: begun },
		...items.flatMap(itemEvents),
		{ type: last, response: whole },
	];
	return data.map((one, sequence_number) => event({ ...one, sequence_number }));
}

type EventData = { readonly type: string; readonly [field: string]: unknown };

function itemEvents(item: Item, output_index: number): EventData[] {
	const whole = wholeItem(item, output_index);
	const { id: item_id } = whole;
	const at = { item_id, output_index };
	const done: EventData = { type: 'response.output_item.done', output_index, item: whole };
	const added = (begun: unknown): EventData => ({ type: 'response.output_item.added', output_index, item: begun });
	switch (item.type) {
		case 'reasoning': {
			const part = { ...at, summary_index: 0 };
			const text = { type: 'summary_text', text: item.summary };
			return [
				// As in the recordings, the added item is encrypted differently from the completed item.
				added({ ...whole, summary: [], encrypted_content: 'too-early' }),
				{ type: 'response.reasoning_summary_part.added', ...part, part: { type: 'summary_text', text: '' } },
				...pieces(item.summary).map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...part, delta })),
				{ type: 'response.reasoning_summary_text.done', ...part, text: item.summary },
				{ type: 'response.reasoning_summary_part.done', ...part, part: text },
				done,
			];
		}
		case 'message': {
			const part = { ...at, content_index: 0 };
			const content = { type: 'output_text', annotations: [], logprobs: [], text: item.text };
			return [
				added({ ...whole, status: 'in_progress', content: [] }),
				{ type: 'response.content_part.added', ...part, part: { ...content, text: '' } },
				...pieces(item.text).map((delta) => ({
					type: 'response.output_text.delta',
					...part,
					delta,
					logprobs: [],
					obfuscation: 'gTLrCN5h',
				})),
				{ type: 'response.output_text.done', ...part, text: item.text, logprobs: [] },
				{ type: 'response.content_part.done', ...part, part: content },
				done,
			];
		}
		case 'refusal': {
			const part = { ...at, content_index: 0 };
			return [
				added({ ...whole, status: 'in_progress', content: [] }),
				{ type: 'response.content_part.added', ...part, part: { type: 'refusal', refusal: '' } },
				...pieces(item.text).map((delta) => ({ type: 'response.refusal.delta', ...part, delta })),
				{ type: 'response.refusal.done', ...part, refusal: item.text },
				{ type: 'response.content_part.done', ...part, part: { type: 'refusal', refusal: item.text } },
				done,
			];
		}
		case 'function_call':
			return [
				added({ ...whole, status: 'in_progress', arguments: '' }),
				...pieces(item.json).map((delta) => ({ type: 'response.function_call_arguments.delta', ...at, delta })),
				{ type: 'response.function_call_arguments.done', ...at, arguments: item.json },
				done,
			];
	}
}

function wholeItem(item: Item, index: number) {
	switch (item.type) {
		case 'reasoning': {
			const summary = [{ type: 'summary_text', text: item.summary }];
			return { id: `rs_${index}`, type: 'reasoning', summary, encrypted_content: item.encrypted };
		}
		case 'message': {
			const content = [{ type: 'output_text', annotations: [], logprobs: [], text: item.text }];
			return { id: `msg_${index}`, type: 'message', status: 'completed', role: 'assistant', content };
		}
		case 'refusal': {
			const content = [{ type: 'refusal', refusal: item.text }];
			return { id: `msg_${index}`, type: 'message', status: 'completed', role: 'assistant', content };
		}
		case 'function_call': {
			const { callId: call_id, name, json } = item;
			return { id: `fc_${index}`, type: 'function_call', status: 'completed', arguments: json, call_id, name };
		}
	}
}

function readBody(model: string, output: readonly unknown[], { stop, usage = usualUsage }: Ending) {
	const reason = stop === 'max_tokens' ? 'max_output_tokens' : stop === 'filtered' ? 'content_filter' : undefined;
	return {
		id: 'resp_01830d662ab3856501693c321345c88190b0de00f3b9975691',
		object: 'response',
		created_at: 1765552659,
		status: reason === undefined ? 'completed' : 'incomplete',
		background: false,
		error: null,
		incomplete_details: reason === undefined ? null : { reason },
		instructions: null,
		model,
		output,
		parallel_tool_calls: true,
		previous_response_id: null,
		reasoning: { effort: 'medium', summary: 'auto' },
		store: false,
		tool_choice: 'auto',
		tools: [],
		usage: {
			input_tokens: usage.input,
			input_tokens_details: { cached_tokens: usage.cached ?? 0 },
			output_tokens: usage.output,
			output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
			total_tokens: usage.input + usage.output,
		},
		metadata: {},
	};
}

function event(data: EventData): string {
	return sse(data, data.type);
}

// The schema of the request with the fields of the API. It refuses other fields.

const nonEmpty = v.pipe(v.string(), v.nonEmpty());
const toolName = v.pipe(v.string(), v.regex(/^[a-zA-Z0-9_-]{1,64}$/));
const inputText = v.strictObject({ type: v.literal('input_text'), text: v.string() });
const inputImage = v.strictObject({
	type: v.literal('input_image'),
	image_url: v.pipe(v.string(), v.regex(/^(https?:\/\/|data:image\/)/)),
	detail: v.optional(v.picklist(['low', 'high', 'auto', 'original'])),
});
const inputFile = v.union([
	v.strictObject({
		type: v.literal('input_file'),
		filename: nonEmpty,
		file_data: v.pipe(v.string(), v.regex(/^data:application\/pdf;base64,/)),
	}),
	v.strictObject({ type: v.literal('input_file'), file_url: nonEmpty, filename: v.optional(nonEmpty) }),
]);
const inputPart = v.union([inputText, inputImage, inputFile]);
const outputPart = v.union([
	v.strictObject({
		type: v.literal('output_text'),
		text: v.string(),
		annotations: v.optional(v.array(v.unknown())),
		logprobs: v.optional(v.array(v.unknown())),
	}),
	v.strictObject({ type: v.literal('refusal'), refusal: v.string() }),
]);
const inputMessage = v.strictObject({
	type: v.optional(v.literal('message')),
	role: v.picklist(['user', 'system', 'developer']),
	content: v.union([v.string(), v.array(inputPart)]),
});
const outputMessage = v.strictObject({
	type: v.optional(v.literal('message')),
	id: v.optional(nonEmpty),
	role: v.literal('assistant'),
	status: v.optional(v.picklist(['in_progress', 'completed', 'incomplete'])),
	phase: v.optional(v.nullable(v.string())),
	content: v.union([v.string(), v.array(outputPart)]),
});
const functionCall = v.strictObject({
	type: v.literal('function_call'),
	id: v.optional(nonEmpty),
	call_id: v.pipe(nonEmpty, v.maxLength(64)),
	name: toolName,
	arguments: v.string(),
	status: v.optional(v.picklist(['in_progress', 'completed', 'incomplete'])),
});
const functionOutput = v.strictObject({
	type: v.literal('function_call_output'),
	id: v.optional(nonEmpty),
	call_id: nonEmpty,
	output: v.union([v.string(), v.array(inputPart)]),
	status: v.optional(v.picklist(['in_progress', 'completed', 'incomplete'])),
});
const reasoningItem = v.strictObject({
	type: v.literal('reasoning'),
	id: v.optional(nonEmpty),
	summary: v.array(v.strictObject({ type: v.literal('summary_text'), text: v.string() })),
	encrypted_content: nonEmpty,
	content: v.optional(v.nullable(v.array(v.unknown()))),
	status: v.optional(v.nullable(v.picklist(['in_progress', 'completed', 'incomplete']))),
});
const item = v.union([inputMessage, outputMessage, functionCall, functionOutput, reasoningItem]);

const request = v.strictObject({
	model: nonEmpty,
	input: v.pipe(v.array(item), v.nonEmpty()),
	instructions: v.optional(v.nullable(v.string())),
	stream: v.optional(v.boolean()),
	store: v.literal(false),
	include: v.pipe(
		v.array(v.string()),
		v.check((list) => list.includes('reasoning.encrypted_content'), 'include lacks reasoning.encrypted_content'),
	),
	max_output_tokens: v.optional(v.pipe(v.number(), v.integer(), v.minValue(16))),
	tools: v.optional(
		v.array(
			v.pipe(
				v.strictObject({
					type: v.literal('function'),
					name: toolName,
					description: v.optional(v.nullable(v.string())),
					parameters: v.looseObject({ type: v.literal('object') }),
					strict: v.nullable(v.boolean()),
				}),
				v.check(({ strict, parameters }) => strict !== true || isStrict(parameters), 'the schema is not strict'),
			),
		),
	),
	tool_choice: v.optional(
		v.union([
			v.picklist(['auto', 'none', 'required']),
			v.strictObject({ type: v.literal('function'), name: toolName }),
		]),
	),
	reasoning: v.optional(
		v.strictObject({
			effort: v.optional(v.nullable(v.picklist(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']))),
			summary: v.optional(v.nullable(v.picklist(['auto', 'concise', 'detailed']))),
		}),
	),
	text: v.optional(
		v.strictObject({
			format: v.optional(
				v.pipe(
					v.strictObject({
						type: v.literal('json_schema'),
						name: toolName,
						schema: v.looseObject({}),
						description: v.optional(v.string()),
						strict: v.optional(v.nullable(v.boolean())),
					}),
					v.check(({ strict, schema }) => strict !== true || isStrict(schema), 'the schema is not strict'),
				),
			),
			verbosity: v.optional(v.string()),
		}),
	),
	parallel_tool_calls: v.optional(v.boolean()),
	prompt_cache_key: v.optional(v.string()),
	safety_identifier: v.optional(v.string()),
	stream_options: v.optional(v.strictObject({ include_obfuscation: v.optional(v.boolean()) })),
	metadata: v.optional(v.looseObject({})),
	temperature: v.optional(v.number()),
	top_p: v.optional(v.number()),
	truncation: v.optional(v.string()),
	service_tier: v.optional(v.string()),
});

type InputItem = v.InferOutput<typeof item>;

function readRequest(body: unknown): WireRequest {
	const sent = v.parse(request, body);
	refuse(sent.input);
	const system = [
		...(sent.instructions ? [sent.instructions] : []),
		...sent.input.flatMap((one) =>
			'role' in one && (one.role === 'system' || one.role === 'developer') ? [readText(one.content)] : [],
		),
	];
	const turns: { role: WireTurn['role']; parts: WirePart[] }[] = [];
	for (const one of sent.input) {
		if ('role' in one && (one.role === 'system' || one.role === 'developer')) continue;
		const role = one.type === 'function_call_output' || ('role' in one && one.role === 'user') ? 'user' : 'assistant';
		const last = turns.at(-1);
		if (last?.role === role) last.parts.push(...readParts(one));
		else turns.push({ role, parts: readParts(one) });
	}
	const { tool_choice } = sent;
	return {
		model: sent.model,
		stream: sent.stream === true,
		system: system.length > 0 ? system.join('\n\n') : undefined,
		maxOutputTokens: sent.max_output_tokens,
		toolChoice: typeof tool_choice === 'object' ? { name: tool_choice.name } : tool_choice,
		tools: (sent.tools ?? []).map(({ name, description, parameters }) => ({
			name,
			schema: parameters,
			...(typeof description === 'string' && { description }),
		})),
		turns,
		outputSchema: sent.text?.format?.schema,
		effort: sent.reasoning?.effort ?? undefined,
	};
}

/** Refuses what the API answers with 400. */
function refuse(input: readonly InputItem[]): void {
	for (const [index, one] of input.entries()) {
		if (one.type === 'function_call') {
			const outputs = input.slice(index).filter((a) => a.type === 'function_call_output' && a.call_id === one.call_id);
			if (outputs.length !== 1) throw new Error(`No tool output found for function call ${one.call_id}.`);
		}
		if (one.type === 'function_call_output') {
			const calls = input.slice(0, index).filter((a) => a.type === 'function_call' && a.call_id === one.call_id);
			if (calls.length !== 1) throw new Error(`No tool call found for function call output ${one.call_id}.`);
		}
		if (one.type === 'reasoning') {
			const next = input[index + 1];
			const follows = next?.type === 'reasoning' || next?.type === 'function_call' || (next && 'role' in next);
			if (!follows) throw new Error('Item of type reasoning was provided without its required following item.');
		}
	}
}

/** Whether `strict` accepts a schema: every property is required, and no other property is allowed. */
function isStrict(schema: Readonly<Record<string, unknown>>): boolean {
	const { properties, required } = schema;
	if (schema.additionalProperties !== false || !Array.isArray(required)) return false;
	const names = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
	return names.every((name) => required.includes(name));
}

function readParts(one: InputItem): WirePart[] {
	switch (one.type) {
		case 'function_call':
			return [{ kind: 'call', id: one.call_id, name: one.name, input: JSON.parse(one.arguments) }];
		case 'function_call_output': {
			const parts = typeof one.output === 'string' ? [] : one.output;
			const text = typeof one.output === 'string' ? one.output : readText(one.output);
			return [{ kind: 'result', id: one.call_id, text, media: parts.flatMap(readMedia) }];
		}
		case 'reasoning':
			return [{ kind: 'own', value: one }];
		default:
			if (typeof one.content === 'string') return [{ kind: 'text', text: one.content }];
			return one.content.flatMap((part): WirePart[] => {
				const text = readText([part]);
				return text === '' && part.type !== 'input_text' ? readMedia(part) : [{ kind: 'text', text }];
			});
	}
}

type Part = v.InferOutput<typeof inputPart | typeof outputPart>;

function readText(content: string | readonly Part[]): string {
	if (typeof content === 'string') return content;
	return content
		.flatMap((part) => {
			if (part.type === 'input_text' || part.type === 'output_text') return [part.text];
			return part.type === 'refusal' ? [part.refusal] : [];
		})
		.join('\n');
}

function readMedia(part: Part): WireMedia[] {
	if (part.type === 'input_image') return [{ kind: 'image', ...fromDataUrl(part.image_url) }];
	if (part.type !== 'input_file') return [];
	return [{ kind: 'file', ...('file_data' in part ? fromDataUrl(part.file_data) : { url: part.file_url }) }];
}
