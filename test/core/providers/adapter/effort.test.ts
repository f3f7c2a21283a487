import { expect, test, vi } from 'vitest';
import type { ReasoningEffort } from '../../../../src/core/chat/index.ts';
import { reasoningEfforts } from '../../../../src/core/chat/provider.ts';
import { chat, type ProviderRegistration, providers } from '../../../../src/core/index.ts';
import { roundEffort } from '../../../../src/core/providers/adapter/body.ts';

test.each<[wanted: ReasoningEffort, steps: readonly ReasoningEffort[], step: ReasoningEffort | undefined]>([
	['medium', ['low', 'medium', 'high'], 'medium'],
	['medium', ['low', 'high'], 'high'],
	['medium', ['high', 'low'], 'high'],
	['minimal', ['none', 'low', 'medium'], 'low'],
	['low', ['none', 'high'], 'high'],
	['minimal', ['none', 'high'], 'none'],
	['none', ['low', 'medium', 'high'], 'low'],
	['max', ['low', 'medium', 'high'], 'high'],
	['xhigh', ['low', 'medium', 'high', 'max'], 'high'],
	['xhigh', ['low', 'max'], 'max'],
	['high', [], undefined],
])('the effort %s is rounded to a step of %j: %s', (wanted, steps, step) => {
	expect(roundEffort(wanted, steps)).toBe(step);
});

/** Returns the effort in a provider's request. */
async function readWord(make: (fetcher: typeof fetch) => ProviderRegistration, model: string, effort: ReasoningEffort) {
	const bodies: string[] = [];
	const fetcher: typeof fetch = async (_, init) => {
		bodies.push(String(init?.body));
		return new Response('{}', { status: 400 });
	};
	const options = { model, providers: [make(fetcher)], reasoningEffort: effort, maxRetries: 0 };
	await chat.runLoop(options, 'Hi').catch(() => {});
	return /"(?:effort|reasoning_effort|thinkingLevel)":"(\w+)"/.exec(bodies[0] ?? '')?.[1];
}

const makers: readonly [
	name: string,
	make: (fetcher: typeof fetch) => ProviderRegistration,
	model: string,
	steps: readonly ReasoningEffort[],
][] = [
	['OpenAI', (fetch) => providers.openai({ apiKey: 'k', fetch }), 'gpt-5.1', ['none', 'low', 'medium', 'high']],
	['xAI', (fetch) => providers.xai({ apiKey: 'k', fetch }), 'grok-3-mini', ['low', 'high']],
	['Gemini', (fetch) => providers.gemini({ apiKey: 'k', fetch }), 'gemini-3-pro-preview', ['low', 'high']],
	['Ollama', (fetch) => providers.ollama({ fetch }), 'ollama/qwen3', ['none', 'low', 'medium', 'high']],
	[
		'Anthropic',
		(fetch) => providers.anthropic({ apiKey: 'k', fetch }),
		'claude-opus-4-6',
		['low', 'medium', 'high', 'max'],
	],
];
test.each(makers)('%s rounds the effort like all other providers', async (_, make, model, steps) => {
	for (const effort of reasoningEfforts) {
		if (effort === 'none') continue;
		expect(await readWord(make, model, effort), effort).toBe(roundEffort(effort, steps));
	}
});

test.each(['hihg', 'HIGH', '', null, 3, {}])(
	'the effort %j is refused with the list of efforts, before a request',
	async (effort) => {
		const fetcher = vi.fn<typeof fetch>();
		const claude = providers.anthropic({ apiKey: 'k', fetch: fetcher });
		const model = 'claude-sonnet-4-6';
		const refused = {
			code: 'invalid_request',
			message: expect.stringMatching(
				/^reasoningEffort: expected one of none, minimal, low, medium, high, xhigh, max, got/,
			),
			data: { field: 'reasoningEffort' },
		};
		const options = { model, providers: [claude], reasoningEffort: effort };
		await expect(Reflect.apply(chat.runLoop, undefined, [options, 'Hi'])).rejects.toMatchObject(refused);
		const said = { reasoningEffort: effort };
		const messages = [chat.userMessage('Hi')];
		const direct = async () =>
			Reflect.apply(claude.chatFn ?? expect.unreachable(), undefined, [model, messages, undefined, [], said]);
		await expect(direct()).rejects.toMatchObject(refused);
		expect(fetcher).not.toHaveBeenCalled();
	},
);
