import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ChatOptions, chat, providers, RunletError } from '../../../src/core/index.ts';
import { calling, echo, echoCall, fail, finish, httpError, only, play, type Script, settled } from './support.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const networkError = Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } });

/** Plays a script. Returns how many milliseconds each wait took. */
async function timed(script: Script, options: Parameters<typeof play>[1] = {}) {
	const start = Date.now();
	const played = await settled(play(script, options));
	return { ...played, waited: Date.now() - start };
}

describe('a temporary failure before the first delta', () => {
	test.each([
		['408', httpError(408)],
		['409', httpError(409)],
		['429', httpError(429)],
		['500', httpError(500)],
		['502', httpError(502)],
		['503', httpError(503)],
		['529', httpError(529)],
		['a lost connection, by its code', Object.assign(new Error('boom'), { code: 'ECONNRESET' })],
		['a lost connection, as fetch reports it', networkError],
		['a lost connection, as workerd reports it', new Error('Network connection lost.')],
		['rate_limited', new RunletError('rate_limited', 'slow down')],
		['overloaded', new RunletError('overloaded', 'busy')],
		['timeout', new RunletError('timeout', 'late')],
		['network', new RunletError('network', 'lost')],
		['interrupted', new RunletError('interrupted', 'cut')],
		['a stream that broke off', undefined],
	])('%s is retried', async (_, failure) => {
		const { result, requests, waited } = await timed([failure, 'Hi']);
		expect(result?.text).toBe('Hi');
		expect(requests).toHaveLength(2);
		expect(waited).toBeGreaterThan(0);
	});

	test('is retried in a plain chatFn', async () => {
		let asked = 0;
		const chatFn = () => {
			if (++asked === 1) throw httpError(503);
			return { text: 'Hi', stopReason: 'end_turn' };
		};
		expect(await settled(chat.runLoop({ model: 'any', chatFn }, 'Hello'))).toBe('Hi');
	});
});

describe('a permanent failure', () => {
	test.each([
		['400', httpError(400), 'invalid_request'],
		['401', httpError(401), 'auth'],
		['403', httpError(403), 'auth'],
		['404', httpError(404), 'invalid_request'],
		['422', httpError(422), 'invalid_request'],
		['auth', new RunletError('auth', 'no key'), 'auth'],
		['context_overflow', new RunletError('context_overflow', 'too long'), 'context_overflow'],
		['content_filtered', new RunletError('content_filtered', 'no'), 'content_filtered'],
		['a spent quota, by its code', httpError(429, { code: 'insufficient_quota' }), 'rate_limited'],
		['a bug', new TypeError('x is not a function'), undefined],
	])('%s is not retried', async (_, failure, code) => {
		const { error, requests } = await timed([failure, 'never'], { fallbacks: ['scripted-2'] });
		expect(requests).toHaveLength(1);
		if (code !== undefined) expect(error?.code).toBe(code);
	});
});

describe('the number of retries', () => {
	const busy = httpError(503);

	test('is 2 by default', async () => {
		expect((await timed([busy, busy, 'Hi'])).result?.text).toBe('Hi');
		const { error, requests } = await timed([busy, busy, busy, 'never']);
		expect(error?.code).toBe('overloaded');
		expect(requests).toHaveLength(3);
	});

	test('is maxRetries, even if that is 0', async () => {
		expect((await timed([busy, 'never'], { maxRetries: 0 })).requests).toHaveLength(1);
		expect((await timed([busy, busy, busy, busy, 'Hi'], { maxRetries: 4 })).result?.text).toBe('Hi');
	});

	test('starts at zero in each turn', async () => {
		const script = [busy, busy, calling(echoCall('a')), busy, busy, 'Hi'];
		expect((await timed(script, { tools: [echo] })).result?.text).toBe('Hi');
	});
});

