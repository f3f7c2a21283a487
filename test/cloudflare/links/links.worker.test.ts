import { env, runInDurableObject, SELF } from 'cloudflare:test';
import { expect, test, vi } from 'vitest';
import { createClient } from '../../../src/client/index.ts';
import { hashKey, makeKey } from '../../../src/cloudflare/auth/key.ts';
import { readLink, signLink } from '../../../src/cloudflare/links/link.ts';
import { allEvents, createSession, readHistory, readObject, readState, request, restart, send } from '../../client.ts';
import { play } from '../../script.ts';
import worker from '../../worker.ts';

interface Links {
	readonly approve: string;
	readonly deny: string;
	readonly expiresAt: string;
}

const call = (id: string, amount: number) => ({ id, name: 'pay', input: { amount } });

async function waiting(...calls: ReturnType<typeof call>[]): Promise<string> {
	const id = await createSession();
	play({ toolCalls: calls });
	await allEvents(await send(id, 'go'));
	return id;
}

const askLinks = (id: string, callId: string, more: object = {}) =>
	request(`/v1/sessions/${id}/links`, { callId, ...more });
const makeLinks = async (id: string, callId: string) => (await askLinks(id, callId)).json<Links>();
/** Opens a link like a browser, or clicks its button. */
const open = (link: string, method = 'GET') =>
	SELF.fetch(link.replace('https://runlet.example.com', 'http://localhost'), { method });
const click = (link: string) => open(link, 'POST');
const openIds = async (id: string) => {
	const { toolCalls = [] } = await (await request(`/v1/sessions/${id}`)).json<{ toolCalls?: { id: string }[] }>();
	return toolCalls.map((one) => one.id);
};

function readClaims(link: string) {
	const claims = readLink(link.split('/').at(-1) ?? '');
	if (claims === undefined) throw new Error('That is no link.');
	return claims;
}

const readTokenKey = (id: string) =>
	runInDurableObject(
		readObject(id),
		(_, { storage }) => storage.sql.exec<{ token_key: string }>('SELECT token_key FROM session').one().token_key,
	);

