/** Sessions with a spent budget: a request that would begin a run is refused before anything is stored. */
import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import type { Limit } from '../../../src/cloudflare/objects/budget.ts';
import {
	allEvents,
	createSession,
	readHistory,
	readObject,
	readState,
	readText,
	request,
	restart,
	send,
} from '../../client.ts';
import { countWork } from '../../rows.ts';
import { play } from '../../script.ts';
import { connect } from '../mcp/client.ts';
import { deliver } from '../wire/protocols/webhooks/deliver.ts';

const stream = { accept: 'text/event-stream' };
const large = 'word '.repeat(20_000);
const said = (id: string, text: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] });
const change = (id: string, budget: Limit) => request(`/v1/sessions/${id}`, { budget }, {}, 'PATCH');
const say = (id: string, more: object = {}, headers: Record<string, string> = {}) =>
	request(`/v1/sessions/${id}/messages`, { text: large, ...more }, headers);

/** The rows of a session's tables, and the bytes of its storage. */
function readStored(id: string) {
	return runInDurableObject(readObject(id), (_, { storage: { sql } }) => {
		const tables = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
		const rows = tables
			.filter(({ name }) => !name.startsWith('_cf_'))
			.map(({ name }) => [name, sql.exec<{ n: number }>(`SELECT COUNT(*) AS n FROM "${name}"`).one().n] as const);
		return { bytes: sql.databaseSize, rows: Object.fromEntries(rows) };
	});
}

/** Spends the budget of a session, so that its next run is refused. */
async function spend(id: string, text = 'go'): Promise<void> {
	await change(id, { tokens: 1 });
	await allEvents(await send(id, text));
	expect(await readState(id)).toMatchObject({ status: 'error', error: { code: 'budget_exceeded' } });
}

/** Sends a request in one way, and returns its status or its error. */
type Way = (id: string) => Promise<unknown>;

const ways: Readonly<Record<string, Way>> = {
	'a message that waits for its result': (id) => say(id),
	'a message whose events are read': (id) => say(id, {}, stream),
	'a message whose result nobody waits for': (id) => say(id, {}, { prefer: 'respond-async' }),
	'a message with its own Idempotency-Key': (id) => say(id, {}, { 'idempotency-key': crypto.randomUUID() }),
	'a steering message': (id) => say(id, { whenBusy: 'steer' }),
	'a message with a file': (id) =>
		say(id, { attachments: [{ name: 'a.txt', type: 'text/plain', size: large.length, contentText: large }] }),
	'a chat completion': (id) => {
		const messages = [{ role: 'user', content: large }];
		return request('/v1/chat/completions', { model: 'scripted', messages }, { 'runlet-session': id });
	},
	'a message over MCP': async (id) => {
		const client = await connect('/mcp/scripted');
		const asked = client.callTool({ name: 'agent_ask', arguments: { session: id, text: large } });
		await expect(asked).rejects.toMatchObject({ data: { code: 'budget_exceeded', scope: 'session' } });
		return { status: 402 };
	},
	'a message of a schedule': async (id) => {
		const input = { text: large, transport: 'schedule', isPatient: true };
		const once = { key: crypto.randomUUID(), request: 'schedule' };
		const { sessions } = readConfig({ ...env });
		const session = sessions.get(sessions.idFromString(id));
		const asked = await session.send({ owner: 'local' }, input, { delivery: 'accepted', once });
		return { status: asked.ok ? 202 : asked.error.code === 'budget_exceeded' ? 402 : 500 };
	},
};

