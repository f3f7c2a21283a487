import { env } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { readState, request, restart } from '../../client.ts';
import { play } from '../../script.ts';

const body = (content: string, more = {}) => ({ model: 'scripted', messages: [{ role: 'user', content }], ...more });
const send = (given: object, count?: number, headers: Record<string, string> = {}) =>
	request('/v1/chat/completions', given, {
		...headers,
		...(count !== undefined && { 'x-stainless-retry-count': String(count) }),
	});
const readSession = (response: Response) => response.headers.get('runlet-session');
const readText = async (response: Response) =>
	(await response.json<{ choices: { message: { content: string } }[] }>()).choices[0]?.message.content;

describe('a request that the library openai retries', () => {
	test('joins the running run, and gets the answer of this run', async () => {
		for (const stream of [false, true]) {
			const going = Promise.withResolvers<string>();
			const { requests } = play(() => going.promise, 'Not this.');
			const given = body(`join ${stream}`, { stream });
			const first = send(given, 0);
			await expect.poll(() => requests.length).toBe(1);
			const again = [send(given, 1), send(given, 2)];
			if (stream) await Promise.all(again);
			going.resolve('Once.');
			const all = await Promise.all([first, ...again]);
			for (const response of all) expect(await response.text()).toContain('Once.');
			expect(new Set(all.map(readSession)).size).toBe(1);
			expect(requests).toHaveLength(1);
		}
	});

	test('gets the answer of a run that has ended', async () => {
		const { requests } = play('Once.', 'Not this.');
		const first = await send(body('ended'), 0);
		const again = await send(body('ended'), 1);
		expect([await readText(first), await readText(again)]).toEqual(['Once.', 'Once.']);
		expect(again.headers.get('idempotent-replayed')).toBe('true');
		expect(requests).toHaveLength(1);
	});

	test('joins the newest run if several equal requests each started a run', async () => {
		const { requests } = play('One.', 'Two.', 'Three.');
		expect(await readText(await send(body('twice'), 0))).toBe('One.');
		expect(await readText(await send(body('twice'), 0))).toBe('Two.');
		expect(await readText(await send(body('twice')))).toBe('Three.');
		expect(await readText(await send(body('twice'), 1))).toBe('Two.');
		expect(requests).toHaveLength(3);
	});

	test('starts a run on its second attempt if the first is lost, and the third joins this run', async () => {
		const { requests } = play('One.', 'Not this.');
		expect(await readText(await send(body('lost'), 1))).toBe('One.');
		expect(await readText(await send(body('lost'), 2))).toBe('One.');
		expect(requests).toHaveLength(1);
	});

	test('counts as another request if its body or its Idempotency-Key differs', async () => {
		const { requests } = play('One.', 'Two.', 'Three.');
		await send(body('byte'), 0);
		expect(await readText(await send(body('byte', { seed: 1 }), 1))).toBe('Two.');
		expect(await readText(await send(body('byte'), 1, { 'idempotency-key': 'resend-own' }))).toBe('Three.');
		expect(requests).toHaveLength(3);
	});

	test('joins its run in a named session, and the same text sent later is a new message', async () => {
		const { requests } = play('One.', 'Two.', 'Not this.');
		const headers = { 'runlet-session': 'resend kept' };
		expect(await readText(await send(body('yes'), 0, headers))).toBe('One.');
		expect(await readText(await send(body('yes'), 1, headers))).toBe('One.');
		expect(await readText(await send(body('yes'), 0, headers))).toBe('Two.');
		expect(await readText(await send(body('yes'), 1, headers))).toBe('Two.');
		expect(requests).toHaveLength(2);
	});
});

describe('a request whose session crashes during the run', () => {
	const begin = async (content: string, count?: number) => {
		const { requests } = play(() => new Promise(() => {}), 'Here.');
		const name = `lost ${content}`;
		const sent = send(body(content), count, { 'runlet-session': name });
		await expect.poll(() => requests.length).toBe(1);
		const id = env.SESSIONS.idFromName(JSON.stringify(['local', null, 'chat', 'scripted', name])).toString();
		await restart(id);
		return { response: await sent, id };
	};

	test('gets the status 406 if a retry would start another run, and its run continues', async () => {
		const { response, id } = await begin('no key');
		expect([response.status, readSession(response)]).toEqual([406, id]);
		expect(await response.json()).toMatchObject({ error: { code: 'interrupted' } });
		await expect.poll(async () => (await readState(id)).status).toBe('completed');
	});

	test('is retried by the library openai, and joins its run', async () => {
		const { response, id } = await begin('counted', 0);
		expect([response.status, response.headers.get('x-should-retry')]).toEqual([503, 'true']);
		await response.text();
		const again = await send(body('counted'), 1, { 'runlet-session': 'lost counted' });
		expect([readSession(again), await readText(again)]).toEqual([id, 'Here.']);
	});
});
