import { env, runInDurableObject } from 'cloudflare:test';
import examples from '@octokit/webhooks-examples';
import * as v from 'valibot';
import { describe, expect, test, vi } from 'vitest';
import { hashKey, makeKey } from '../../../src/cloudflare/auth/key.ts';
import { webhookKey } from '../../../src/cloudflare/objects/once.ts';
import {
	type SourceName,
	signatureHeaders,
	sourceNames,
} from '../../../src/cloudflare/wire/protocols/webhooks/index.ts';
import { allEvents, follow, readHistory, readObject, readState, request, restart } from '../../client.ts';
import { createKeys } from '../../credentials.ts';
import { createRandom } from '../../endurance/random.ts';
import { play } from '../../script.ts';
import worker, { slowMapping } from '../../worker.ts';
import { deliver, post, type Taken } from '../wire/protocols/webhooks/deliver.ts';
import { senders } from '../wire/protocols/webhooks/senders.ts';

const unique = () => crypto.randomUUID();
const taken = async (response: Pick<Response, 'json'>): Promise<Taken> => v.parse(takenBody, await response.json());
const takenBody = v.object({ sessionId: v.string(), runId: v.string() });
/** Waits for the end of a delivery’s run, so that it does not use the next test’s model. */
const ended = async (response: Pick<Response, 'json'>) => allEvents(await follow((await taken(response)).sessionId));
/** The fields that make a delivery of each source unique. */
const readPayload = (id: string, message: unknown) => ({ id, event_id: id, message });

