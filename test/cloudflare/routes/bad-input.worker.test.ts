import { SELF } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { operations } from '../../../src/cloudflare/openapi/operations.ts';
import type { Operation } from '../../../src/cloudflare/wire/operation.ts';
import { allEvents, createSession, request, send } from '../../client.ts';
import { play } from '../../script.ts';

interface Refusal {
	readonly error: { readonly code: string; readonly message: string; readonly data?: Record<string, unknown> };
}

const unknownSession = '0'.repeat(64);

async function refused(response: Response, status: number, code: string, message: RegExp): Promise<void> {
	const text = await response.text();
	expect(response.status, text).toBe(status);
	const { error }: Refusal = JSON.parse(text);
	expect(error.code).toBe(code);
	expect(error.message).toMatch(message);
	expect(text).not.toMatch(/\bat .*\.ts|stack/);
}

function raw(
	path: string,
	body: BodyInit | null,
	headers: Record<string, string> = {},
	method = 'POST',
): Promise<Response> {
	return SELF.fetch(`http://localhost${path}`, {
		method,
		body,
		headers: { 'content-type': 'application/json', ...headers },
	});
}

test('a request for a new session needs a body', () =>
	raw('/v1/sessions', null).then((r) => refused(r, 400, 'invalid_request', /^body: empty/)));

test('a body that is not JSON is refused', () =>
	raw('/v1/sessions', '{"agent":').then((r) => refused(r, 400, 'invalid_request', /^body: not valid JSON/)));

test('a fork can be requested without a body', async () => {
	const fork = `/v1/sessions/${await createSession()}/fork`;
	// The proxy of npm start sends an empty stream as a body.
	for (const body of [null, new ReadableStream({ start: (controller) => controller.close() })]) {
		const response = await SELF.fetch(`http://localhost${fork}`, { method: 'POST', body });
		expect(response.status, await response.text()).toBe(201);
	}
	await refused(
		await SELF.fetch(`http://localhost${fork}`, { method: 'POST', body: new Uint8Array([0x7b, 0x7d]) }),
		415,
		'unsupported_media_type',
		/got none/,
	);
});

test('a body of another media type is refused', () =>
	raw('/v1/sessions', 'agent=demo', { 'content-type': 'application/x-www-form-urlencoded' }).then((r) =>
		refused(r, 415, 'unsupported_media_type', /^content-type: expected application\/json/),
	));

test('a body that is not UTF-8 is refused', () =>
	raw('/v1/sessions', new Uint8Array([0x7b, 0xff, 0x7d])).then((r) =>
		refused(r, 400, 'invalid_request', /^body: not valid UTF-8/),
	));

test('a body that is not an object is refused', async () => {
	for (const body of ['[]', '"text"', '3', 'null'])
		await refused(await raw('/v1/sessions', body), 400, 'invalid_request', /^(body|agent): /);
});

test('the error for a field of the wrong type names the field', async () => {
	await refused(await request('/v1/sessions', { agent: 3 }), 400, 'invalid_request', /^agent: .*string.*3/);
	await refused(await request('/v1/sessions', {}), 400, 'invalid_request', /^agent: missing/);
	await refused(
		await request('/v1/sessions', { agent: 'scripted', metadata: { a: 1 } }),
		400,
		'invalid_request',
		/^metadata\.a: /,
	);
	await refused(
		await request('/v1/sessions', { agent: 'scripted', txt: 'hi' }),
		400,
		'invalid_request',
		/^txt: no such field/,
	);
});

test('the error for a misspelt field names the field and suggests another', async () => {
	const says = async (body: object, words: RegExp, path = '/v1/sessions') =>
		refused(await request(path, body), 400, 'invalid_request', words);
	await says({ agnet: 'scripted' }, /^agnet: no such field\. Did you mean agent\?$/);
	await says({ agent: 'scripted', tex: 'Hello' }, /^tex: no such field\. Did you mean text\?$/);
	await says({ agent: 'scripted', nothing: 1 }, /^nothing: no such field\. Possible: agent, model, .*, attachments\.$/);
	await says(
		{ agent: 'scripted', budget: { dollars: 1 } },
		/^budget\.dollars: no such field\. Possible: tokens, usd\.$/,
	);
	await says({ nothing: 1 }, /^agent: missing$/);
	await says(
		{ whenbusy: 'steer', text: 'Hi' },
		/^whenbusy: .*whenBusy\?$/,
		`/v1/sessions/${await createSession()}/messages`,
	);
});