describe('a session whose budget is spent', () => {
	test.each(Object.entries(ways))('refuses %s, and stores nothing', async (_, enter) => {
		const id = await createSession();
		const { requests } = play('never');
		await spend(id);
		const before = await readStored(id);
		for (let n = 0; n < 20; n++) expect(await enter(id)).toMatchObject({ status: 402 });
		expect(await readStored(id)).toEqual(before);
		expect(requests).toHaveLength(0);
	});

	test('refuses a post of a page, and stores nothing', async () => {
		const post = (n: number) => request('/v1/ui/scripted', { id: 'poor-page', messages: [said(`m${n}`, large)] });
		play('Hello.');
		const first = await post(0);
		await first.text();
		const id = first.headers.get('runlet-session') ?? '';
		await spend(id);
		const before = await readStored(id);
		for (let n = 1; n <= 20; n++) expect((await post(n)).status).toBe(402);
		expect(await readStored(id)).toEqual(before);
	});

	test('refuses a webhook with a status that makes its sender retry, and stores nothing', async () => {
		const event = (text: string) => deliver({ message: { session: 'poor-hook', text } });
		play('Hello.');
		const { sessionId } = await (await event('go')).json<{ sessionId: string }>();
		await expect.poll(async () => (await readState(sessionId)).status).toBe('completed');
		await spend(sessionId);
		const before = await readStored(sessionId);
		for (let n = 0; n < 20; n++) expect((await event(large)).status).toBe(402);
		expect(await readStored(sessionId)).toEqual(before);
	});

	test('refuses a message with the same error as its last run', async () => {
		const id = await createSession();
		play('never');
		await change(id, { tokens: 1 });
		const run = await (await say(id)).json();
		const refused = await say(id, {}, stream);
		expect(refused.status).toBe(402);
		expect(await refused.json()).toEqual(run);
	});

	test('accepts the message under the same key after the budget is raised', async () => {
		const id = await createSession();
		play('never');
		await spend(id);
		const again = () => request(`/v1/sessions/${id}/messages`, { text: 'more' }, { 'idempotency-key': 'kept' });
		expect((await again()).status).toBe(402);
		await change(id, { tokens: 100_000 });
		const { requests } = play('Hello.');
		expect(await (await again()).json()).toMatchObject({ status: 'completed', text: 'Hello.' });
		expect(await (await again()).json()).toMatchObject({ status: 'completed', text: 'Hello.' });
		expect(requests).toHaveLength(1);
	});

	test('refuses messages after a restart of its object', async () => {
		const id = await createSession();
		play('never');
		await spend(id);
		const before = await readStored(id);
		await restart(id);
		expect((await say(id)).status).toBe(402);
		expect(await readStored(id)).toEqual(before);
	});

	test('stores at most three replacements of a refused message', async () => {
		const id = await createSession();
		play('never');
		await spend(id);
		const after: unknown[] = [];
		for (let n = 0; n < 10; n++) {
			const newest = (await readHistory(id)).findLast(({ role }) => role === 'user');
			expect((await say(id, { replaces: Object(newest).id })).status).toBe(402);
			after.push(await readStored(id));
		}
		expect(after[9]).toEqual(after[2]);
	});

	test('accepts three `continue` requests, and then refuses more until the budget is raised', async () => {
		const id = await createSession();
		play('never');
		await spend(id);
		const go = () => request(`/v1/sessions/${id}/continue`, {});
		const after: unknown[] = [];
		for (let n = 0; n < 10; n++) {
			expect((await go()).status).toBe(402);
			after.push(await readStored(id));
		}
		expect(after[9]).toEqual(after[2]);
		await change(id, { tokens: 100_000 });
		play('Hello.');
		expect(await (await go()).json()).toMatchObject({ text: 'Hello.' });
	});

	test('accepts results and decisions, although the run that they begin is refused', async () => {
		const id = await createSession();
		const toolCalls = [
			{ id: 'm', name: 'by_hand', input: {} },
			{ id: 'p', name: 'pay', input: { amount: 1 } },
		];
		play({ toolCalls, usage: { inputTokens: 10, outputTokens: 10 } });
		await allEvents(await send(id, 'go'));
		await change(id, { tokens: 1 });
		const submit = (answers: object[]) => request(`/v1/sessions/${id}/tool-results`, answers);
		expect((await submit([{ id: 'm', output: 'done' }])).status).toBe(200);
		expect((await submit([{ id: 'p', approve: true }])).status).toBe(402);
		const results = (await readHistory(id)).filter(({ role }) => role === 'tool');
		expect(results).toMatchObject([{ content: 'done' }, { content: 'paid 1' }]);
	});

	test('refuses a model without a known price, and stores nothing', async () => {
		const made = await request('/v1/sessions', { agent: 'scripted', model: 'scripted-unpriced', budget: { usd: 2 } });
		const { id } = await made.json<{ id: string }>();
		play('never');
		expect((await say(id)).status).toBe(402);
		const before = await readStored(id);
		for (let n = 0; n < 20; n++) expect((await say(id)).status).toBe(402);
		expect(await readStored(id)).toEqual(before);
		await change(id, { tokens: 1_000_000 });
		play('Hello.');
		expect(await (await say(id)).json()).toMatchObject({ text: 'Hello.' });
	});
});

