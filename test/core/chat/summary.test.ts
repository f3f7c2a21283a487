import { afterEach, describe, expect, test, vi } from 'vitest';
import type { MessageContext } from '../../../src/core/chat/index.ts';
import { chat, type Message, RunletError } from '../../../src/core/index.ts';
import { codes, compact, names, rule, says, user } from './long-conversation.ts';
import { echo, fail, finish, only, readText, type Script, settled } from './support.ts';

afterEach(() => void vi.useRealTimers());

describe('contextFull: compact', () => {
	/** Ten groups of 1,008 tokens each. */
	const long = Array.from({ length: 10 }, (_, n) => [user(`q${n}`, 2_000), says(`a${n}`, 2_000)]).flat();
	const history = [...long, user('now')];

	test('replaces the oldest messages by a summary, which comes before the first message that is still sent', async () => {
		const { requests, result, events } = await finish(['Ada has 3 cats.', 'fine'], compact(10_000), [rule, ...history]);
		const summary = result.messages.find((one) => one.role === 'system' && one.summary === true);
		expect(summary?.content).toContain('Ada has 3 cats.');
		const at = 1 + history.findIndex((one) => names([one])[0] === names(requests[1]?.messages)[2]);
		expect(result.messages).toEqual([
			rule,
			...history.slice(0, at - 1),
			summary,
			...history.slice(at - 1),
			says('fine'),
		]);
		expect(requests[1]?.messages).toEqual([rule, summary, ...history.slice(at - 1)]);
		expect(only(events, 'warning')).toMatchObject([
			{ code: 'context_compacted', message: expect.stringContaining(` ${at - 1} `) },
		]);
		expect(chat.countTokensHeuristic(requests[1]?.messages ?? [])).toBeLessThanOrEqual(5_000);
	});

	test('emits its warning again if the next turn is restarted', async () => {
		vi.useFakeTimers();
		const cut = async (_: unknown, onDelta: (delta: { type: string; text: string }) => unknown) => {
			await onDelta({ type: 'text', text: 'Half' });
			return undefined;
		};
		const { events } = await settled(finish(['Short.', cut, 'fine'], compact(10_000), history));
		const kinds = events.map((event) => (event.type === 'warning' ? event.code : event.type));
		expect(kinds.slice(1, 7)).toEqual([
			...['context_compacted', 'text', 'retry', 'turn.restarted', 'context_compacted', 'text'],
		]);
	});

	test('requests the summary without the tools, the system prompt and the schema of the run', async () => {
		const call = chat.assistantMessage('I look.', [{ id: 'x', name: 'look', input: { at: 'the moon' } }]);
		const output = `cheese${'e'.repeat(9_000)}`;
		const done = chat.toolResultMessage({ id: 'x', output, isError: true });
		const whole = { oldResults: 'keep' } as const;
		const options = { ...whole, system: 'Be brief.', tools: [echo], toolChoice: 'required', outputSchema: {} } as const;
		const { requests } = await finish(['Short.', '"fine"'], { ...compact(12_000), ...options }, [
			user('why'),
			call,
			done,
			...history,
		]);
		const [asked] = requests;
		expect(asked).toMatchObject({
			tools: undefined,
			streamed: false,
			options: { toolChoice: undefined, outputSchema: undefined },
		});
		expect(asked?.options?.maxOutputTokens).toBe(1_500);
		expect(asked?.system).not.toContain('Be brief.');
		const text = names(asked?.messages).length === 1 ? chat.messageText(asked?.messages[0] ?? rule) : '';
		for (const part of ['why', 'I look.', 'look as x', '"the moon"', 'Result of x, an error', 'cheese', 'Cut: of 9006'])
			expect(text).toContain(part);
		expect(text.length).toBeLessThan(36_000);
	});

	test('does not show the summary, and counts its usage in the run but not in a turn', async () => {
		const script = [
			{ text: 'Short.', usage: { inputTokens: 50 } },
			{ text: 'fine', usage: { inputTokens: 7 } },
		];
		const { events, result } = await finish(script, compact(10_000), history);
		expect(readText(events)).toBe('fine');
		expect(only(events, 'stop')).toHaveLength(1);
		expect(result.usage.inputTokens).toBe(57);
		expect(result.steps[0]?.usage.inputTokens).toBe(7);
	});

	test('passes the summary with its place, its cost and the warning to onMessage before the next request', async () => {
		const order: string[] = [];
		const stored: { message: Message; about: MessageContext }[] = [];
		const onMessage = (message: Message, about: MessageContext) => {
			order.push(`stored ${message.role}`);
			stored.push({ message, about });
		};
		const answer = () => {
			order.push('asked');
			return { text: 'fine', usage: { inputTokens: 7 } };
		};
		const script: Script = [{ text: 'Short.', usage: { inputTokens: 50 } }, answer];
		const { result } = await finish(script, { ...compact(10_000), onMessage }, history);
		expect(order).toEqual(['stored system', 'asked', 'stored assistant']);
		const [summary] = stored;
		const before = [{ type: 'warning', code: 'context_compacted' }];
		expect(summary?.about).toMatchObject({ before, usage: { inputTokens: 50 } });
		expect(summary?.about.turn).toBeUndefined();
		const behind = summary?.about.inFrontOf ?? -1;
		expect(result.messages.slice(0, -1).at(-1 - behind)).toBe(summary?.message);
	});

	test('does not send the summarized messages in the next run', async () => {
		const first = await finish(['Short.', 'fine'], compact(10_000), [rule, ...history]);
		const messages: Message[] = JSON.parse(JSON.stringify([...first.result.messages, user('next')]));
		const { requests, events } = await finish(['fine'], compact(10_000), messages);
		const at = messages.findIndex((one) => one.role === 'system' && one.summary === true);
		expect(requests).toHaveLength(1);
		expect(requests[0]?.messages).toEqual([rule, ...messages.slice(at)]);
		expect(only(events, 'warning')).toEqual([]);
	});

	test('includes an earlier summary in the next summary, which replaces it', async () => {
		const earlier: Message = { role: 'system', content: 'Ada has 3 cats.', summary: true };
		const { requests, result } = await finish(['And a dog.', 'fine'], compact(10_000), [
			user('old'),
			earlier,
			...history,
		]);
		const asked = chat.messageText(requests[0]?.messages[0] ?? rule);
		expect(asked).toContain('Ada has 3 cats.');
		expect(asked).not.toContain('old');
		expect(requests[1]?.messages.filter(({ role }) => role === 'system')).toMatchObject([
			{ content: expect.stringContaining('And a dog.') },
		]);
		expect(result.messages).toContainEqual(earlier);
	});

	test('summarizes a long conversation in pieces, each piece together with the summary so far', async () => {
		const parts = Array.from({ length: 40 }, (_, n) => [user(`p${n}`, 400), says(`r${n}`, 4)]).flat();
		const answers = ['one', 'two', 'three', 'four', 'five'];
		let usage: unknown;
		const onMessage = ({ role }: Message, about: MessageContext) => {
			if (role === 'system') ({ usage } = about);
		};
		const answer: Script[number] = ({ system }) => ({
			text: system === undefined ? 'fine' : (answers.shift() ?? ''),
			usage: { inputTokens: 1 },
		});
		const { requests, result } = await finish(Array(5).fill(answer), { ...compact(2_000), onMessage }, [
			...parts,
			user('now'),
		]);
		const asking = requests.slice(0, -1);
		for (const { messages, system, options } of asking) {
			const tokens = chat.countTokensHeuristic(messages) + chat.estimateSystemTokens(system);
			expect(tokens + (options?.maxOutputTokens ?? 0)).toBeLessThanOrEqual(2_000);
		}
		const asked = asking.map(({ messages }) => chat.messageText(messages[0] ?? rule));
		expect(asked.map((text) => /summary so far:\n\n(\w+)/.exec(text)?.[1])).toEqual([undefined, 'one', 'two']);
		const whole = asked.join();
		const kept = names(requests.at(-1)?.messages);
		for (const name of names(parts)) expect(kept.includes(name) || whole.includes(`${name} `)).toBe(true);
		expect(result.usage.inputTokens).toBe(4);
		expect(usage).toMatchObject({ inputTokens: 3 });
	});

	test('leaves out the oldest pieces if there are more than eight', async () => {
		const parts = Array.from({ length: 12 }, (_, n) => [user(`p${n}`, 26_000), says('ok')]).flat();
		const answer: Script[number] = ({ system }) => (system === undefined ? 'fine' : 'Short.');
		const { requests } = await finish(Array(20).fill(answer), compact(10_000), [...parts, user('now')]);
		const asked = requests.slice(0, -1).map(({ messages }) => chat.messageText(messages[0] ?? rule));
		expect(asked).toHaveLength(8);
		expect(asked[0]).toContain('p4 ');
		expect(asked.join()).not.toContain('p3 ');
	});

	test('gives a summary more time than firstEventMs', async () => {
		vi.useFakeTimers();
		const slow: Script[number] = () => new Promise((resolve) => setTimeout(() => resolve('Short.'), 30_000));
		const options = { ...compact(10_000), timeouts: { firstEventMs: 1_000 }, maxRetries: 0 };
		const { requests } = await settled(finish([slow, 'fine'], options, history));
		expect(requests[1]?.messages[0]).toMatchObject({ summary: true });
	});

	test('requests the summary with low reasoning effort, because thinking counts as output', async () => {
		const { requests } = await finish(['Short.', 'fine'], { ...compact(10_000), reasoningEffort: 'high' }, history);
		expect(requests.map(({ options }) => options?.reasoningEffort)).toEqual(['low', 'high']);
	});

	test.each<[what: string, given: Script[number]]>([
		['is empty', { text: ' ', usage: { inputTokens: 50 } }],
		['is refused', { text: 'No.', stopReason: 'refusal', usage: { inputTokens: 50 } }],
		['fails permanently', new RunletError('invalid_request', 'no', { usage: { inputTokens: 50 } })],
	])('leaves out the oldest groups if the summary %s', async (_, given) => {
		const script: Script = [given, { text: 'fine', usage: { inputTokens: 7 } }];
		const { requests, result, events } = await finish(script, compact(10_000), history);
		expect(names(requests[1]?.messages)).toEqual(['q6', 'a6', 'q7', 'a7', 'q8', 'a8', 'q9', 'a9', 'now']);
		expect(codes(only(events, 'warning'))).toEqual(['context_truncated']);
		expect(result.messages).toEqual([...history, says('fine')]);
		expect(result.usage.inputTokens).toBe(57);
	});

	test('sends fewer messages if the summary is long, and sends no summary if it does not fit', async () => {
		const less = await finish(['S'.repeat(30_000), 'fine'], compact(10_000), history);
		expect(less.requests[1]?.messages.at(0)).toMatchObject({ summary: true });
		expect(codes(only(less.events, 'warning')).slice(0, 1)).toEqual(['context_compacted']);
		const without = await finish(['S'.repeat(90_000), 'fine'], compact(10_000), history);
		expect(names(without.requests[1]?.messages)).toEqual(['now']);
		expect(codes(only(without.events, 'warning'))).toEqual(['context_compacted', 'context_truncated']);
	});

	test('ends the run if a temporary failure of the summary remains after maxRetries', async () => {
		const gone = () => new RunletError('network', 'gone', { usage: { inputTokens: 50 } });
		const { error, requests } = await fail([gone(), 'never'], { ...compact(10_000), maxRetries: 0 }, history);
		expect([error.code, requests.length]).toEqual(['network', 1]);
		expect(error.data?.usage).toMatchObject({ inputTokens: 50 });
	});

	test('asks a fallback for the summary if the model fails, and warns', async () => {
		const gone = new RunletError('network', 'gone');
		const options = { ...compact(10_000), maxRetries: 0, fallbacks: ['scripted-2'] };
		const { requests, events } = await finish([gone, 'Short.', 'fine'], options, history);
		expect(requests.map(({ model }) => model)).toEqual(['scripted', 'scripted-2', 'scripted']);
		expect(codes(only(events, 'warning'))).toEqual(['fallback', 'context_compacted']);
	});

	test('requests no summary if the newest group leaves no room for a summary', async () => {
		const tight = await finish(['fine'], compact(600), [...long, user('now', 2_200)]);
		expect(names(tight.requests[0]?.messages)).toEqual(['now']);
		const { error, requests } = await fail(['never'], compact(600), [...long, user('now', 3_000)]);
		expect([error.code, requests.length]).toEqual(['context_overflow', 0]);
	});

	test('ends the run as cancelled after an abort during the summary', async () => {
		const stop = new AbortController();
		const script: Script = [
			() => {
				stop.abort();
				return 'Short.';
			},
			'never',
		];
		const { error, requests } = await fail(script, { ...compact(10_000), signal: stop.signal }, history);
		expect([error.code, requests.length]).toEqual(['cancelled', 1]);
	});
});
