import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { chat, providers } from '../../../src/core/index.ts';
import { calling, endings, finish, only, play, type Requests, readText, readTool, settled } from './support.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = () => new Promise<never>(() => {});
const after = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

describe('the first event', () => {
	test('must come within firstEventMs', async () => {
		const start = Date.now();
		const { error } = await settled(play([never], { timeouts: { firstEventMs: 1_000 }, maxRetries: 0 }));
		expect(error?.code).toBe('timeout');
		expect(Date.now() - start).toBeGreaterThanOrEqual(1_000);
		expect(Date.now() - start).toBeLessThan(2_000);
	});

	test('causes a retry if it is late, because nothing was shown yet', async () => {
		const again = ({ options }: Requests[number]) => (options?.signal?.aborted ? 'aborted' : 'Hi');
		const { result, requests } = await settled(play([never, again], { timeouts: { firstEventMs: 1_000 } }));
		expect(result?.text).toBe('Hi');
		expect(requests[0]?.options?.signal?.aborted).toBe(true);
	});

	test('is the whole reply if the model does not stream', async () => {
		const options = { model: 'any', chatFn: never, timeouts: { firstEventMs: 1_000 }, maxRetries: 0 };
		await expect(settled(chat.runLoop(options, 'Hi'))).rejects.toMatchObject({ code: 'timeout' });
	});

	test('has a time limit by default', async () => {
		const { error } = await settled(play([never], { maxRetries: 0 }));
		expect(error?.code).toBe('timeout');
	});
});

describe('the pause between two events', () => {
	const trickle =
		(pauses: readonly number[]) => async (_: unknown, onDelta: (delta: { type: string; text: string }) => unknown) => {
			for (const pause of pauses) {
				await onDelta({ type: 'text', text: 'a' });
				await after(pause);
			}
			return 'a'.repeat(pauses.length);
		};

	test('is at most idleMs', async () => {
		const { error, events, requests } = await settled(
			play([trickle([10, 10, 5_000]), 'never'], { maxRetries: 0, timeouts: { idleMs: 1_000 } }),
		);
		expect(error?.code).toBe('timeout');
		expect(readText(events)).toBe('aaa');
		expect(requests).toHaveLength(1);
	});

	test('stays within the limit in a slow but steady stream', async () => {
		const options = { timeouts: { idleMs: 1_000, firstEventMs: 1_000 } };
		const { result } = await settled(play([trickle(Array<number>(50).fill(900))], options));
		expect(result?.text).toBe('a'.repeat(50));
	});

	test('ends with any event, even an event that is dropped', async () => {
		const script = async (_: unknown, onDelta: (delta: { type: string }) => unknown) => {
			for (let n = 0; n < 5; n++) {
				await onDelta({ type: 'text', ...{ text: '' } });
				await after(900);
			}
			return 'Hi';
		};
		expect((await settled(play([script], { timeouts: { idleMs: 1_000 } }))).result?.text).toBe('Hi');
	});

	test('does not include the time for which a slow reader holds back the provider', async () => {
		const model = providers.scripted([
			async (_, onDelta) => {
				for (let n = 0; n < 5_000; n++) await onDelta({ type: 'text', text: 'a' });
				return { text: 'a'.repeat(5_000) };
			},
		]);
		const run = chat.run({ model: 'scripted', providers: [model], timeouts: { idleMs: 1_000 } }, []);
		const reader = run.events[Symbol.asyncIterator]();
		await reader.next();
		await vi.advanceTimersByTimeAsync(60_000);
		while ((await reader.next()).done !== true);
		expect((await run.result).text).toHaveLength(5_000);
	});
});

describe('a tool', () => {
	test('gets an isError result after toolMs, and the run continues', async () => {
		const aborted: boolean[] = [];
		const slow = readTool('slow', (_, context) => {
			if (typeof context === 'object' && context !== null) {
				const signal: unknown = Reflect.get(context, 'signal');
				if (signal instanceof AbortSignal) signal.addEventListener('abort', () => aborted.push(true));
			}
			return never();
		});
		const script = [calling({ id: 'a', name: 'slow', input: {} }), 'I see.'];
		const { result, events } = await settled(finish(script, { tools: [slow], timeouts: { toolMs: 1_000 } }));
		expect(only(events, 'tool_result')).toMatchObject([
			{ id: 'a', isError: true, output: expect.stringContaining('1000') },
		]);
		expect(result.text).toBe('I see.');
		expect(aborted).toEqual([true]);
	});

	test('gets its full time limit for each sequential call', async () => {
		const slow = readTool(
			'slow',
			async () => {
				await after(900);
				return 'ok';
			},
			{ sequential: true },
		);
		const calls = ['a', 'b', 'c'].map((id) => ({ id, name: 'slow', input: {} }));
		const { result } = await settled(
			finish([calling(...calls), 'Done.'], { tools: [slow], timeouts: { toolMs: 1_000 } }),
		);
		expect(result.steps[0]?.toolResults.map(({ isError }) => isError)).toEqual([false, false, false]);
	});
});

describe('the run', () => {
	test('ends with timeout after runMs, during a tool call or a request', async () => {
		const slow = readTool('slow', never);
		const script = [calling({ id: 'a', name: 'slow', input: {} }), 'never'];
		for (const options of [{ tools: [slow] }, { chatStreamFn: never }]) {
			const { error, events } = await settled(play(script, { ...options, timeouts: { runMs: 5_000 } }));
			expect(error?.code).toBe('timeout');
			expect(endings(events)).toMatchObject([{ type: 'error', code: 'timeout' }]);
		}
	});

	test('accepts Infinity for each timeout', async () => {
		const timeouts = { firstEventMs: Infinity, idleMs: Infinity, toolMs: Infinity, runMs: Infinity };
		const late = async () => {
			await after(10_000);
			return 'Hi';
		};
		expect((await settled(play([late], { timeouts }))).result?.text).toBe('Hi');
	});

	test('leaves no timer when it ends', async () => {
		await settled(play(['Hi']));
		expect(vi.getTimerCount()).toBe(0);
	});
});
