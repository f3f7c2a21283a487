import { expect, test } from 'vitest';
import { toStoredTool } from '../../../../src/cloudflare/agent/user-tools/definition.ts';
import { createUserTool } from '../../../../src/cloudflare/agent/user-tools/tool.ts';
import { tool } from '../../../../src/core/index.ts';

const secret = 'open-sesame-1234';
const body = {
	description: 'Looks.',
	inputSchema: { type: 'object', properties: { at: { type: 'string' } } },
	url: 'https://api.example.com/a',
	method: 'GET' as 'GET' | 'POST',
	headers: { authorization: `Bearer \${KEY}`, 'x-own': 'mine', accept: 'text/plain' },
	timeoutMs: 1_000,
	maxResponseBytes: 1_000,
};

const forbidden = [
	'http://127.0.0.1:8080/',
	'http://localhost/',
	'https://127.1/',
	'https://0x7f.1/',
	'https://2130706433/',
	'https://[::ffff:127.0.0.1]/',
	'https://[::1]/',
	'https://10.0.0.1/',
	'https://169.254.169.254/latest/meta-data/',
	'https://db.internal/',
	'https://printer.local/',
	'https://localhost./',
	'https://api.example.com:8443/',
	'https://user:password@api.example.com/',
	'http://api.example.com/',
	'data:text/plain,hi',
	'file:///etc/passwd',
	'//127.0.0.1/',
];

/** Calls a tool with a fake server, and records each request. */
async function call(answer: (url: string) => Response, definition = body) {
	const seen: { url: string; headers: Record<string, string> }[] = [];
	const stored = toStoredTool('look', definition, { secrets: { KEY: secret }, allowLoopback: false });
	const made = createUserTool('look', stored, {
		allowLoopback: false,
		openSecrets: async () => ({ KEY: secret }),
		fetch: async (url, { headers }) => {
			seen.push({ url: String(url), headers: Object.fromEntries(new Headers(headers)) });
			return answer(String(url));
		},
	});
	return { seen, result: await tool.dispatch([made], { id: 'c', name: 'look', input: { at: 'x' } }) };
}

const redirect = (location: string, status = 302) => new Response(null, { status, headers: { location } });

test.each(forbidden)('does not follow a redirect to %s, and tells the model', async (location) => {
	const { seen, result } = await call(() => redirect(location));
	expect(seen.map(({ url }) => url)).toEqual(['https://api.example.com/a?at=x']);
	expect(result).toMatchObject({ isError: true, output: expect.stringMatching(/^url: /) });
});

test.each(forbidden)('a definition with the URL %s is refused', (url) => {
	expect(() => toStoredTool('look', { ...body, url }, { secrets: { KEY: secret }, allowLoopback: false })).toThrow(
		/^url: /,
	);
});

test('a redirect to another host gets neither the secret nor headers that identify the caller', async () => {
	const { seen } = await call((url) =>
		url.includes('other') ? new Response('fine') : redirect('https://other.example.com/b'),
	);
	expect(seen.map(({ headers }) => headers)).toEqual([
		{ authorization: `Bearer ${secret}`, 'x-own': 'mine', accept: 'text/plain' },
		{ accept: 'text/plain' },
	]);
});

test('a redirect back to the first host does not get the secret again', async () => {
	const { seen } = await call((url) => {
		if (url.endsWith('/back')) return new Response('fine');
		return redirect(url.includes('other') ? 'https://api.example.com/back' : 'https://other.example.com/b');
	});
	expect(seen.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${secret}`, undefined, undefined]);
});

test('endless redirects are an error, and so is a redirect of a request with a body', async () => {
	const { seen, result } = await call(() => redirect('https://api.example.com/again'));
	expect(seen).toHaveLength(6);
	expect(result).toMatchObject({ isError: true, output: expect.stringMatching(/redirects too often/) });
	const post = await call(() => redirect('https://other.example.com/b', 307), { ...body, method: 'POST' });
	expect(post.seen).toHaveLength(1);
	expect(post.result).toMatchObject({
		isError: true,
		output: expect.stringMatching(/redirects a request with a body/),
	});
});

test('a binary response is an error that names the media type', async () => {
	const png = new Response(new Uint8Array([0x89, 0x50, 0, 0xff]), { headers: { 'content-type': 'image/png' } });
	const { result } = await call(() => png);
	expect(result).toMatchObject({ isError: true, output: 'The answer is no text: 4 bytes of image/png.' });
});

test('a response in another encoding is decoded, and a secret in it is hidden', async () => {
	const latin = new Response(new Uint8Array([0xfc, 0x20, ...new TextEncoder().encode(secret)]), {
		headers: { 'content-type': 'text/plain; charset=iso-8859-1' },
	});
	const { result } = await call(() => latin);
	expect(result).toMatchObject({ output: { body: 'ü [secret]' } });
});
