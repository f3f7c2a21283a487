import { afterEach, describe, expect, test, vi } from 'vitest';
import { createDeferred } from '../../../src/core/base/promises.ts';
import { chat, type Message, type Tool, type ToolCall } from '../../../src/core/index.ts';
import { calling, finish, only, readTool, results, settled } from './support.ts';

const call = (id: string | number, name = 'work'): ToolCall => ({ id: `c${id}`, name, input: {} });
const calls = (count: number, from = 0) => Array.from({ length: count }, (_, n) => call(from + n));
const errors = (messages: readonly Message[]) =>
	messages.flatMap((message) => (message.role === 'tool' && message.isError ? [message.toolCallId] : []));

/** A tool that counts its runs, and its parallel runs. */
function counting(more: Partial<Tool> = {}) {
	const seen = { ran: 0, now: 0, most: 0 };
	const work = readTool(
		'work',
		async () => {
			seen.ran++;
			seen.most = Math.max(seen.most, ++seen.now);
			for (let n = 0; n < 5; n++) await null;
			seen.now--;
			return 'ok';
		},
		more,
	);
	return { seen, work };
}

afterEach(() => {
	vi.useRealTimers();
});

describe('calls of a turn', () => {
	test('begin in order, and the sequential calls begin after all other calls', async () => {
		const begun: string[] = [];
		const note = (_: unknown, context: unknown): string => {
			begun.push(String(Reflect.get(Object(context), 'callId')));
			return 'ok';
		};
		const tools = [readTool('work', note), readTool('alone', note, { sequential: true })];
		const mixed = Array.from({ length: 20 }, (_, n) => call(n, n % 2 === 0 ? 'alone' : 'work'));
		await finish([calling(...mixed), 'done'], { tools });
		const ids = (name: string): string[] => mixed.filter((one) => one.name === name).map(({ id }) => id);
		expect(begun).toEqual([...ids('work'), ...ids('alone')]);
	});

	test('have a time limit that starts when they run, not while they wait for other calls', async () => {
		vi.useFakeTimers();
		const work = readTool('work', () => new Promise((resolve) => setTimeout(resolve, 80, 'ok')));
		const alone = readTool('alone', work.fn, { sequential: true });
		const all = [...calls(25), call('alone1', 'alone'), call('alone2', 'alone')];
		const run = finish([calling(...all), 'done'], { tools: [work, alone], timeouts: { toolMs: 100 } });
		const { result } = await settled(run);
		expect(errors(result.messages)).toEqual([]);
		expect(results(result.messages)).toHaveLength(27);
	});

	test('end at their time limit if they hang, and their signals are aborted', async () => {
		vi.useFakeTimers();
		const stopped: unknown[] = [];
		const hang = readTool('work', (_, context) => {
			const signal: AbortSignal = Reflect.get(Object(context), 'signal');
			signal.addEventListener('abort', () => {
				stopped.push(signal.aborted);
			});
			return new Promise(() => {});
		});
		const run = finish([calling(...calls(12)), 'done'], { tools: [hang], timeouts: { toolMs: 100 } });
		const { result } = await settled(run);
		expect(errors(result.messages)).toHaveLength(12);
		expect(stopped).toEqual(Array.from({ length: 12 }, () => true));
	});

	test('run ten at a time', async () => {
		const { seen, work } = counting();
		await finish([calling(...calls(100)), 'done'], { tools: [work] });
		expect(seen).toEqual({ ran: 100, now: 0, most: 10 });
	});

	test.each([1, 3, 50])('run at most maxParallelToolCalls at a time: %i', async (most) => {
		const { seen, work } = counting();
		await finish([calling(...calls(60)), 'done'], { tools: [work], maxParallelToolCalls: most });
		expect(seen).toEqual({ ran: 60, now: 0, most });
	});

	test('begin in order, ten at a time, and then each sequential call runs alone', async () => {
		const log: string[] = [];
		let now = 0;
		let most = 0;
		const work = async (_: unknown, context: unknown): Promise<string> => {
			log.push(String(Reflect.get(Object(context), 'callId')));
			most = Math.max(most, ++now);
			for (let n = 0; n < 5; n++) await null;
			now--;
			return 'ok';
		};
		let others = -1;
		const alone = readTool(
			'alone',
			async (given, context) => {
				others = Math.max(others, now);
				return work(given, context);
			},
			{ sequential: true },
		);
		const mixed = [call('s1', 'alone'), ...calls(20), call('s2', 'alone')];
		await finish([calling(...mixed), 'done'], { tools: [readTool('work', work), alone] });
		expect(log).toEqual([...calls(20).map(({ id }) => id), 'cs1', 'cs2']);
		expect({ most, others }).toEqual({ most: 10, others: 0 });
	});

	test('begin as soon as another call ends, so one slow call does not delay the others', async () => {
		const slow = createDeferred<string>();
		let ended = 0;
		const work = readTool('work', async (_, context) => {
			if (Reflect.get(Object(context), 'callId') === 'c0') return slow.promise;
			if (++ended === 49) slow.resolve('at last');
			return 'ok';
		});
		const { result } = await finish([calling(...calls(50)), 'done'], { tools: [work] });
		expect(results(result.messages)[0]).toEqual(['c0', 'at last']);
		expect(result.messages.filter(({ role }) => role === 'tool')).toHaveLength(50);
	});

	test('do not run after the 200th call of a run, and their results tell the model about the limit', async () => {
		const { seen, work } = counting();
		const { result, requests } = await finish([calling(...calls(2_000)), 'done'], { tools: [work] });
		expect(seen.ran).toBe(200);
		expect(result.text).toBe('done');
		expect(errors(result.messages)).toEqual(calls(1_800, 200).map(({ id }) => id));
		expect(results(result.messages)[200]?.[1]).toMatch(/not run.*as many tool calls as it may/);
		expect(requests[1]?.messages.filter(({ role }) => role === 'tool')).toHaveLength(2_000);
	});

	test('are counted over all turns of a run', async () => {
		const { seen, work } = counting();
		const turns = Array.from({ length: 5 }, (_, n) => calling(...calls(3, 3 * n)));
		const { result } = await finish([...turns, 'done'], { tools: [work], maxToolCalls: 7 });
		expect(seen.ran).toBe(7);
		expect(errors(result.messages)).toEqual(calls(8, 7).map(({ id }) => id));
	});

	test('do not run after the limit, even if the model repeats the same call in each turn', async () => {
		const { seen, work } = counting();
		const turns = Array.from({ length: 50 }, () => calling(call('same')));
		const { events } = await finish([...turns, 'done'], { tools: [work], maxIterations: 51, maxToolCalls: 20 });
		expect(seen.ran).toBe(20);
		expect(only(events, 'tool_result').filter(({ isError }) => isError)).toHaveLength(30);
	});
});

