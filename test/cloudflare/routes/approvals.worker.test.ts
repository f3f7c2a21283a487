import { env, runDurableObjectAlarm, runInDurableObject, SELF } from 'cloudflare:test';
import { expect, test, vi } from 'vitest';
import { createClient } from '../../../src/client/index.ts';
import { DirectoryStore } from '../../../src/cloudflare/objects/directory/store.ts';
import type { WaitedCall, WaitingPage } from '../../../src/cloudflare/objects/directory/wait.ts';
import { SessionStore } from '../../../src/cloudflare/session/store/store.ts';
import { allEvents, createSession, querySession, readObject, readState, request, restart, send } from '../../client.ts';
import { createKeys } from '../../credentials.ts';
import { counted } from '../../rows.ts';
import { play } from '../../script.ts';
import worker from '../../worker.ts';

interface Listed {
	readonly sessionId: string;
	readonly callId: string;
	readonly [more: string]: unknown;
}

interface Page {
	readonly approvals: readonly Listed[];
	readonly cursor?: string;
}

/** Reads a session’s entries of the list. Other tests have sessions of the same owner. */
async function listOf(id: string, query = ''): Promise<readonly Listed[]> {
	const found: Listed[] = [];
	for (let cursor: string | undefined = ''; cursor !== undefined; ) {
		const from = cursor === '' ? '' : `&cursor=${cursor}`;
		const page: Page = await (await request(`/v1/approvals?limit=100${query}${from}`)).json<Page>();
		found.push(...page.approvals);
		cursor = page.cursor;
	}
	return found.filter(({ sessionId }) => sessionId === id);
}

const callIds = async (id: string) => (await listOf(id)).map(({ callId }) => callId);
const call = (id: string, name: string, input: unknown = {}) => ({ id, name, input });
const submit = (id: string, answers: unknown) => request(`/v1/sessions/${id}/tool-results`, answers);

async function begin(toolCalls: ReturnType<typeof call>[], agent?: string): Promise<string> {
	const id = await createSession(agent);
	play({ toolCalls });
	await allEvents(await send(id, 'go'));
	return id;
}

test('GET /v1/approvals lists calls that wait for an approval, an answer or a result', async () => {
	const before = Date.now();
	const id = await begin([call('m', 'by_hand', {}), call('p', 'pay', { amount: 5 })]);
	const asks = await begin([call('q', 'ask', { question: 'Which one?' })]);
	const patient = await begin([call('h', 'pay', { amount: 7 })], 'patient');
	for (const [one, ids] of [
		[id, ['m', 'p']],
		[asks, ['q']],
		[patient, ['h']],
	] as const)
		await expect.poll(() => callIds(one)).toEqual(ids);
	const about = {
		agent: 'scripted',
		title: 'go',
		since: expect.stringMatching(/Z$/),
		labels: [],
		spent: expect.any(Object),
	};
	expect(await listOf(id)).toEqual([
		{ ...about, sessionId: id, callId: 'm', kind: 'result', tool: 'by_hand', input: {} },
		{ ...about, sessionId: id, callId: 'p', kind: 'approval', tool: 'pay', input: { amount: 5 } },
	]);
	expect(await listOf(asks)).toEqual([
		{ ...about, sessionId: asks, callId: 'q', kind: 'question', tool: 'ask', question: 'Which one?' },
	]);
	const [first] = await listOf(patient);
	expect(Date.parse(String(first?.since))).toBeGreaterThanOrEqual(before);
	expect(Date.parse(String(first?.expiresAt)) - Date.parse(String(first?.since))).toBe(3_600_000);
	expect(await readState(patient)).toMatchObject({ wait: { since: first?.since, expiresAt: first?.expiresAt } });
	expect((await readState(asks)).wait).toEqual({ since: expect.stringMatching(/Z$/) });
	expect(await listOf(id, '&kind=approval')).toMatchObject([{ callId: 'p' }]);
	expect(await listOf(id, '&agent=patient')).toEqual([]);
	expect(await listOf(patient, '&agent=patient&kind=approval')).toHaveLength(1);
});

test('the list says what each session has cost, and what flowed into it', async () => {
	const id = await createSession('keeper');
	play({ toolCalls: [call('r', 'read_mail', {})] }, { toolCalls: [call('p', 'pay', { amount: 5 })] });
	await allEvents(await send(id, 'go'));
	await expect.poll(() => callIds(id)).toEqual(['p']);
	const { labels, budget } = await readState(id);
	expect(await listOf(id)).toMatchObject([{ labels: ['outside'], spent: budget.spent }]);
	expect(labels).toEqual(['outside']);
	expect(budget.spent.tokens).toBeGreaterThan(0);
});