describe('a delivery', () => {
	test.each(sourceNames)('of %s is acknowledged when it is stored, and starts a run', async (source) => {
		const gate = Promise.withResolvers<void>();
		const { requests } = play(() => gate.promise.then(() => 'Done.'));
		const response = await deliver(readPayload(unique(), 'Do it.'), { source });
		expect(response.status).toBe(202);
		const { sessionId, runId } = await taken(response);
		expect(await readState(sessionId)).toMatchObject({ agent: 'hooked', status: 'running', run: { id: runId } });
		gate.resolve();
		expect((await allEvents(await follow(sessionId))).at(-1)).toMatchObject({ type: 'done', data: { text: 'Done.' } });
		expect(await readHistory(sessionId)).toMatchObject([{ role: 'user', content: 'Do it.' }, { role: 'assistant' }]);
		expect(requests).toHaveLength(1);
	});

	test.each(sourceNames)(
		'of %s that is repeated at once, later or after a crash begins no second run',
		async (source) => {
			const { requests } = play('Once.', 'Twice.');
			const id = unique();
			const once = () => deliver(readPayload(id, 'Do it.'), { source, id });
			const five = await Promise.all(Array.from({ length: 5 }, once));
			expect(five.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 202]);
			const answers = await Promise.all(five.map(taken));
			const [{ sessionId, runId } = { sessionId: '', runId: '' }] = answers;
			for (const answer of answers) expect(answer).toEqual({ sessionId, runId });
			await allEvents(await follow(sessionId));
			await restart(sessionId);
			const again = await once();
			expect(again.status).toBe(200);
			expect(await taken(again)).toEqual({ sessionId, runId });
			expect(requests).toHaveLength(1);
			expect(await readHistory(sessionId)).toHaveLength(2);
		},
	);

	test('with a known id is a repeat, even if its content differs', async () => {
		play('One.');
		const id = unique();
		const about = { text: 'a', session: unique() };
		const first = await deliver({ message: about }, { id });
		expect(first.status).toBe(202);
		expect((await deliver({ message: { ...about, text: 'b' } }, { id })).status).toBe(200);
		await ended(first);
	});

	test('without an id is identified by its body', async () => {
		play('One.', 'Two.');
		const message = { message: `Do ${unique()}.` };
		const first = await deliver(message, { source: 'stripe' });
		const second = await deliver(message, { source: 'stripe' });
		expect([first.status, second.status]).toEqual([202, 200]);
		const other = await deliver({ ...message, more: 1 }, { source: 'stripe' });
		expect(other.status).toBe(202);
		await ended(first);
		await ended(other);
	});

	test('is added to the session that its mapping names, or to a new session if the mapping names none', async () => {
		play('One.', 'Two.', 'Three.', 'Four.');
		const session = `repository#${unique()}`;
		const metadata = { issue: session };
		const first = await taken(await deliver({ message: { text: 'a', session, metadata, sender: 'ada' } }));
		await allEvents(await follow(first.sessionId));
		const second = await taken(await deliver({ message: { text: 'b', session } }));
		expect(second.sessionId).toBe(first.sessionId);
		await allEvents(await follow(first.sessionId));
		expect((await readHistory(first.sessionId)).map(({ content }) => content)).toEqual(['a', 'One.', 'b', 'Two.']);
		expect(await readState(first.sessionId)).toMatchObject({ metadata });
		const alone = await taken(await deliver({ message: 'c' }));
		// The same id from another source means another delivery.
		const other = await taken(await deliver({ message: { text: 'd', session } }, { source: 'github' }));
		expect(new Set([first, alone, other].map(({ sessionId }) => sessionId)).size).toBe(3);
		for (const { sessionId } of [alone, other]) await allEvents(await follow(sessionId));
	});

	test('waits during a run, and is refused with a retry status if too many deliveries wait', async () => {
		const gate = Promise.withResolvers<void>();
		play(() => gate.promise.then(() => 'First.'), ...Array.from({ length: 16 }, (_, n) => `Answer ${n}.`));
		const session = unique();
		const send = (text: string, id = unique()) => deliver({ message: { text, session } }, { id });
		const { sessionId } = await taken(await send('go'));
		for (let n = 0; n < 16; n++) expect((await send(`more ${n}`)).status).toBe(202);
		const late = unique();
		const refused = await send('one too many', late);
		expect(refused.status).toBe(503);
		expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
		expect(await refused.json()).toMatchObject({ error: { code: 'overloaded' } });
		gate.resolve();
		await expect.poll(async () => (await readHistory(sessionId)).length).toBe(34);
		// The refused delivery was not stored, so it is new if it is sent again.
		play('Late.');
		const again = await send('one too many', late);
		expect(again.status).toBe(202);
		await ended(again);
	});

	test('with a known id counts as a repeat for 30 days', async () => {
		const { requests } = play('One.', 'Two.', 'Three.');
		const session = unique();
		const send = (id: string) => deliver({ message: { text: id, session } }, { id });
		const [old, older] = [unique(), unique()];
		const { sessionId } = await taken(await send(old));
		await allEvents(await follow(sessionId));
		await taken(await send(older));
		await allEvents(await follow(sessionId));
		const age = async (id: string, days: number) =>
			runInDurableObject(readObject(sessionId), (_, { storage }) =>
				storage.sql
					.exec(
						'UPDATE delivery SET created_at = ? WHERE key = ?',
						Date.now() - days * 86_400_000,
						webhookKey('hmac', id),
					)
					.toArray(),
			);
		await age(old, 29.9);
		await age(older, 30.1);
		await restart(sessionId);
		expect((await send(unique())).status).toBe(202);
		await allEvents(await follow(sessionId));
		expect((await send(old)).status).toBe(200);
		play('Again.');
		expect((await send(older)).status).toBe(202);
		expect(requests).toHaveLength(3);
	});

	test('is retried by the Worker after a retryable error, and by its sender after other errors', async () => {
		const { secret, headers } = senders.hmac;
		const body = JSON.stringify({ message: 'go' });
		const readAnswers = async (...marks: readonly string[]) => {
			let calls = 0;
			const send = async () => {
				const mark = marks[calls++];
				if (mark !== undefined) throw Object.assign(new Error('of the platform'), { [mark]: true });
				return { ok: true, value: { kind: 'accepted', runId: 'run_1' } };
			};
			const SESSIONS = { idFromName: () => 'an-id', get: () => ({ send }) };
			const signed = { ...headers(body, { id: unique(), at: 0, secrets: [secret] }) };
			const init = { method: 'POST', body, headers: signed };
			const response = await worker.request('http://localhost/v1/webhooks/hooked/hmac', init, { ...env, SESSIONS });
			return [response.status, response.headers.has('retry-after'), calls];
		};
		expect(await readAnswers()).toEqual([202, false, 1]);
		expect(await readAnswers('retryable')).toEqual([202, false, 2]);
		expect(await readAnswers('overloaded')).toEqual([503, true, 1]);
		expect(await readAnswers('unknown')).toEqual([503, true, 1]);
	});

	test('that the mapping ignores is acknowledged without being stored', async () => {
		const { requests } = play();
		const count = async () =>
			(await (await request('/v1/sessions?limit=100')).json<{ sessions: unknown[] }>()).sessions.length;
		const before = await count();
		const response = await deliver({ other: true });
		expect(response.status).toBe(204);
		expect(await response.text()).toBe('');
		expect(await count()).toBe(before);
		expect(requests).toHaveLength(0);
	});

	test.each([
		['throws', { throws: 'secret-in-a-mapping' }],
		['gives an empty text', { message: '' }],
		['gives no message', { message: { session: 'a' } }],
		['gives a number', { message: 1 }],
		['gives null', { message: null }],
		['gives an unknown field', { message: { text: 'a', agent: 'b' } }],
		['names a callback that is not public', { message: { text: 'a', callback: 'https://10.0.0.1/' } }],
		['names a callback that is not https', { message: { text: 'a', callback: 'http://example.com/' } }],
	])('whose mapping %s gets a 500 that names the mapping', async (_, payload) => {
		const response = await deliver(payload);
		expect(response.status).toBe(500);
		const text = await response.text();
		expect(JSON.parse(text)).toMatchObject({
			error: { code: 'internal', message: expect.stringContaining('webhooks.hmac') },
		});
	});

	test('that is signed but is not a JSON object gets a 400', async () => {
		for (const body of ['', '[1]', 'hello', '"text"', '{"a":'.repeat(500)]) {
			const response = await deliver(body);
			expect(response.status, body.slice(0, 20)).toBe(400);
		}
	});

	test('is read up to 1 MB or the agent’s limit, without trust in its Content-Length', async () => {
		const body = JSON.stringify({ text: 'x'.repeat(1_000_000) });
		expect((await deliver(body)).status).toBe(413);
		expect((await deliver(body, { agent: 'hooked-wide' })).status).toBe(204);
		expect((await deliver({ text: 'x'.repeat(3_000_000) }, { agent: 'hooked-wide' })).status).toBe(413);
		const long = new ReadableStream({
			start: (controller) => {
				for (let n = 0; n < 100; n++) controller.enqueue(new Uint8Array(65_536));
				controller.close();
			},
		});
		const signature = { 'x-signature-256': `sha256=${'0'.repeat(64)}` };
		expect((await post('/v1/webhooks/hooked/hmac', long, signature)).status).toBe(413);
		expect((await deliver({ text: 'x'.repeat(900_000) })).status).toBe(204);
	});

	test('is stored with its sender and its transport', async () => {
		play({ toolCalls: [{ id: 'a', name: 'by_hand', input: {} }] });
		const { sessionId } = await taken(await deliver({ message: { text: 'go', sender: 'ada' } }));
		await allEvents(await follow(sessionId));
		const row = await runInDurableObject(readObject(sessionId), (_, { storage }) =>
			storage.sql.exec<{ body: string }>('SELECT body FROM message ORDER BY seq LIMIT 1').one(),
		);
		expect(JSON.parse(row.body)).toMatchObject({ inbound: { sender: 'ada', transport: 'webhook:hmac' } });
	});

	test('waits while its session waits for a person', async () => {
		const session = unique();
		play({ toolCalls: [{ id: 'a', name: 'by_hand', input: {} }] }, 'By hand.', 'And more.');
		const { sessionId } = await taken(await deliver({ message: { text: 'go', session } }));
		await allEvents(await follow(sessionId));
		const later = await deliver({ message: { text: 'more', session } });
		expect(later.status).toBe(202);
		expect(await readState(sessionId)).toMatchObject({ status: 'awaiting_tools', waiting: 1 });
		await request(`/v1/sessions/${sessionId}/tool-results`, [{ id: 'a', output: 'done' }]);
		const said = async () => (await readHistory(sessionId)).map(({ content }) => content).slice(2);
		await expect.poll(said).toEqual(['done', 'By hand.', 'more', 'And more.']);
	});
});

