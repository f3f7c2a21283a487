import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import type { SessionNamespace } from '../../../src/cloudflare/objects/session-api.ts';
import {
	allEvents,
	createSession,
	readHistory,
	readNextAlarm,
	readObject,
	request,
	restart,
	send,
} from '../../client.ts';
import { play } from '../../script.ts';

interface Listed {
	readonly id: string;
	readonly title?: string;
	readonly lastActivityAt: string;
}

const listed = async (): Promise<Listed[]> =>
	(await (await request('/v1/sessions?limit=100')).json<{ sessions: Listed[] }>()).sessions;
const first = async (): Promise<Listed | undefined> => (await listed())[0];
const readAlarm = (id: string) => runInDurableObject(readObject(id), (_, { storage }) => storage.getAlarm());

describe('the list of sessions', () => {
	test('shows the most recently active session first, with the beginning of its first message', async () => {
		const [a, b] = [await createSession(), await createSession()];
		await expect.poll(first).toMatchObject({ id: b });
		play('done');
		await allEvents(await send(a, 'How are you today?'));
		await expect.poll(first).toMatchObject({ id: a, title: 'How are you today?', agent: 'scripted' });
	});

	test('is written once per run', async () => {
		const id = await createSession();
		await expect.poll(first).toMatchObject({ id });
		// The first message also brings the title, whose words are written for the search.
		play('done');
		await allEvents(await send(id, 'go'));
		await expect.poll(first).toMatchObject({ id, title: 'go' });
		const activeAt = async () => (await first())?.lastActivityAt;
		const earlier = await activeAt();
		play({ toolCalls: [{ id: 'a', name: 'echo', input: { text: 'hi' } }] }, 'done');
		const directory = env.DIRECTORIES.get(env.DIRECTORIES.idFromName('local'));
		const writes = () =>
			runInDurableObject(
				directory,
				(_, { storage }) => storage.sql.exec<{ n: number }>('SELECT total_changes() AS n').one().n,
			);
		const before = await writes();
		await allEvents(await send(id, 'go on'));
		await expect.poll(activeAt).not.toBe(earlier);
		expect((await writes()) - before).toBe(1);
	});

	test('does not have a deleted session', async () => {
		const id = await createSession();
		await expect.poll(first).toMatchObject({ id });
		expect((await request(`/v1/sessions/${id}`, {}, {}, 'DELETE')).status).toBe(204);
		expect((await listed()).map((one) => one.id)).not.toContain(id);
	});
});

test('a message during the deletion of its session starts no run', async () => {
	const { requests } = play(() => new Promise(() => {}), 'never');
	const id = await createSession();
	await request(`/v1/sessions/${id}/messages`, { text: 'go' }, { prefer: 'respond-async' });
	await expect.poll(() => requests.length).toBe(1);
	const deleting = request(`/v1/sessions/${id}`, {}, {}, 'DELETE');
	await request(`/v1/sessions/${id}/messages`, { text: 'more' }, { prefer: 'respond-async' });
	expect((await deleting).status).toBe(204);
	expect((await request(`/v1/sessions/${id}`)).status).toBe(404);
	expect(requests).toHaveLength(1);
});

test('a read during the deletion of a session gets 200 or 404, and a later read gets 404', async () => {
	const id = await createSession();
	const [during, after] = await runInDurableObject(readObject(id), async (session) => {
		const call = (method: string) => Reflect.apply(Reflect.get(session, method), session, [{ owner: 'local' }]);
		const [, state] = await Promise.all([call('delete'), call('state')]);
		return [state, await call('state')];
	});
	const notFound = { ok: false, error: { code: 'not_found' } };
	if (Reflect.get(Object(during), 'ok') !== true) expect(during).toMatchObject(notFound);
	expect(after).toMatchObject(notFound);
});

describe('an expiring session', () => {
	test('is removed completely when its lifetime since the last activity is over', async () => {
		const id = await createSession('fleeting');
		play('done');
		await allEvents(await send(id, 'go'));
		// Wait until its owner's ledger and list got their reports.
		await expect.poll(async () => ((await readNextAlarm(id)) ?? 0) - Date.now()).toBeGreaterThan(3_500_000);
		expect((await request(`/v1/sessions/${id}`)).status).toBe(200);
		await runInDurableObject(readObject(id), (_, { storage }) =>
			storage.sql.exec(
				'UPDATE run SET ended_at = ended_at - 3600000; UPDATE session SET listed_at = listed_at - 3600000;',
			),
		);
		await restart(id);
		expect(await runDurableObjectAlarm(readObject(id))).toBe(true);
		expect((await request(`/v1/sessions/${id}`)).status).toBe(404);
		expect(await runInDurableObject(readObject(id), (_, { storage }) => storage.sql.databaseSize)).toBeLessThan(20_000);
		expect(await readAlarm(id)).toBeNull();
		expect((await listed()).map((one) => one.id)).not.toContain(id);
	});

	test('restarts its lifetime when a message is queued', async () => {
		const id = await createSession('fleeting');
		play({ toolCalls: [{ id: 'a', name: 'by_hand', input: {} }] }, 'done', 'and more');
		await allEvents(await send(id, 'go'));
		await expect.poll(async () => ((await readNextAlarm(id)) ?? 0) - Date.now()).toBeGreaterThan(3_500_000);
		await runInDurableObject(readObject(id), (_, { storage }) =>
			storage.sql.exec('UPDATE run SET ended_at = ended_at - 3600000').toArray(),
		);
		await restart(id);
		const about = { text: 'more', isPatient: true };
		const sessions: SessionNamespace = Reflect.get(env, 'SESSIONS');
		const object = sessions.get(sessions.idFromString(id));
		const sent = await object.send({ owner: 'local' }, about, { delivery: 'accepted' });
		expect(sent).toMatchObject({ ok: true, value: { kind: 'accepted' } });
		expect(await runDurableObjectAlarm(readObject(id))).toBe(true);
		expect(((await readAlarm(id)) ?? 0) - Date.now()).toBeGreaterThan(3_500_000);
		await request(`/v1/sessions/${id}/tool-results`, [{ id: 'a', output: 'done' }]);
		await expect.poll(async () => (await readHistory(id)).at(-1)?.content).toBe('and more');
	});

	test('can have its own lifetime if its agent sets no lifetime', async () => {
		const response = await request('/v1/sessions', { agent: 'scripted', expiresAfterMs: 60_000 });
		const { id } = await response.json<{ id: string }>();
		const left = async () => ((await readNextAlarm(id)) ?? 0) - Date.now();
		await expect.poll(left).toBeGreaterThan(50_000);
		expect(await left()).toBeLessThanOrEqual(60_000);
		await restart(id);
		expect(await readAlarm(id)).not.toBeNull();
	});

	test.each([[0], [-1], [1.5], ['soon'], [1e300]])('cannot have a lifetime of %j ms', async (expiresAfterMs) => {
		const refused = await request('/v1/sessions', { agent: 'scripted', expiresAfterMs });
		expect(refused.status).toBe(400);
		expect(await refused.json()).toMatchObject({ error: { data: { field: 'expiresAfterMs' } } });
	});
});
