import { describe, expect, test } from 'vitest';
import { type ChatOptions, chat, type Message, RunletError } from '../../../src/core/index.ts';
import { codes, compact, history, long, names, rule, says, truncate, user } from './long-conversation.ts';
import { calling, echo, echoCall, fail, finish, only, type Script } from './support.ts';

const tooLong = (usage?: object) => new RunletError('context_overflow', 'too long', usage && { usage });

describe('contextFull: truncate', () => {
	test('leaves out the oldest messages until half of the limit is free, and warns how many it left out', async () => {
		const { requests, result, events } = await finish(['fine'], truncate(800), history);
		expect(names(requests[0]?.messages)).toEqual(['q7', 'a7', 'q8', 'a8', 'q9', 'a9', 'now']);
		expect(chat.countTokensHeuristic(requests[0]?.messages ?? [])).toBeLessThanOrEqual(400);
		expect(only(events, 'warning')).toMatchObject([
			{ code: 'context_truncated', message: expect.stringContaining('14') },
		]);
		expect(result.messages).toEqual([...history, says('fine')]);
	});

	test('leaves out as few message groups as possible if the request cannot shrink to half of the limit', async () => {
		const { requests } = await finish(['fine'], truncate(800), [...long, user('now', 2_000)]);
		expect(names(requests[0]?.messages)).toEqual(['q8', 'a8', 'q9', 'a9', 'now']);
	});

	test('sends the whole conversation if it is within the limit', async () => {
		const { requests, events } = await finish(['fine'], truncate(5_000), history);
		expect(requests[0]?.messages).toEqual(history);
		expect(only(events, 'warning')).toEqual([]);
	});

	test('keeps system messages and the newest group', async () => {
		const calls = [says(''), chat.assistantMessage('', [echoCall('x')])];
		const newest = [
			user('now'),
			...calls,
			chat.toolResultMessage({ id: 'x', output: 'y'.repeat(900), isError: false }),
		];
		const { requests } = await finish(['fine'], truncate(300), [rule, ...long.slice(0, 4), rule, ...newest]);
		expect(requests[0]?.messages).toEqual([rule, rule, ...newest]);
	});

	test('leaves out the same messages for the rest of the run, with one warning', async () => {
		const script = [calling(echoCall('x')), calling(echoCall('y')), 'fine'];
		const { requests, events } = await finish(script, { ...truncate(800), tools: [echo] }, history);
		expect(requests.map(({ messages }) => names(messages)[0])).toEqual(['q7', 'q7', 'q7']);
		expect(codes(only(events, 'warning'))).toEqual(['context_truncated']);
	});

	test('fails with context_overflow before any request if the newest group alone is too long', async () => {
		const { error, requests } = await fail(['never'], truncate(300), [...long, user('now', 2_000)]);
		expect([error.code, requests.length]).toEqual(['context_overflow', 0]);
		expect(error.data).toMatchObject({ limit: 300, total: 504 });
	});

	test('uses countTokensFn to decide what fits', async () => {
		const countTokensFn = async (messages: readonly Message[]) => 100 * messages.length;
		const { requests } = await finish(['fine'], { ...truncate(1_000), countTokensFn }, history);
		expect(names(requests[0]?.messages)).toEqual(['q8', 'a8', 'q9', 'a9', 'now']);
	});

	test('leaves out an earlier summary only after all other older groups', async () => {
		const summary: Message = { role: 'system', content: 'S'.padEnd(400), summary: true };
		const summed = [...long.slice(0, 2), summary, ...long.slice(2)];
		const kept = await finish(['fine'], truncate(800), [...summed, user('now')]);
		expect(names(kept.requests[0]?.messages)).toEqual(['S', 'q8', 'a8', 'q9', 'a9', 'now']);
		const gone = await finish(['fine'], truncate(800), [...summed, user('now', 3_000)]);
		expect(names(gone.requests[0]?.messages)).toEqual(['now']);
	});
});

describe('a provider that refuses a request as too long', () => {
	test('gets a request of half the length, even without a known limit', async () => {
		const { requests, result, events } = await finish([tooLong(), 'fine'], truncate(), history);
		expect(requests[0]?.messages).toEqual(history);
		expect(names(requests[1]?.messages)).toEqual(['q6', 'a6', 'q7', 'a7', 'q8', 'a8', 'q9', 'a9', 'now']);
		expect(codes(only(events, 'warning'))).toEqual(['context_truncated']);
		expect(result.text).toBe('fine');
	});

	test('gets only the newest group if that group is more than half of the request', async () => {
		const { requests } = await finish([tooLong(), 'fine'], truncate(), [...long.slice(0, 4), user('now', 4_000)]);
		expect(names(requests[1]?.messages)).toEqual(['now']);
	});

	test('gets a summary with contextFull: compact', async () => {
		const answer: Script[number] = ({ system }) => (system === undefined ? 'fine' : 'Short.');
		const { requests } = await finish([tooLong(), ...Array(8).fill(answer)], compact(), history);
		expect(requests.at(-1)?.messages[0]).toMatchObject({ role: 'system', summary: true });
		expect(names(requests.at(-1)?.messages).at(-1)).toBe('now');
	});

	test('gets one more request, and the error after a second refusal has the usage of both requests', async () => {
		const script = [tooLong({ inputTokens: 5 }), tooLong({ inputTokens: 3 }), 'never'];
		const { error, requests } = await fail(script, truncate(), history);
		expect([error.code, requests.length]).toEqual(['context_overflow', 2]);
		expect(error.data?.usage).toMatchObject({ inputTokens: 8 });
	});

	test.each<[when: string, script: Script, options: Partial<ChatOptions>, messages: Message[]]>([
		['if contextFull is not set', [tooLong(), 'never'], {}, history],
		['if no message can be left out', [tooLong({ inputTokens: 5 }), 'never'], truncate(), [rule, user('now')]],
		[
			'after a delta was shown',
			[
				async (_, onDelta) => {
					await onDelta({ type: 'text', text: 'So' });
					return tooLong();
				},
				'never',
			],
			truncate(),
			history,
		],
	])('gets no second request %s', async (_, script, options, messages) => {
		const { error, requests } = await fail(script, options, messages);
		expect([error.code, requests.length]).toEqual(['context_overflow', 1]);
	});
});
