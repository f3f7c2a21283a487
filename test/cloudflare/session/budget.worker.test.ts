import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import { RunletError } from '../../../src/core/base/errors.ts';
import type { ScriptedFn } from '../../../src/core/providers/scripted.ts';
import {
	allEvents,
	createSession,
	readEvents,
	readObject,
	readState,
	readText,
	request,
	restart,
	send,
} from '../../client.ts';
import { play } from '../../script.ts';

afterEach(() => void vi.restoreAllMocks());

const stream = { accept: 'text/event-stream' };
const usage = (inputTokens: number, outputTokens: number, costUsd = 0) => ({ inputTokens, outputTokens, costUsd });
const make = async (body: object): Promise<string> => {
	const response = await request('/v1/sessions', { agent: 'scripted', ...body });
	return (await response.json<{ id: string }>()).id;
};
/** Provider metadata with a text of this length. */
const keep = (length: number) => ({ scripted: { content: [{ type: 'text', text: 'word '.repeat(length / 5) }] } });
const raise = (id: string, budget: object) => request(`/v1/sessions/${id}`, { budget }, {}, 'PATCH');
const continued = (id: string) => request(`/v1/sessions/${id}/continue`, {}, stream);

describe('the budget of a session', () => {
	test('is shown as spent, reserved and left, during a run and in its last event', async () => {
		const gate = Promise.withResolvers<void>();
		const id = await createSession('thrifty');
		play(async () => {
			await gate.promise;
			return { text: 'done', usage: usage(40, 10) };
		});
		const response = await send(id, 'go');
		const { budget } = await readState(id);
		expect(budget).toMatchObject({ limit: { tokens: 1_000 }, spent: { tokens: 0 } });
		expect(budget.reserved.tokens).toBeGreaterThan(100);
		gate.resolve();
		const after = { limit: { tokens: 1_000 }, spent: { tokens: 50 }, reserved: { tokens: 0 }, left: { tokens: 950 } };
		expect((await allEvents(response)).at(-1)?.data).toMatchObject({ budget: after });
		expect((await readState(id)).budget).toMatchObject(after);
	});

	test('stops a run before a request over the budget, and the run continues after a raise', async () => {
		const id = await make({ budget: { tokens: 200 }, agent: 'thrifty' });
		const { requests } = play(
			{ toolCalls: [{ id: 'a', name: 'echo', input: { text: 'hi' } }], usage: usage(60, 60) },
			{ text: 'done', usage: usage(80, 10) },
		);
		const last = (await allEvents(await send(id, 'go'))).at(-1);
		expect(last).toMatchObject({ type: 'error', data: { code: 'budget_exceeded', data: { scope: 'session' } } });
		expect(requests).toHaveLength(1);
		expect(await readState(id)).toMatchObject({ status: 'error', budget: { spent: { tokens: 120 } } });
		expect((await allEvents(await continued(id))).at(-1)?.type).toBe('error');
		expect(await (await raise(id, { tokens: 2_000 })).json()).toMatchObject({ budget: { left: { tokens: 1_880 } } });
		expect(readText(await allEvents(await continued(id)))).toBe('done');
		expect(requests).toHaveLength(2);
	});

	test('is part of the response to a first message whose run waits', async () => {
		play({ toolCalls: [{ id: 'm', name: 'by_hand', input: {} }], usage: usage(60, 40) });
		const created = await request('/v1/sessions', { agent: 'scripted', text: 'go' });
		expect(await created.json()).toMatchObject({ status: 'awaiting_tools', budget: { spent: { tokens: 100 } } });
	});

	test('gives the status 402 to a refused request that is not streamed', async () => {
		const id = await make({ budget: { tokens: 1 } });
		play('never');
		const refused = await request(`/v1/sessions/${id}/messages`, { text: 'go' });
		expect(refused.status).toBe(402);
		expect(await refused.json()).toMatchObject({
			error: { code: 'budget_exceeded', message: expect.stringContaining('PATCH') },
		});
	});

	test('limits a reply to the rest of the budget', async () => {
		const id = await make({ budget: { tokens: 2_000 } });
		const { requests } = play({ text: 'done', usage: usage(10, 10) });
		await allEvents(await send(id, 'go'));
		const asked = requests[0]?.options?.maxOutputTokens ?? 0;
		expect(asked).toBeGreaterThan(16);
		expect(asked).toBeLessThan(2_000);
	});

	test('can be in dollars, and then refuses a model without a known price', async () => {
		const id = await make({ budget: { usd: 2 } });
		play({ text: 'one', usage: usage(100, 100, 0.2) });
		await allEvents(await send(id, 'go'));
		expect((await readState(id)).budget).toMatchObject({ spent: { usd: 0.2 }, left: { usd: 1.8 } });
		const { requests } = play('never');
		const unpriced = await make({ budget: { usd: 2 }, model: 'scripted-unpriced' });
		const last = (await allEvents(await send(unpriced, 'go'))).at(-1);
		expect(last).toMatchObject({ data: { code: 'budget_exceeded', message: expect.stringContaining('tokens') } });
		expect(requests).toHaveLength(0);
	});

	test.each([
		['nothing for a refused request', Object.assign(new Error('no'), { status: 401 }), 0, 0],
		['the reported cost of a failed request', new RunletError('refused', 'No.', { usage: usage(7, 0) }), 7, 7],
		['the input of a request that broke off before any answer', undefined, 10, 100],
	])('is charged %s', async (_, failure, least, most) => {
		const id = await createSession('thrifty');
		play(failure);
		expect((await allEvents(await send(id, 'go'))).at(-1)?.type).toBe('error');
		const { budget } = await readState(id);
		expect(budget).toMatchObject({ reserved: { tokens: 0 } });
		expect(budget.spent.tokens).toBeGreaterThanOrEqual(least);
		expect(budget.spent.tokens).toBeLessThanOrEqual(most);
	});

	test.each([[Number.NaN], [-5], [Number.POSITIVE_INFINITY]])('ignores a usage of %d', async (outputTokens) => {
		const id = await createSession('thrifty');
		play({ text: 'done', usage: { inputTokens: outputTokens, outputTokens } });
		expect((await allEvents(await send(id, 'go'))).at(-1)?.type).toBe('done');
		expect((await readState(id)).budget.spent.tokens).toBeGreaterThan(10);
	});

	test('charges the estimate for a reply without a reported cost', async () => {
		const id = await createSession('thrifty');
		play('done');
		await allEvents(await send(id, 'go'));
		const { tokens } = (await readState(id)).budget.spent;
		expect(tokens).toBeGreaterThan(10);
		expect(tokens).toBeLessThan(100);
	});

	test.each([[{}], [{ budget: { tokens: 1_000_000 } }]])(
		'is charged for the streamed part of a cancelled reply, and not for the whole reservation (%j)',
		async (budget) => {
			const id = await make(budget);
			const shown = Promise.withResolvers<void>();
			play(async (_, onDelta) => {
				await onDelta({ type: 'text', text: 'word '.repeat(80) });
				shown.resolve();
				return new Promise(() => {});
			});
			await send(id, 'word '.repeat(80));
			await shown.promise;
			await request(`/v1/sessions/${id}/cancel`, {});
			const { tokens } = (await readState(id)).budget.spent;
			expect(tokens).toBeGreaterThan(200);
			// The cost of the agent's tools is included.
			expect(tokens).toBeLessThan(2_000);
		},
	);

	test('is not exceeded by a message in Chinese', async () => {
		const id = await make({ budget: { tokens: 40_000 } });
		const { requests } = play('never');
		expect((await allEvents(await send(id, '中'.repeat(100_000)))).at(-1)).toMatchObject({
			data: { code: 'budget_exceeded' },
		});
		expect(requests).toHaveLength(0);
	});

	test('is not exceeded by the provider metadata of a message', async () => {
		const id = await make({ budget: { tokens: 60_000 } });
		const { requests } = play({ text: 'one', usage: usage(10, 10), providerMetadata: keep(1_500_000) }, 'never');
		await allEvents(await send(id, 'go'));
		expect((await allEvents(await send(id, 'on'))).at(-1)).toMatchObject({ data: { code: 'budget_exceeded' } });
		expect(requests).toHaveLength(1);
	});

	test('is charged for an interrupted request before the model is asked again', async () => {
		const id = await make({ budget: { tokens: 40_000 } });
		const { requests } = play(() => new Promise(() => {}), { text: 'done', usage: usage(10, 10) });
		for await (const event of readEvents(await send(id, 'go'))) if (event.type === 'run.started') break;
		await expect.poll(() => requests.length).toBe(1);
		const { budget } = await readState(id);
		await restart(id);
		await expect.poll(async () => (await readState(id)).status).toBe('completed');
		const { tokens } = (await readState(id)).budget.spent;
		expect(tokens).toBeGreaterThan(20 + 10);
		expect(tokens).toBeLessThan(budget.reserved.tokens);
	});

	test.each([
		[{ tokens: -1 }, 'budget.tokens'],
		[{ tokens: 1.5 }, 'budget.tokens'],
		[{ usd: 'much' }, 'budget.usd'],
		[{ euros: 1 }, 'budget.euros'],
		[[], 'budget'],
		[{ usd: 1e308 }, 'budget.usd'],
	])('cannot be %j, and the error names the field', async (budget, field) => {
		const created = await request('/v1/sessions', { agent: 'scripted', budget });
		expect(created.status).toBe(400);
		expect(await created.json()).toMatchObject({ error: { data: { field } } });
		const changed = await raise(await createSession(), budget);
		expect(changed.status).toBe(400);
		expect(await changed.json()).toMatchObject({ error: { data: { field } } });
	});
});