test('an unknown value, an empty title and a name with a trailing space are refused', async () => {
	const id = await createSession();
	const says = async (path: string, body: object, words: RegExp, method = 'POST') =>
		refused(await request(path, body, {}, method), 400, 'invalid_request', words);
	const busy = { text: 'Hi', whenBusy: 'wait' };
	await says(`/v1/sessions/${id}/messages`, busy, /^whenBusy: expected queue, reject or steer, got wait$/);
	await says(`/v1/sessions/${id}`, { title: '' }, /^title: must not be empty$/, 'PATCH');
	await says('/v1/sessions', { agent: 'scripted', user: ' ann' }, /^user: .* no space at its ends/);
});

test.each(['{}', '[]', '{"foo":1}'])('an import of %s names the missing fields', async (body) => {
	const words = /^session: missing\. Send what GET \/v1\/sessions\/:id\/export gave\.$/;
	await refused(await raw('/v1/sessions/import', body), 400, 'invalid_request', words);
	const cut = await raw('/v1/sessions/import', '{"session":{}}');
	await refused(cut, 400, 'invalid_request', /^runs: missing\. It is a list/);
});

test('the error for a part without its content names the missing field', async () => {
	const says = async (part: object, words: RegExp) => {
		for (const [path, more] of [
			['/v1/sessions', { agent: 'scripted' }],
			[`/v1/sessions/${await createSession()}/messages`, {}],
		] as const)
			await refused(await request(path, { ...more, parts: [part] }), 400, 'invalid_request', words);
	};
	for (const kind of ['image', 'audio', 'file']) await says({ kind }, /^parts\.0\.data: give data or url$/);
	await says({ kind: 'image', text: 'A cat' }, /^parts\.0\.data: give data or url$/);
	await says({ kind: 'text' }, /^parts\.0\.text: missing$/);
});

test('an unknown agent is refused, and the known agents are named', async () => {
	await refused(
		await request('/v1/sessions', { agent: 'nobody' }),
		404,
		'not_found',
		/^agent: .*nobody.*Known: .*scripted/,
	);
});

test('a model that the agent does not allow is refused, and the possible models are named', async () => {
	await refused(
		await request('/v1/sessions', { agent: 'scripted', model: 'other' }),
		400,
		'invalid_request',
		/^model: .*Possible: scripted, demo/,
	);
	expect(await (await request('/v1/sessions', { agent: 'scripted', model: 'demo' })).json()).toMatchObject({
		model: 'demo',
	});
});

test('a message of the wrong form is refused and changes nothing', async () => {
	const id = await createSession();
	const path = `/v1/sessions/${id}/messages`;
	await refused(await raw(path, null), 400, 'invalid_request', /^body: empty/);
	await refused(await request(path, {}), 400, 'invalid_request', /^text: missing/);
	await refused(await request(path, { text: 7 }), 400, 'invalid_request', /^text: /);
	await refused(await request(path, { text: '  ' }), 400, 'invalid_request', /^text: must not be empty/);
	await refused(
		await request(path, { text: 'a', parts: [{ kind: 'text', text: 'b' }] }),
		400,
		'invalid_request',
		/^text: .*not both/,
	);
	await refused(await request(path, { parts: [{ kind: 'movie' }] }), 400, 'invalid_request', /^parts\.0\.kind: /);
	for (const url of ['javascript:alert(1)', 'http://example.com/a.png', 'https://0x7f.1/a.png'])
		await refused(
			await request(path, { parts: [{ kind: 'image', url }] }),
			400,
			'invalid_request',
			/^parts\.0\.url: Expected an https URL/,
		);
	expect(await (await request(path)).json()).toEqual({ messages: [] });
	expect(await (await request(`/v1/sessions/${id}`)).json()).toMatchObject({ status: 'idle' });
});

test('a text of 2 MB and a body of 5 MB are refused, whatever Content-Length says', async () => {
	const id = await createSession();
	const path = `/v1/sessions/${id}/messages`;
	await refused(
		await request(path, { text: 'x'.repeat(2_000_000) }),
		400,
		'invalid_request',
		/^text: at most 1000000 characters, got 2000000/,
	);
	await refused(
		await request(path, { text: 'x'.repeat(5_000_000) }),
		413,
		'too_large',
		/^body: more than 4000000 bytes/,
	);
	const chunk = new TextEncoder().encode('x'.repeat(100_000));
	let left = 60;
	const endless = new ReadableStream({
		pull: (controller) => {
			if (left-- > 0) controller.enqueue(chunk);
			else controller.close();
		},
	});
	await refused(await raw(path, endless), 413, 'too_large', /^body: more than/);
	expect(await (await request(path)).json()).toEqual({ messages: [] });
});

