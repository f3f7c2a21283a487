import { describe, expect, test } from 'vitest';
import { type PublicFetchOptions, publicFetch } from '../../../src/core/base/public-fetch.ts';

const bounds = { maxBytes: 1_000, timeoutMs: 60_000, maxRedirects: 3 };

/** A fetch that answers from a table of URLs and records its requests. */
function web(answers: Readonly<Record<string, () => Response | Promise<Response>>>) {
	const asked: { url: string; method: string; headers: Record<string, string>; body: unknown }[] = [];
	const fetch = async (url: URL, init: RequestInit): Promise<Response> => {
		const headers = Object.fromEntries(new Headers(init.headers));
		asked.push({ url: url.href, method: init.method ?? 'GET', headers, body: init.body });
		expect(init.redirect).toBe('manual');
		const answer = answers[url.href];
		if (answer === undefined) throw new TypeError(`no such host, secret ${url.href}`);
		return answer();
	};
	const get = (url: string, init: RequestInit = {}, options: Partial<PublicFetchOptions> = {}) =>
		publicFetch(url, init, { ...bounds, fetch, ...options });
	return { asked, get, urls: () => asked.map(({ url }) => url) };
}

const to =
	(location: string, status = 302) =>
	() =>
		new Response('moved', { status, headers: { location } });
const ok = () => new Response('hello');

