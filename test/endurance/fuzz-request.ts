import { sourceNames } from '../../src/cloudflare/wire/protocols/webhooks/source.ts';
import { chance, hostileText, mutatedJson, pick, spoiledBytes } from './fuzz-values.ts';
import type { Random } from './random.ts';
import type { RawRequest } from './raw-http.ts';

/** A route of the app. Its parameters start with a colon. */
export interface Route {
	readonly method: string;
	readonly path: string;
}

/** Valid values for fuzzed requests, so that some requests pass authentication. */
export interface Material {
	readonly routes: readonly Route[];
	readonly host: string;
	/** Valid keys and tokens. */
	readonly credentials: readonly string[];
	/** Ids of existing sessions. */
	readonly sessions: readonly string[];
}

const message = { text: 'What is 17 + 25?', whenBusy: 'queue' };
const file = { name: 'a.txt', type: 'text/plain', size: 2, contentText: 'hi' };
const chatMessages = [
	{ role: 'system', content: 'Be brief.' },
	{
		role: 'user',
		content: [
			{ type: 'text', text: 'Hi' },
			{ type: 'image_url', image_url: { url: 'https://a.example/a.png' } },
		],
	},
	{
		role: 'assistant',
		content: null,
		tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
	},
	{ role: 'tool', tool_call_id: 'c', content: 'done' },
	{ role: 'user', content: 'What is 17 + 25?' },
];
const uiMessage = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'What is 17 + 25?' }] };

/** Bodies for the routes whose path ends so. Every other route gets any of these bodies. */
const bodies: readonly (readonly [end: RegExp, bodies: readonly unknown[]])[] = [
	[
		/\/sessions$/,
		[
			{ agent: 'assistant' },
			{
				agent: 'support',
				model: 'demo',
				budget: { tokens: 10_000, usd: 1 },
				metadata: { a: 'b' },
				expiresAfterMs: 3_600_000,
			},
			{ agent: 'assistant', ...message },
			{
				agent: 'support',
				parts: [
					{ kind: 'text', text: 'Hi' },
					{ kind: 'image', url: 'https://a.example/a.png', name: 'a' },
				],
			},
			{
				agent: 'assistant',
				text: 'Look',
				attachments: [file, { ...file, contentText: undefined, contentBase64: 'aGk=' }],
			},
		],
	],
	[/\/sessions\/:id$/, [{ budget: { tokens: 5_000 } }, { budget: { usd: 1 } }]],
	[/\/token$/, [{}, { expiresInSeconds: 60 }]],
	[
		/\/messages$/,
		[
			message,
			{ text: 'Please refund order A-1042, amount 25 euros.', whenBusy: 'steer' },
			{ parts: [{ kind: 'file', data: 'aGk=', mime: 'text/plain', name: 'a' }], model: 'demo', whenBusy: 'reject' },
			{ attachments: [file] },
		],
	],
	[/\/answer$/, [{ text: 'Yes' }, { parts: [{ kind: 'text', text: 'Yes' }] }]],
	[
		/\/tool-results$/,
		[[{ id: 'call-1', output: { a: [1] }, isError: false }], [{ id: 'call-1', approve: true, reason: 'so' }]],
	],
	[
		/\/chat\/completions$/,
		[
			{
				model: 'assistant',
				messages: chatMessages,
				stream: true,
				stream_options: { include_usage: true },
				max_tokens: 100,
			},
			{
				model: 'assistant',
				messages: chatMessages.slice(-1),
				tools: [
					{
						type: 'function',
						function: { name: 'f', description: 'F.', parameters: { type: 'object', properties: {} } },
					},
				],
				tool_choice: 'auto',
				temperature: 0,
				response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } },
			},
		],
	],
	[
		/\/ui\//,
		[
			{ id: 'chat-1', messages: [uiMessage], trigger: 'submit-message', messageId: 'm1' },
			{
				id: 'chat-1',
				messages: [
					uiMessage,
					{
						id: 'm2',
						role: 'assistant',
						parts: [{ type: 'tool-f', toolCallId: 'c', state: 'output-available', input: {}, output: 1 }],
					},
				],
				trigger: 'regenerate-message',
			},
		],
	],
	[
		/\/webhooks\//,
		[
			{
				action: 'opened',
				issue: { number: 1, title: 'It breaks', body: 'Always.' },
				repository: { full_name: 'a/b' },
				sender: { login: 'ada' },
			},
			{ type: 'event_callback', event: { type: 'message', text: 'Hi', channel: 'C1', ts: '1.2' } },
			{ id: 'evt_1', type: 'charge.failed', data: { object: { id: 'ch_1' } } },
		],
	],
];

