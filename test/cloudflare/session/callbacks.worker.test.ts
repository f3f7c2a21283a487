import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { Webhook } from 'standardwebhooks';
import * as v from 'valibot';
import { describe, expect, inject, test } from 'vitest';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import { retryDelay } from '../../../src/cloudflare/wire/protocols/webhooks/callback.ts';
import type { ToolCall } from '../../../src/core/tool/index.ts';
import { allEvents, follow, querySession, readNextAlarm, readObject, request, restart } from '../../client.ts';
import { play } from '../../script.ts';
import worker, { receiver } from '../../worker.ts';
import { deliver } from '../wire/protocols/webhooks/deliver.ts';
import { callbackSecret, senders } from '../wire/protocols/webhooks/senders.ts';

const received = v.array(v.object({ headers: v.record(v.string(), v.string()), body: v.string() }));
const takenBody = v.object({ sessionId: v.string(), runId: v.string() });

/** A path at the receiver, which answers with these statuses first. */
async function place(...statuses: readonly number[]) {
	const url = `${inject('receiver')}/${crypto.randomUUID()}`;
	await fetch(url, { method: 'PUT', body: JSON.stringify(statuses) });
	return { url, received: async () => v.parse(received, await (await fetch(url)).json()) };
}

async function begin(message: object): Promise<v.InferOutput<typeof takenBody>> {
	const response = await deliver({ message });
	expect(response.status).toBe(202);
	return v.parse(takenBody, await response.json());
}

/** The callbacks that are not delivered. */
const pending = (id: string) =>
	querySession<{ failed: number; due_at: number }>(id, 'SELECT failed, due_at FROM callback');
const readAlarm = (id: string) => runInDurableObject(readObject(id), (_, { storage }) => storage.getAlarm());

/** Lets the time pass until the next attempt. */
async function laterAt(id: string): Promise<void> {
	await querySession(id, 'UPDATE callback SET due_at = 0');
	await runDurableObjectAlarm(readObject(id));
}

