import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { assertInTime, Loads, RetryBudget } from '../../../src/cloudflare/objects/reach.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const busy = expect.objectContaining({ code: 'overloaded', status: 503 });
const forever = (): Promise<never> => new Promise(() => {});

describe('an object', () => {
	test('performs a call before its deadline, and refuses a late call', () => {
		const deadline = Date.now() + 10;
		assertInTime(deadline);
		vi.advanceTimersByTime(10);
		expect(() => assertInTime(deadline)).toThrow(busy);
	});

	test('refuses a call before its deadline if the call needs more time than is left', () => {
		const deadline = Date.now() + 1_000;
		assertInTime(deadline);
		expect(() => assertInTime(deadline, 1_000)).toThrow(busy);
	});

	test('performs a call without a deadline', () => {
		expect(() => assertInTime(undefined, 1_000)).not.toThrow();
	});

	test('returns different retry times to different callers', () => {
		const told = Array.from({ length: 100 }, () => {
			try {
				assertInTime(Date.now());
			} catch (error) {
				return Reflect.get(Object(error), 'data').retryAfter;
			}
			return undefined;
		});
		expect(new Set(told).size).toBeGreaterThan(1);
		expect(Math.min(...told)).toBeGreaterThanOrEqual(1);
		expect(Math.max(...told)).toBeLessThanOrEqual(5);
	});
});

describe('an object that others call', () => {
	const watch = (loads: Loads, id: string, calls: number) => {
		for (let n = 0; n < calls; n++) void loads.watch(id, forever);
	};

	test('accepts any number of quick calls', () => {
		const loads = new Loads();
		watch(loads, 'a', 100);
		vi.advanceTimersByTime(500);
		expect(() => loads.assertKeepsUp('a', 'It')).not.toThrow();
	});

	test('refuses new calls while a call is late and other calls wait', () => {
		const loads = new Loads();
		watch(loads, 'a', 4);
		watch(loads, 'b', 3);
		vi.advanceTimersByTime(501);
		expect(() => loads.assertKeepsUp('a', 'It')).toThrow(busy);
		expect(() => loads.assertKeepsUp('b', 'It')).not.toThrow();
		expect(() => loads.assertKeepsUp('c', 'It')).not.toThrow();
	});

	test('accepts new calls again once only a few calls are open', async () => {
		const loads = new Loads();
		const answer = Promise.withResolvers<void>();
		const first = loads.watch('a', () => answer.promise);
		watch(loads, 'a', 3);
		vi.advanceTimersByTime(501);
		expect(() => loads.assertKeepsUp('a', 'It')).toThrow(busy);
		answer.resolve();
		await first;
		expect(() => loads.assertKeepsUp('a', 'It')).not.toThrow();
	});

	test('accepts new calls although abandoned calls never end', async () => {
		const loads = new Loads();
		watch(loads, 'a', 9);
		vi.advanceTimersByTime(501);
		await loads.watch('a', async () => {});
		vi.advanceTimersByTime(5_000);
		watch(loads, 'a', 4);
		expect(() => loads.assertKeepsUp('a', 'It')).not.toThrow();
		watch(loads, 'b', 9);
		vi.advanceTimersByTime(10_001);
		expect(() => loads.assertKeepsUp('b', 'It')).not.toThrow();
	});

	test('accepts new calls while the caller’s timers are late', () => {
		const loads = new Loads();
		vi.useRealTimers();
		const now = vi.spyOn(Date, 'now').mockReturnValue(0);
		const timers: (() => void)[] = [];
		vi.spyOn(globalThis, 'setTimeout').mockImplementation((work) => timers.push(work) as never);
		watch(loads, 'a', 9);
		now.mockReturnValue(100);
		for (const timer of timers) timer();
		now.mockReturnValue(500 + 10 * 100);
		expect(() => loads.assertKeepsUp('a', 'It')).not.toThrow();
		now.mockReturnValue(501 + 10 * 100);
		expect(() => loads.assertKeepsUp('a', 'It')).toThrow(busy);
		vi.restoreAllMocks();
	});

	test('accepts new calls if all earlier calls ended in time', async () => {
		const loads = new Loads();
		await loads.watch('a', async () => {});
		watch(loads, 'a', 4);
		expect(() => loads.assertKeepsUp('a', 'It')).not.toThrow();
	});
});

test('allows a tenth of all calls as retries, and at most 50 retries at once', () => {
	const budget = new RetryBudget();
	let few = 0;
	while (budget.spend()) few++;
	let more = 0;
	for (let n = 0; n < 1_000; n++) {
		budget.earn();
		if (budget.spend()) more++;
	}
	expect(few).toBe(50);
	expect(more).toBeLessThanOrEqual(100);
	expect(more).toBeGreaterThan(90);
});
