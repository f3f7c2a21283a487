import { env } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { reach } from '../../../src/cloudflare/objects/reach.ts';
import { RunletError } from '../../../src/core/base/errors.ts';
import { kvResolver } from '../../../src/core/skill/index.ts';
import worker from '../../worker.ts';

const marked = (...marks: readonly string[]) => {
	const error = new Error('of the platform');
	for (const mark of marks) Reflect.set(error, mark, true);
	return error;
};
const forever = (): Promise<never> => new Promise(() => {});

beforeEach(() => void vi.spyOn(console, 'warn').mockImplementation(() => {}));
afterEach(() => vi.restoreAllMocks());

describe('a call to another object', () => {
	test.each([
		['that failed with the mark `retryable` is repeated if the call is idempotent', ['retryable'], true, 2],
		['is not repeated if the call is not idempotent', ['retryable'], false, 1],
		['to an overloaded object is not repeated', ['retryable', 'overloaded'], true, 1],
		['that failed without the mark `retryable` is not repeated', [], true, 1],
	])('%s', async (_, marks, isSafe, most) => {
		let calls = 0;
		const call = async (): Promise<string> => {
			if (++calls === 1) throw marked(...marks);
			return 'answer';
		};
		const answer = await reach(call, { what: 'It', isSafe }).catch((error) => error);
		if (most === 2) expect(answer).toBe('answer');
		else expect(answer).toMatchObject({ code: 'overloaded', status: 503, data: { retryAfter: 5 } });
		expect(calls).toBe(most);
	});

	test('rethrows an error that the caller can correct', async () => {
		const wrong = new RunletError('invalid_request', 'No.');
		const call = (): Promise<never> => {
			throw wrong;
		};
		await expect(reach(call, { what: 'It', isSafe: true })).rejects.toBe(wrong);
	});

	test('has the same deadline in each attempt', async () => {
		const deadlines: number[] = [];
		const call = async (deadline: number): Promise<string> => {
			deadlines.push(deadline);
			if (deadlines.length === 1) throw marked('retryable');
			return 'answer';
		};
		const before = Date.now();
		await reach(call, { what: 'It', isSafe: true, timeoutMs: 1_000 });
		expect(deadlines).toHaveLength(2);
		expect(deadlines[0]).toBe(deadlines[1]);
		expect(deadlines[0]).toBeGreaterThanOrEqual(before + 1_000);
		expect(deadlines[0]).toBeLessThanOrEqual(Date.now() + 1_000);
	});

	test('is not repeated if the retries would exceed a tenth of all calls', async () => {
		let calls = 0;
		const call = async (): Promise<never> => {
			calls++;
			throw marked('retryable');
		};
		const fail = () => reach(call, { what: 'It', isSafe: true }).catch(() => {});
		// The first calls use up the retries that are allowed at once.
		for (let n = 0; n < 50; n++) await fail();
		calls = 0;
		for (let n = 0; n < 20; n++) await fail();
		expect(calls).toBe(22);
		for (let n = 0; n < 500; n++) await reach(async () => {}, { what: 'It', isSafe: true });
	});

	test('ends in time if it hangs', async () => {
		const late = reach(forever, { what: 'It', isSafe: true, timeoutMs: 5 });
		await expect(late).rejects.toMatchObject({ code: 'overloaded' });
	});
});

test('a skill whose KV read hangs is left out with a warning', async () => {
	const problems: string[] = [];
	const options = { timeoutMs: 5, onProblem: (_: string, problem: string) => void problems.push(problem) };
	const resolver = kvResolver({ get: forever }, options);
	expect(await resolver.listFn({ messages: [], model: 'm' })).toEqual([]);
	expect(await resolver.readFn('any')).toBeUndefined();
	expect(problems).toContain('not_read');
});

describe('every route', () => {
	const id = 'a'.repeat(64);
	const post = (path: string, body: object = {}, headers: Record<string, string> = {}) =>
		[
			path,
			{ method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } },
		] as const;
	const ui = { id: 'chat', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'hi' }] }] };
	const routes = [
		post('/v1/sessions', { agent: 'scripted' }),
		post('/v1/sessions', { agent: 'scripted', text: 'hi' }, { 'idempotency-key': 'k' }),
		[`/v1/sessions/${id}`, {}],
		[`/v1/sessions/${id}`, { method: 'DELETE' }],
		[`/v1/sessions/${id}/messages`, {}],
		[`/v1/sessions/${id}/events`, {}],
		post(`/v1/sessions/${id}/messages`, { text: 'hi' }),
		post(`/v1/sessions/${id}/token`),
		post(`/v1/sessions/${id}/answer`, { text: 'yes' }),
		post(`/v1/sessions/${id}/tool-results`, [{ id: 'a', output: 1 }]),
		post(`/v1/sessions/${id}/continue`),
		post(`/v1/sessions/${id}/step`),
		post(`/v1/sessions/${id}/cancel`),
		post('/v1/chat/completions', { model: 'scripted', messages: [{ role: 'user', content: 'hi' }] }),
		post('/v1/messages', { model: 'scripted', messages: [{ role: 'user', content: 'hi' }] }),
		post('/v1/ui/scripted', ui),
		['/v1/ui/scripted/chat/stream', {}],
		['/v1/ui/scripted/chat/messages', {}],
		['/v1/sessions', {}],
	] as const;

	test.each([['retryable'], ['overloaded'], ['nothing']])(
		'answers 503, or 529 to Anthropic’s clients, if its object fails with the mark %s, or 406 if a run has possibly begun',
		async (mark) => {
			const objects = {
				...env.SESSIONS,
				newUniqueId: () => id,
				idFromName: () => id,
				idFromString: () => id,
				get: () =>
					new Proxy(
						{},
						{
							get: () => async () => {
								throw marked(mark);
							},
						},
					),
			};
			for (const [path, init] of routes) {
				const bindings = { ...env, SESSIONS: objects, DIRECTORIES: objects };
				const response = await worker.request(`http://localhost${path}`, init, bindings);
				// These clients retry by themselves: a run that may have begun must not begin twice.
				const isLost = ['/v1/chat/completions', '/v1/messages'].includes(path) && mark !== 'overloaded';
				const busy = path === '/v1/messages' ? 529 : 503;
				expect([path, response.status]).toEqual([path, isLost ? 406 : busy]);
				expect(response.headers.get('retry-after')).toBe(isLost ? null : '5');
			}
		},
	);
});