describe('who may deliver', () => {
	test('1,000 tampered deliveries are refused, with the same error for every delivery of a source', async () => {
		const { requests } = play();
		const random = createRandom(7);
		const answers = new Set<string>();
		for (let n = 0; n < 1_000; n++) {
			const source: SourceName = sourceNames[n % sourceNames.length] ?? 'hmac';
			const { secret, otherSecret, headers, signedHeaders } = senders[source];
			const id = unique();
			const body = JSON.stringify(readPayload(id, `message ${n}`));
			const at = Math.floor(Date.now() / 1_000);
			const how = random(0, 4);
			const late = at + (random(0, 1) === 0 ? -1 : 1) * random(301, 100_000);
			const isLate = how === 1 && senders[source].isTimed;
			const signed: Record<string, string> = {
				...headers(body, { id, at: isLate ? late : at, secrets: [how === 0 ? otherSecret : secret] }),
			};
			const header = signedHeaders[random(0, signedHeaders.length - 1)] ?? '';
			if (how === 2) delete signed[header];
			if (how === 3) signed[header] = altered(signed[header] ?? '', random);
			const isBody = how === 4 || (how === 1 && !isLate);
			const response = await post(`/v1/webhooks/hooked/${source}`, isBody ? altered(body, random) : body, signed);
			expect(response.status, `${source} ${how} ${JSON.stringify(signed)}`).toBe(401);
			answers.add(`${response.headers.get('www-authenticate')} ${await response.text()}`);
		}
		const words = (field: string) =>
			`Signature realm="runlet", header="${field}" {"error":{"code":"auth","message":"The signature of this delivery is missing, too old, or not right. Have sender and Worker the same secret?","data":{"field":"${field}","scheme":"Signature"}}}`;
		expect([...answers].sort()).toEqual(Object.values(signatureHeaders).sort().map(words));
		expect(requests).toHaveLength(0);
	});

	test('unknown callers learn nothing about agents and sources', async () => {
		for (const path of [
			'nobody/github',
			'scripted/github',
			'hooked/nobody',
			'hooked/__proto__',
			'triage/stripe',
			'toString/hmac',
		]) {
			const response = await post(`/v1/webhooks/${path}`, '{}', {});
			expect(response.status, path).toBe(404);
			expect(await response.text()).not.toContain('scripted');
		}
		const response = await worker.request('http://localhost/v1/webhooks/hooked/hmac', { method: 'GET' }, env);
		expect(response.status).toBe(405);
		expect(response.headers.get('allow')).toBe('POST');
	});

	test.each(sourceNames)(
		'if the secret of %s is missing, the answer names the variable and says how to set it',
		async (source) => {
			const variable = `${source.toUpperCase()}_WEBHOOK_SECRET`;
			for (const value of [undefined, '', ' , ']) {
				const given = { ...env, [variable]: value };
				const response = await worker.request(
					`http://localhost/v1/webhooks/hooked/${source}`,
					{ method: 'POST', body: '{}' },
					given,
				);
				expect(response.status).toBe(503);
				expect(await response.json()).toMatchObject({
					error: { code: 'not_configured', message: expect.stringContaining(`npx wrangler secret put ${variable}`) },
				});
			}
		},
	);

	test('several secrets can be separated by spaces or commas', async () => {
		const { secret, otherSecret, headers } = senders.hmac;
		const given = { ...env, HMAC_WEBHOOK_SECRET: ` ${otherSecret}, first\n${secret} ` };
		const signed = headers('{}', { id: unique(), at: 0, secrets: [secret] });
		const init = { method: 'POST', body: '{}', headers: { ...signed } };
		expect((await worker.request('http://localhost/v1/webhooks/hooked/hmac', init, given)).status).toBe(204);
	});

	test('an API key is neither needed nor accepted, and the sessions belong to the owner `webhooks`', async () => {
		play('Done.');
		const { key, id } = makeKey();
		const keys = [{ id, owner: 'webhooks', hash: await hashKey(key), scopes: ['run'] }];
		const given = { ...env, LOCAL: 'false', API_KEYS: JSON.stringify(keys) };
		const byKey = { authorization: `Bearer ${key}` };
		const ask = (path: string, init: RequestInit, bindings: object = given) =>
			worker.request(`https://runlet.example${path}`, init, bindings);
		const body = JSON.stringify({ message: 'go' });
		const path = '/v1/webhooks/hooked/hmac';
		expect((await ask(path, { method: 'POST', body, headers: byKey })).status).toBe(401);
		const { secret, headers } = senders.hmac;
		const delivery = {
			method: 'POST',
			body,
			headers: { ...headers(body, { id: unique(), at: 0, secrets: [secret] }) },
		};
		const response = await ask(path, delivery);
		expect(response.status).toBe(202);
		const { sessionId } = await taken(response);
		expect((await ask(`/v1/sessions/${sessionId}`, { headers: byKey })).status).toBe(200);
		// This machine gets the thrown message, but a sender on the web does not get it.
		const failing = JSON.stringify({ throws: 'secret-in-a-mapping' });
		const signed = { ...headers(failing, { id: unique(), at: 0, secrets: [secret] }) };
		const failed = { method: 'POST', body: failing, headers: signed };
		expect(await (await ask(path, failed)).text()).not.toContain('secret-in-a-mapping');
		expect(await (await deliver({ throws: 'secret-in-a-mapping' })).text()).toContain('secret-in-a-mapping');
		const other = await createKeys({ bob: ['run'] });
		const byBob = { authorization: `Bearer ${other.keys.bob}` };
		expect((await ask(`/v1/sessions/${sessionId}`, { headers: byBob }, other.bindings)).status).toBe(404);
		expect((await ask(path, delivery, { ...env, LOCAL: 'false' })).status).toBe(503);
		expect((await ask(path, delivery, env)).status).toBe(403);
	});
});

