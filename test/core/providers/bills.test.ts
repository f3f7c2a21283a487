import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as v from 'valibot';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type ChatReply, chat, type ProviderRegistration, providers } from '../../../src/core/index.ts';

/**
 * Replies of providers, most of them recorded, with their costs by the provider's price list. The sums do not use
 * Runlet's code. `test/fixtures/bills/README.md` names the sources.
 */

const Line = v.variant('kind', [
	v.object({ kind: v.literal('each'), unit: v.string(), count: v.number(), perUnitUsd: v.number() }),
	v.object({
		kind: v.literal('million'),
		unit: v.string(),
		count: v.number(),
		perMillionUsd: v.number(),
		factor: v.optional(v.number(), 1),
	}),
]);

const Bill = v.object({
	name: v.string(),
	source: v.string(),
	provider: v.string(),
	/** The page with the prices. */
	prices: v.string(),
	model: v.string(),
	/** The time of the recording, because prices change. */
	at: v.pipe(v.string(), v.isoTimestamp()),
	body: v.record(v.string(), v.unknown()),
	sheet: v.array(
		v.pipe(
			v.record(v.string(), v.unknown()),
			v.transform((line) => ({ ...line, kind: 'perUnitUsd' in line ? 'each' : 'million' })),
			Line,
		),
	),
	usd: v.number(),
});

type Bill = v.InferOutput<typeof Bill>;

const root = join(dirname(fileURLToPath(import.meta.url)), '../../fixtures/bills');
const files = readdirSync(root).filter((file) => file.endsWith('.json'));
const bills = new Map(
	files.map((file) => [
		basename(file, '.json'),
		v.parse(v.array(Bill), JSON.parse(readFileSync(join(root, file), 'utf8'))),
	]),
);

afterEach(() => {
	vi.useRealTimers();
});

test('the bills include at least 120 recorded replies', () => {
	const recorded = [...bills.values()].flat().filter(({ source }) => !source.startsWith('written by hand'));
	expect(recorded.length).toBeGreaterThanOrEqual(120);
});

describe.each([...bills])('%s', (provider, some) => {
	test.each(some.map((bill) => [bill.name, bill] as const))('charges %s by the price sheet', async (_, bill) => {
		expect(bill.provider).toBe(provider);
		expect(sum(bill)).toBeCloseTo(bill.usd, 9);
		vi.useFakeTimers({ toFake: ['Date'], now: new Date(bill.at) });
		const { usage } = await ask(bill);
		expect(usage?.costUsd, JSON.stringify(bill.sheet)).toBeCloseTo(bill.usd, 9);
	});

	// The reserved amount does not include the work of other models or compactions.
	const foreseen = some.filter(({ body }) => !('iterations' in readObject(body, 'usage')));
	test.each(foreseen.map((bill) => [bill.name, bill] as const))('reserves enough for %s', async (_, bill) => {
		vi.useFakeTimers({ toFake: ['Date'], now: new Date(bill.at) });
		const { inputTokens = 0, outputTokens = 0, units = {} } = (await ask(bill)).usage ?? {};
		// The estimate of audio is 32 tokens a second, or its billed tokens if they are more.
		const heard = Math.max(units.input_audio_tokens ?? 0, 32 * (units.input_audio_seconds ?? 0));
		const inputAudioTokens = heard > 0 ? heard : undefined;
		const { registration, prefix = '' } = connect(bill, readRequest(bill));
		const most = registration.computeMost?.(prefix + bill.model, { inputTokens, inputAudioTokens, outputTokens });
		// A call with an unknown cost is refused under a cap.
		if (most?.unpriced !== undefined) return;
		expect(most?.usd).toBeGreaterThanOrEqual(bill.usd - 1e-9);
	});
});

/** Returns the fields of the request that cost more than tokens. */
function readRequest({ provider, body }: Bill): Record<string, unknown> {
	const usage = readObject(body, 'usage');
	if (provider === 'anthropic') {
		const used = readObjects(body, 'content').filter(({ type }) => type === 'server_tool_use');
		const searches = readObject(usage, 'server_tool_use').web_search_requests;
		const tools = [
			...(searches ? [{ type: 'web_search_20250305', name: 'web_search', max_uses: searches }] : []),
			...(used.some(({ name }) => String(name).includes('code_execution'))
				? [{ type: 'code_execution_20250825', name: 'code_execution' }]
				: []),
		];
		return { tools, speed: usage.speed, inference_geo: usage.inference_geo };
	}
	if (provider !== 'gemini') return { tools: body.tools, service_tier: body.service_tier };
	const [candidate = {}] = readObjects(body, 'candidates');
	const chunks = readObjects(readObject(candidate, 'groundingMetadata'), 'groundingChunks');
	const calls = readObjects(readObject(candidate, 'content'), 'parts').some((part) => 'toolCall' in part);
	const tools = [
		...(chunks.some((chunk) => 'maps' in chunk) ? [{ google_maps: {} }] : []),
		...(calls || chunks.some((chunk) => 'web' in chunk) ? [{ google_search: {} }] : []),
	];
	return { tools, serviceTier: readObject(body, 'usageMetadata').serviceTier };
}

