/** The Worker under the conformance suites: an agent that offers what the suite of MCP tests, and one for Open Responses. */
import * as v from 'valibot';
import { defineAgent } from '../../src/cloudflare/agent/define.ts';
import { mcp } from '../../src/cloudflare/mcp/index.ts';
import { responses } from '../../src/cloudflare/responses/index.ts';
import { createRunlet } from '../../src/cloudflare/runlet/index.ts';
import {
	askUser,
	chat,
	fn,
	type JsonSchema,
	type ProviderRegistration,
	parts,
	providers,
	RunletError,
	tool,
} from '../../src/core/index.ts';

/** A PNG of one pixel, and a WAV of silence. */
const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const silence = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
const nothing = v.object({});
const image = chat.imagePart(dot, 'image/png');
const embedded = chat.filePart('VGhpcyBpcyBhbiBlbWJlZGRlZCByZXNvdXJjZSBjb250ZW50Lg==', 'text/plain', 'embedded.txt');

const make = (name: string, fn: () => unknown) =>
	tool.define({ name, description: `The tool ${name} of the suite.`, inputSchema: nothing, fn });

/** A tool that sends these texts as its progress. */
const makeNoisy = (name: string, texts: readonly string[]) =>
	tool.define({
		name,
		description: `The tool ${name} of the suite.`,
		inputSchema: nothing,
		passInput: true,
		fn: (_, { emit }) => {
			for (const text of texts) emit(text);
			return 'Done.';
		},
	});

const answered = v.pipe(
	v.string(),
	v.parseJson(),
	v.object({ action: v.string(), content: v.optional(v.record(v.string(), v.unknown()), {}) }),
);

interface Step {
	readonly name: string;
	readonly message: string;
	readonly properties: JsonSchema;
}

/** A tool that shows one form after the other, and then returns all answers as a text. */
const makeAsking = (name: string, steps: readonly Step[], toText: (given: Record<string, unknown>) => string) => {
	const ask = (index: number, given: Record<string, unknown>) => {
		const step = steps[index];
		if (step === undefined) return toText(given);
		const { properties, message } = step;
		const schema = { type: 'object', properties, required: Object.keys(properties) };
		return askUser(message, { kind: 'form', name: step.name, schema }, { index, given });
	};
	return tool.define({
		name,
		description: `The tool ${name} of the suite.`,
		inputSchema: nothing,
		fn: () => ask(0, {}),
		onAnswer: (answer, { resume }) => {
			const { index, given } = v.parse(
				v.object({ index: v.number(), given: v.record(v.string(), v.unknown()) }),
				resume,
			);
			const { action, content } = v.parse(answered, answer);
			if (action !== 'accept') return 'Nobody answered.';
			return ask(index + 1, { ...given, ...content });
		},
	});
};

const text = { type: 'string' };
const who = { name: 'user_name', message: 'What is your name?', properties: { name: text } };
const confirm = { name: 'confirm', message: 'Please confirm', properties: { ok: { type: 'boolean' } } };

const agent = defineAgent({
	name: 'conformance',
	description: 'Offers what the conformance suite asks for.',
	model: 'demo',
	tools: [
		make('test_simple_text', () => 'This is a simple text response for testing.'),
		make('test_image_content', () => parts([image])),
		make('test_audio_content', () => parts([{ kind: 'audio', data: silence, mime: 'audio/wav' }])),
		make('test_embedded_resource', () => parts([embedded])),
		make('test_multiple_content_types', () => parts([chat.textPart('Multiple content types test:'), image, embedded])),
		make('test_error_handling', () => {
			throw new RunletError('failed', 'This tool intentionally returns an error for testing');
		}),
		makeNoisy('test_logging_tool', ['This is for a client that wants a log.']),
		makeAsking('test_missing_capability', [who], () => 'ok'),
		makeAsking('test_streaming_elicitation', [who], () => 'ok'),
		makeNoisy('test_tool_with_logging', ['Tool execution started', 'Tool processing data', 'Tool execution completed']),
		makeNoisy('test_tool_with_progress', ['Begun', 'Half done', 'Done']),
		makeAsking('test_input_required_result_elicitation', [who], ({ name }) => `Hello, ${name}!`),
		makeAsking('test_input_required_result_request_state', [confirm], () => 'state-ok'),
		makeAsking('test_input_required_result_tampered_state', [confirm], () => 'state-ok'),
		makeAsking(
			'test_input_required_result_multi_round',
			[
				{ name: 'step1', message: 'Step 1: What is your name?', properties: { name: text } },
				{ name: 'step2', message: 'Step 2: What is your favorite color?', properties: { color: text } },
			],
			({ name, color }) => `${name} likes ${color}.`,
		),
		tool.define({
			name: 'json_schema_2020_12_tool',
			description: 'Its schema has words of JSON Schema 2020-12.',
			inputSchema: {
				$schema: 'https://json-schema.org/draft/2020-12/schema',
				type: 'object',
				$defs: {
					address: { $anchor: 'addressDef', type: 'object', properties: { street: text, city: text } },
				},
				properties: {
					name: text,
					address: { $ref: '#/$defs/address' },
					contactMethod: { type: 'string', enum: ['phone', 'email'] },
					phone: text,
					email: text,
				},
				allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
				if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
				// biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
				then: { required: ['phone'] },
				else: { required: ['email'] },
				additionalProperties: false,
			},
			fn: () => 'ok',
		}),
	],
	skills: [
		{
			name: 'test_simple_prompt',
			description: 'A prompt without arguments.',
			body: 'This is a simple prompt for testing.',
		},
		fn(
			{
				name: 'test_prompt_with_arguments',
				params: [
					['arg1', v.string()],
					['arg2', v.string()],
				],
				skill: { description: 'A prompt with arguments.' },
			},
			(arg1, arg2) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
		),
	],
});

/** The model for Open Responses: calls the client's tool once, and otherwise says how much it read. */
const counting: ProviderRegistration = {
	variant: 'counting',
	displayName: 'Counting',
	detect: (model) => model === 'counting',
	chatStreamFn: async (_model, messages, _system, tools = [], onDelta) => {
		const newest = messages.at(-1);
		const said = newest === undefined ? '' : chat.messageText(newest);
		if (said === 'Fail.') throw new RunletError('invalid_request', 'The model fails because it was told to.');
		const usage = { inputTokens: 5, outputTokens: 3, totalTokens: 8, latencyMs: 0 };
		if (newest?.role === 'user' && tools.length > 0) {
			const toolCalls = tools.map(({ name }) => ({ id: 'call_1', name, input: { location: 'Oslo' } }));
			return { toolCalls, stopReason: 'tool_use', usage };
		}
		const sources = [{ id: 's1', url: 'https://example.com/', title: 'Example' }];
		if (said === 'Think.') {
			await onDelta({ type: 'reasoning', text: 'I count.' });
			for (const source of sources) await onDelta({ type: 'source', ...source });
		}
		await onDelta({ type: 'text', text: `I read ${messages.length}.` });
		return { stopReason: 'end_turn', usage, ...(said === 'Think.' && { sources }) };
	},
};

const plain = defineAgent({
	name: 'responses',
	description: 'Answers the cases of Open Responses.',
	model: 'counting',
	maxRetries: 0,
});

const runlet = createRunlet({
	agents: [agent, plain],
	providers: [providers.demo(), counting],
	plugins: [mcp, responses],
});

export const { Session, Ledger, Directory, Publisher } = runlet;
// The `wrangler.toml` of the repository, with which tests run this Worker, names this class.
export { Memory } from '../../src/cloudflare/memory/index.ts';

export default runlet;