describe('a delivery that is not authentic', () => {
	/** A body that never ends, and whether it is still read. */
	function endless() {
		let read = 0;
		const body = new ReadableStream<Uint8Array>(
			{ pull: () => new Promise<void>(() => void read++) },
			{ highWaterMark: 0 },
		);
		return { body, read: () => read };
	}

	test.each(sourceNames)('of %s is refused before its body is read', async (source) => {
		const { secret, headers, signedHeaders, isTimed } = senders[source];
		const now = Math.floor(Date.now() / 1_000);
		const signed = { ...headers('{}', { id: unique(), at: now, secrets: [secret] }) };
		const old = { ...headers('{}', { id: unique(), at: now - 301, secrets: [secret] }) };
		// A slow machine takes seconds.
		const early = { ...headers('{}', { id: unique(), at: now + 360, secrets: [secret] }) };
		const without = signedHeaders.map((name) => ({ ...signed, [name]: '' }));
		const formed = signedHeaders.filter((name) => name !== 'webhook-id');
		const garbled = formed.map((name) => ({ ...signed, [name]: 'x' }));
		for (const wrong of [{}, ...without, ...garbled, ...(isTimed ? [old, early] : [])]) {
			const { body, read } = endless();
			const request = new Request(`http://localhost/v1/webhooks/hooked/${source}`, {
				method: 'POST',
				body,
				headers: wrong,
			});
			const response = await worker.request(request, undefined, env);
			expect(response.status, JSON.stringify(wrong)).toBe(401);
			expect(read(), JSON.stringify(wrong)).toBe(0);
			expect(request.bodyUsed).toBe(false);
		}
	});

	test('counts toward the rate limit of its address, and an authentic delivery does not', async () => {
		const counts = new Map<string, number>();
		const limit = async ({ key }: { key: string }) => {
			counts.set(key, (counts.get(key) ?? 0) + 1);
			return { success: (counts.get(key) ?? 0) <= 2 };
		};
		const { secret, otherSecret, headers } = senders.hmac;
		const send = async (by: string | undefined, ip: string) => {
			const signed = by === undefined ? {} : headers('{}', { id: unique(), at: 0, secrets: [by] });
			const init = { method: 'POST', body: '{}', headers: { ...signed, 'cf-connecting-ip': ip } };
			const own = { ...env, RATE_LIMITER: { limit } };
			return (await worker.request('http://localhost/v1/webhooks/hooked/hmac', init, own)).status;
		};
		expect([await send(undefined, '203.0.113.7'), await send(otherSecret, '203.0.113.7')]).toEqual([401, 401]);
		expect([await send(undefined, '203.0.113.7'), await send(otherSecret, '203.0.113.7')]).toEqual([429, 429]);
		// Senders share addresses: unsigned requests do not lock out signed ones.
		expect(await send(secret, '203.0.113.7')).toBe(204);
		expect(await send(undefined, '203.0.113.8')).toBe(401);
		const nearby = [await send(undefined, '2001:db8::1'), await send(undefined, '2001:db8::2')];
		expect([...nearby, await send(undefined, '2001:db8::3')]).toEqual([401, 401, 429]);
	});

	test('is refused if its body does not arrive in time', async () => {
		vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
		try {
			const { secret, headers } = senders.hmac;
			let isCancelled = false;
			const slow = new ReadableStream<Uint8Array>({
				start: (controller) => controller.enqueue(new TextEncoder().encode('{')),
				cancel: () => {
					isCancelled = true;
				},
			});
			const signed = headers('{}', { id: unique(), at: 0, secrets: [secret] });
			const answer = post('/v1/webhooks/hooked/hmac', slow, signed);
			await vi.advanceTimersByTimeAsync(10_000);
			const response = await answer;
			expect(response.status).toBe(408);
			expect(await response.json()).toMatchObject({ error: { code: 'timeout', data: { field: 'body' } } });
			expect(isCancelled).toBe(true);
		} finally {
			vi.useRealTimers();
		}
	});
});

