import { describe, expect, test } from 'vitest';
import type { OnDelta } from '../../../src/core/chat/index.ts';
import { type ChatReply, chat, type ProviderRegistration, providers } from '../../../src/core/index.ts';
import { isError } from './recordings/expected-error.ts';
import { at, list, text } from './recordings/json.ts';
import { bodies, type Recorded, streams } from './recordings/library.ts';

/** The calls of the providers' own tools in recorded replies, and their sources. */

const hello = [chat.userMessage('Hello')];

function createProvider({ api, provider }: Recorded, answer: () => Response): ProviderRegistration {
	const shared = { apiKey: 'key', maxRetries: 0, fetch: async () => answer() };
	if (api === 'chat')
		return providers.openaiChat({ ...shared, baseURL: 'https://x.example/v1', name: provider, prefix: `${provider}/` });
	return providers[api](shared);
}

const toModel = ({ api, provider, model }: Recorded): string => (api === 'chat' ? `${provider}/${model}` : model);

const whole = bodies.filter(({ body, status }) => status < 300 && !isError(body));

/** Reads the calls of a recorded body without the code of the adapters. */
function readCalls({ api, body }: (typeof whole)[number]): readonly (readonly [id: string, name: string])[] {
	if (api === 'anthropic')
		return list(at(body, 'content')).flatMap((block) => {
			const [type, id, name] = ['type', 'id', 'name'].map((key) => text(at(block, key)));
			if (type === 'mcp_tool_use') return [[id ?? '', `${text(at(block, 'server_name'))}/${name}`] as const];
			if (type !== 'server_tool_use') return [];
			return [[id ?? '', /code_execution$/.test(name ?? '') ? 'code_execution' : (name ?? '')] as const];
		});
	if (api !== 'openai' && api !== 'xai') return [];
	return list(at(body, 'output')).flatMap((item) => {
		const [type = '', id = ''] = ['type', 'id'].map((key) => text(at(item, key)));
		if (type === 'mcp_call') return [[id, `${text(at(item, 'server_label'))}/${text(at(item, 'name'))}`] as const];
		const name = names[type];
		return name === undefined ? [] : [[id, name] as const];
	});
}

const names: Readonly<Record<string, string>> = {
	web_search_call: 'web_search',
	file_search_call: 'file_search',
	code_interpreter_call: 'code_execution',
	image_generation_call: 'image_generation',
	x_search_call: 'x_search',
	shell_call: 'shell',
};

function check({ providerCalls = [], sources = [] }: ChatReply): void {
	const ids = providerCalls.map(({ id }) => id);
	expect(new Set(ids).size).toBe(ids.length);
	for (const call of providerCalls) {
		expect(call.id).not.toBe('');
		expect(call.name).toMatch(/^[\w .-]+(\/[\w.-]+)?$/);
		expect(call.name).not.toMatch(/_call$|_\d{8}$|bash_|text_editor_/);
		expect(JSON.stringify(call)).not.toMatch(/"encrypted_|"signature"|thoughtSignature/);
		expect(JSON.stringify(call).length).toBeLessThan(300_000);
	}
	expect(new Set(sources.map(({ id }) => id)).size).toBe(sources.length);
	for (const { id, url, title, quote = '' } of sources) {
		expect(id).toMatch(/^[a-z0-9]{11}$/);
		expect(url ?? title).toBeTruthy();
		expect(url === undefined || URL.canParse(url)).toBe(true);
		expect(quote.length).toBeLessThanOrEqual(2_000);
	}
}

test.each(whole.map((one) => [one.name, one] as const))(
	'%s has each call and each source once',
	async (_, recorded) => {
		const provider = createProvider(recorded, () => Response.json(recorded.body));
		const asked = async () => provider.chatFn?.(toModel(recorded), hello);
		const reply = await asked().catch((error: unknown) => {
			// Some recordings are failures with status 200.
			expect(error).toHaveProperty('code');
			return undefined;
		});
		if (reply === undefined) return;
		check(reply);
		const told = readCalls(recorded);
		const own = (reply.providerCalls ?? []).map(({ id, name }) => [id, name]);
		if (recorded.api !== 'gemini' && recorded.api !== 'chat') expect(own).toEqual(told.map((one) => [...one]));
	},
);

test.each(streams.map((one) => [one.name, one] as const))(
	'%s emits the same calls and sources as its reply contains',
	async (_, recorded) => {
		const source = recorded.blocks.map(({ source }) => source).join('');
		const answer = (): Response => new Response(source, { headers: { 'content-type': 'text/event-stream' } });
		const shown = new Map<unknown, unknown>();
		const cited: unknown[] = [];
		const take: OnDelta = ({ type, ...delta }) => {
			if (type === 'provider_tool' && 'id' in delta) shown.set(delta.id, delta);
			if (type === 'source') cited.push(delta);
			return undefined;
		};
		const provider = createProvider(recorded, answer);
		const asked = async () => provider.chatStreamFn?.(toModel(recorded), hello, undefined, [], take);
		const reply = await asked().catch(() => undefined);
		if (reply === undefined) return;
		check(reply);
		expect([...shown.values()]).toEqual(reply.providerCalls ?? []);
		expect(cited).toEqual(reply.sources ?? []);
	},
);

describe('among the recordings are', () => {
	const replies = Promise.all(
		whole.map((one) =>
			Promise.resolve(createProvider(one, () => Response.json(one.body)).chatFn?.(toModel(one), hello)).then(
				(reply) => ({ ...one, reply }),
				() => ({ ...one, reply: undefined }),
			),
		),
	);
	test.each([
		['anthropic', 'web_search'],
		['anthropic', 'web_fetch'],
		['anthropic', 'code_execution'],
		['openai', 'web_search'],
		['openai', 'file_search'],
		['openai', 'code_execution'],
		['gemini', 'web_search'],
		['gemini', 'code_execution'],
	] as const)('calls of %s: %s', async (api, name) => {
		const calls = (await replies).flatMap((one) => (one.api === api ? (one.reply?.providerCalls ?? []) : []));
		const [call] = calls.filter((one) => one.name === name);
		expect(call).toMatchObject({ id: expect.any(String), output: expect.anything() });
	});

	test('sources of Anthropic with a quote, sources of OpenAI with a title, and sources of Gemini with an address', async () => {
		const of = async (api: string) =>
			(await replies).flatMap((one) => (one.api === api ? (one.reply?.sources ?? []) : []));
		expect(await of('anthropic')).toContainEqual(
			expect.objectContaining({ url: expect.any(String), quote: expect.any(String) }),
		);
		expect(await of('openai')).toContainEqual(
			expect.objectContaining({ url: expect.any(String), title: expect.any(String) }),
		);
		expect(await of('gemini')).toContainEqual(expect.objectContaining({ url: expect.any(String) }));
	});

	test('no replies whose metadata contains an image', async () => {
		for (const { reply } of await replies)
			expect(JSON.stringify(reply?.providerMetadata) ?? '').not.toContain('iVBORw0KGgo');
	});
});
