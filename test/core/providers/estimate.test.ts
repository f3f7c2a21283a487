/** The estimates of requests, compared with the bodies that the adapters send. */

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRecord } from '../../../src/core/base/json.ts';
import { estimateRequest } from '../../../src/core/chat/estimate.ts';
import type { AssistantMessage, ToolMessage } from '../../../src/core/chat/index.ts';
import { toSendable } from '../../../src/core/chat/message.ts';
import { estimateTokens, findMediaRules } from '../../../src/core/chat/tokens.ts';
import {
	chat,
	type Message,
	type MessagePart,
	type ProviderRegistration,
	providers,
	type Tool,
} from '../../../src/core/index.ts';
import type { JsonSchema } from '../../../src/core/tool/index.ts';

interface Request {
	readonly messages: readonly Message[];
	readonly system?: string;
	readonly tools?: readonly Tool[];
	readonly outputSchema?: JsonSchema;
}

type Fetch = typeof fetch;

/** A model of each adapter, and the adapter. The requests are recorded, and get no answer. */
const adapters: readonly (readonly [model: string, create: (fetch: Fetch) => ProviderRegistration])[] = [
	['claude-opus-4-5', (fetch) => providers.anthropic({ apiKey: 'k', fetch })],
	['gpt-5', (fetch) => providers.openai({ apiKey: 'k', fetch })],
	['grok-4', (fetch) => providers.xai({ apiKey: 'k', fetch })],
	['gemini-2.5-flash', (fetch) => providers.gemini({ apiKey: 'k', fetch })],
	['gemini-3-pro', (fetch) => providers.gemini({ apiKey: 'k', fetch })],
	['mistral/mistral-large', (fetch) => providers.mistral({ apiKey: 'k', fetch })],
	['deepseek/deepseek-chat', (fetch) => providers.deepseek({ apiKey: 'k', fetch })],
	['groq/openai/gpt-oss', (fetch) => providers.groq({ apiKey: 'k', fetch })],
	['ollama/llama', (fetch) => providers.ollama({ fetch })],
	[
		'acme/m',
		(fetch) => providers.openaiChat({ baseURL: 'https://acme.test/v1', name: 'acme', prefix: 'acme/', fetch }),
	],
	[
		'workers-ai/@cf/zai-org/glm-5.2',
		(fetch) =>
			providers.workersAi({
				binding: {
					run: async (_, { stream: __, ...inputs }) => fetch('https://ai.test', { body: JSON.stringify(inputs) }),
				},
			}),
	],
];

async function send(
	create: (fetch: Fetch) => ProviderRegistration,
	model: string,
	{ messages, system, tools, outputSchema }: Request,
): Promise<unknown> {
	let body: string | undefined;
	const provider = create(async (_url, init) => {
		body = String(init?.body);
		throw new Error('nobody answers');
	});
	const asked = async () => provider.chatFn?.(model, messages, system, tools, { outputSchema });
	const [{ status }] = await Promise.allSettled([asked()]);
	if (body === undefined) throw new Error(`nothing was sent: ${status}`);
	return JSON.parse(body);
}

/** Fields of a body that have no text. */
const form = new Set(
	'model type role detail status stream store include strict media_type mimeType mime_type cache_control max_tokens url image_url file_data file_url fileUri document_url'.split(
		' ',
	),
);
const encrypted = new Set(['signature', 'thoughtSignature', 'encrypted_content']);

/** Counts the tokens of a body's texts. No provider bills fewer tokens. */
function bill(value: unknown, key = '', isData = false): number {
	if (typeof value === 'string') {
		if (encrypted.has(key)) return Math.ceil(value.length / 4);
		if (!isData && (form.has(key) || (key === 'data' && value.length > 20))) return 0;
		return value.startsWith('data:') ? 0 : estimateTokens(value);
	}
	if (Array.isArray(value))
		return value.reduce((sum: number, one) => sum + bill(one, typeof one === 'string' ? key : '', isData), 0);
	if (!isRecord(value)) return value === undefined || value === null ? 0 : estimateTokens(String(value));
	return Object.entries(value).reduce((sum, [name, one]) => {
		const inside = isData || /^(input|args|parameters|input_schema|parametersJsonSchema|schema)$/.test(key);
		return sum + (inside ? estimateTokens(name) : 0) + bill(one, name, inside);
	}, 0);
}