describe('an agent with its own secret', () => {
	const own = 'of-this-agent-only';
	const send = async (agent: string, secret: string, variables: object = { HMAC_WEBHOOK_SECRET_HOOKED_WIDE: own }) => {
		const signed = senders.hmac.headers('{}', { id: unique(), at: 0, secrets: [secret] });
		const init = { method: 'POST', body: '{}', headers: { ...signed } };
		return worker.request(`http://localhost/v1/webhooks/${agent}/hmac`, init, { ...env, ...variables });
	};

	test('accepts only deliveries that are signed with its secret', async () => {
		const general = senders.hmac.secret;
		expect((await send('hooked-wide', own)).status).toBe(204);
		expect((await send('hooked-wide', general)).status).toBe(401);
		expect((await send('hooked', general)).status).toBe(204);
		expect((await send('hooked', own)).status).toBe(401);
		expect((await deliver({ other: true }, { agent: 'hooked-wide', source: 'github' })).status).toBe(204);
	});

	test('can have several secrets, and refuses all deliveries if its variable is empty', async () => {
		for (const secret of ['one', 'two'])
			expect((await send('hooked-wide', secret, { HMAC_WEBHOOK_SECRET_HOOKED_WIDE: 'one, two' })).status).toBe(204);
		const response = await send('hooked-wide', senders.hmac.secret, { HMAC_WEBHOOK_SECRET_HOOKED_WIDE: ' ' });
		expect(response.status).toBe(503);
		expect(await response.text()).toContain('wrangler secret put HMAC_WEBHOOK_SECRET_HOOKED_WIDE');
	});
});

