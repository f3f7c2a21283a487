import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CallOptions } from '../../../src/core/chat/index.ts';
import { providerToolTypes } from '../../../src/core/chat/provider-tool.ts';
import { chat, type ProviderRegistration, providers, tool } from '../../../src/core/index.ts';
import { makers as overHttp } from './choices-makers.ts';

/** The tables of docs/models.md match the adapters. */

const page = readFileSync(resolve(import.meta.dirname, '../../../docs/models.md'), 'utf8');
const names = {
	Anthropic: 'anthropic',
	OpenAI: 'openai',
	xAI: 'xai',
	Gemini: 'gemini',
	Groq: 'groq',
	DeepSeek: 'deepseek',
	Mistral: 'mistral',
	Ollama: 'ollama',
	'Workers AI': 'workersAi',
	'`openaiChat`': 'openaiChat',
} as const;
type Name = keyof typeof names;

interface Cell {
	readonly feature: string;
	readonly provider: string;
	readonly says: string;
}

/** The cells of the tables with a column for each provider. */
const cells: readonly Cell[] = page
	.split(/\n\n/)
	.filter((block) => block.startsWith('| | '))
	.flatMap((table) => {
		const [head = [], , ...rows] = table.split('\n').map((line) =>
			line
				.split('|')
				.slice(1, -1)
				.map((cell) => cell.trim()),
		);
		return rows.flatMap(([feature = '', ...row]) =>
			head.slice(1).map((provider, at) => ({ feature, provider, says: row[at] ?? '' })),
		);
	});

const isName = (name: string): name is Name => Object.hasOwn(names, name);

/** Creates a provider that records its requests. A binding has neither headers nor addresses. */
function create(name: Name, sent: unknown[]): { readonly provider: ProviderRegistration; readonly model: string } {
	const key = names[name];
	if (key === 'workersAi') {
		const run = async (_: string, inputs: unknown, options: unknown) => {
			sent.push({ inputs, options });
			return Response.json({ choices: [{ index: 0, message: { content: 'Hi.' }, finish_reason: 'stop' }] });
		};
		return { provider: providers.workersAi({ binding: { run } }), model: 'workers-ai/@cf/openai/gpt-oss-20b' };
	}
	const { make, model, answer } = overHttp[key];
	const fetch = async (_: unknown, init: RequestInit = {}): Promise<Response> => {
		sent.push(JSON.parse(`${init.body}`));
		return Response.json(answer);
	};
	return { provider: make({ apiKey: 'key', fetch }), model };
}

async function ask(
	name: Name,
	options: CallOptions,
	parts?: chat.MessagePart,
	tools: Parameters<typeof tool.toData>[0] = [],
) {
	const sent: unknown[] = [];
	const { provider, model } = create(name, sent);
	const message = parts === undefined ? chat.userMessage('Hello') : chat.userMessage([parts]);
	await provider.chatFn?.(model, [message], 'Be brief.', tools, options);
	return JSON.stringify(sent);
}

const own = tool.define({
	name: 'look',
	description: 'Looks.',
	inputSchema: { type: 'object', properties: {}, required: [], additionalProperties: false },
	provider: { strict: true, deferLoading: true, allowedCallers: ['direct'] },
});
const outputSchema = { type: 'object', properties: {}, required: [], additionalProperties: false };

/** The options of a request that shows a feature. */
const requests: Readonly<Record<string, CallOptions>> = {
	...Object.fromEntries(providerToolTypes.map((type) => [`\`${type}\``, { providerTools: [{ type }] }])),
	'`maxUses`': { providerTools: [{ type: 'web_search', maxUses: 7 }] },
	'`allowedDomains`': { providerTools: [{ type: 'web_search', allowedDomains: ['a.example'] }] },
	'`blockedDomains`': { providerTools: [{ type: 'web_search', blockedDomains: ['a.example'] }] },
	'`provider` of a tool': {},
	"`serviceTier: 'flex'`": { serviceTier: 'flex' },
	"`serviceTier: 'priority'`": { serviceTier: 'priority' },
	'`speed`': { speed: 'fast' },
	'`region`': { region: 'us' },
	'`endUser`': { endUser: 'someone' },
	cache: { cache: '5m', cacheKey: 'key' },
	'structured output': { outputSchema },
	effort: { reasoningEffort: 'high' },
};