const markdown = '---\nname: fuzzed\ndescription: Is fuzzed.\nmetadata:\n  when: fuzz\n---\n# Fuzzed\n\nText.';
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const oddMethods = ['TRACE', 'PROPFIND', 'PURGE', 'get', 'G E T', 'FOO', '', 'GET\t', 'PRI'];

/** Makes a request that is valid, invalid or malformed. The same random numbers make the same request. */
export function fuzzedRequest(random: Random, material: Material): RawRequest {
	const route = pick(random, material.routes);
	const own = route.method === 'ALL' ? pick(random, methods) : route.method;
	const method = chance(random, 85) ? own : pick(random, chance(random, 80) ? methods : oddMethods);
	const hasBody = chance(random, ['GET', 'HEAD'].includes(method) ? 5 : 92);
	const body = hasBody ? bodyFor(random, route) : new Uint8Array();
	const target = `${pathFor(random, route, material)}${query(random)}`;
	const framed = framing(random, body, hasBody);
	const lines = [...headers(random, route, material), ...framed.headers];
	const version = chance(random, 99) ? 'HTTP/1.1' : pick(random, ['HTTP/1.0', 'HTTP/2.0', 'HTTP/9', 'http/1.1', '']);
	const end = chance(random, 99) ? '\r\n' : pick(random, ['\n', '\r', '\r\n\r\n']);
	return {
		head: [`${method} ${target} ${version}`, ...lines, '', ''].join(end),
		body: framed.bytes,
		ends: framed.ends,
	};
}

function pathFor(random: Random, { path }: Route, { sessions }: Material): string {
	const filled = path.replace(/:(\w+)(\{[^}]*\})?|\*/g, (_, name: string | undefined) => {
		if (chance(random, 15)) return encodedSometimes(random, hostileText(random));
		if (name === 'id' && path.includes('session')) return pick(random, sessions);
		if (name === 'agent') return pick(random, ['assistant', 'support', 'triage']);
		if (name === 'source') return pick(random, sourceNames);
		return pick(random, ['1000', 'fuzzed', 'customer-tone', ...sessions]);
	});
	if (chance(random, 92)) return filled;
	const at = random(0, filled.length);
	return pick(random, [
		() => `${filled}/`,
		() => `/${filled}`,
		() => `${filled}/${encodedSometimes(random, hostileText(random))}`,
		() => filled.slice(0, at) + encodedSometimes(random, hostileText(random)) + filled.slice(at),
		() => filled.slice(0, at),
		() => filled.toUpperCase(),
		() => filled.replaceAll('/', '%2f'),
		() => `${filled}${'/a'.repeat(random(10, 2_000))}`,
		() => `http://127.0.0.1${filled}`,
		() => `https://user:pass@evil.example${filled}`,
		() => '*',
		() => filled.slice(1),
		() => `/v1${filled}`,
	])();
}

function encodedSometimes(random: Random, text: string): string {
	return chance(random, 60) ? encodeURIComponent(text) : text;
}

function query(random: Random): string {
	if (chance(random, 65)) return '';
	const names = [
		'cursor',
		'limit',
		'query',
		'prefix',
		'token',
		'api_key',
		'__proto__',
		'constructor',
		'cursor[]',
		'',
		'a',
	];
	const values = ['1', '20', '0', '501', '10000', 'fuzz', '-1', '1e3', '0x10', '1'.repeat(20)];
	const fields = Array.from({ length: chance(random, 5) ? random(20, 300) : random(1, 3) }, () => {
		const value = chance(random, 50) ? pick(random, values) : encodedSometimes(random, hostileText(random));
		return chance(random, 90) ? `${pick(random, names)}=${value}` : pick(random, names);
	});
	return `?${fields.join(pick(random, ['&', '&', '&', ';', '&&', '?']))}`;
}

