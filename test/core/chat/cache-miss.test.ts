/** A step has the reason of a cache miss (docs/costs.md). */
import { describe, expect, test } from 'vitest';
import type { PromptRecord } from '../../../src/core/chat/prompt-record.ts';
import { type ChatOptions, chat, type Message } from '../../../src/core/index.ts';
import { calling, echo, echoCall, finish, only, readTool } from './support.ts';

const usage = (inputTokens: number, cachedInputTokens?: number) => ({
	inputTokens,
	outputTokens: 1,
	cachedInputTokens,
});

/** Plays two runs of a conversation, with some minutes between them. Returns the reasons in their steps. */
async function playTwice(
	cached: number | undefined,
	{ first = {}, second = {}, tokens = 5_000, minutes = 1 }: Changes = {},
): Promise<readonly unknown[]> {
	const prompts: (PromptRecord | undefined)[] = [];
	const onMessage: ChatOptions['onMessage'] = (_, { prompt }) => void prompts.push(prompt);
	const base: Partial<ChatOptions> = { system: 'Be kind.', tools: [echo], onMessage };
	const { result } = await finish([{ text: 'Hi', usage: usage(tokens, 0) }], { ...base, ...first });
	const [prompt] = prompts;
	const messages: Message[] = [...JSON.parse(JSON.stringify(result.messages)), chat.userMessage('And now?')];
	const lastPrompt = prompt && { ...prompt, at: prompt.at - minutes * 60_000 };
	const again = [{ text: 'Hm', usage: usage(tokens + 50, cached) }];
	const { events } = await finish(again, { ...base, lastPrompt, ...second }, messages);
	return only(events, 'step').map(({ cacheMiss }) => cacheMiss);
}

interface Changes {
	readonly first?: Partial<ChatOptions>;
	readonly second?: Partial<ChatOptions>;
	readonly tokens?: number;
	readonly minutes?: number;
}

const more = readTool('more', () => 'more');
const front = (text: string) => ({ recall: () => ({ text: 'new', sources: [], earlier: new Map([[0, text]]) }) });

describe('a step', () => {
	test.each([
		['the cache had the whole previous request', 5_000, {}],
		['the cache had the previous request except a small rest', 4_864, {}],
		['the provider does not report cached tokens', undefined, {}],
		['the cache is turned off', 0, { second: { cache: false } }],
		['the cache had the request despite another system prompt', 5_000, { second: { system: 'Be brief.' } }],
	] as const)('reports no cache miss if %s', async (_, cached, changes) => {
		expect(await playTwice(cached, changes)).toEqual([undefined]);
	});

	test.each([
		['changed model', { second: { model: 'scripted-2' } }],
		['changed tools', { second: { tools: [more, echo] } }],
		['changed tools', { second: { tools: [] } }],
		['changed system', { second: { system: 'Be brief.' } }],
		['changed messages', { first: front(''), second: front('other') }],
		['expired', { minutes: 6 }],
		['expired', { minutes: 61, second: { cache: '1h' } }],
		['unknown', { minutes: 59, second: { cache: '1h' } }],
		['new tools', { second: { tools: [echo, more] } }],
		['too short', { tokens: 1_000 }],
		['too short', { tokens: 3_000 }],
		['unknown', {}],
	] as const)('has the reason “%s” for a cache miss', async (reason, changes) => {
		expect(await playTwice(0, changes)).toEqual([reason]);
	});

	test('finds a cache miss by comparison with the step of the previous turn', async () => {
		const script = [
			{ ...calling(echoCall('a')), usage: usage(5_000, 0) },
			{ ...calling(echoCall('b')), usage: usage(5_100, 5_000) },
			{ text: 'done', usage: usage(5_200, 2_000) },
		];
		const { events, result } = await finish(script, { tools: [echo] });
		expect(only(events, 'step').map(({ cacheMiss }) => cacheMiss)).toEqual([undefined, undefined, 'unknown']);
		expect(result.steps.map(({ cacheMiss }) => cacheMiss)).toEqual([undefined, undefined, 'unknown']);
	});

	test.each([
		['compact', 'summary'],
		['truncate', 'truncated'],
	] as const)('names the shortened conversation as the reason for a cache miss: %s', async (contextFull, reason) => {
		const long = Array.from({ length: 4 }, (_, n) => [
			chat.userMessage(`${n} ${'x'.repeat(2_000)}`),
			chat.assistantMessage('Yes.'),
		]).flat();
		const prompts: (PromptRecord | undefined)[] = [];
		const onMessage: ChatOptions['onMessage'] = (_, { prompt }) => void prompts.push(prompt);
		const before = [...long, chat.userMessage('Hello')];
		const { result } = await finish([{ text: 'Hi', usage: usage(5_000, 0) }], { onMessage }, before);
		const reply = ({ system = '' }) =>
			system.includes('memory of a conversation') ? 'A summary.' : { text: 'Hm', usage: usage(900, 0) };
		const script = Array.from({ length: 9 }, () => reply);
		const options = { contextFull, maxContextTokens: 1_500, lastPrompt: prompts[0] };
		const { events } = await finish(script, options, [...result.messages, chat.userMessage('And now?')]);
		expect(only(events, 'step').map(({ cacheMiss }) => cacheMiss)).toEqual([reason]);
	});
});