test('an opened link only shows the exact call, and the button on its page approves the call', async () => {
	const id = await waiting(call('a', 5));
	const { approve, expiresAt } = await makeLinks(id, 'a');
	expect(approve).toMatch(/^https:\/\/runlet\.example\.com\/v1\/decisions\//);
	expect(Math.abs(Date.parse(expiresAt) - Date.now() - 3_600_000)).toBeLessThan(60_000);
	for (const method of ['GET', 'HEAD', 'GET']) {
		const shown = await open(approve, method);
		expect(shown.status).toBe(200);
		expect(shown.headers.get('content-security-policy')).toMatch(/default-src 'none'.*form-action 'self'/);
		expect(shown.headers.get('cache-control')).toBe('no-store');
		const page = await shown.text();
		if (method === 'HEAD') continue;
		expect(page).toContain('<h1>Approve: Pay?</h1>');
		expect(page).toContain('<dt>Amount</dt><dd>5</dd>');
		expect(page).not.toContain('<script');
	}
	expect(await openIds(id)).toEqual(['a']);
	const { requests } = play('Paid.');
	const done = await click(approve);
	expect(await done.text()).toContain('Approved.');
	await expect.poll(() => readState(id)).toMatchObject({ status: 'completed' });
	expect(requests[0]?.messages.at(-1)).toMatchObject({ role: 'tool', toolCallId: 'a', content: 'paid 5' });
});

test('after one link of a pair was used, neither link works again, even after a restart', async () => {
	const id = await waiting(call('a', 5), call('b', 6));
	const { approve, deny } = await makeLinks(id, 'a');
	const both = await Promise.all([click(deny), click(deny)]);
	expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
	await restart(id);
	for (const again of [click(deny), click(approve), open(approve)]) {
		const refused = await again;
		expect(refused.status).toBe(409);
		expect(refused.headers.get('content-type')).toMatch(/text\/html/);
		expect(await refused.text()).toContain('waits for nobody any more');
	}
	expect(await openIds(id)).toEqual(['b']);
	expect((await readHistory(id)).filter(({ role }) => role === 'tool')).toMatchObject([
		{ toolCallId: 'a', isError: true },
	]);
});

test('an approval by link survives a restart, and the call runs once', async () => {
	const id = await waiting(call('a', 5), call('b', 6));
	const { approve } = await makeLinks(id, 'a');
	await restart(id);
	expect((await click(approve)).status).toBe(200);
	await restart(id);
	expect(await openIds(id)).toEqual(['b']);
	expect((await click(approve)).status).toBe(409);
	const { requests } = play('Done.');
	await request(`/v1/sessions/${id}/tool-results`, [{ id: 'b', approve: false }]);
	const results = requests[0]?.messages.filter(({ role }) => role === 'tool');
	expect(results).toMatchObject([{ toolCallId: 'a', content: 'paid 5' }, { toolCallId: 'b' }]);
});

test('a link cannot decide about a call of another turn or session, and a changed link decides nothing', async () => {
	const id = await waiting(call('a', 5));
	const { approve } = await makeLinks(id, 'a');
	await request(`/v1/sessions/${id}/cancel`, {});
	expect((await click(approve)).status).toBe(409);
	play({ toolCalls: [call('a2', 5)] });
	await allEvents(await send(id, 'again'));
	expect((await click(approve)).status).toBe(409);
	expect(await openIds(id)).toEqual(['a2']);
	const other = await waiting(call('a', 5));
	const moved = readClaims(approve);
	for (const link of [
		await signLink({ ...moved, session: other }, 'A'.repeat(43)),
		approve
			.split('/')
			.at(-1)
			?.replace(/^./, (sign) => (sign === 'e' ? 'f' : 'e')),
		`${approve.split('/').at(-1)}A`,
		'nonsense',
	])
		expect((await click(`http://localhost/v1/decisions/${link}`)).status, String(link)).toBe(404);
	expect(await openIds(other)).toEqual(['a']);
});

test('a signed link decides nothing if its arguments differ from the arguments of the call', async () => {
	const id = await waiting(call('a', 5));
	const { approve } = await makeLinks(id, 'a');
	const key = await readTokenKey(id);
	const forged = await signLink({ ...readClaims(approve), hash: 'other' }, key);
	expect((await click(`http://localhost/v1/decisions/${forged}`)).status).toBe(409);
	const good = await signLink(readClaims(approve), key);
	expect((await open(`http://localhost/v1/decisions/${good}`)).status).toBe(200);
	expect(await openIds(id)).toEqual(['a']);
});

test('a link of a parent session decides about its child’s call', async () => {
	play(
		{ toolCalls: [{ id: 'w', name: 'writer', input: { task: 'Pay.' } }] },
		{ toolCalls: [call('p', 7)] },
		'Paid it.',
		'All is paid.',
	);
	const { id } = await (await request('/v1/sessions', { agent: 'editor', text: 'go' })).json<{ id: string }>();
	const { approve } = await makeLinks(id, 'w');
	const page = await (await open(approve)).text();
	expect(page).toContain('<h1>Approve: Pay?</h1>\n<p>The agent writer calls pay · in “go” · since ');
	expect(page).toContain('<dt>Amount</dt><dd>7</dd>');
	expect(await (await click(approve)).text()).toContain('Approved. The call of pay runs.');
	await expect.poll(() => readState(id)).toMatchObject({ status: 'completed' });
	expect(await readHistory(id)).toContainEqual(expect.objectContaining({ toolCallId: 'w', content: 'Paid it.' }));
	expect((await click(approve)).status).toBe(409);
});

test('a background child’s call has its own links', async () => {
	const asked = [[{ id: 's', name: 'send_off', input: { task: 'Pay.' } }], [call('p', 7)]];
	play(...Array.from({ length: 4 }, () => () => ({ text: 'Said.', toolCalls: asked.shift() ?? [] })));
	const { id } = await (await request('/v1/sessions', { agent: 'editor', text: 'go' })).json<{ id: string }>();
	const findChild = async () =>
		(await (await request(`/v1/sessions/${id}`)).json<{ children: { id: string }[] }>()).children[0]?.id ?? '';
	const child = await findChild();
	await expect.poll(() => openIds(child)).toEqual(['p']);
	const { approve } = await makeLinks(child, 'p');
	expect(await (await click(approve)).text()).toContain('Approved. The call of pay runs.');
	await expect.poll(() => readState(child)).toMatchObject({ status: 'completed' });
	expect(await readHistory(child)).toContainEqual(expect.objectContaining({ toolCallId: 'p', content: 'paid 7' }));
	expect((await askLinks(child, 'p')).status).toBe(409);
});

test('runlet/client makes links', async () => {
	const id = await waiting(call('a', 5));
	const client = createClient('http://localhost', { fetch: (input, init) => SELF.fetch(new Request(input, init)) });
	const { deny } = await client.createLinks(id, { callId: 'a', expiresInSeconds: 60 });
	play('Not paid.');
	expect((await click(deny)).status).toBe(200);
});

test('a link works until it expires', async () => {
	const id = await waiting(call('a', 5));
	const links = await (await askLinks(id, 'a', { expiresInSeconds: 60 })).json<Links>();
	vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(links.expiresAt) - 1_000 });
	try {
		expect((await open(links.deny)).status).toBe(200);
		vi.setSystemTime(Date.parse(links.expiresAt));
		for (const late of [await open(links.deny), await click(links.deny)]) {
			expect(late.status).toBe(409);
			expect(await late.text()).toContain('expired');
		}
	} finally {
		vi.useRealTimers();
	}
	expect(await openIds(id)).toEqual(['a']);
});