function bodyFor(random: Random, { method, path }: Route): Uint8Array {
	if (chance(random, 1)) return Buffer.alloc(5_000_000, pick(random, ['x', '[', '{"a":', '"', ' ', '\0']));
	if (method === 'PUT' && path.includes('skills')) {
		// KV limits the rate of writes, so most published skills must be invalid.
		const lines = markdown.split('\n');
		if (chance(random, 95)) lines.splice(random(0, 3), random(1, 3), hostileText(random));
		return spoiledBytes(random, lines.join('\n'));
	}
	const known = bodies.find(([end]) => end.test(path))?.[1];
	const own = known !== undefined && chance(random, 95) ? known : bodies.flatMap(([, all]) => all);
	const value = pick(random, own);
	return spoiledBytes(random, chance(random, 25) ? JSON.stringify(value) : mutatedJson(random, value));
}

const always =
	<T>(value: T) =>
	() =>
		value;

/** Header lines except those that frame the body. Most requests have a valid credential. */
function headers(random: Random, route: Route, { host, credentials }: Material): string[] {
	const lines = [`host: ${chance(random, 97) ? host : hostileText(random)}`, 'connection: close'];
	const add = (percent: number, name: string, value: () => string): void => {
		if (chance(random, percent)) lines.push(`${name}: ${value()}`);
	};
	const oneOf =
		(...values: readonly string[]) =>
		() =>
			chance(random, 85) ? pick(random, values) : hostileText(random);
	add(96, 'authorization', () => authorization(random, credentials));
	const isMarkdown = route.method === 'PUT' && route.path.includes('skills');
	const type = isMarkdown ? 'text/markdown' : 'application/json';
	add(
		97,
		'content-type',
		chance(random, 90)
			? always(type)
			: oneOf(
					'text/plain',
					'application/ld+json',
					'multipart/form-data; boundary=x',
					'application/json; charset=utf-16',
					'text/markdown',
					'application/x-www-form-urlencoded',
					'',
				),
	);
	add(
		60,
		'accept',
		oneOf(
			'text/event-stream',
			'application/json',
			'*/*',
			'text/event-stream;q=0',
			',;q=,',
			'text/html',
			'text/markdown',
		),
	);
	add(70, 'prefer', oneOf('respond-async', 'respond-async', 'wait=1', 'return=minimal'));
	add(25, 'idempotency-key', oneOf('k1', 'k2', `k${random(0, 1_000_000)}`, 'k'.repeat(255), 'k'.repeat(256)));
	add(10, 'last-event-id', oneOf('1.1.0.0', '1.1.1.0.0', '0', '1', '2.1', '1.1.1.1.1.1'));
	add(8, 'if-match', oneOf('*', '"a"', 'W/"a"', '"a", "b"', '"'));
	add(8, 'if-none-match', oneOf('*', '"a"', '**'));
	add(
		8,
		'origin',
		oneOf('https://app.example.com', 'https://evil.example', 'null', 'http://localhost:1', 'http://localhost:1, x'),
	);
	add(8, 'runlet-session', oneOf('chat-1', 'x', '0'.repeat(64)));
	add(4, 'access-control-request-method', oneOf('POST', 'FOO'));
	add(4, 'access-control-request-headers', oneOf('authorization', 'a,,b'));
	add(4, 'expect', oneOf('100-continue', 'x'));
	add(4, 'content-encoding', oneOf('gzip', 'br', 'identity', 'zstd'));
	add(4, 'range', oneOf('bytes=0-1', 'bytes=-1', 'x'));
	add(4, 'cookie', oneOf('a=b', '__proto__=x'));
	add(4, 'x-hub-signature-256', oneOf(`sha256=${'0'.repeat(64)}`, 'sha256='));
	add(4, 'x-github-delivery', oneOf('1', 'x'.repeat(500)));
	add(4, 'x-github-event', oneOf('issues', 'ping'));
	add(4, 'webhook-id', oneOf('msg_1'));
	add(4, 'webhook-timestamp', oneOf('1', '1e99', '-1'));
	add(4, 'webhook-signature', oneOf('v1,AAAA', 'v1,', 'v2,x v1,y'));
	add(4, 'stripe-signature', oneOf('t=1,v1=00', 't=,v1=', 't=1e9,v1=zz'));
	add(4, 'x-slack-signature', oneOf('v0=00'));
	add(4, 'x-slack-request-timestamp', oneOf('1', 'x'));
	add(2, hostileText(random), () => hostileText(random));
	add(1, 'x-fuzz', () => `a\r\nset-cookie: b=c`);
	add(1, 'x-fuzz', () => `a${pick(random, ['\r', '\n', '\0', '\n b'])}c`);
	add(1, 'x-fuzz', () => 'x'.repeat(pick(random, [7_000, 20_000, 100_000])));
	if (chance(random, 1)) lines.push(...Array.from({ length: random(50, 500) }, (_, n) => `x-fuzz-${n}: ${n}`));
	return lines;
}

