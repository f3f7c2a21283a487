import { env, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { readHistory, readNextAlarm, readObject, readState, request } from '../../client.ts';
import { play } from '../../script.ts';
import { breakStorage, mendStorage } from '../../storage.ts';
import { deliver } from '../wire/protocols/webhooks/deliver.ts';

const idOf = (...name: readonly string[]) =>
	env.SESSIONS.idFromName(JSON.stringify(['local', null, ...name])).toString();

interface Way {
	readonly id: (name: string) => string;
	readonly ask: (name: string) => Promise<Response>;
	/** Whether the session has a lifetime. */
	readonly expires?: boolean;
}

/** The ways to create a session. The same name makes the same request, and `id` reads the session's id. */
const ways: Readonly<Record<string, Way>> = {
	'a page’s post': {
		id: (name) => idOf('ui', 'fleeting', name),
		ask: (name) =>
			request('/v1/ui/fleeting', {
				id: name,
				messages: [{ id: `m-${name}`, role: 'user', parts: [{ type: 'text', text: 'go' }] }],
			}),
	},
	'a chat completion': {
		id: (name) => idOf('chat', 'fleeting', name),
		ask: (name) => {
			const tools = [{ type: 'function', function: { name: 'theirs', parameters: { type: 'object' } } }];
			const messages = [
				{ role: 'user', content: 'before' },
				{ role: 'assistant', content: 'Yes?' },
				{ role: 'user', content: 'go' },
			];
			const headers = { 'runlet-session': name, 'idempotency-key': name };
			return request('/v1/chat/completions', { model: 'fleeting', stream: true, messages, tools }, headers);
		},
	},
	'a webhook': {
		expires: false,
		id: (name) => idOf('webhook', 'hooked', 'hmac', `session ${name}`),
		ask: (name) => deliver({ message: { text: 'go', session: name } }, { id: name }),
	},
};

/** The rows in the session's object. */
const storedIn = (id: string) =>
	runInDurableObject(readObject(id), async (_, { storage }) => {
		const has = (table: string) =>
			storage.sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table).toArray().length > 0;
		const count = (table: string) => (has(table) ? storage.sql.exec(`SELECT 1 FROM ${table}`).toArray().length : 0);
		const [sessions = 0, messages = 0, runs = 0, outbox = 0, tokens = 0] = [
			...['session', 'message', 'run', 'outbox', 'token'].map((table) => count(table)),
		];
		return { rows: { sessions, messages, runs, outbox, tokens }, alarm: await storage.getAlarm() };
	});
const nothing = { sessions: 0, messages: 0, runs: 0, outbox: 0, tokens: 0 };

async function isListed(id: string): Promise<boolean> {
	const { sessions } = await (await request('/v1/sessions?limit=100')).json<{ sessions: { id: string }[] }>();
	return sessions.some((one) => one.id === id);
}

beforeEach(() => {
	for (const level of ['warn', 'error'] as const) vi.spyOn(console, level).mockImplementation(() => {});
});
afterEach(() => {
	mendStorage();
	vi.restoreAllMocks();
});

describe.each(Object.entries(ways))('a session that %s creates', (way, { id: toId, ask, expires = true }) => {
	test.each([
		['one write fails', (at: number) => (n: number) => n === at],
		['all later writes fail', (at: number) => (n: number) => n >= at],
	])(
		'exists completely or not at all if %s, and the same request succeeds if it is sent again',
		async (kind, failsAt) => {
			const names: string[] = [];
			// Let each write fail in turn, until three requests were accepted.
			for (let at = 1, accepted = 0; accepted < 3; at++) {
				const name = `${kind}-${at}-${way}`.replaceAll(/[^a-z0-9]/g, '-');
				const id = toId(name);
				play('Done.', 'Done.', 'Done.');
				breakStorage(failsAt(at), id);
				const answer = await ask(name);
				const isRefused = answer.status === 503;
				mendStorage();
				await answer.text();
				const { rows, alarm } = await storedIn(id);
				if (isRefused) {
					expect(accepted, name).toBe(0);
					expect(rows, name).toEqual(nothing);
					expect(Number(answer.headers.get('retry-after')), name).toBeGreaterThan(0);
				} else {
					accepted++;
					expect(rows, name).toMatchObject({ sessions: 1, runs: 1 });
					if (expires) expect(alarm, name).not.toBeNull();
				}
				const again = await ask(name);
				expect([again.status, isRefused], name).toEqual([
					expect.toBeOneOf(isRefused ? [200, 202] : [200, 202, 406]),
					isRefused,
				]);
				await again.text();
				await expect
					.poll(async () => (await readState(id)).status, { message: name })
					.toMatch(isRefused ? /completed/ : /completed|error/);
				if (isRefused)
					expect(
						(await readHistory(id)).filter(({ content }) => content === 'go'),
						name,
					).toHaveLength(1);
				const inAnHour = Date.now() + 3_600_000;
				if (expires) await expect.poll(() => readNextAlarm(id)).toBeGreaterThan(inAnHour - 60_000);
				names.push(name);
				if (at > 60) throw new Error('The request is never accepted.');
			}
			for (const name of names) await expect.poll(() => isListed(toId(name)), { message: name }).toBe(true);
		},
		120_000,
	);
});

test('creates a session together with its token, or creates neither, whichever write fails', async () => {
	const id = idOf('idempotency', 'alone');
	for (let at = 1; ; at++) {
		breakStorage((n) => n === at, id);
		const answer = await request('/v1/sessions', { agent: 'fleeting' }, { 'idempotency-key': 'alone' });
		mendStorage();
		const { rows } = await storedIn(id);
		if (answer.status === 201) {
			expect(rows).toMatchObject({ sessions: 1, tokens: 1 });
			break;
		}
		expect(answer.status, `write ${at}`).toBe(503);
		expect(rows, `write ${at}`).toEqual(nothing);
	}
});

test('creates no session for a refused request', async () => {
	const model = 'nobody-has-this';
	const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'go' }] }];
	const refused = await request('/v1/ui/fleeting', { id: 'refused', messages, model });
	expect(refused.status).toBe(400);
	const { rows } = await storedIn(idOf('ui', 'fleeting', 'refused'));
	expect(rows).toEqual(nothing);
});

test('keeps the client’s earlier tools if the run with its new tools cannot be stored', async () => {
	const named = (name: string) => [{ type: 'function', function: { name, parameters: { type: 'object' } } }];
	const headers = { 'runlet-session': 'toolish' };
	const messages = [{ role: 'user', content: 'go' }];
	const ask = (tool: string) =>
		request('/v1/chat/completions', { model: 'fleeting', messages, tools: named(tool) }, headers);
	const id = idOf('chat', 'fleeting', 'toolish');
	const toolsIn = () =>
		runInDurableObject(
			readObject(id),
			(_, { storage }) =>
				storage.sql.exec<{ client_tools: string }>('SELECT client_tools FROM session').one().client_tools,
		);
	play('Done.', 'Done.');
	expect((await ask('first')).status).toBe(200);
	await expect.poll(async () => (await storedIn(id)).rows.outbox).toBe(0);
	breakStorage((_, statement) => statement.startsWith('INSERT INTO message'), id);
	expect((await ask('second')).status).toBe(503);
	mendStorage();
	expect(await toolsIn()).toContain('first');
	expect((await ask('second')).status).toBe(200);
	expect(await toolsIn()).toContain('second');
});