describe('a replayed body', () => {
	test.each(['github', 'hmac'] as const)(
		'with another id from %s starts no second run, in a named session or in a new session',
		async (source) => {
			const { requests } = play('Once.', 'Twice.', 'Thrice.');
			for (const session of [undefined, unique()]) {
				const payload = { message: { text: `Pay ${unique()}.`, session } };
				const first = await deliver(payload, { source });
				expect(first.status).toBe(202);
				const { sessionId, runId } = await taken(first);
				await allEvents(await follow(sessionId));
				await restart(sessionId);
				for (let n = 0; n < 3; n++) {
					const again = await deliver(payload, { source });
					expect(again.status).toBe(200);
					expect(await taken(again)).toEqual({ sessionId, runId });
				}
				expect(await readHistory(sessionId)).toHaveLength(2);
			}
			expect(requests).toHaveLength(2);
		},
	);

	test('that arrives five times at once with five ids starts one run', async () => {
		const { requests } = play('Once.', 'Twice.');
		const payload = { message: `Pay ${unique()}.` };
		const answers = await Promise.all(Array.from({ length: 5 }, () => deliver(payload)));
		expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 202]);
		const [{ sessionId } = { sessionId: '' }] = await Promise.all(answers.map(taken));
		await allEvents(await follow(sessionId));
		expect(requests).toHaveLength(1);
	});

	test('counts as a new delivery if `sameBody` is `again` or the sender signs the id', async () => {
		const { requests } = play('One.', 'Two.', 'Three.', 'Four.', 'Five.', 'Six.');
		for (const given of [{ agent: 'hooked-wide' }, { source: 'standard' as const }]) {
			for (const session of [undefined, unique()]) {
				const payload = { message: { text: 'Tick.', session } };
				const ids: string[] = [];
				for (let n = 0; n < 2; n++) {
					const response = await deliver(payload, given);
					expect(response.status).toBe(202);
					const { sessionId, runId } = await taken(response);
					ids.push(runId);
					await allEvents(await follow(sessionId));
				}
				expect(new Set(ids).size).toBe(2);
			}
		}
		expect(requests.length).toBeGreaterThan(5);
	});

	test('counts as a repeat for 30 days', async () => {
		play('One.', 'Two.');
		const payload = { message: { text: 'Tick.', session: unique() } };
		const { sessionId } = await taken(await deliver(payload));
		await allEvents(await follow(sessionId));
		const age = (days: number) =>
			runInDurableObject(readObject(sessionId), (_, { storage }) =>
				storage.sql.exec('UPDATE delivery SET created_at = ?', Date.now() - days * 86_400_000).toArray(),
			);
		await age(29.9);
		expect((await deliver(payload)).status).toBe(200);
		await age(30.1);
		const again = await deliver(payload);
		expect(again.status).toBe(202);
		await ended(again);
	});
});