const AnyObject = v.fallback(v.record(v.string(), v.unknown()), {});

function readObject(from: Record<string, unknown>, key: string): Record<string, unknown> {
	return v.parse(AnyObject, from[key]);
}

function readObjects(from: Record<string, unknown>, key: string): Record<string, unknown>[] {
	return v.parse(v.fallback(v.array(AnyObject), []), from[key]);
}

test('the cost of an image reply is unknown without reported tokens, and the reason is given', async () => {
	const bill = bills.get('openai')?.find(({ name }) => name === 'an image by gpt-image-1');
	if (bill === undefined) throw new Error('the bill of an image is missing');
	const { tool_usage: _, ...body } = bill.body;
	const { usage } = await ask({ ...bill, body });
	expect(usage?.costUsd).toBeUndefined();
	expect(usage?.unpriced).toContain('unmetered_images');
});

test('a reply with `speed: standard` costs the usual price', async () => {
	const bill = bills.get('anthropic')?.find(({ body }) => !('speed' in readObject(body, 'usage')));
	if (bill === undefined) throw new Error('the bill of a usual reply is missing');
	const body = { ...bill.body, usage: { ...readObject(bill.body, 'usage'), speed: 'standard' } };
	vi.useFakeTimers({ toFake: ['Date'], now: new Date(bill.at) });
	const { usage } = await ask({ ...bill, body });
	expect(usage?.unpriced).toBeUndefined();
	expect(usage?.costUsd).toBeCloseTo(bill.usd, 9);
});

test('a shell call that the client runs is not billed as a container', async () => {
	const bill = bills.get('openai')?.find(({ name }) => name === 'gpt-5 in default');
	if (bill === undefined) throw new Error('the bill of gpt-5 is missing');
	const call = { type: 'shell_call', id: 'sh_1', call_id: 'call_1', status: 'completed', action: { commands: ['ls'] } };
	const { usage } = await ask({ ...bill, body: { ...bill.body, output: [call] } });
	expect(usage?.costUsd).toBeCloseTo(bill.usd, 9);
});

function sum({ sheet }: Bill): number {
	return sheet.reduce((dollars, line) => {
		if (line.kind === 'each') return dollars + line.count * line.perUnitUsd;
		return dollars + (line.count * line.perMillionUsd * line.factor) / 1e6;
	}, 0);
}

async function ask(bill: Bill): Promise<ChatReply> {
	const { registration, prefix = '' } = connect(bill);
	const reply = await registration.chatFn?.(prefix + bill.model, [chat.userMessage('Hello')]);
	if (reply === undefined) throw new Error('the adapter gave no reply');
	return reply;
}

/** Creates the provider of a bill, which answers with the bill's body. */
function connect(
	{ provider, body }: Bill,
	request?: Record<string, unknown>,
): { registration: ProviderRegistration; prefix?: string } {
	const settings = { apiKey: 'test-key', maxRetries: 0, fetch: async () => Response.json(body), body: request };
	switch (provider) {
		case 'anthropic':
			return { registration: providers.anthropic(settings) };
		case 'openai':
			return { registration: providers.openai(settings) };
		case 'gemini':
			return { registration: providers.gemini(settings) };
		case 'groq':
			return { registration: providers.groq(settings), prefix: 'groq/' };
		case 'deepseek':
			return { registration: providers.deepseek(settings), prefix: 'deepseek/' };
		case 'mistral':
			return { registration: providers.mistral(settings), prefix: 'mistral/' };
		case 'workers-ai':
			return {
				registration: providers.workersAi({ binding: { run: async () => Response.json(body) } }),
				prefix: 'workers-ai/',
			};
		case 'xai':
			return 'choices' in body ? connectChat('xai', settings) : { registration: providers.xai(settings) };
		case 'openai-chat':
			return connectChat('openai', settings);
		default:
			return connectChat(provider, settings);
	}
}

function connectChat(name: string, settings: { apiKey: string; maxRetries: number; fetch: typeof fetch }) {
	const prefix = `${name}/`;
	return {
		registration: providers.openaiChat({ ...settings, name, prefix, baseURL: 'https://api.example/v1' }),
		prefix,
	};
}