test('a call leaves the list when it is answered, or when its session is cancelled or deleted', async () => {
	const id = await begin([call('a', 'by_hand'), call('b', 'by_hand')]);
	await expect.poll(() => callIds(id)).toEqual(['a', 'b']);
	await submit(id, [{ id: 'a', output: 1 }]);
	await expect.poll(() => callIds(id)).toEqual(['b']);
	play('Done.');
	await submit(id, [{ id: 'b', output: 1 }]);
	await expect.poll(() => callIds(id)).toEqual([]);

	const [cancelled, deleted] = [await begin([call('c', 'by_hand')]), await begin([call('d', 'by_hand')])];
	await expect.poll(async () => [...(await callIds(cancelled)), ...(await callIds(deleted))]).toEqual(['c', 'd']);
	await request(`/v1/sessions/${cancelled}/cancel`, {});
	await request(`/v1/sessions/${deleted}`, undefined, {}, 'DELETE');
	await expect.poll(async () => [...(await callIds(cancelled)), ...(await callIds(deleted))]).toEqual([]);
});

test.each([
	['begins', [call('a', 'by_hand')], [], ['a']],
	['is answered in part', [call('a', 'by_hand'), call('b', 'by_hand')], [{ id: 'a', output: 1 }], ['b']],
])(
	'a wait that %s while the directory is down is listed later, even if the session’s object crashes',
	async (_, calls, answers, left) => {
		vi.spyOn(console, 'warn').mockImplementation(() => {});
		const id = await createSession();
		await expect
			.poll(
				async () =>
					(await (await request('/v1/sessions?limit=1')).json<{ sessions: { id: string }[] }>()).sessions[0]?.id,
			)
			.toBe(id);
		const down = vi.spyOn(DirectoryStore.prototype, 'touch').mockImplementation(() => {
			throw new Error('It is down.');
		});
		try {
			play({ toolCalls: calls });
			await allEvents(await send(id, 'go'));
			if (answers.length > 0) expect((await submit(id, answers)).status).toBe(200);
			await expect.poll(() => down.mock.calls.length).toBeGreaterThan(0);
			expect(await callIds(id)).toEqual([]);
			await restart(id);
		} finally {
			down.mockRestore();
		}
		await querySession(id, 'UPDATE outbox SET due_at = 0');
		await runDurableObjectAlarm(readObject(id));
		await expect.poll(() => callIds(id)).toEqual(left);
		vi.restoreAllMocks();
	},
);

test('an approval keeps its id after a crash, and can be answered once with the id in the list', async () => {
	const id = await begin([call('p', 'pay', { amount: 5 }), call('q', 'pay', { amount: 6 })]);
	await expect.poll(() => callIds(id)).toEqual(['p', 'q']);
	await restart(id);
	expect(await callIds(id)).toEqual(['p', 'q']);
	expect((await submit(id, [{ id: 'p', approve: true }])).status).toBe(200);
	await restart(id);
	await expect.poll(() => callIds(id)).toEqual(['q']);
	expect((await submit(id, [{ id: 'p', approve: true }])).status).toBe(409);
	const { requests } = play('Paid.');
	expect(await (await submit(id, [{ id: 'q', approve: true }])).json()).toMatchObject({ status: 'completed' });
	const results = requests[0]?.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
	expect(results).toEqual(['paid 5', 'paid 6']);
});

test('the list contains only the first 4,000 characters of long arguments', async () => {
	const id = await begin([call('p', 'pay', { amount: 1, note: 'x'.repeat(5_000) })]);
	await expect.poll(() => callIds(id)).toEqual(['p']);
	const [entry] = await listOf(id);
	expect(entry).not.toHaveProperty('input');
	expect(entry?.inputStart).toBe(JSON.stringify({ amount: 1, note: 'x'.repeat(5_000) }).slice(0, 4_000));
});

test('the list contains only the beginning of a long question, marked with isCut', async () => {
	const question = `${'So long. '.repeat(600)}Which one?`;
	const id = await begin([call('q', 'ask', { question })]);
	await expect.poll(() => callIds(id)).toEqual(['q']);
	expect(await listOf(id)).toMatchObject([{ question: question.slice(0, 4_000), isCut: true }]);
});

test('pages list the calls of one session once and in order, whatever the page size', async () => {
	const ids = Array.from({ length: 13 }, (_, place) => `c${place}`);
	const id = await begin(ids.map((each) => call(each, 'by_hand')));
	await expect.poll(async () => (await callIds(id)).toSorted()).toEqual(ids.toSorted());
	for (const limit of [1, 5, 12]) {
		const seen: string[] = [];
		for (let cursor: string | undefined = ''; cursor !== undefined; ) {
			const from = cursor === '' ? '' : `&cursor=${cursor}`;
			const page: Page = await (await request(`/v1/approvals?limit=${limit}${from}`)).json<Page>();
			seen.push(...page.approvals.filter(({ sessionId }) => sessionId === id).map(({ callId }) => callId));
			cursor = page.cursor;
			expect(seen.length).toBeLessThanOrEqual(ids.length);
		}
		expect(seen, `${limit} a page`).toEqual(ids);
	}
});