describe('an event for a session with an open question', () => {
	const asks = { toolCalls: [{ id: 'q', name: 'ask', input: { question: 'Which day?' } }] };

	test('waits for a person’s answer, because a stranger’s comment is no answer', async () => {
		for (const whenBusy of [undefined, 'steer'] as const) {
			play(asks, 'On Friday.', 'And more.');
			const session = unique();
			const { sessionId } = await taken(await deliver({ message: { text: 'Book.', session } }));
			await allEvents(await follow(sessionId));
			expect((await deliver({ message: { text: 'Spam.', session, whenBusy } })).status).toBe(202);
			expect(await readState(sessionId)).toMatchObject({ status: 'awaiting_user', waiting: 1 });
			await request(`/v1/sessions/${sessionId}/answer`, { text: 'Friday.' });
			const said = async () =>
				(await readHistory(sessionId)).slice(2).map(({ role, content }) => `${role}: ${content}`);
			const own = ['tool: Friday.', 'assistant: On Friday.', 'user: Spam.', 'assistant: And more.'];
			const steered = ['tool: Friday.', 'user: Spam.', 'assistant: On Friday.'];
			await expect.poll(said).toEqual(whenBusy === 'steer' ? steered : own);
		}
		const session = unique();
		play(asks);
		await allEvents(await follow((await taken(await deliver({ message: { text: 'Book.', session } }))).sessionId));
		expect((await deliver({ message: { text: 'Spam.', session, whenBusy: 'reject' } })).status).toBe(503);
	});

	test('answers the question if the mapping allows it', async () => {
		play(asks, 'On Friday.');
		const session = unique();
		const { sessionId } = await taken(await deliver({ message: { text: 'Book.', session } }));
		await allEvents(await follow(sessionId));
		expect((await deliver({ message: { text: 'Friday.', session, answers: true } })).status).toBe(202);
		const roles = async () => (await readHistory(sessionId)).map(({ role }) => role);
		await expect.poll(roles).toEqual(['user', 'assistant', 'tool', 'assistant']);
	});
});