describe('a session limited by the budget of its owner or user', () => {
	/** Runs `work` with a limit of the day. The Worker under test has no such limit. */
	const limited = async (work: (setDay: (limit: Limit) => void) => Promise<void>): Promise<void> => {
		const own = await runInDurableObject(readObject(await createSession()), (one) =>
			readConfig(Reflect.get(one, 'env')),
		);
		const before = own.findDayBudget;
		let day: Limit = {};
		Object.assign(own, { findDayBudget: () => day });
		await work((limit) => {
			day = limit;
		}).finally(() => Object.assign(own, { findDayBudget: before }));
	};
	/** The number of sessions in the list of the local owner. */
	const countSessions = async () => {
		const { sessions } = await (await request('/v1/sessions?limit=100')).json<{ sessions: unknown[] }>();
		return sessions.length;
	};

	test('refuses messages and stores nothing while the budget of the day is spent', () =>
		limited(async (setDay) => {
			const id = await createSession('thrifty');
			setDay({ tokens: 1 });
			play('never');
			expect((await say(id, { text: 'go' })).status).toBe(402);
			const before = await readStored(id);
			for (let n = 0; n < 20; n++) {
				const refused = await say(id);
				expect(await refused.json()).toMatchObject({ error: { data: { scope: 'day', limit: { tokens: 1 } } } });
			}
			expect(await readStored(id)).toEqual(before);
			setDay({});
			play('Hello.');
			expect(await (await say(id, { text: 'go' })).json()).toMatchObject({ text: 'Hello.' });
		}));

	test('is not created by a first message that the budget of the day refuses', () =>
		limited(async (setDay) => {
			setDay({ tokens: 1 });
			play('never');
			const body = { agent: 'thrifty', text: large };
			const complete = { model: 'thrifty', messages: [{ role: 'user', content: large }] };
			const page = (id: string) => ({ id, messages: [said('m1', large)] });
			const first = await request('/v1/sessions', body);
			expect(first.status).toBe(402);
			const before = await countSessions();
			for (let n = 0; n < 20; n++) {
				expect((await request('/v1/sessions', body)).status).toBe(402);
				expect((await request('/v1/chat/completions', complete)).status).toBe(402);
				expect((await request('/v1/ui/thrifty', page(`poor-${n}`))).status).toBe(402);
			}
			expect(await countSessions()).toBe(before);
			setDay({});
			play('Hello.');
			expect(await (await request('/v1/sessions', { agent: 'thrifty', text: 'go' })).json()).toMatchObject({
				text: 'Hello.',
			});
		}));

	test('refuses messages of a user whose budget is spent, until an admin raises the budget', async () => {
		const raise = (total: Limit) => request('/v1/users/poor/budget', { total }, {}, 'PUT');
		await raise({ tokens: 1 });
		const made = await request('/v1/sessions', { agent: 'thrifty', user: 'poor' });
		const { id } = await made.json<{ id: string }>();
		play('never');
		expect((await say(id, { text: 'go' })).status).toBe(402);
		const before = await readStored(id);
		for (let n = 0; n < 20; n++) {
			const refused = await say(id);
			expect(await refused.json()).toMatchObject({ error: { data: { scope: 'user-total' } } });
		}
		expect(await readStored(id)).toEqual(before);
		const more = await request('/v1/sessions', { agent: 'thrifty', user: 'poor', text: large });
		expect(await more.json()).toMatchObject({ error: { code: 'budget_exceeded', data: { scope: 'user-total' } } });
		await raise({ tokens: 100_000 });
		play('Hello.', 'Hello.');
		expect(await (await say(id, { text: 'go' })).json()).toMatchObject({ text: 'Hello.' });
		const other = await request('/v1/sessions', { agent: 'thrifty', user: 'poor', text: 'go' });
		expect(await other.json()).toMatchObject({ text: 'Hello.' });
	});

	test('makes no further call to the ledger while budget is left', () =>
		limited(async (setDay) => {
			setDay({ tokens: 10_000_000 });
			const id = await createSession('thrifty');
			play('One.', 'Two.');
			await allEvents(await send(id, 'go'));
			const count = countWork(env.LEDGERS.idFromName('local').toString());
			expect(readText(await allEvents(await send(id, 'go')))).toBe('Two.');
			expect(count()).toEqual([]);
			await runDurableObjectAlarm(readObject(id));
		}));
});
