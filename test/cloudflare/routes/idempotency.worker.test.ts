import { env, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { allEvents, createSession, readEvents, readText, request, send } from '../../client.ts';
import { play } from '../../script.ts';

const key = () => ({ 'idempotency-key': crypto.randomUUID() });
const stream = { accept: 'text/event-stream' };

async function restart(id: string): Promise<void> {
	const object = env.SESSIONS.get(env.SESSIONS.idFromString(id));
	await runInDurableObject(object, (_, ctx) => ctx.storage.sync().then(() => ctx.abort('restart'))).catch(() => {});
}

describe('a request that is repeated with its Idempotency-Key', () => {
	test('gets the first answer without a second run, even after a restart', async () => {
		const id = await createSession();
		const path = `/v1/sessions/${id}/messages`;
		const again = key();
		const { requests } = play('Once.');
		const first = await (await request(path, { text: 'go' }, again)).json<{ runId: string }>();
		expect(await (await request(path, { text: 'go' }, again)).json()).toEqual(first);
		await restart(id);
		expect(await (await request(path, { text: 'go' }, again)).json()).toEqual(first);
		const events = await allEvents(await request(path, { text: 'go' }, { ...again, ...stream }));
		expect(readText(events)).toBe('Once.');
		expect(events.at(-1)).toMatchObject({ type: 'done', data: { text: 'Once.' } });
		const accepted = await request(path, { text: 'go' }, { ...again, prefer: 'respond-async' });
		expect(accepted.status).toBe(202);
		expect(await accepted.json()).toEqual({ runId: first.runId });
		expect(requests).toHaveLength(1);
	});

	test('follows the first run if it is still running', async () => {
		const id = await createSession();
		const gate = Promise.withResolvers<void>();
		const { requests } = play(async (_, onDelta) => {
			await onDelta({ type: 'text', text: 'Half' });
			await gate.promise;
			return { text: 'Half and half.' };
		});
		const again = key();
		const path = `/v1/sessions/${id}/messages`;
		const first = await request(path, { text: 'go' }, { ...again, ...stream });
		const second = await request(path, { text: 'go' }, { ...again, ...stream });
		for await (const event of readEvents(first)) if (event.type === 'text') break;
		gate.resolve();
		expect((await allEvents(second)).at(-1)).toMatchObject({ type: 'done', data: { text: 'Half and half.' } });
		expect(requests).toHaveLength(1);
	});

	test('finds the session that the first request created, even if both requests are concurrent', async () => {
		const again = key();
		const { requests } = play('Hello.');
		const body = { agent: 'scripted', text: 'hi' };
		const both = await Promise.all([1, 2].map(() => request('/v1/sessions', body, again)));
		expect(both.map(({ status }) => status)).toEqual([201, 201]);
		const [one, two] = await Promise.all(both.map((response) => response.json<{ id: string; text: string }>()));
		expect(two?.id).toBe(one?.id);
		expect(one?.text).toBe('Hello.');
		expect(requests).toHaveLength(1);
		const empty = key();
		const made = await Promise.all([1, 2].map(() => request('/v1/sessions', { agent: 'scripted' }, empty)));
		const ids = await Promise.all(made.map(async (response) => (await response.json<{ id: string }>()).id));
		expect(ids[0]).toBe(ids[1]);
	});

	test('submits a tool result once', async () => {
		const id = await createSession();
		play({ toolCalls: ['a', 'b'].map((one) => ({ id: one, name: 'by_hand', input: {} })) });
		await allEvents(await send(id, 'go'));
		const path = `/v1/sessions/${id}/tool-results`;
		const part = key();
		for (let n = 0; n < 2; n++) {
			const response = await request(path, [{ id: 'a', output: 1 }], part);
			expect(response.status).toBe(200);
			expect(await response.json()).toMatchObject({ status: 'awaiting_tools', toolCalls: [{ id: 'b' }] });
		}
		const last = key();
		const { requests } = play('Both.');
		const answers = [];
		for (let n = 0; n < 2; n++) answers.push(await (await request(path, [{ id: 'b', output: 2 }], last)).json());
		expect(answers[0]).toMatchObject({ text: 'Both.' });
		expect(answers[1]).toEqual(answers[0]);
		expect(requests).toHaveLength(1);
	});

	test('does not cancel a later run', async () => {
		const id = await createSession();
		const key = { 'idempotency-key': 'cancel' };
		const gate = Promise.withResolvers<void>();
		play(
			() => new Promise(() => {}),
			() => gate.promise.then(() => 'done'),
		);
		await request(`/v1/sessions/${id}/messages`, { text: 'go' }, { prefer: 'respond-async' });
		const first = await request(`/v1/sessions/${id}/cancel`, {}, key);
		expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([200, null]);
		const second = await send(id, 'go on');
		const again = await request(`/v1/sessions/${id}/cancel`, {}, key);
		expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
		for (const answer of [first, again]) expect(await answer.json()).not.toHaveProperty('isReplay');
		gate.resolve();
		expect((await allEvents(second)).at(-1)?.type).toBe('done');
	});

	test('gets the same error if its run failed, and starts a new run only with another key', async () => {
		const id = await createSession();
		const path = `/v1/sessions/${id}/messages`;
		play(Object.assign(new Error('no such key'), { status: 401 }));
		const again = key();
		const first = await request(path, { text: 'go' }, again);
		const second = await request(path, { text: 'go' }, again);
		expect([first.status, second.status]).toEqual([401, 401]);
		expect(await second.json()).toEqual(await first.json());
		play('Now.');
		expect(await (await request(path, { text: 'go' }, key())).json()).toMatchObject({ text: 'Now.' });
	});

	test('must have the same body as the first accepted request', async () => {
		const id = await createSession();
		const path = `/v1/sessions/${id}/messages`;
		const again = key();
		expect((await request(path, { text: 1 }, again)).status).toBe(400);
		play('One.');
		expect((await request(path, { text: 'one' }, again)).status).toBe(200);
		const other = await request(path, { text: 'two' }, again);
		expect(other.status).toBe(409);
		expect(await other.json()).toMatchObject({ error: { data: { field: 'Idempotency-Key' } } });
		const elsewhere = await request(`/v1/sessions/${id}/continue`, {}, again);
		expect(elsewhere.status).toBe(409);
	});

	test.each(['', ' ', 'a b', 'x'.repeat(256), 'ü'])('is refused if the key is %j', async (value) => {
		const id = await createSession();
		const response = await request(`/v1/sessions/${id}/messages`, { text: 'go' }, { 'idempotency-key': value });
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({ error: { data: { field: 'Idempotency-Key' } } });
	});
});