const text = fc.oneof(
	fc.string({ maxLength: 300 }),
	fc.string({ unit: 'binary', maxLength: 100 }),
	fc.lorem({ maxCount: 60 }),
	fc.base64String({ minLength: 8, maxLength: 400 }),
);
const data = fc.uint8Array({ minLength: 30, maxLength: 200 }).map((bytes) => btoa(String.fromCharCode(...bytes)));
const part: fc.Arbitrary<MessagePart> = fc.oneof(
	text.map(chat.textPart),
	data.map((bytes) => chat.imagePart(bytes, 'image/png')),
	data.map((bytes) => chat.imagePart(`data:image/png;base64,${bytes}`)),
	fc.webUrl().map((url) => chat.imagePart(url)),
	data.map((bytes) => chat.filePart(bytes, 'application/pdf', 'a.pdf')),
	fc.record({ kind: fc.constant('file'), data: text.map(toBase64), mime: fc.constant('text/plain'), text }),
	data.map((bytes) => ({ kind: 'audio', data: bytes, mime: 'audio/wav' }) as const),
);
const args = fc.dictionary(fc.string({ minLength: 1, maxLength: 12 }), fc.oneof(text, fc.integer()), { maxKeys: 4 });

function toBase64(given: string): string {
	return btoa(String.fromCharCode(...new TextEncoder().encode(given)));
}

const signature = fc.base64String({ maxLength: 900 });

/** The metadata of an adapter, or unknown data instead. */
function createKept(variant: string, said: string, id: string): fc.Arbitrary<Readonly<Record<string, unknown>>> {
	const written = text.map((one) => ({ type: 'text', text: one }));
	switch (variant) {
		case 'anthropic': {
			const thinking = fc.record({ type: fc.constant('thinking'), thinking: text, signature });
			return fc.record({ content: fc.array(fc.oneof(written, thinking), { maxLength: 3 }) });
		}
		case 'gemini':
			return fc.record({ parts: fc.array(fc.record({ text, thoughtSignature: signature }), { maxLength: 3 }) });
		case 'openai':
		case 'xai': {
			const message = { type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: said }] };
			const create = (encrypted_content: string, note: string) => [
				{ type: 'reasoning', id: 'r', summary: [], encrypted_content },
				{ ...message, note },
			];
			return fc.record({ output: fc.tuple(signature, text).map(([one, note]) => create(one, note)) });
		}
		default:
			return fc.record(
				{
					content: fc.array(written, { maxLength: 2 }),
					reasoning_content: text,
					reasoning_details: fc.array(fc.record({ type: fc.constant('reasoning.text'), text }), { maxLength: 4 }),
					extra_content: fc.record({ note: text }),
					calls: fc.dictionary(fc.constant(id), fc.record({ extra_content: text }), { maxKeys: 1 }),
				},
				{ requiredKeys: [] },
			);
	}
}

/** An exchange: a message, an answer with metadata, calls and their results. */
const createExchange = (variant: string, mostParts: number): fc.Arbitrary<readonly Message[]> =>
	fc
		.tuple(text, fc.array(part, { maxLength: mostParts }), text, fc.array(args, { maxLength: 3 }), fc.uuid())
		.chain(([asked, parts, said, inputs, id]) => {
			const user = parts.length > 0 ? chat.userMessage([chat.textPart(asked), ...parts]) : chat.userMessage(asked);
			const toolCalls = inputs.map((input, at) => ({ id: at === 0 ? id : `${id}-${at}`, name: `do_${at}`, input }));
			const results = toolCalls.map((call, at): ToolMessage => {
				const own = at === 1 && parts.length > 0 ? { parts } : {};
				return { role: 'tool', toolCallId: call.id, content: at === 2 ? { said: asked } : asked, ...own };
			});
			const keeps = fc.record(
				{ [variant]: createKept(variant, said, id), other: createKept('other', said, id) },
				{ requiredKeys: [] },
			);
			return keeps.map((providerMetadata) => {
				const assistant: AssistantMessage = { role: 'assistant', content: said, toolCalls, providerMetadata };
				return [user, assistant, ...results];
			});
		});

const schema = fc
	.dictionary(
		fc.string({ minLength: 1, maxLength: 12 }),
		fc.record({ type: fc.constant('string'), description: text }),
		{
			maxKeys: 5,
		},
	)
	.map((properties): JsonSchema => ({ type: 'object', properties }));
const createRequest = (variant: string, mostParts: number): fc.Arbitrary<Request> =>
	fc.record(
		{
			messages: fc
				.array(createExchange(variant, mostParts), { minLength: 1, maxLength: 4 })
				.map((all) => toSendable([...all.flat(), chat.userMessage('And now?')])),
			system: text,
			tools: fc.uniqueArray(
				fc.record({
					name: fc.stringMatching(/^[a-z_]{1,20}$/),
					description: text,
					inputSchema: schema,
					fn: fc.constant(() => ''),
				}),
				{ maxLength: 4, selector: ({ name }) => name },
			),
			outputSchema: schema,
		},
		{ requiredKeys: ['messages'] },
	);