describe('the end of a run that a webhook began', () => {
	test('is sent to its callback, signed by Standard Webhooks', async () => {
		play('All done.');
		const { url, received } = await place();
		const { sessionId, runId } = await begin({ text: 'go', callback: url, metadata: { issue: '7' } });
		await expect.poll(async () => (await received()).length).toBe(1);
		const [{ headers, body } = { headers: {}, body: '' }] = await received();
		expect(new Webhook(callbackSecret).verify(body, headers)).toMatchObject({
			type: 'run.completed',
			timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
			data: { sessionId, runId, agent: 'hooked', status: 'completed', text: 'All done.', metadata: { issue: '7' } },
		});
		expect(JSON.parse(body)).toHaveProperty('data.usage');
		expect(headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': expect.stringMatching(/^msg_/) });
		await expect.poll(() => pending(sessionId)).toEqual([]);
		expect(await readAlarm(sessionId)).toBeNull();
	});

	test.each([
		['run.failed', Object.assign(new Error('no key'), { status: 401 }), { code: 'provider_error' }],
		[
			'run.awaiting',
			{ toolCalls: [{ id: 'a', name: 'by_hand', input: {} }] },
			{ status: 'awaiting_tools', toolCalls: [{ id: 'a' }] },
		],
		[
			'run.awaiting',
			{ toolCalls: [{ id: 'a', name: 'ask', input: { question: 'Which?' } }] },
			{ question: { question: 'Which?' } },
		],
		['run.halted', { toolCalls: [{ id: 'a', name: 'stop', input: {} }] }, { status: 'halted', reason: 'stopped' }],
	])('is sent as %s', async (type, turn, data) => {
		play(turn);
		const { url, received } = await place();
		await begin({ text: 'go', callback: url });
		await expect.poll(async () => (await received()).length).toBe(1);
		expect(JSON.parse((await received())[0]?.body ?? '')).toMatchObject({ type, data });
	});

	test('is sent for a cancelled run and for each message that is dropped', async () => {
		play(() => new Promise(() => {}));
		const [one, two] = [await place(), await place()];
		const session = crypto.randomUUID();
		const { sessionId, runId } = await begin({ text: 'go', session, callback: one.url });
		const waiting = await begin({ text: 'more', session, callback: two.url });
		await request(`/v1/sessions/${sessionId}/cancel`, {});
		for (const [place, id] of [
			[one, runId],
			[two, waiting.runId],
		] as const) {
			await expect.poll(async () => (await place.received()).length).toBe(1);
			const body: unknown = JSON.parse((await place.received())[0]?.body ?? '');
			expect(body).toMatchObject({ type: 'run.cancelled', data: { runId: id } });
		}
	});

	test('is sent to the callback of the message that began the run', async () => {
		const gate = Promise.withResolvers<void>();
		play(() => gate.promise.then(() => 'One.'), 'Two.');
		const [one, two] = [await place(), await place()];
		const session = crypto.randomUUID();
		await begin({ text: 'a', session, callback: one.url });
		await begin({ text: 'b', session, callback: two.url });
		gate.resolve();
		for (const [place, text] of [
			[one, 'One.'],
			[two, 'Two.'],
		] as const) {
			await expect.poll(async () => (await place.received()).length).toBe(1);
			expect(JSON.parse((await place.received())[0]?.body ?? '')).toMatchObject({ data: { text } });
		}
	});

	test('is also sent to the callback of a steering message', async () => {
		const gate = Promise.withResolvers<void>();
		play(() => gate.promise.then(() => ({ toolCalls: [{ id: 'a', name: 'nothing', input: {} }] })), 'Both.');
		const [one, two] = [await place(), await place()];
		const session = crypto.randomUUID();
		const { runId } = await begin({ text: 'a', session, callback: one.url });
		await begin({ text: 'b', session, callback: two.url, whenBusy: 'steer' });
		gate.resolve();
		for (const place of [one, two]) {
			await expect.poll(async () => (await place.received()).length).toBe(1);
			expect(JSON.parse((await place.received())[0]?.body ?? '')).toMatchObject({ data: { runId, text: 'Both.' } });
		}
	});
});

describe('a callback that is not yet delivered', () => {
	test.each([[500], [404], [302], [0]])(
		'because of the status %i is sent again under the same id, at the scheduled times',
		async (status) => {
			play('Done.');
			const { url, received } = await place(...Array<number>(3).fill(status));
			const { sessionId } = await begin({ text: 'go', callback: url });
			await expect.poll(() => pending(sessionId)).toMatchObject([{ failed: 1 }]);
			const inMs = async () => ((await readAlarm(sessionId)) ?? 0) - Date.now();
			expect(await inMs()).toBeLessThanOrEqual(5_500);
			await laterAt(sessionId);
			expect(await pending(sessionId)).toMatchObject([{ failed: 2 }]);
			expect(await inMs()).toBeGreaterThan(290_000);
			expect(await inMs()).toBeLessThanOrEqual(330_000);
			await laterAt(sessionId);
			expect(await inMs()).toBeGreaterThan(1_790_000);
			await laterAt(sessionId);
			expect(await pending(sessionId)).toEqual([]);
			expect(await readAlarm(sessionId)).toBeNull();
			const all = await received();
			expect(all).toHaveLength(4);
			expect(new Set(all.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
			expect(new Set(all.map(({ body }) => body)).size).toBe(1);
			for (const { headers, body } of all) new Webhook(callbackSecret).verify(body, headers);
			await expect(fetch(`${inject('receiver')}/redirected`).then((response) => response.json())).resolves.toEqual([]);
		},
	);

	test('is dropped after ten attempts, or at once if its receiver is gone', async () => {
		play('Done.', 'Done.');
		const never = await place(...Array<number>(20).fill(503));
		const { sessionId } = await begin({ text: 'go', callback: never.url });
		await expect.poll(() => pending(sessionId)).toMatchObject([{ failed: 1 }]);
		for (let n = 0; n < 12; n++) await laterAt(sessionId);
		expect(await never.received()).toHaveLength(10);
		expect(await readAlarm(sessionId)).toBeNull();
		const gone = await place(410);
		const other = await begin({ text: 'go', callback: gone.url });
		await expect.poll(async () => (await gone.received()).length).toBe(1);
		await expect.poll(() => pending(other.sessionId)).toEqual([]);
		expect(await readAlarm(other.sessionId)).toBeNull();
	});

	test('survives restarts during and between attempts', async () => {
		play('Done.');
		const { url, received } = await place(-1, 500);
		const { sessionId } = await begin({ text: 'go', callback: url });
		await expect.poll(async () => (await received()).length).toBe(1);
		await restart(sessionId);
		// The alarm of the interrupted attempt is repeated.
		await runDurableObjectAlarm(readObject(sessionId));
		await expect.poll(() => pending(sessionId)).toMatchObject([{ failed: 1 }]);
		await restart(sessionId);
		expect(await pending(sessionId)).toMatchObject([{ failed: 1 }]);
		expect(await readAlarm(sessionId)).not.toBeNull();
		await laterAt(sessionId);
		expect(await received()).toHaveLength(3);
	});

	test('is sent after an interrupted run ends in its next attempt', async () => {
		const first = play(() => new Promise(() => {}));
		const { url, received } = await place();
		const { sessionId, runId } = await begin({ text: 'go', callback: url });
		await expect.poll(() => first.requests.length).toBe(1);
		play('After all.');
		await restart(sessionId);
		await runDurableObjectAlarm(readObject(sessionId));
		await expect.poll(async () => (await received()).length).toBe(1);
		expect(JSON.parse((await received())[0]?.body ?? '')).toMatchObject({ data: { runId, text: 'After all.' } });
	});

	test('is sent for a queued message of a session that expires', async () => {
		play({ toolCalls: [{ id: 'a', name: 'by_hand', input: {} }] }, 'never');
		const { url, received } = await place();
		const session = crypto.randomUUID();
		const { sessionId } = await begin({ text: 'go', session });
		await allEvents(await follow(sessionId));
		const { runId } = await begin({ text: 'more', session, callback: url });
		await runInDurableObject(readObject(sessionId), (_, { storage }) => {
			storage.sql.exec('UPDATE session SET expires_after = 1000');
			storage.sql.exec('UPDATE run SET ended_at = ended_at - 1000');
			storage.sql.exec('UPDATE queue SET created_at = created_at - 1000');
		});
		await restart(sessionId);
		await runDurableObjectAlarm(readObject(sessionId));
		await expect.poll(async () => (await received()).length).toBe(1);
		expect(JSON.parse((await received())[0]?.body ?? '')).toMatchObject({ type: 'run.cancelled', data: { runId } });
		await expect.poll(async () => (await request(`/v1/sessions/${sessionId}`)).status).toBe(404);
	});

	test('keeps its session from expiring', async () => {
		play('Done.');
		const { url } = await place(500);
		const { sessionId } = await begin({ text: 'go', callback: url });
		await expect.poll(() => pending(sessionId)).toMatchObject([{ failed: 1 }]);
		await runInDurableObject(readObject(sessionId), (_, { storage }) =>
			storage.sql.exec('UPDATE session SET expires_after = 1').toArray(),
		);
		await restart(sessionId);
		await runDurableObjectAlarm(readObject(sessionId));
		expect((await request(`/v1/sessions/${sessionId}`)).status).toBe(200);
		await laterAt(sessionId);
		await expect.poll(async () => (await request(`/v1/sessions/${sessionId}`)).status).toBe(404);
	});
});

test('refuses a callback to an address that is not public, and a callback without a secret to sign it', async () => {
	play();
	for (const callback of [
		'http://example.com/',
		'https://192.168.0.1/',
		'https://user:word@example.com/',
		'https://[::ffff:7f00:1]/',
		'data:,',
		'x',
	])
		expect((await deliver({ message: { text: 'go', callback } })).status, callback).toBe(500);
	const response = await deliver(
		{ message: { text: 'go', callback: inject('receiver') } },
		{ without: ['CALLBACK_SECRET'] },
	);
	expect(response.status).toBe(503);
	expect(await response.json()).toMatchObject({
		error: { code: 'not_configured', message: expect.stringContaining('npx wrangler secret put CALLBACK_SECRET') },
	});
});

test('a callback is signed with every secret, and its retries span three days', async () => {
	const { signHeaders } = await import('../../../src/cloudflare/wire/protocols/webhooks/callback.ts');
	const secrets = [callbackSecret, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'];
	const headers = await signHeaders('{"test": 2432232314}', { id: 'msg_1', secrets, now: Date.now() });
	for (const secret of secrets) new Webhook(secret).verify('{"test": 2432232314}', headers);
	const delays = Array.from({ length: 10 }, (_, n) => retryDelay(n + 1));
	expect(delays[9]).toBeUndefined();
	const total = delays.reduce<number>((sum, delay = 0) => sum + delay, 0) / 3_600_000;
	expect(total).toBeGreaterThan(75);
	expect(total).toBeLessThan(84);
});

test('a run without a callback sends nothing and keeps no alarm', async () => {
	play('Done.');
	const { sessionId } = await begin({ text: 'go' });
	await allEvents(await follow(sessionId));
	expect(await pending(sessionId)).toEqual([]);
	await expect.poll(() => readNextAlarm(sessionId)).toBeNull();
});

describe('the answer to somebody in Slack', () => {
	const asks = { toolCalls: [{ id: 'a', name: 'ask', input: { question: 'Which <day>?' } }] };
	test.each([
		['a text', 'Done & <!channel>.', { text: 'Done &amp; &lt;!channel&gt;.', response_type: 'ephemeral' }],
		['a question', asks, { text: 'Which &lt;day&gt;?' }],
		[
			'a failure without its reason',
			Object.assign(new Error('sk-secret'), { status: 401 }),
			{ text: /^That did not work/ },
		],
	])('is posted to the response_url of the request: %s', async (_, turn, data) => {
		play(turn);
		const { url, received } = await place();
		const { sessionId } = await begin({ text: 'go', responseUrl: url });
		await expect.poll(async () => (await received()).length).toBe(1);
		const [{ headers, body } = { headers: {}, body: '{}' }] = await received();
		const { text, ...more } = JSON.parse(body);
		expect(more).toEqual({ response_type: 'ephemeral', replace_original: false });
		if (data.text instanceof RegExp) expect(text).toMatch(data.text);
		else expect(text).toBe(data.text);
		// Slack is no receiver of webhooks.
		expect(headers).not.toHaveProperty('webhook-signature');
		await expect.poll(() => pending(sessionId)).toEqual([]);
	});

	test('can be sent to the whole channel, and is retried unless Slack answers 404', async () => {
		play('Later.', 'Never.');
		const [down, used] = [await place(503, 0), await place(404)];
		const first = await begin({ text: 'go', responseUrl: down.url, isPublic: true });
		await expect.poll(() => pending(first.sessionId)).toMatchObject([{ failed: 1 }]);
		await laterAt(first.sessionId);
		await expect.poll(() => pending(first.sessionId)).toMatchObject([{ failed: 2 }]);
		await restart(first.sessionId);
		await laterAt(first.sessionId);
		await expect.poll(() => pending(first.sessionId)).toEqual([]);
		expect(JSON.parse((await down.received()).at(-1)?.body ?? '')).toMatchObject({
			text: 'Later.',
			response_type: 'in_channel',
		});
		const second = await begin({ text: 'go', responseUrl: used.url });
		await expect.poll(() => pending(second.sessionId)).toEqual([]);
		expect(await used.received()).toHaveLength(1);
	});

	test.each([
		'https://example.com/',
		'https://hooks.slack.com.evil.example/a',
		'https://evil.example/?https://hooks.slack.com/',
		'http://hooks.slack.com/a',
		'https://user@hooks.slack.com/a',
		'https://hooks.slack.com:8443/a',
		'https://10.0.0.1/',
		'slack:ephemeral:https://hooks.slack.com/',
		'',
	])('is sent only to Slack, not to %j', async (responseUrl) => {
		expect((await deliver({ message: { text: 'go', responseUrl } })).status).toBe(500);
	});

	test('cannot go to both a response_url and a callback', async () => {
		const { url } = await place();
		expect((await deliver({ message: { text: 'go', responseUrl: url, callback: url } })).status).toBe(500);
	});
});

describe('the answer to an issue of GitHub', () => {
	const issueEvent = (about: string, body: string) => ({
		action: 'opened',
		repository: { full_name: about.split('#')[0] },
		issue: { number: Number(about.split('#')[1]), title: 'Typo in the README', body, user: { login: 'ada' } },
		sender: { login: 'ada', type: 'User' },
	});
	const opened = { source: 'github', agent: 'triage', headers: { 'x-github-event': 'issues' } } as const;

	test('is posted as a comment by the agent triage, which never answers its own comments', async () => {
		const about = `you/shop-${crypto.randomUUID()}#7`;
		// Without a token the comment stays a draft in the session. The next event continues the session.
		const drafted = v.parse(takenBody, await (await deliver(issueEvent(about, 'First.'), opened)).json());
		await allEvents(await follow(drafted.sessionId));
		expect(await pending(drafted.sessionId)).toEqual([]);
		const api = await place();
		const comments = `${api.url}/repos/${about.replace('#', '/issues/')}/comments`;
		await fetch(comments, { method: 'PUT', body: '[502]' });
		const github = { GITHUB_TOKEN: 'token-of-github', GITHUB_API_URL: api.url };
		const own = await runInDurableObject(readObject(drafted.sessionId), (object) =>
			readConfig(Reflect.get(object, 'env')),
		);
		const before = own.github;
		Object.assign(own, { github: { token: github.GITHUB_TOKEN, baseURL: github.GITHUB_API_URL } });
		const send = (payload: object, event: string) => {
			const body = JSON.stringify(payload);
			const signed = senders.github.headers(body, { id: crypto.randomUUID(), at: 0, secrets: [senders.github.secret] });
			const init = { method: 'POST', body, headers: { ...signed, 'x-github-event': event } };
			return worker.request('http://localhost/v1/webhooks/triage/github', init, { ...env, ...github });
		};
		const response = await send(issueEvent(about, 'Second.'), 'issues');
		expect(v.parse(takenBody, await response.json()).sessionId).toBe(drafted.sessionId);
		// GitHub cannot be reached at first.
		await expect.poll(() => pending(drafted.sessionId)).toMatchObject([{ failed: 1 }]);
		await laterAt(drafted.sessionId);
		await expect.poll(() => pending(drafted.sessionId)).toEqual([]);
		Object.assign(own, { github: before });
		const posted = v.parse(received, await (await fetch(comments)).json());
		expect(posted).toHaveLength(2);
		expect(posted.at(-1)?.headers).toMatchObject({
			authorization: 'Bearer token-of-github',
			accept: 'application/vnd.github+json',
		});
		const { body } = JSON.parse(posted.at(-1)?.body ?? '{}');
		expect(body).toMatch(/\S\n\n<!-- runlet -->$/);
		// The comment comes back as an event of the owner of the token.
		const comment = { body, user: { login: 'ada', type: 'User' } };
		const echo = { ...issueEvent(about, 'Second.'), action: 'created', comment };
		expect((await send(echo, 'issue_comment')).status).toBe(204);
	});
});

describe('a run that begins to wait', () => {
	const pay = (id: string) => ({ id, name: 'pay', input: { amount: 5 } });
	const manual = { id: 'm', name: 'by_hand', input: {} };
	/** A session whose run waits for these calls. */
	const wait = async (...toolCalls: readonly ToolCall[]) => {
		play({ toolCalls });
		return (await (await request('/v1/sessions', { agent: 'asking-out', text: 'go' })).json<{ id: string }>()).id;
	};
	const readBody = async (read: () => Promise<v.InferOutput<typeof received>>, n = 0) => {
		await expect.poll(async () => (await read()).length).toBeGreaterThan(n);
		return JSON.parse((await read())[n]?.body ?? '');
	};

	test('calls the agent’s callback each time, with links that decide about its approvals', async () => {
		const { url, received } = await place();
		receiver.callback = url;
		const id = await wait(pay('a'), manual);
		const body = await readBody(received);
		expect(body).toMatchObject({
			type: 'run.awaiting',
			data: { sessionId: id, agent: 'asking-out', status: 'awaiting_tools', toolCalls: [{ id: 'a' }, { id: 'm' }] },
		});
		expect(Object.keys(body.data.links)).toEqual(['a']);
		const { approve, expiresAt } = body.data.links.a;
		expect(Date.parse(expiresAt) - Date.parse(body.timestamp)).toBe(86_400_000);
		const path = new URL(approve).pathname;
		expect((await request(path, {})).status).toBe(200);
		expect((await request(path, {})).status).toBe(409);
		play({ toolCalls: [pay('b')] });
		await request(`/v1/sessions/${id}/tool-results`, [{ id: 'm', output: 1 }]);
		expect(Object.keys((await readBody(received, 1)).data.links)).toEqual(['b']);
		await expect.poll(() => pending(id)).toEqual([]);
	});

	test('repeats its callback under the same id after a crash, without links for decided calls', async () => {
		const { url, received } = await place(500);
		receiver.callback = url;
		const id = await wait(pay('a'), pay('b'));
		const first = await readBody(received);
		await expect.poll(async () => (await pending(id))[0]?.failed).toBe(1);
		await request(new URL(first.data.links.a.deny).pathname, {});
		await restart(id);
		await laterAt(id);
		expect(Object.keys((await readBody(received, 1)).data.links)).toEqual(['b']);
		const ids = (await received()).map(({ headers }) => headers['webhook-id']);
		expect(new Set(ids).size).toBe(1);
	});

	test('sends links only to the agent’s callback, which is not called for a run that does not wait', async () => {
		const [own, message] = [await place(), await place()];
		receiver.callback = own.url;
		play({ toolCalls: [pay('a')] });
		const payload = { message: { text: 'go', callback: message.url } };
		expect((await deliver(payload, { agent: 'asking-out' })).status).toBe(202);
		expect((await readBody(own.received)).data).toHaveProperty('links');
		expect((await readBody(message.received)).data).not.toHaveProperty('links');
		play('Nothing to ask.');
		const made = await request('/v1/sessions', { agent: 'asking-out', text: 'go' });
		const { id } = await made.json<{ id: string }>();
		expect(await pending(id)).toEqual([]);
	});
});