describe('the immediate answer of a source', () => {
	test('Slack’s commands and interactions get an empty answer, with or without a run', async () => {
		play('Done.', 'Done.', 'Done.', 'Done.', 'Done.');
		const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();
		const interactive = (payload: object) => form({ payload: JSON.stringify({ trigger_id: unique(), ...payload }) });
		for (const message of [{ text: 'go' }, undefined]) {
			for (const body of [
				interactive({ type: 'block_actions', message }),
				interactive({ type: 'view_submission', message }),
				interactive({ type: 'shortcut', message }),
			]) {
				const response = await deliver(body, { source: 'slack' });
				expect([response.status, await response.text()]).toEqual([200, '']);
			}
		}
		const command = form({ command: '/ask', text: 'hello', trigger_id: unique(), message: 'go' });
		const response = await deliver(command, { source: 'slack' });
		expect([response.status, await response.text()]).toEqual([200, '']);
		const event = { type: 'event_callback', event_id: unique(), event: { type: 'app_mention' }, message: 'go' };
		expect((await deliver(event, { source: 'slack' })).status).toBe(202);
		expect((await deliver(interactive({ type: 'shortcut', throws: 'x' }), { source: 'slack' })).status).toBe(500);
	});

	test('a command is acknowledged in time even if its mapping is slow', async () => {
		const gate = Promise.withResolvers<string>();
		slowMapping.wait = gate.promise;
		const body = new URLSearchParams({ command: '/ask', text: 'x', trigger_id: unique(), slow: '1' }).toString();
		const { requests } = play('Done.');
		const response = await deliver(body, { source: 'slack' });
		expect([response.status, await response.text()]).toEqual([200, '']);
		expect(requests).toHaveLength(0);
		gate.resolve('Late, and done nevertheless.');
		await expect.poll(() => requests.length).toBe(1);
	});

	test('Slack’s check of the certificate starts no run', async () => {
		const { requests } = play();
		for (const check of ['ssl_check=1&token=x', 'ssl_check=1&command=%2Fask&text=x&message=go']) {
			const response = await deliver(check, { source: 'slack' });
			expect([response.status, await response.text()]).toEqual([200, '']);
		}
		expect(requests).toHaveLength(0);
	});

	test("GitHub's ping is acknowledged", async () => {
		const response = await deliver(
			{ zen: 'Design for failure.' },
			{ source: 'github', headers: { 'x-github-event': 'ping' } },
		);
		expect([response.status, await response.text()]).toEqual([200, 'pong']);
	});

	test('Slack’s challenge is answered only if Slack signed it', async () => {
		const challenge = { type: 'url_verification', challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P' };
		const response = await deliver(challenge, { source: 'slack' });
		expect([response.status, await response.text()]).toEqual([200, challenge.challenge]);
		const { 'x-slack-signature': _, ...unsigned } = senders.slack.headers('{}', { id: '', at: 0, secrets: [''] });
		expect((await post('/v1/webhooks/hooked/slack', JSON.stringify(challenge), unsigned)).status).toBe(401);
	});
});

/** Published signatures of GitHub. */
const events = v.parse(
	v.array(v.object({ name: v.string(), examples: v.array(v.looseObject({ action: v.optional(v.string()) })) })),
	'default' in examples ? examples.default : examples,
);

describe('the agent triage', () => {
	test('answers people’s issues and comments in one session per issue, and ignores other events', async () => {
		const sessions = new Map<string, number>();
		for (const { name, examples: payloads } of events) {
			for (const payload of payloads) {
				const { action = '' } = payload;
				const isWanted = ['issues.opened', 'issue_comment.created'].includes(`${name}.${action}`);
				const response = await deliver(payload, {
					source: 'github',
					agent: 'triage',
					headers: { 'x-github-event': name },
				});
				const expected = isWanted ? [202] : name === 'ping' ? [200] : [204];
				expect(expected, `${name}.${action}`).toContain(response.status);
				if (!isWanted) continue;
				const { sessionId } = await taken(response);
				sessions.set(sessionId, (sessions.get(sessionId) ?? 0) + 1);
				await allEvents(await follow(sessionId));
			}
		}
		expect([...sessions.values()]).toEqual([9]);
		const [id = ''] = sessions.keys();
		expect(await readState(id)).toMatchObject({ status: 'completed', metadata: { issue: 'Codertocat/Hello-World#1' } });
		const history = await readHistory(id);
		expect(history.filter(({ role }) => role === 'user')).toHaveLength(9);
		expect(history.find(({ role }) => role === 'tool')?.content).toBe('#1 is labelled documentation');
	});

	test('does not answer a bot', async () => {
		const comment = {
			action: 'created',
			repository: { full_name: 'a/b' },
			issue: { number: 1, title: 'A', body: null, user: { login: 'ada', type: 'User' } },
			comment: { body: 'I am a bot.', user: { login: 'helper[bot]', type: 'Bot' } },
			sender: { login: 'helper[bot]', type: 'Bot' },
		};
		const headers = { 'x-github-event': 'issue_comment' };
		expect((await deliver(comment, { source: 'github', agent: 'triage', headers })).status).toBe(204);
	});
});

/** Changes one letter or digit of a text. */
function altered(text: string, random: (low: number, high: number) => number): string {
	for (;;) {
		const at = random(0, text.length - 1);
		const letter = text[at] ?? '';
		if (!/[0-9a-z]/i.test(letter)) continue;
		// Other schemes in the header are ignored.
		if (text.includes(',') && text.startsWith('v0=', text.lastIndexOf(',', at) + 1)) continue;
		const digits = '0123456789abcdef';
		return `${text.slice(0, at)}${digits[(digits.indexOf(letter.toLowerCase()) + 1) % 16]}${text.slice(at + 1)}`;
	}
}