function authorization(random: Random, credentials: readonly string[]): string {
	const credential = pick(random, credentials);
	if (chance(random, 80)) return `Bearer ${credential}`;
	const at = random(0, credential.length);
	return pick(random, [
		() => `Bearer ${credential.slice(0, at)}`,
		() => `Bearer ${credential.slice(0, at)}${hostileText(random)}${credential.slice(at)}`,
		() => `Bearer ${credential}${credential}`,
		() => `Bearer ${credential.toUpperCase()}`,
		() => `Bearer ${credential.split('_').toReversed().join('_')}`,
		() => `Bearer ${hostileText(random)}`,
		() => `Bearer rl_${hostileText(random)}_${'a'.repeat(43)}`,
		() => `Bearer rls_${'0'.repeat(64)}_${hostileText(random)}_${'a'.repeat(43)}`,
		() => `Bearer rls_${'0'.repeat(64)}_zzzzzz_${'_'.repeat(43)}`,
		() => `Bearer ${'x'.repeat(pick(random, [1_000, 10_000]))}`,
		() => `Basic ${Buffer.from(`${credential}:`).toString('base64')}`,
		() => `${pick(random, ['Digest', 'Negotiate', '', 'Bearer Bearer', 'bearer'])} ${credential}`,
		() => credential,
		() => `Bearer ${credential}, Bearer ${credential}`,
		() => hostileText(random),
	])();
}

/** The headers for the length of the body, which may be wrong. */
function framing(random: Random, body: Uint8Array, hasBody: boolean) {
	const length = (value: number | string) => [`content-length: ${value}`];
	const honest = { headers: hasBody ? length(body.length) : [], bytes: body, ends: false };
	if (chance(random, 88)) return honest;
	return pick(random, [
		() => ({ headers: ['transfer-encoding: chunked'], bytes: chunked(random, body), ends: false }),
		() => ({ headers: ['transfer-encoding: chunked'], bytes: chunked(random, body), ends: false }),
		() => ({ headers: ['transfer-encoding: chunked'], bytes: body, ends: true }),
		() => ({ headers: ['transfer-encoding: chunked'], bytes: chunked(random, body).subarray(0, -5), ends: true }),
		() => ({ headers: length(body.length + random(1, 1_000)), bytes: body, ends: true }),
		() => ({ headers: length(Math.max(0, body.length - random(1, 50))), bytes: body, ends: false }),
		() => ({
			headers: length(pick(random, ['-1', '0x10', '1e3', '', 'abc', '5000000000', '9'.repeat(40)])),
			bytes: body,
			ends: true,
		}),
		() => ({ headers: [...length(body.length), ...length(body.length + 1)], bytes: body, ends: true }),
		() => ({
			headers: [...length(body.length), 'transfer-encoding: chunked'],
			bytes: chunked(random, body),
			ends: true,
		}),
		() => ({ headers: [], bytes: body, ends: true }),
	])();
}

function chunked(random: Random, body: Uint8Array): Uint8Array {
	const pieces: Uint8Array[] = [];
	for (let at = 0; at < body.length; ) {
		const piece = body.subarray(at, at + random(1, Math.max(1, Math.ceil(body.length / 3))));
		pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
		at += piece.length;
	}
	return Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]);
}