test('the error for a body with a million mistakes names only the first mistake', async () => {
	const many = JSON.stringify(Array.from({ length: 1_000_000 }, () => 1));
	await refused(await raw('/v1/sessions', `{"agent":"nobody","parts":${many}}`), 400, 'invalid_request', /^parts: /);
	const keys = JSON.stringify(Object.fromEntries(Array.from({ length: 200_000 }, (_, n) => [`k${n}`, 1])));
	await refused(
		await raw('/v1/sessions', `{"agent":"scripted","metadata":${keys}}`),
		400,
		'invalid_request',
		/^metadata/,
	);
});

test('a Worker without keys refuses other host names, which prevents DNS rebinding', async () => {
	const response = await SELF.fetch('http://evil.example/v1/agents');
	await refused(response, 403, 'forbidden', /127\.0\.0\.1/);
});

test('deeply nested JSON is refused like any other wrong body', async () => {
	await refused(
		await raw('/v1/sessions', `{"agent":${'['.repeat(100_000)}${']'.repeat(100_000)}}`),
		400,
		'invalid_request',
		/^body: nested/,
	);
});

test('every route answers 404 for an unknown session', async () => {
	for (const id of [unknownSession, 'x', '%2e%2e', 'null', `${unknownSession}0`]) {
		await refused(
			await request(`/v1/sessions/${encodeURIComponent(id)}/messages`, { text: 'hi' }),
			404,
			'not_found',
			/./,
		);
		await refused(await request(`/v1/sessions/${encodeURIComponent(id)}/events`), 404, 'not_found', /./);
	}
	await refused(await request(`/v1/sessions/${unknownSession}`), 404, 'not_found', /no such session/);
	await refused(await request(`/v1/sessions/${unknownSession}/cancel`, {}), 404, 'not_found', /no such session/);
	await refused(await request(`/v1/sessions/${unknownSession}/messages`), 404, 'not_found', /no such session/);
});

test('every path refuses other methods with 405, and names the possible methods in Allow', async () => {
	for (const [path, ofPath] of Map.groupBy(Object.values<Operation>(operations), (operation) => operation.path)) {
		const possible = ofPath.map(({ method }) => method.toUpperCase());
		const other = ['PATCH', 'PUT', 'DELETE'].find((method) => !possible.includes(method));
		const response = await raw(path.replace(/:\w+/g, 'x'), null, {}, other);
		const allowed = response.headers.get('allow') ?? '';
		expect(new Set(allowed.split(', ')), path).toEqual(new Set(possible));
		expect([response.status, await response.text()]).toEqual([405, expect.stringContaining(`Possible: ${allowed}`)]);
	}
});

test('a path that does not exist is not found', async () => {
	await refused(await request('/v1/nothing'), 404, 'not_found', /\/v1\/nothing/);
	await refused(await request('/nothing'), 404, 'not_found', /\/nothing/);
});

test('an invalid cursor or limit for the history is refused', async () => {
	const id = await createSession();
	await refused(await request(`/v1/sessions/${id}/messages?cursor=abc`), 400, 'invalid_request', /^cursor: /);
	await refused(await request(`/v1/sessions/${id}/messages?limit=0`), 400, 'invalid_request', /^limit: /);
});

test('an invalid cursor or limit for the list of sessions is refused', async () => {
	for (const cursor of ['abc', '1', '1.', '.a', '-1.a', '1.a%20b', `1.${'a'.repeat(200)}`, ''])
		await refused(await request(`/v1/sessions?cursor=${cursor}`), 400, 'invalid_request', /^cursor: Expected a cursor/);
	for (const limit of ['0', '101', 'all', '1.5', '-1', ''])
		await refused(await request(`/v1/sessions?limit=${limit}`), 400, 'invalid_request', /^limit: /);
});

test('lone surrogates and control characters in a message are kept', async () => {
	const id = await createSession();
	const text = 'a\ud800b\u0000c\r\nd\u2028e';
	const { requests } = play('fine');
	await allEvents(await send(id, text));
	const { messages } = await (await request(`/v1/sessions/${id}/messages`)).json<{ messages: { content: string }[] }>();
	expect(messages[0]?.content).toBe(text);
	expect(requests[0]?.messages[0]?.content).toBe(text);
});
