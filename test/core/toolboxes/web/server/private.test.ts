import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toolbox } from '../../../../../src/core/index.ts';
import { type Sink, startSink } from './sink.ts';

let sink: Sink;
beforeAll(async () => {
	sink = await startSink((_, response) => response.end('reached'));
});
afterAll(() => sink.close());

const box = toolbox.withWeb();

/** Spellings of this machine and of other private machines. `PORT` stands for the port of the sink. */
const hosts = [
	...['127.0.0.1', '127.1', '127.0.1', '0', '0.0.0.0', '0x7f.1', '0x7f000001', '0177.0.0.1', '017700000001'],
	...[
		'2130706433',
		'127。0。0。1',
		'１２７.0.0.1',
		'127%2e0%2e0%2e1',
		'127.0.0.1.',
		'[::1]',
		'[::]',
		'[0:0:0:0:0:0:0:1]',
	],
	...['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[fe80::1]', '[fd00::1]'],
	...['localhost', 'LOCALHOST', 'localhost.', 'foo.localhost', 'localhost.localdomain', 'printer.local', 'metadata'],
	...[
		'metadata.google.internal',
		'db.internal',
		'router.lan',
		'169.254.169.254',
		'10.0.0.1',
		'192.168.0.1',
		'[fe80::1%25eth0]',
	],
];
const addresses = [
	...hosts.flatMap((host) => [`http://${host}:PORT/`, `https://${host}:PORT/`, `https://${host}/`]),
	...['http://user:secret@127.0.0.1:PORT/', 'https://a.example@127.0.0.1:PORT/', 'https://user:secret@a.example/'],
	...['http://127.0.0.1:PORT\\@a.example/', 'http://a.example:PORT/', 'https://a.example:PORT/', '//127.0.0.1:PORT/'],
	...[
		'ftp://127.0.0.1:PORT/',
		'file:///etc/passwd',
		'data:text/html,hi',
		'blob:http://127.0.0.1:PORT/x',
		'gopher://127.0.0.1:PORT/',
	],
	...[
		'http:127.0.0.1:PORT/',
		' http://127.0.0.1:PORT/',
		'http://127.0.0.1:PORT/\n',
		'http://127.0.0.1\t:PORT/',
		'javascript:1',
	],
];
const toAddress = (text: string) => text.replaceAll('PORT', String(sink.port));

describe('a private address', () => {
	test.each(addresses)('is refused without a request: %s', async (address) => {
		const outcome = await toolbox.perform('web_fetch', { url: toAddress(address) }, box);
		expect(outcome).toMatchObject({
			ok: false,
			error: {
				kind: 'invalid_argument',
				message: expect.stringMatching(/^url: .*\. Give an https URL at a public name\.$/),
			},
		});
		expect(sink.hits).toEqual([]);
	});

	test.each(addresses)('is refused as the target of a redirect, without a request: %s', async (address) => {
		const location = toAddress(address).trim();
		const fetch: typeof globalThis.fetch = (input, init) =>
			String(input) === 'https://a.example/start'
				? Promise.resolve(new Response(null, { status: 302, headers: { location: encodeURI(decodeURI(location)) } }))
				: globalThis.fetch(input, init);
		for (const allowLoopback of [false, true]) {
			const context = { fetch, web: { allowLoopback } };
			const outcome = await toolbox.perform('web_fetch', { url: 'https://a.example/start' }, box, context);
			// A location that has no scheme and no host is a page of the same site.
			if (!outcome.ok) expect(outcome.error.message).toMatch(/^url: /);
			else expect(outcome.value).toMatchObject({ url: expect.stringMatching(/^https:\/\/a\.example\//) });
			expect(sink.hits).toEqual([]);
		}
	});

	test('gets no request for robots.txt', async () => {
		const strict = toolbox.build(toolbox.webTools({ robots: true }));
		const outcome = await toolbox.perform('web_fetch', { url: `${sink.url}/x` }, strict);
		expect(outcome.ok).toBe(false);
		const fetch: typeof globalThis.fetch = (input, init) =>
			String(input).startsWith('https://a.example/')
				? Promise.resolve(new Response(null, { status: 302, headers: { location: sink.url } }))
				: globalThis.fetch(input, init);
		await toolbox.perform('web_fetch', { url: 'https://a.example/start' }, strict, { fetch });
		expect(sink.hits).toEqual([]);
	});
});

test('an address of this machine can be read if allowLoopback is set', async () => {
	const outcome = await toolbox.perform('web_fetch', { url: `${sink.url}/ok` }, box, { web: { allowLoopback: true } });
	expect(outcome).toMatchObject({ ok: true, value: { url: `${sink.url}/ok`, text: 'reached' } });
	expect(sink.hits).toEqual(['/ok']);
});