describe('the readers of a run', () => {
	test('get an event before each pause, and the turn keeps the number of failed requests', async () => {
		const busy = httpError(503, { headers: { 'retry-after': '4' } });
		const turns: unknown[] = [];
		const onMessage: ChatOptions['onMessage'] = (_, { turn }) => void turns.push(turn?.retries);
		const limited = httpError(429, { headers: { 'retry-after': '2' } });
		const { events } = await timed([busy, limited, 'Hi'], { onMessage });
		const about = { type: 'retry', model: 'scripted', of: 2 } as const;
		expect(only(events, 'retry')).toEqual([
			{ ...about, code: 'overloaded', retry: 1, afterMs: 4_000 },
			{ ...about, code: 'rate_limited', retry: 2, afterMs: 2_000 },
		]);
		expect(turns).toEqual([2]);
	});

	test('get no such event if the request is not repeated', async () => {
		expect(only((await timed([httpError(401)])).events, 'retry')).toEqual([]);
	});
});

describe('the wait before a retry', () => {
	test('grows with each retry', async () => {
		const busy = httpError(503);
		const random = vi.spyOn(Math, 'random').mockReturnValue(0.5);
		const one = (await timed([busy, 'Hi'])).waited;
		const two = (await timed([busy, busy, 'Hi'])).waited - one;
		expect(two).toBeGreaterThanOrEqual(1.9 * one);
		random.mockRestore();
	});

	test('is random, so that two runs do not retry together', async () => {
		const waits = new Set<number>();
		for (let n = 0; n < 8; n++) waits.add((await timed([httpError(503), 'Hi'])).waited);
		expect(waits.size).toBeGreaterThan(1);
	});

	test.each([
		['retry-after in seconds, in Headers', httpError(429, { headers: new Headers({ 'retry-after': '7' }) }), 7_000],
		['retry-after in seconds, in a record', httpError(429, { headers: { 'retry-after': '7' } }), 7_000],
		['retryAfter of a RunletError', new RunletError('rate_limited', 'wait', { retryAfter: 1.5 }), 1_500],
	])('is the time that the provider requests: %s', async (_, failure, ms) => {
		expect((await timed([failure, 'Hi'])).waited).toBe(ms);
	});

	test('is the time that the provider requests: retry-after as a date', async () => {
		vi.setSystemTime(new Date('2026-11-21T12:00:00Z'));
		const headers = new Headers({ 'retry-after': 'Sat, 21 Nov 2026 12:00:09 GMT' });
		expect((await timed([httpError(503, { headers }), 'Hi'])).waited).toBe(9_000);
	});

	test.each([
		['in an HTTP error', (seconds: number) => httpError(429, { headers: { 'retry-after': String(seconds) } })],
		['in the data of a RunletError', (retryAfter: number) => new RunletError('overloaded', 'wait', { retryAfter })],
	])('is at most a minute; if the provider requests more, the call fails at once: %s', async (_, failure) => {
		const waited = await timed([failure(60), 'Hi']);
		expect([waited.result?.text, waited.waited]).toEqual(['Hi', 60_000]);
		const refused = await timed([failure(61), 'never']);
		expect([refused.error?.data?.retryAfter, refused.waited, refused.requests.length]).toEqual([61, 0, 1]);
		const other = await timed([failure(3_600), 'Hi'], { fallbacks: ['scripted-b'] });
		expect([other.result?.text, other.waited]).toEqual(['Hi', 0]);
		expect(other.requests.map(({ model }) => model)).toEqual(['scripted', 'scripted-b']);
	});

	test('is zero if the requested date is in the past', async () => {
		const headers = new Headers({ 'retry-after': 'Sat, 21 Nov 2020 12:00:09 GMT' });
		expect((await timed([httpError(503, { headers }), 'Hi'])).waited).toBe(0);
	});
});

test('the usage includes failed attempts', async () => {
	const usage = { inputTokens: 10 };
	const failed = new RunletError('overloaded', 'busy', { usage });
	expect((await timed([failed, { text: 'Hi', usage }])).result?.usage).toEqual({ inputTokens: 20 });
	const { error } = await timed([failed, failed, failed]);
	expect(error?.data?.usage).toEqual({ inputTokens: 30 });
});

