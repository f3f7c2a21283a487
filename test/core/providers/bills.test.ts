import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as v from 'valibot';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type ChatReply, chat, type ProviderRegistration, providers } from '../../../src/core/index.ts';

/**
 * Replies of providers, most of them recorded, and what each costs by the price sheet of its provider. The sums share
 * nothing with the code of Runlet. `test/fixtures/bills/README.md` names the sources.
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
	/** When it was recorded: prices change. */
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

test('at least 120 of the bills are of recorded replies', () => {
	const recorded = [...bills.values()].flat().filter(({ source }) => !source.startsWith('written by hand'));
	expect(recorded.length).toBeGreaterThanOrEqual(120);
});

describe.each([...bills])('%s', (provider, some) => {
	test.each(some.map((bill) => [bill.name, bill] as const))('charges %s as the price sheet says', async (_, bill) => {
		expect(bill.provider).toBe(provider);
		expect(sum(bill)).toBeCloseTo(bill.usd, 9);
		vi.useFakeTimers({ toFake: ['Date'], now: new Date(bill.at) });
		const { usage } = await ask(bill);
		expect(usage?.costUsd, JSON.stringify(bill.sheet)).toBeCloseTo(bill.usd, 9);
	});
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

/** The adapter of a bill's provider, which gets the bill's body as its answer. */
function connect({ provider, body }: Bill): { registration: ProviderRegistration; prefix?: string } {
	const settings = { apiKey: 'test-key', maxRetries: 0, fetch: async () => Response.json(body) };
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