describe('the estimate of a request', () => {
	// Images and files are estimated high, which would hide a gap elsewhere. So one round has no images and no files.
	describe.each([0, 3])('with at most %i parts in a message', (mostParts) => {
		test.each(adapters)('to %s is at least the size of the request that its adapter sends', async (model, create) => {
			const registration = create(fetch);
			const check = async (given: Request) => {
				const options = { model, providers: [registration], ...given };
				const estimate = await estimateRequest(options, given.messages, given.tools);
				const { aroundTools, perToken } = findMediaRules(model);
				// The tokens that the provider adds must not make up for a low estimate.
				const added = (given.tools?.length ? aroundTools : 0) + (given.outputSchema === undefined ? 0 : 200);
				const sent = bill(await send(create, model, given));
				expect(estimate).toBeGreaterThanOrEqual((sent + added) * perToken);
			};
			const requests = createRequest(registration.variant, mostParts);
			await fc.assert(fc.asyncProperty(requests, check), { numRuns: 100 });
		});
	});

	test.each(adapters)("to %s includes even megabytes of a message's metadata", async (model, create) => {
		const { variant } = create(fetch);
		const big = 'word '.repeat(300_000);
		const content = [{ type: 'text', text: big }];
		const output = [{ type: 'message', content: [{ type: 'output_text', text: 'Hi.', note: big }] }];
		const answer: AssistantMessage = {
			role: 'assistant',
			content: 'Hi.',
			providerMetadata: { [variant]: { content, output, parts: [{ text: big }] } },
		};
		const messages = [chat.userMessage('Hello'), answer, chat.userMessage('And?')];
		expect(JSON.stringify(await send(create, model, { messages })).length).toBeGreaterThan(1_500_000);
		const providersOf = { model, providers: [create(fetch)] };
		expect(await estimateRequest(providersOf, messages)).toBeGreaterThan(375_000);
		const ofOther = { ...answer, providerMetadata: { other: answer.providerMetadata?.[variant] } };
		expect(await estimateRequest(providersOf, [chat.userMessage('Hello'), ofOther])).toBeLessThan(100);
	});

	test.each([
		['English', 'The name of a city. '],
		['Chinese', '城市的名称。'],
		['base64', 'Zk9xQ2VtV3pMcTRSc0tIYlA3dUo2eVRnWG5EaEFvRWM='],
	])('counts the whole schema of a tool if its description is %s', async (_, words) => {
		const description = words.repeat(200);
		const inputSchema = { type: 'object', properties: { city: { type: 'string', description } } } as const;
		const tools: Tool[] = [{ name: 'look', description: '', inputSchema, fn: () => '' }];
		const estimate = await estimateRequest({ model: 'gpt-5' }, [], tools);
		expect(estimate).toBeGreaterThan(estimateTokens(description));
	});

	test('with ordinary thinking is less than twice the estimate for its texts alone', async () => {
		const thinking = 'I look at the question from each side. '.repeat(40);
		const said = 'The answer has several parts, and here they are. '.repeat(40);
		const content = [
			{ type: 'thinking', thinking, signature: 'Zk9xQ2VtV3pM'.repeat(160) },
			{ type: 'text', text: said },
		];
		const estimate = (message: AssistantMessage) =>
			estimateRequest({ model: 'claude-opus-4-5', providers: [providers.anthropic({ apiKey: 'k' })] }, [message]);
		const plain = await estimate({ role: 'assistant', content: thinking + said });
		const own = await estimate({ role: 'assistant', content: said, providerMetadata: { anthropic: { content } } });
		expect(own).toBeLessThan(2 * plain);
	});

	test('to Chat Completions leaves out the thinking of turns that have no calls', async () => {
		const provider = providers.deepseek({ apiKey: 'k' });
		const kept = { deepseek: { reasoning_content: 'word '.repeat(10_000) } };
		const answer: AssistantMessage = { role: 'assistant', content: 'Hi.', providerMetadata: kept };
		const calling = { ...answer, toolCalls: [{ id: 'a', name: 'look', input: {} }] };
		const estimate = (message: Message) =>
			estimateRequest({ model: 'deepseek/deepseek-chat', providers: [provider] }, [chat.userMessage('Hello'), message]);
		expect(await estimate(answer)).toBeLessThan(100);
		expect(await estimate(calling)).toBeGreaterThan(10_000);
	});

	test('includes all metadata of an unknown provider', async () => {
		const kept = { acme: { content: 'word '.repeat(10_000) } };
		const answer: AssistantMessage = { role: 'assistant', content: 'Hi.', providerMetadata: kept };
		expect(await estimateRequest({ model: 'own', chatFn: () => 'Hi.' }, [answer])).toBeGreaterThan(10_000);
	});

	test('equals the context window if a file has an unknown length', async () => {
		const file: MessagePart = { kind: 'file', url: 'https://example.com/a.pdf' };
		const estimate = (model: string, provider: ProviderRegistration) =>
			estimateRequest({ model, providers: [provider] }, [chat.userMessage([file, file])]);
		expect(await estimate('claude-opus-4-5', providers.anthropic({ apiKey: 'k' }))).toBe(200_000);
		expect(await estimate('acme/m', providers.ollama())).toBe(200_000);
	});
});
