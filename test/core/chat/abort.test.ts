import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { chat, providers, RunletError } from '../../../src/core/index.ts';
import { calling, echoCall, endings, httpError, play, readText, readTool, type Script, settled } from './support.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = () => new Promise<never>(() => {});

/** Plays a script and aborts when the script calls `begun`. */
function aborting(make: (begun: () => void) => { script: Script; options?: Parameters<typeof play>[1] }) {
	const controller = new AbortController();
	const { script, options } = make(() => controller.abort());
	return settled(play(script, { ...options, signal: controller.signal }));
}

describe('an abort', () => {
	test('reaches the signal of the provider', async () => {
		const { requests, error } = await aborting((begun) => ({
			script: [
				({ options }) => {
					begun();
					return new Promise((_, reject) => {
						if (options?.signal?.aborted) reject(new DOMException('Aborted', 'AbortError'));
					});
				},
			],
		}));
		expect(requests[0]?.options?.signal?.aborted).toBe(true);
		expect(error?.code).toBe('cancelled');
	});

	test('drops the deltas of a provider that still reports its cost', async () => {
		const { error, events } = await aborting((begun) => ({
			script: [
				async ({ options }, onDelta) => {
					await onDelta({ type: 'text', text: 'Once' });
					options?.signal?.addEventListener('abort', () => void onDelta({ type: 'text', text: 'LATE' }));
					begun();
					await onDelta({ type: 'text', text: 'LATER' });
					throw new RunletError('cancelled', 'Left.', { usage: { inputTokens: 3 } });
				},
			],
		}));
		expect(error).toMatchObject({ code: 'cancelled', data: { usage: { inputTokens: 3 } } });
		expect(endings(events)).toEqual([{ type: 'cancelled', usage: { inputTokens: 3 } }]);
		expect(readText(events)).toBe('Once');
	});

	test('ends the run even if the provider ignores the abort, and drops later deltas', async () => {
		let late = (): unknown => undefined;
		const { error, events } = await aborting((begun) => ({
			script: [
				async (_, onDelta) => {
					await onDelta({ type: 'text', text: 'Once' });
					late = () => onDelta({ type: 'text', text: 'LATE' });
					begun();
					return never();
				},
			],
		}));
		late();
		expect(error?.code).toBe('cancelled');
		expect(endings(events)).toEqual([{ type: 'cancelled' }]);
		expect(readText(events)).toBe('Once');
	});

	test('reaches the signal of a running tool, and ends the run even if the tool ignores the signal', async () => {
		const signals: unknown[] = [];
		const { error, requests, events } = await aborting((begun) => {
			const slow = readTool('slow', (_, context) => {
				if (typeof context === 'object' && context !== null) signals.push(Reflect.get(context, 'signal'));
				begun();
				return never();
			});
			return { script: [calling({ id: 'a', name: 'slow', input: {} }), 'never'], options: { tools: [slow] } };
		});
		expect(signals).toMatchObject([{ aborted: true }]);
		expect(error?.code).toBe('cancelled');
		expect(requests).toHaveLength(1);
		expect(events.at(-1)).toEqual({ type: 'cancelled' });
	});

	test('prevents further tools from beginning', async () => {
		let ran = 0;
		await aborting((begun) => ({
			script: [calling(echoCall('a'))],
			options: { tools: [readTool('echo', () => ++ran)], onMessage: begun },
		}));
		expect(ran).toBe(0);
	});

	test('ends the wait before a retry', async () => {
		const start = Date.now();
		const { error } = await aborting((begun) => ({
			script: [
				() => {
					setTimeout(begun, 10);
					return httpError(429, { headers: { 'retry-after': '50' } });
				},
				'never',
			],
		}));
		expect(error?.code).toBe('cancelled');
		expect(Date.now() - start).toBeLessThan(1_000);
	});

	test('before the run prevents a request to the model', async () => {
		const { error, requests, events } = await settled(play(['never'], { signal: AbortSignal.abort() }));
		expect(error?.code).toBe('cancelled');
		expect(requests).toEqual([]);
		expect(endings(events)).toEqual([{ type: 'cancelled' }]);
	});

	test('leaves no rejection unhandled if another part of the run fails at the same time', async () => {
		const { error } = await settled(
			play(['never'], {
				signal: AbortSignal.abort(),
				maxContextTokens: 1,
				skillResolver: { listFn: () => Promise.reject(new Error('no store')), readFn: () => undefined },
			}),
		);
		expect(error?.code).toBe('cancelled');
	});

	test('ends the wait for a skill resolver and for a token counter', async () => {
		for (const options of [
			{ skillResolver: { listFn: never, readFn: () => undefined } },
			{ maxContextTokens: 9, countTokensFn: never },
		]) {
			const controller = new AbortController();
			const run = play(['never'], { ...options, signal: controller.signal });
			setTimeout(() => controller.abort(), 10);
			expect((await settled(run)).error?.code).toBe('cancelled');
		}
	});

	test('ends a run whose reader is idle', async () => {
		const controller = new AbortController();
		const model = providers.scripted([
			async (_, onDelta) => {
				for (let n = 0; n < 5_000; n++) await onDelta({ type: 'text', text: 'a' });
				return undefined;
			},
		]);
		const run = chat.run({ model: 'scripted', providers: [model], signal: controller.signal }, []);
		await run.events[Symbol.asyncIterator]().next();
		setTimeout(() => controller.abort(), 10);
		await expect(settled(run.result)).rejects.toMatchObject({ code: 'cancelled' });
	});

	test('ends a run that did not stream its reply and waits for its reader', async () => {
		const controller = new AbortController();
		const calls = Array.from({ length: 1_000 }, (_, n) => echoCall(`a${n}`));
		const chatFn = () => calling(...calls);
		const run = chat.run({ model: 'own', chatFn, signal: controller.signal }, []);
		await run.events[Symbol.asyncIterator]().next();
		setTimeout(() => controller.abort(), 10);
		await expect(settled(run.result)).rejects.toMatchObject({ code: 'cancelled' });
	});

	test('after the end changes nothing', async () => {
		const controller = new AbortController();
		const { result, events } = await settled(play(['Hi'], { signal: controller.signal }));
		controller.abort();
		expect(result?.text).toBe('Hi');
		expect(events.at(-1)?.type).toBe('done');
	});

	test('after the end of a model request does not reach the signal of the request', async () => {
		const controller = new AbortController();
		const { requests } = await settled(play(['Hi'], { signal: controller.signal }));
		controller.abort();
		expect(requests[0]?.options?.signal?.aborted).toBe(false);
	});

	test('ends the run with the reason of the abort if the reason is a RunletError', async () => {
		const signal = AbortSignal.abort(new RunletError('budget_exceeded', 'Nothing is left.'));
		const { error, events } = await settled(play(['never'], { signal }));
		expect(error?.code).toBe('budget_exceeded');
		expect(events.at(-1)).toMatchObject({ type: 'error', code: 'budget_exceeded' });
	});
});

describe('the reported usage after an abort', () => {
	const usage = { inputTokens: 10 };

	test('includes the previous turns', async () => {
		const { error } = await aborting((begun) => ({
			script: [{ ...calling(echoCall('a')), usage }],
			options: { tools: [readTool('echo', begun)] },
		}));
		expect(error).toMatchObject({ code: 'cancelled', data: { usage } });
	});

	test('includes the usage that the provider of the interrupted turn reports at the abort', async () => {
		const { error } = await aborting((begun) => ({
			script: [
				{ ...calling(echoCall('a')), usage },
				({ options }) =>
					new Promise((_, reject) => {
						const cut = () => reject(new RunletError('cancelled', 'cut', { usage }));
						options?.signal?.addEventListener('abort', cut);
						begun();
					}),
			],
			options: { tools: [readTool('echo', () => 'ok')] },
		}));
		expect(error).toMatchObject({ code: 'cancelled', data: { usage: { inputTokens: 20 } } });
	});
});
