import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toolbox, type WebOptions } from '../../../../../src/core/index.ts';
import { calling, finish, results } from '../../../chat/support.ts';
import { type Sink, startSink } from './sink.ts';

const megabyte = Buffer.alloc(1_000_000, 'x');
let sink: Sink;
/** Resolves when the reader of the newest endless answer has closed the connection. */
let left: Promise<unknown>;

async function sendForEver(response: ServerResponse): Promise<void> {
	const closed = once(response, 'close');
	left = closed;
	let isOpen = true;
	void closed.then(() => {
		isOpen = false;
	});
	while (isOpen) if (!response.write(megabyte)) await Promise.race([once(response, 'drain'), closed]);
}

beforeAll(async () => {
	const bomb = gzipSync(Buffer.alloc(100_000_000));
	sink = await startSink(({ url }, response) => {
		const html = { 'content-type': 'text/html' };
		if (url === '/bomb') response.writeHead(200, { ...html, 'content-encoding': 'gzip' }).end(bomb);
		else if (url === '/endless') void sendForEver(response.writeHead(200, html));
		else if (url === '/huge') void sendForEver(response.writeHead(200, { ...html, 'content-length': 100_000_000 }));
		else if (url === '/drip') response.writeHead(200, html).write('<p>one');
		else if (url === '/loop') response.writeHead(302, { location: '/loop' }).end();
		else if (url === '/hang') left = once(response, 'close');
		else if (url === '/cut')
			response.writeHead(200, { ...html, 'content-length': 100 }).write('<p>', () => response.destroy());
		else if (url === '/broken') response.writeHead(200, { ...html, 'content-encoding': 'gzip' }).end('no gzip');
		else if (url === '/deep') response.writeHead(200, html).end('<div>'.repeat(100_000));
		else if (url === '/missing') response.writeHead(404, html).end('no');
		else if (url === '/pdf') response.writeHead(200, { 'content-type': 'application/pdf' }).end('%PDF-1.7');
		else response.writeHead(200, html).end('<p>fine</p>');
	});
});
afterAll(() => sink.close());

const failures: [path: string, message: RegExp, options?: WebOptions][] = [
	['/bomb', /^url: more than 5000000 bytes\. Read a smaller page\.$/],
	['/endless', /^url: more than 5000000 bytes\. Read a smaller page\.$/],
	['/huge', /^url: more than 5000000 bytes\. Read a smaller page\.$/],
	['/loop', /^url: redirects too often\. .*Check the address/],
	['/drip', /^url: took longer than 150 ms\. Try it again later/, { timeoutMs: 150 }],
	['/hang', /^url: took longer than 150 ms\. Try it again later/, { timeoutMs: 150 }],
	['/cut', /^url: could not be reached\. Check the address/],
	['/broken', /^url: could not be reached\. Check the address/],
	['/deep', /^url: the page nests more than 500 levels deep .* Read another page\.$/],
	['/missing', /^url: http:\/\/127\.0\.0\.1:\d+\/missing answered with status 404\. There is no such page/],
	['/pdf', /^url: this is a PDF, which web_fetch cannot read\. Look for/],
];

describe('a page that cannot be read', () => {
	test.each(failures)('at %s gives an error, and the model reads another page', async (path, message, options) => {
		const tools = toolbox.build(toolbox.webTools(options));
		const call = (id: string, to: string) => calling({ id, name: 'web_fetch', input: { url: `${sink.url}${to}` } });
		const thrown: unknown[] = [];
		const { result } = await finish([call('a', path), call('b', '/fine'), 'done'], {
			tools,
			context: { web: { allowLoopback: true } },
			onToolThrow: (_, error) => thrown.push(error),
		});
		const [[, failure], [, page]] = results(result.messages) as [[string, unknown], [string, unknown]];
		expect(failure).toMatch(message);
		expect(page).toMatchObject({ text: 'fine' });
		expect(result.messages.filter((one) => one.role === 'tool' && one.isError)).toHaveLength(1);
		// The page is at fault, so the tool reports no error of its own.
		expect(thrown).toEqual([]);
	});

	test.each(['/endless', '/huge'])('at %s is not read to the end, and the connection is closed', async (path) => {
		const outcome = await toolbox.perform('web_fetch', { url: `${sink.url}${path}` }, toolbox.withWeb(), {
			web: { allowLoopback: true },
		});
		expect(outcome.ok).toBe(false);
		await left;
	});

	test('at /hang does not delay a cancelled call, and the connection is closed', async () => {
		const stop = new AbortController();
		const before = sink.hits.length;
		const reading = toolbox.perform('web_fetch', { url: `${sink.url}/hang` }, toolbox.withWeb(), {
			web: { allowLoopback: true },
			signal: stop.signal,
		});
		while (sink.hits.length === before) await new Promise((resolve) => setImmediate(resolve));
		stop.abort();
		await expect(reading).rejects.toMatchObject({ code: 'cancelled' });
		await left;
	});
});

test('reads a document of 5 MB in pages that join to the whole text', async () => {
	const words = Array.from({ length: 600_000 }, (_, n) => `w${n % 9_000}`).join(' ');
	const big = await startSink((_, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end(words));
	const context = { web: { allowLoopback: true } };
	const box = toolbox.build(toolbox.webTools({ pageCharacters: 1_000_000 }));
	let text = '';
	for (let page = 1, pages = 1; page <= pages; page++) {
		const outcome = await toolbox.perform('web_fetch', { url: big.url, page }, box, context);
		if (!outcome.ok) throw new Error(outcome.error.message);
		const shown = outcome.value as { readonly text: string; readonly pages: number };
		text += shown.text;
		pages = shown.pages;
	}
	expect(text === words).toBe(true);
	expect(big.hits).toHaveLength(1);
	await big.close();
});