test('the page of a link says who asks, for whom, until when, from what text, and the cost so far', async () => {
	play(
		{ toolCalls: [{ id: 'r', name: 'read_mail', input: {} }] },
		{
			toolCalls: [
				{
					id: 'a',
					name: 'pay',
					input: { amount: 5, isUrgent: true, to: { orderId: 'A-1', lines: ['one', 'two'] }, note: null },
				},
			],
		},
	);
	const create = { agent: 'keeper', user: 'ada', text: 'Pay the bill.' };
	const { id } = await (await request('/v1/sessions', create)).json<{ id: string }>();
	await expect.poll(() => openIds(id)).toEqual(['a']);
	const { approve, expiresAt } = await makeLinks(id, 'a');
	const shown = await open(approve);
	const page = await shown.text();
	const { budget, wait } = await readState(id);
	const toText = (at: string) => `${at.slice(0, 16).replace('T', ' ')} UTC`;
	expect(wait).toMatchObject({ since: expect.any(String) });
	expect(page).toContain('<p>The agent keeper calls pay · in “Pay the bill.” · for ada · since ');
	expect(page).toContain(` · until ${toText(expiresAt)} · ${budget.spent.tokens} tokens`);
	expect(page).toContain(' so far · from outside</p>');
	expect(page).toContain('<dt>Is urgent</dt><dd>yes</dd>');
	expect(page).toContain(
		'<dl><dt>Order id</dt><dd>A-1</dd><dt>Lines</dt><dd><ul><li>one</li><li>two</li></ul></dd></dl>',
	);
	expect(page).toContain('<dt>Note</dt><dd>none</dd>');
	const [, nonce] = /<style nonce="([\w-]+)">/.exec(page) ?? [];
	expect(shown.headers.get('content-security-policy')).toContain(`style-src 'nonce-${nonce}'`);
});

test('shows invisible characters and markup as text', async () => {
	const id = await createSession();
	play({ toolCalls: [{ id: 'a', name: 'pay', input: { amount: 1, note: '<b>x</b>\u202e\u200b' } }] });
	await allEvents(await send(id, 'go'));
	const page = await (await open((await makeLinks(id, 'a')).approve)).text();
	expect(page).toContain('&lt;b&gt;x&lt;/b&gt;\\u{202e}\\u{200b}');
});

test.each([
	['the call does not wait', 'z', {}, 409],
	['the lifetime is a month', 'a', { expiresInSeconds: 2_592_000 }, 400],
	['a field is unknown', 'a', { until: 'ever' }, 400],
])('a request for links is refused if %s', async (_, callId, more, status) => {
	const id = await waiting(call('a', 5));
	expect((await askLinks(id, callId, more)).status).toBe(status);
});

test('a session token cannot make links, and a person opens a link without a key', async () => {
	const { key, id: keyId } = makeKey();
	const record = { id: keyId, owner: 'linker', hash: await hashKey(key), scopes: ['run'] };
	const bindings = { ...env, LOCAL: 'false', API_KEYS: JSON.stringify([record]) };
	const ask = (path: string, credential?: string, body?: unknown) =>
		worker.request(
			`https://runlet.example.com${path}`,
			{
				method: 'POST',
				headers: { 'content-type': 'application/json', ...(credential && { authorization: `Bearer ${credential}` }) },
				...(body !== undefined && { body: JSON.stringify(body) }),
			},
			bindings,
		);
	play({ toolCalls: [call('a', 5)] });
	const made = await ask('/v1/sessions', key, { agent: 'scripted', text: 'go' });
	const { id, token } = await made.json<{ id: string; token: string }>();
	expect((await ask(`/v1/sessions/${id}/links`, token, { callId: 'a' })).status).toBe(403);
	const { deny } = await (await ask(`/v1/sessions/${id}/links`, key, { callId: 'a' })).json<Links>();
	play('Not paid.');
	expect((await ask(new URL(deny).pathname)).status).toBe(200);
});