describe("the budget of an owner's day", () => {
	/** Runs `work` with a limit of the day. The Worker under test has no such limit. */
	const limited = async (work: () => Promise<void>, more: object = {}): Promise<void> => {
		const own = await runInDurableObject(readObject(await createSession()), (one) =>
			readConfig(Reflect.get(one, 'env')),
		);
		const before = Object.getOwnPropertyDescriptors(own);
		Object.assign(own, { findDayBudget: () => ({ tokens: 100_000 }) }, more);
		await work().finally(() => Object.defineProperties(own, before));
	};
	const readDay = async (id: string) => Object((await readState(id)).dayBudget).spent?.tokens;

	test('counts both sessions if a session is deleted and created again under its key', () =>
		limited(async () => {
			const before = (await readDay(await createSession())) ?? 0;
			for (const tokens of [before + 42, before + 84]) {
				const made = await request('/v1/sessions', { agent: 'thrifty' }, { 'idempotency-key': 'again' });
				const { id } = await made.json<{ id: string }>();
				play({ text: 'done', usage: usage(40, 2) });
				await allEvents(await send(id, 'go'));
				// The alarm gives back the rest of the lease.
				await runDurableObjectAlarm(readObject(id));
				await expect.poll(() => readDay(id)).toBe(tokens);
				await request(`/v1/sessions/${id}`, {}, {}, 'DELETE');
			}
		}));

	test('is not exceeded by twelve simultaneous runs whose model charges for each byte', () =>
		limited(async () => {
			const ids = await Promise.all(Array.from({ length: 12 }, () => createSession('thrifty')));
			await Promise.all(ids.map((id) => raise(id, { tokens: 1_000_000 })));
			const before = (await readDay(ids[0] ?? '')) ?? 0;
			play(...ids.map(() => ({ text: 'one', usage: usage(10, 1), providerMetadata: keep(80_000) })));
			await Promise.all(ids.map(async (id) => allEvents(await send(id, 'go'))));
			const bills: ScriptedFn = ({ messages, system = '' }) => {
				const bytes = new TextEncoder().encode(system + JSON.stringify(messages)).length;
				return { text: 'two', usage: usage(Math.ceil(bytes / 4), 1) };
			};
			const { requests } = play(...ids.map(() => bills));
			const ends = await Promise.all(ids.map(async (id) => (await allEvents(await send(id, 'on'))).at(-1)?.type));
			expect(requests.length).toBeGreaterThan(1);
			expect(ends.filter((type) => type === 'error').length).toBe(12 - requests.length);
			expect(ends).toContain('error');
			await Promise.all(ids.map((id) => runDurableObjectAlarm(readObject(id))));
			await expect.poll(() => readDay(ids[0] ?? '')).toBeGreaterThan(before + 20_000);
			expect(await readDay(ids[0] ?? '')).toBeLessThanOrEqual(100_000);
		}));

	test('makes runs wait while the ledger is unreachable, and a waiting run can be read and cancelled', () => {
		let isDown = true;
		const get = (id: DurableObjectId) => {
			if (isDown) throw new Error('The ledger is down.');
			return env.LEDGERS.get(id);
		};
		return limited(
			async () => {
				const warned = vi.spyOn(console, 'warn').mockImplementation(() => {});
				const [stopped, patient] = [await createSession('thrifty'), await createSession('thrifty')];
				const { requests } = play({ text: 'done', usage: usage(40, 2) });
				await send(stopped, 'go');
				const answer = await send(patient, 'go');
				await expect.poll(() => warned.mock.calls.length).toBeGreaterThan(2);
				expect(await readState(stopped)).toMatchObject({ status: 'running' });
				expect((await request(`/v1/sessions/${stopped}/cancel`, {})).status).toBe(200);
				expect(await readState(stopped)).toMatchObject({ status: 'idle', run: { status: 'cancelled' } });
				expect(requests).toHaveLength(0);
				isDown = false;
				expect(readText(await allEvents(answer))).toBe('done');
			},
			{ ledgers: { idFromName: (name: string) => env.LEDGERS.idFromName(name), get } },
		);
	});

	test('of a million tokens allows 150 simultaneous runs, and is not exceeded', () =>
		limited(
			async () => {
				const everyoneIsThere = Promise.withResolvers<void>();
				const caps: (number | undefined)[] = [];
				const waits: ScriptedFn = async ({ options }) => {
					if (caps.push(options?.maxOutputTokens) === 150) everyoneIsThere.resolve();
					await everyoneIsThere.promise;
					return { text: 'done', usage: usage(400, 600) };
				};
				play(...Array.from({ length: 150 }, () => waits));
				const start = { agent: 'scripted', text: 'word '.repeat(400) };
				const ends = await Promise.all(
					Array.from({ length: 150 }, async () => {
						let answer = await request('/v1/sessions', start, stream);
						// On a busy machine the ledger may be late. Its 503 is no budget error.
						while (answer.status === 503) answer = await request('/v1/sessions', start, stream);
						return (await allEvents(answer)).at(-1)?.type;
					}),
				);
				expect(ends.filter((type) => type === 'done')).toHaveLength(150);
				expect(caps.filter((cap) => cap !== undefined && cap < 16_384).length).toBeGreaterThan(100);
			},
			{ findDayBudget: () => ({ tokens: 1_000_000 }) },
		));
});