test('the error of a failed request names the model and the status, and has the original error as its cause', async () => {
	const failure = httpError(400);
	const { error } = await settled(fail([failure]));
	expect(error.message).toContain('scripted');
	expect(error.data).toMatchObject({ status: 400 });
	expect(error.cause).toBe(failure);
});

describe('fallbacks', () => {
	const busy = httpError(503);
	const models = ['scripted-b', 'scripted-c'];

	test('are tried in order when a model cannot be reached', async () => {
		const { result, requests, events } = await timed([busy, busy, 'Hi'], { fallbacks: models, maxRetries: 0 });
		expect(requests.map(({ model }) => model)).toEqual(['scripted', ...models]);
		expect(result?.steps[0]?.model).toBe('scripted-c');
		expect(only(events, 'warning')).toHaveLength(2);
	});

	test('are tried after the retries of the previous model', async () => {
		const { requests } = await timed([busy, busy, 'Hi'], { fallbacks: models, maxRetries: 1 });
		expect(requests.map(({ model }) => model)).toEqual(['scripted', 'scripted', 'scripted-b']);
	});

	test('are not tried after a permanent error', async () => {
		const { requests, error } = await timed([busy, httpError(401), 'never'], { fallbacks: models, maxRetries: 0 });
		expect(requests.map(({ model }) => model)).toEqual(['scripted', 'scripted-b']);
		expect(error?.code).toBe('auth');
	});

	test('end the run with the error of the last model if all models fail', async () => {
		const { error } = await timed([busy, busy, httpError(429)], { fallbacks: models, maxRetries: 0 });
		expect(error?.code).toBe('rate_limited');
	});

	test('apply to one turn: the next turn begins with the first model again', async () => {
		const script = [busy, calling(echoCall('a')), 'Hi'];
		const { requests } = await timed(script, { fallbacks: models, maxRetries: 0, tools: [echo] });
		expect(requests.map(({ model }) => model)).toEqual(['scripted', 'scripted-b', 'scripted']);
	});

	test('add the usage of all failed models to the turn, the run and the error', async () => {
		const spending = (inputTokens: number) => new RunletError('overloaded', 'busy', { usage: { inputTokens } });
		const options = { fallbacks: models, maxRetries: 1 };
		const last = { text: 'Hi', usage: { inputTokens: 10_000 } };
		const script = [spending(1), spending(10), spending(100), spending(1_000), last];
		const { result } = await timed(script, options);
		expect(result?.usage).toEqual({ inputTokens: 11_111 });
		expect(result?.steps[0]?.usage).toEqual({ inputTokens: 11_111 });
		const lost = await timed([...script.slice(0, 4), spending(10_000), spending(100_000)], options);
		expect(lost.error?.data?.usage).toEqual({ inputTokens: 111_111 });
	});

	test('are not used if the model answers', async () => {
		const { requests } = await settled(finish(['Hi'], { fallbacks: models }));
		expect(requests).toHaveLength(1);
	});
});

test('a fallback whose provider lacks a tool of the run is left out with a warning', async () => {
	const able = providers.scripted([httpError(503), 'Hi']);
	const unable = { ...providers.scripted([]), variant: 'unable', detect: (model: string) => model === 'unable' };
	const computeMost = () => {
		throw new RunletError('invalid_request', 'providerTools: Unable has no web_search.');
	};
	const { events, result } = await finish([], {
		model: 'scripted',
		providers: [able, { ...unable, computeMost }],
		providerTools: ['web_search'],
		fallbacks: ['unable', 'scripted-2'],
		maxRetries: 0,
	});
	expect(result.text).toBe('Hi');
	expect(only(events, 'warning').map(({ code, message }) => [code, message])).toEqual([
		['fallback_not_ready', 'The fallback unable is left out. providerTools: Unable has no web_search.'],
		['fallback', expect.stringContaining('asking scripted-2')],
	]);
});