const data = 'iVBORw0KGgoAAAAN';
/** The parts of a message that show an input. */
const given: Readonly<Record<string, chat.MessagePart>> = {
	'images in': { kind: 'image', mime: 'image/png', data },
	'audio in': { kind: 'audio', mime: 'audio/wav', data },
	PDFs: { kind: 'file', mime: 'application/pdf', data },
};

/** Whether a provider has the function of an ability. */
const does: Readonly<Record<string, (provider: ProviderRegistration, model: string) => boolean>> = {
	embeddings: ({ embedFn }) => embedFn !== undefined,
	'count of tokens': ({ countTokens }) => countTokens !== undefined,
	'price list': ({ computePrice }, model) => computePrice?.(model, { inputTokens: 1, outputTokens: 1 }) !== undefined,
};

const rows = cells.flatMap((cell) => (isName(cell.provider) ? [{ ...cell, provider: cell.provider }] : []));

test('the feature tables list all providers and have no empty cell', () => {
	expect(rows).toHaveLength(cells.length);
	expect(new Set(rows.map(({ provider }) => provider))).toEqual(new Set(Object.keys(names)));
	const counts = new Map(rows.map(({ feature }) => [feature, rows.filter((row) => row.feature === feature).length]));
	for (const count of counts.values()) expect(count).toBe(Object.keys(names).length);
	expect(Object.keys(requests).filter((feature) => !counts.has(feature))).toEqual([]);
	// Other tests, with replies of each provider, prove the rows that no request can show.
	const shown = { ...requests, ...given, ...does, 'images out': true, citations: true, background: true };
	expect([...counts.keys()].filter((feature) => !Object.hasOwn(shown, feature))).toEqual([]);
	for (const { says } of rows) expect(says).toMatch(/^(yes(: .+)?|no: .+|`.+)$/);
});

const words = (says: string): readonly string[] => [...says.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);

test.each(
	rows.filter(
		({ feature, says }) => requests[feature] !== undefined && says !== 'yes: by itself' && !says.includes('quirks'),
	),
)('the request matches the feature table: $feature, $provider: $says', async ({ feature, provider, says }) => {
	const options = requests[feature] ?? {};
	const tools = feature === '`provider` of a tool' ? [own] : [];
	const asked = ask(provider, options, undefined, tools);
	if (!says.startsWith('no: ')) {
		const sent = await asked;
		for (const word of words(says)) expect(sent).toContain(`"${word}"`);
		return;
	}
	if (options.providerTools !== undefined && feature !== '`maxUses`') {
		await expect(asked).rejects.toMatchObject({ code: 'invalid_request', data: { field: 'providerTools' } });
		return;
	}
	const without = await ask(
		provider,
		feature === '`maxUses`' ? { providerTools: ['web_search'] } : {},
		undefined,
		tools,
	).catch(({ code }) => code);
	const sent = await asked.catch(({ code }) => code);
	if (feature === '`provider` of a tool') expect(sent).not.toMatch(/strict|defer|callers/i);
	else expect(sent).toBe(without);
});

describe('the accepted inputs of each provider match the feature table', () => {
	test.each(rows.filter(({ feature }) => given[feature] !== undefined))('$feature, $provider: $says', async (row) => {
		const sent = await ask(row.provider, {}, given[row.feature]);
		expect(sent.includes(data)).toBe(row.says.startsWith('yes'));
	});
});

describe('the abilities of each provider match the feature table', () => {
	test.each(rows.filter(({ feature }) => does[feature] !== undefined))('$feature, $provider: $says', (row) => {
		const { provider, model } = create(row.provider, []);
		expect(does[row.feature]?.(provider, model)).toBe(row.says.startsWith('yes'));
	});
});