const createPeople = async () => {
	const [shop, other] = [`shop-${crypto.randomUUID()}`, `other-${crypto.randomUUID()}`];
	const { keys, bindings } = await createKeys({
		server: { owner: shop },
		kim: { owner: shop, user: 'kim', role: 'staff' },
		ada: { owner: shop, user: 'ada', role: 'customer' },
		stranger: { owner: other },
		operator: { owner: 'operator', scopes: ['admin'] },
	});
	type Name = keyof typeof keys;
	const ask = async (name: Name, path: string, body?: object) =>
		worker.request(
			`https://runlet.example.com${path}`,
			{
				method: body === undefined ? 'GET' : 'POST',
				headers: { authorization: `Bearer ${keys[name]}`, 'content-type': 'application/json' },
				...(body && { body: JSON.stringify(body) }),
			},
			bindings,
		);
	const wait = async (name: Name, more: object = {}) => {
		play({ toolCalls: [call('w', 'by_hand')] });
		return (await (await ask(name, '/v1/sessions', { agent: 'scripted', text: 'go', ...more })).json<{ id: string }>())
			.id;
	};
	const list = async (name: Name, query = '') =>
		(await (await ask(name, `/v1/approvals${query}`)).json<Page>()).approvals.map(
			({ sessionId, user, owner }) => [sessionId, user, owner] as const,
		);
	return { shop, other, ask, wait, list };
};

test('staff see the waiting calls of their owner, or of one of its users', async () => {
	const { other, ask, wait, list } = await createPeople();
	const [adas, kims, nobodys] = [await wait('ada'), await wait('kim'), await wait('server')];
	await wait('stranger', { user: 'ada' });
	const all = [
		[adas, 'ada', undefined],
		[kims, 'kim', undefined],
		[nobodys, undefined, undefined],
	];
	await expect.poll(() => list('kim')).toEqual(all);
	expect(await list('server')).toEqual(all);
	expect(await list('kim', '?user=ada')).toEqual([all[0]]);
	expect(await list('kim', '?user=nobody')).toEqual([]);
	for (const owner of [other, '*']) expect((await ask('kim', `/v1/approvals?owner=${owner}`)).status).toBe(403);
	const refused = await ask('ada', '/v1/approvals');
	expect([refused.status, await refused.json()]).toMatchObject([403, { error: { data: { role: 'staff' } } }]);
	expect((await ask('ada', '/v1/approvals?user=ada')).status).toBe(403);
});

test('a key with the scope admin sees the waiting calls of another owner or of all owners', async () => {
	const { shop, other, wait, list, ask } = await createPeople();
	const [adas, strangers] = [await wait('ada'), await wait('stranger')];
	await expect.poll(() => list('operator', `?owner=${shop}`)).toEqual([[adas, 'ada', shop]]);
	await expect.poll(() => list('operator', `?owner=${other}`)).toEqual([[strangers, undefined, other]]);
	expect(await list('operator', `?owner=${other}&user=ada`)).toEqual([]);
	const seen: string[] = [];
	for (let cursor: string | undefined = ''; cursor !== undefined; ) {
		const from = cursor === '' ? '' : `&cursor=${cursor}`;
		const page: Page = await (await ask('operator', `/v1/approvals?owner=*&limit=1&kind=result${from}`)).json<Page>();
		expect(page.approvals.length).toBeLessThanOrEqual(1);
		seen.push(...page.approvals.map(({ sessionId, callId }) => `${sessionId} ${callId}`));
		cursor = page.cursor;
	}
	expect(new Set(seen).size).toBe(seen.length);
	const own = [`${adas} w`, `${strangers} w`];
	expect(seen.filter((one) => own.includes(one))).toEqual(own);
});

test('runlet/client lists the waiting calls', async () => {
	const id = await begin([call('p', 'pay', { amount: 9 })]);
	const client = createClient('http://localhost', { fetch: (input, init) => SELF.fetch(new Request(input, init)) });
	await expect.poll(() => callIds(id)).toEqual(['p']);
	const { approvals } = await client.listApprovals({ agent: 'scripted', kind: 'approval', limit: 100 });
	expect(approvals.find(({ sessionId }) => sessionId === id)).toMatchObject({ tool: 'pay', input: { amount: 9 } });
});

