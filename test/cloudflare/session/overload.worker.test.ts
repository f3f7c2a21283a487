/** Busy objects: which requests they refuse, and which requests they answer. */
import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test, vi } from 'vitest';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import { askLedger } from '../../../src/cloudflare/objects/ledger/api.ts';
import { RunletError } from '../../../src/core/base/errors.ts';
import { allEvents, createSession, readHistory, readObject, readState, request, send } from '../../client.ts';
import { play } from '../../script.ts';

const busy = { error: { code: 'overloaded' } };
/** The ledger keeps the budgets of a user, so the runs of a user ask the ledger. */
const ofUser = { agent: 'scripted', user: 'kim' };

/** Runs `work` while calls of the owner's ledger hang for five seconds. */
async function whileBehind(work: () => Promise<void>): Promise<void> {
	vi.useFakeTimers({ toFake: ['Date'] });
	const answer = Promise.withResolvers<void>();
	const ledger = () => env.LEDGERS.get(env.LEDGERS.idFromName('local'));
	const calls = Array.from({ length: 4 }, () => askLedger(ledger, () => answer.promise, 60_000));
	// The isolate first measures the delay of its own timers.
	await new Promise((resolve) => setTimeout(resolve));
	vi.setSystemTime(Date.now() + 5_000);
	try {
		await work();
	} finally {
		vi.useRealTimers();
		answer.resolve();
		await Promise.all(calls);
	}
}

describe('a ledger that is behind', () => {
	// This test comes first, because a ledger counts as behind for a while.
	test('gets the cost of a lease at the end of the run, because the session does not keep the lease', async () => {
		const ledger = env.LEDGERS.get(env.LEDGERS.idFromName('local'));
		await ledger.setUserCaps('lea', { daily: { tokens: 1_000_000 } });
		const readReserved = async () => (await ledger.userState('lea')).daily.reserved.tokens;
		const { id } = await (await request('/v1/sessions', { agent: 'thrifty', user: 'lea' })).json<{ id: string }>();
		play('Here.');
		await allEvents(await send(id, 'go'));
		expect(await readReserved()).toBeGreaterThan(0);
		const gate = Promise.withResolvers<void>();
		play(async (_, onDelta) => {
			await gate.promise;
			await onDelta({ type: 'text', text: 'Again.' });
			return undefined;
		});
		const sent = await send(id, 'go');
		await whileBehind(async () => {
			gate.resolve();
			await allEvents(sent);
			await expect.poll(readReserved).toBe(0);
		});
	});

	test('refuses new runs with Retry-After and stores nothing, while other requests are answered', async () => {
		const { id } = await (await request('/v1/sessions', ofUser)).json<{ id: string }>();
		await whileBehind(async () => {
			const refused = [
				await request('/v1/sessions', { ...ofUser, text: 'go' }),
				await send(id, 'go'),
				await request(`/v1/sessions/${id}/messages`, { text: 'go' }, { prefer: 'respond-async' }),
			];
			for (const response of refused) {
				expect([response.status, await response.json()]).toMatchObject([503, busy]);
				expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
			}
			expect((await request('/v1/sessions', ofUser)).status).toBe(201);
			expect((await request(`/v1/sessions/${id}/cancel`, {})).status).toBe(200);
			expect(await readHistory(id)).toEqual([]);
		});
		play('Here.');
		await allEvents(await send(id, 'go'));
		expect((await readState(id)).status).toBe('completed');
	});
});

describe('a session', () => {
	test('accepts at most 100 waiting requests, and can be read and cancelled meanwhile', async () => {
		const id = await createSession();
		const owner = { owner: 'local' };
		const sendOne = () => readObject(id).send(owner, { text: 'go' }, { delivery: 'accepted' });
		const config = await runInDurableObject(readObject(id), (one) => readConfig(Reflect.get(one, 'env')));
		const before = Object.getOwnPropertyDescriptors(config);
		const answer = Promise.withResolvers<never>();
		const readHeld = vi.fn(() => answer.promise);
		const directories = { idFromName: () => 'local', get: () => ({ readHeld }) };
		Object.assign(config, { directories, fullRooms: { mayBeFull: () => true, note: () => {} } });
		const waiting = Array.from({ length: 100 }, sendOne);
		try {
			await expect.poll(() => readHeld.mock.calls.length).toBe(100);
			const message = 'This session has too much to do now. Try again in a moment.';
			expect(await sendOne()).toMatchObject({ ok: false, error: { code: 'overloaded', message } });
			expect(await readObject(id).brief(owner)).toMatchObject({ ok: true, value: { status: 'idle' } });
			expect(await readObject(id).cancel(owner)).toMatchObject({ ok: true });
		} finally {
			answer.reject(new RunletError('overloaded', 'It is down.'));
			await Promise.all(waiting);
			Object.defineProperties(config, before);
		}
		expect(await readHistory(id)).toEqual([]);
	});

	test('refuses a request after its deadline, except for a cancel', async () => {
		const id = await createSession();
		const late = { owner: 'local', deadline: Date.now() - 1 };
		expect(await readObject(id).state(late)).toMatchObject({ ok: false, ...busy });
		const sent = await readObject(id).send(late, { text: 'go' }, { delivery: 'accepted' });
		expect(sent).toMatchObject({ ok: false, ...busy });
		expect(await readObject(id).cancel(late)).toMatchObject({ ok: true });
		expect(await readHistory(id)).toEqual([]);
	});
});