describe('publicFetch', () => {
	test('returns the status, the headers and the body', async () => {
		const { get } = web({
			'https://a.example/': () => new Response('no', { status: 418, headers: { 'x-a': '1', 'content-length': '2' } }),
			'https://b.example/': () => new Response(null, { status: 204 }),
			'https://c.example/': () => new Response('choose', { status: 300 }),
		});
		const answer = await get('https://a.example/');
		expect([answer.status, answer.headers.get('x-a'), await answer.text()]).toEqual([418, '1', 'no']);
		expect((await get('https://b.example/')).status).toBe(204);
		expect(await (await get('https://c.example/')).text()).toBe('choose');
	});

	test('sends no request to a URL that is not public', async () => {
		const { get, asked } = web({});
		await expect(get('https://127.1/', {}, { field: 'callback' })).rejects.toMatchObject({
			code: 'invalid_request',
			data: { field: 'callback' },
		});
		expect(asked).toEqual([]);
	});

	test.each([
		'https://127.0.0.1/',
		'https://0x7f.1/',
		'https://[::ffff:127.0.0.1]/',
		'//localhost/admin',
		'https://169.254.169.254/latest',
		'http://a.example/',
		'http://localhost:8787/',
		'https://a.example:8443/',
		'https://user:secret@a.example/',
		'data:text/html,hi',
		'file:///etc/passwd',
		'https://',
	])('sends no request to %s after a redirect', async (location) => {
		for (const allowLoopback of [false, true]) {
			const { get, urls } = web({ 'https://a.example/': to(location) });
			await expect(get('https://a.example/', {}, { allowLoopback })).rejects.toMatchObject({ code: 'invalid_request' });
			expect(urls()).toEqual(['https://a.example/']);
		}
	});

	test('follows redirects from loopback to loopback if allowed, but never from the web to loopback', async () => {
		const { get, urls } = web({
			'http://localhost:1/': to('http://127.0.0.1:2/'),
			'http://127.0.0.1:2/': to('https://a.example/'),
			'https://a.example/': to('http://127.0.0.1:2/'),
		});
		await expect(get('http://localhost:1/', {}, { allowLoopback: true })).rejects.toMatchObject({
			code: 'invalid_request',
		});
		expect(urls()).toEqual(['http://localhost:1/', 'http://127.0.0.1:2/', 'https://a.example/']);
	});

	test('follows redirects up to the limit, including relative ones', async () => {
		const { get, urls } = web({
			'https://a.example/1': to('2'),
			'https://a.example/2': to('/3?x'),
			'https://a.example/3?x': to('//b.example/'),
			'https://b.example/': ok,
		});
		expect(await (await get('https://a.example/1')).text()).toBe('hello');
		expect(urls()).toHaveLength(4);
		await expect(get('https://a.example/1', {}, { maxRedirects: 2 })).rejects.toMatchObject({ code: 'network' });
		await expect(get('https://a.example/1', {}, { maxRedirects: 0 })).rejects.toMatchObject({ code: 'network' });
		expect(urls()).toHaveLength(4 + 3 + 1);
	});

	test('stops at a loop of redirects', async () => {
		const { get, asked } = web({ 'https://a.example/': to('https://a.example/') });
		await expect(get('https://a.example/')).rejects.toMatchObject({ code: 'network' });
		expect(asked).toHaveLength(4);
	});

	test('drops identifying headers at a redirect to another origin, and does not restore them', async () => {
		const { get, asked } = web({
			'https://a.example/': to('/2'),
			'https://a.example/2': to('https://b.example/'),
			'https://b.example/': to('https://a.example/3'),
			'https://a.example/3': ok,
		});
		const secrets = { authorization: 'Bearer x', cookie: 'a=b', 'x-api-key': 'x', 'webhook-signature': 'v1,x' };
		await get('https://a.example/', { headers: { ...secrets, accept: 'text/html', 'user-agent': 'Runlet' } });
		const plain = { accept: 'text/html', 'user-agent': 'Runlet' };
		expect(asked.map(({ headers }) => headers)).toEqual([
			{ ...secrets, ...plain },
			{ ...secrets, ...plain },
			plain,
			plain,
		]);
	});

	test('treats a subdomain or another port as another origin', async () => {
		const { get, asked } = web({
			'https://a.example/': to('https://b.a.example/'),
			'https://b.a.example/': ok,
			'http://localhost:1/': to('http://localhost:2/'),
			'http://localhost:2/': ok,
		});
		const init = { headers: { authorization: 'Bearer x' } };
		await get('https://a.example/', init);
		await get('http://localhost:1/', init, { allowLoopback: true });
		expect(asked.map(({ headers }) => headers)).toEqual([init.headers, {}, init.headers, {}]);
	});

	test.each([
		[301, 'POST', 'GET'],
		[302, 'POST', 'GET'],
		[303, 'POST', 'GET'],
		[303, 'PUT', 'GET'],
		[303, 'HEAD', 'HEAD'],
		[307, 'POST', 'POST'],
		[308, 'PUT', 'PUT'],
		[301, 'PUT', 'PUT'],
	])('after a %i, repeats a %s as %s, with the body if the method is the same', async (status, method, then) => {
		const { get, asked } = web({ 'https://a.example/': to('/2', status), 'https://a.example/2': ok });
		const hasBody = method !== 'HEAD';
		await get('https://a.example/', {
			method,
			headers: { 'content-type': 'text/plain' },
			...(hasBody && { body: 'x' }),
		});
		const keeps = hasBody && method === then;
		expect(asked[1]?.method).toBe(then);
		expect(asked[1]?.headers).toEqual(keeps ? { 'content-type': 'text/plain' } : {});
		expect(asked[1]?.body ?? undefined).toBe(keeps ? 'x' : undefined);
	});

	test('never sends a body to another origin', async () => {
		const { get, urls } = web({
			'https://a.example/': to('https://b.example/', 307),
			'https://a.example/2': to('https://b.example/', 303),
			'https://b.example/': ok,
		});
		const init = { method: 'POST', body: 'secret' };
		await expect(get('https://a.example/', init)).rejects.toMatchObject({ code: 'network' });
		expect(urls()).toEqual(['https://a.example/']);
		expect(await (await get('https://a.example/2', init)).text()).toBe('hello');
	});

	test('does not resend a streamed body', async () => {
		const { get, urls } = web({ 'https://a.example/': to('/2', 307) });
		const body = new Response('x').body;
		await expect(get('https://a.example/', { method: 'POST', body })).rejects.toMatchObject({ code: 'network' });
		expect(urls()).toEqual(['https://a.example/']);
	});

	test('cancels the body of a redirect', async () => {
		const released: string[] = [];
		const moved = () => {
			const body = new ReadableStream({ cancel: () => void released.push('moved') });
			return new Response(body, { status: 302, headers: { location: '/2' } });
		};
		const { get } = web({ 'https://a.example/': moved, 'https://a.example/2': ok });
		await get('https://a.example/');
		expect(released).toEqual(['moved']);
	});

	test('drops the headers that describe the compressed body', async () => {
		const packed = { 'content-encoding': 'gzip', 'content-length': '9', 'transfer-encoding': 'chunked', 'x-a': '1' };
		const { get } = web({ 'https://a.example/': () => new Response('unpacked', { headers: packed }) });
		const { headers } = await get('https://a.example/');
		expect(Object.fromEntries(headers)).toEqual({ 'x-a': '1', 'content-type': 'text/plain;charset=UTF-8' });
	});

	test('stops an answer that is too large, whatever its content-length is', async () => {
		let pulled = 0;
		let stopped = 0;
		const endless = (length?: string) => () =>
			new Response(
				new ReadableStream({
					pull: (controller) => {
						pulled++;
						controller.enqueue(new Uint8Array(100));
					},
					cancel: () => {
						stopped++;
					},
				}),
				length === undefined ? {} : { headers: { 'content-length': length } },
			);
		const { get } = web({
			'https://a.example/missing': endless(),
			'https://a.example/lies': endless('5'),
			'https://a.example/says': endless('5000000000'),
			'https://a.example/fits': () => new Response(new Uint8Array(1_000)),
		});
		for (const path of ['missing', 'lies']) {
			pulled = 0;
			const answer = await get(`https://a.example/${path}`);
			await expect(answer.arrayBuffer()).rejects.toMatchObject({ code: 'too_large' });
			expect(pulled).toBeLessThan(20);
		}
		await expect(get('https://a.example/says')).rejects.toMatchObject({ code: 'too_large' });
		expect(stopped).toBe(3);
		expect((await (await get('https://a.example/fits')).arrayBuffer()).byteLength).toBe(1_000);
	});

	test('limits the total time of an answer, including its redirects and its body', async () => {
		const never = () => new Promise<Response>(() => {});
		const stalls = () =>
			new Response(new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) }));
		const { get } = web({
			'https://a.example/never': never,
			'https://a.example/on': to('/never'),
			'https://a.example/stalls': stalls,
		});
		const soon = { timeoutMs: 20, field: 'callback' };
		for (const path of ['never', 'on']) {
			await expect(get(`https://a.example/${path}`, {}, soon)).rejects.toMatchObject({
				code: 'timeout',
				message: 'callback: took longer than 20 ms.',
			});
		}
		const answer = await get('https://a.example/stalls', {}, soon);
		await expect(answer.text()).rejects.toMatchObject({ code: 'timeout' });
	});

	test('throws the reason of the caller’s signal', async () => {
		const abort = new AbortController();
		const { get } = web({ 'https://a.example/': () => new Promise<Response>(() => {}) });
		const answer = get('https://a.example/', { signal: abort.signal });
		abort.abort(new Error('enough'));
		await expect(answer).rejects.toThrow('enough');
	});

	test('throws an error for an unreachable host, without the message of the platform', async () => {
		const { get } = web({});
		const failed = get('https://gone.example/?token=secret', {}, { field: 'callback' });
		await expect(failed).rejects.toMatchObject({ code: 'network', message: 'callback: could not be reached.' });
	});

	test('cancels the answer when the reader cancels', async () => {
		let left = false;
		const cancel = () => {
			left = true;
		};
		const body = () => new ReadableStream({ cancel });
		const { get } = web({ 'https://a.example/': () => new Response(body()) });
		await (await get('https://a.example/')).body?.cancel();
		expect(left).toBe(true);
	});
});