test('refuses an unknown parameter and a wrong value with the name of the field', async () => {
	for (const [query, message] of [
		['kinds=approval', /kinds: no such query parameter/],
		['kind=all', /kind: /],
		['cursor=1', /cursor: Expected a cursor/],
	] as const) {
		const refused = await request(`/v1/approvals?${query}`);
		expect(refused.status).toBe(400);
		expect((await refused.json<{ error: { message: string } }>()).error.message).toMatch(message);
	}
});

const onDirectory = (work: (store: DirectoryStore, rows: ReturnType<typeof counted>['rows']) => void) =>
	runInDurableObject(env.DIRECTORIES.get(env.DIRECTORIES.newUniqueId()), (_, { storage }) => {
		const { storage: counting, rows } = counted(storage);
		work(new DirectoryStore(counting), rows);
	});

const waited = (callId: string, place: number, kind: WaitedCall['kind'] = 'approval'): WaitedCall => ({
	callId,
	kind,
	place,
});

test('pages have each waiting call once, oldest first, even if calls are answered between two pages', () =>
	onDirectory((store) => {
		for (let n = 0; n < 230; n++) {
			const calls = [waited(`${n}a`, 0), waited(`${n}b`, 1, 'result')];
			const wait = { since: 1_000 + (n % 50), calls };
			store.touch({ id: `s${n}`, agent: n % 2 === 0 ? 'even' : 'odd', createdAt: 1, activeAt: 1, wait });
		}
		const readAll = (query: object, limit: number, between: (page: WaitingPage) => void = () => {}) => {
			const seen = [];
			let page: WaitingPage = store.listWaiting({ ...query, limit });
			for (;;) {
				expect(page.entries.length).toBeLessThanOrEqual(limit);
				seen.push(...page.entries);
				between(page);
				if (page.cursor === undefined) return seen;
				page = store.listWaiting({ ...query, limit, cursor: page.cursor });
			}
		};
		const all = readAll({}, 7);
		expect(new Set(all.map(({ callId }) => callId)).size).toBe(460);
		expect(all).toHaveLength(460);
		expect(all.map(({ since }) => since)).toEqual(all.map(({ since }) => since).toSorted((a, b) => a - b));
		expect(readAll({ kind: 'result', agent: 'odd' }, 100)).toHaveLength(115);
		const seen = readAll({}, 7, ({ entries }) => {
			const last = entries.at(-1);
			if (last?.place !== 0) return;
			const { session: id, agent, since } = last;
			store.touch({ id, agent, createdAt: 1, activeAt: 1, wait: { since, calls: [waited(`${id.slice(1)}b`, 1)] } });
		});
		expect(seen.map(({ callId }) => callId)).toEqual(all.map(({ callId }) => callId));
	}));

test('a wait writes eight rows at its start and six rows at its end, and a repeated report writes none', () =>
	onDirectory((store, rows) => {
		const told = { id: 's', agent: 'a', createdAt: 1, activeAt: 5 };
		store.touch({ ...told, wait: null });
		const before = rows().written;
		expect(before).toBeGreaterThan(0);
		store.touch({ ...told, wait: null });
		expect(rows().written).toBe(0);
		const wait = { since: 6, calls: [waited('c', 0)] };
		for (const written of [8, 0]) {
			store.touch({ ...told, wait });
			expect(rows().written).toBe(written);
		}
		// Older versions do not send waiting calls.
		store.touch(told);
		expect(store.listWaiting({ limit: 1 }).entries).toHaveLength(1);
		store.touch({ ...told, wait: null });
		expect(rows().written).toBe(6);
	}));

test('an older report of a session does not list a finished wait again', () =>
	onDirectory((store) => {
		const told = { id: 's', agent: 'a', createdAt: 1 };
		const wait = { since: 6, calls: [waited('c', 0)] };
		store.touch({ ...told, activeAt: 7, wait: null });
		store.touch({ ...told, activeAt: 5, wait });
		expect(store.listWaiting({ limit: 1 }).entries).toEqual([]);
		store.touch({ ...told, activeAt: 8, wait });
		store.remove('s', 9);
		store.touch({ ...told, activeAt: 10, wait });
		expect(store.listWaiting({ limit: 1 }).entries).toEqual([]);
	}));

test('a change that happens while a session reports to the list is reported afterwards', () =>
	runInDurableObject(env.SESSIONS.get(env.SESSIONS.newUniqueId()), (_, { storage }) => {
		const store = new SessionStore(storage);
		store.create({ id: 's', agent: 'scripted', owner: 'o', createdAt: 1 });
		store.reports.noteWait();
		const sent = store.listDue(0);
		store.reports.noteWait();
		store.markReported(sent);
		expect(store.owesNothing).toBe(false);
		store.markReported(store.listDue(0));
		expect(store.owesNothing).toBe(true);
	}));