describe('the count of calls', () => {
	test('is kept if a run continues in the middle of a turn or after a turn', async () => {
		const { seen, work } = counting();
		const answered: Message[] = calls(4).map(({ id }) => ({ role: 'tool', toolCallId: id, content: 'ok' }));
		const before: Message[] = [chat.userMessage('go'), chat.assistantMessage('', calls(4)), ...answered];
		const open: Message[] = [...before, chat.assistantMessage('', calls(4, 4))];
		const { result } = await finish(['done'], { tools: [work], maxToolCalls: 6 }, open);
		expect(seen.ran).toBe(2);
		expect(errors(result.messages)).toEqual(['c6', 'c7']);
		const more = await finish([calling(...calls(4, 4)), 'done'], { tools: [work], maxToolCalls: 6 }, before);
		expect(errors(more.result.messages)).toEqual(['c6', 'c7']);
	});

	test('restarts with the next user message', async () => {
		const { seen, work } = counting();
		const answered: Message[] = calls(4).map(({ id }) => ({ role: 'tool', toolCallId: id, content: 'ok' }));
		const before = [
			chat.userMessage('go'),
			chat.assistantMessage('', calls(4)),
			...answered,
			chat.userMessage('again'),
		];
		await finish([calling(...calls(4, 4)), 'done'], { tools: [work], maxToolCalls: 4 }, before);
		expect(seen.ran).toBe(4);
	});

	test('includes sequential, manual, approved and unknown calls', async () => {
		const { seen, work } = counting();
		const tools = [
			work,
			readTool('alone', () => 'ran', { sequential: true }),
			readTool('by_hand', undefined, { manual: true }),
			readTool('asks', () => 'ran', { needsApproval: true }),
		];
		const beyond = ['alone', 'by_hand', 'asks', 'gone'].map((name, n) => call(n + 1, name));
		const { result } = await finish([calling(call(0), ...beyond), 'done'], { tools, maxToolCalls: 1 });
		expect(result.status).toBe('completed');
		expect(seen.ran).toBe(1);
		expect(errors(result.messages)).toEqual(['c1', 'c2', 'c3', 'c4']);
	});
});

test('if a result cannot be stored, no waiting call begins', async () => {
	const { seen, work } = counting();
	const onMessage = ({ role }: Message) => {
		if (role === 'tool') throw new Error('disk full');
	};
	await expect(finish([calling(...calls(100)), 'done'], { tools: [work], onMessage })).rejects.toThrow();
	expect(seen.ran).toBeLessThanOrEqual(20);
});
