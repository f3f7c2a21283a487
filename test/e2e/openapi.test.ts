import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import * as v from 'valibot';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hashKey, makeKey, scopes } from '../../src/cloudflare/auth/key.ts';
import { startWorker } from '../bundle.ts';
import { senders } from '../cloudflare/wire/protocols/webhooks/senders.ts';

const root = resolve(import.meta.dirname, '../..');
const { github } = senders;
const violations = v.pipe(
	v.optional(v.string(), '[]'),
	v.parseJson(),
	v.array(
		v.object({
			location: v.array(v.string()),
			severity: v.string(),
			code: v.union([v.string(), v.number()]),
			message: v.string(),
		}),
	),
);

let runlet: Awaited<ReturnType<typeof startWorker>>;
/** Refuses requests and answers that violate the document. */
let strict: Awaited<ReturnType<typeof startPrism>>;
/** Forwards all requests and answers, and reports violations of the document. */
let lenient: Awaited<ReturnType<typeof startPrism>>;
let folder: string;
let apiKey: string;

beforeAll(async () => {
	const { key, id } = makeKey();
	apiKey = key;
	const record = { id, owner: 'prism', hash: await hashKey(key), scopes };
	runlet = await startWorker({ API_KEYS: JSON.stringify([record]), GITHUB_WEBHOOK_SECRET: github.secret });
	folder = await mkdtemp(join(tmpdir(), 'runlet-prism-'));
	const document = join(folder, 'openapi.json');
	await writeFile(document, await (await fetch(`${runlet.url}/openapi.json`)).text());
	[strict, lenient] = await Promise.all([startPrism(document, '--errors'), startPrism(document)]);
});
afterAll(async () => {
	await Promise.all([strict?.close(), lenient?.close(), runlet?.close()]);
	await rm(folder, { recursive: true, force: true });
});

/** Runs Prism as a proxy before the Worker, on a free port. */
async function startPrism(document: string, ...options: readonly string[]) {
	const prism = join(root, 'node_modules/@stoplight/prism-cli/dist/index.js');
	const args = [prism, 'proxy', document, runlet.url, '--port', '0', ...options];
	const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
	return { url: await listening(child), close: () => ended(child) };
}

async function listening(child: ChildProcess): Promise<string> {
	const { promise, resolve, reject } = Promise.withResolvers<string>();
	let output = '';
	for (const stream of [child.stdout, child.stderr]) {
		stream?.setEncoding('utf8').on('data', (text: string) => {
			output += text;
			const [, url] = /Prism is listening on (http:\/\/\S+)/.exec(output) ?? [];
			if (url !== undefined) resolve(url);
		});
	}
	child.once('exit', () => reject(new Error(`Prism ended before it was ready:\n${output}`)));
	return promise;
}

async function ended(child: ChildProcess): Promise<void> {
	if (child.exitCode !== null || child.signalCode !== null) return;
	const exited = once(child, 'exit');
	child.kill();
	await exited;
}

interface Asked {
	readonly method?: string;
	readonly json?: unknown;
	readonly text?: string;
	readonly headers?: Readonly<Record<string, string>>;
}

async function ask(base: string, path: string, { method, json, text, headers }: Asked = {}) {
	const body = json === undefined ? text : JSON.stringify(json);
	const response = await fetch(`${base}${path}`, {
		method: method ?? (body === undefined ? 'GET' : 'POST'),
		headers: {
			...(json !== undefined && { 'content-type': 'application/json' }),
			accept: 'application/json',
			authorization: `Bearer ${apiKey}`,
			...headers,
		},
		body,
	});
	const answer = await response.text();
	const found = v.parse(violations, response.headers.get('sl-violations') ?? undefined);
	return { status: response.status, headers: response.headers, text: answer, violations: found };
}

/** Sends a request through Prism, which refuses requests and answers that violate the document. */
async function good(status: number, path: string, asked?: Asked) {
	const answer = await ask(strict.url, path, asked);
	expect(answer.violations, `${path}: ${answer.text}`).toEqual([]);
	expect(answer.status, `${path}: ${answer.text}`).toBe(status);
	return answer;
}

const readId = (text: string): string => v.parse(v.object({ id: v.string() }), JSON.parse(text)).id;
const readCalls = (text: string): string[] =>
	v
		.parse(v.object({ toolCalls: v.array(v.object({ id: v.string() })) }), JSON.parse(text))
		.toolCalls.map(({ id }) => id);

test('every route that does not stream matches the OpenAPI document', async () => {
	await good(200, '/healthz');
	await good(200, '/openapi.json');
	await good(200, '/docs', { headers: { accept: 'text/html' } });
	await good(200, '/v1/agents');

	const created = await good(201, '/v1/sessions', {
		json: { agent: 'assistant', text: 'What is 17 + 25?', metadata: { n: '1' }, budget: { tokens: 90_000 } },
		headers: { 'idempotency-key': 'one' },
	});
	const path = `/v1/sessions/${readId(created.text)}`;
	await good(201, '/v1/sessions', { json: { agent: 'assistant' } });
	await good(202, '/v1/sessions', {
		json: { agent: 'assistant', text: 'hello' },
		headers: { prefer: 'respond-async' },
	});
	await good(200, path);
	await good(200, path, { method: 'PATCH', json: { budget: { tokens: 80_000, usd: 2 } } });
	await good(201, `${path}/token`, { json: { expiresInSeconds: 600 } });
	await good(200, '/v1/sessions');
	const { cursor } = v.parse(
		v.object({ cursor: v.string() }),
		JSON.parse((await good(200, '/v1/sessions?limit=1')).text),
	);
	await good(200, `/v1/sessions?limit=1&cursor=${cursor}`);

	await good(200, `${path}/messages`, {
		json: {
			parts: [{ kind: 'text', text: 'What is 6 * 7?' }],
			attachments: [{ name: 'a.csv', type: 'text/csv', size: 3, contentText: 'a,b' }],
			whenBusy: 'queue',
		},
	});
	await good(202, `${path}/messages`, { json: { text: 'hello' }, headers: { prefer: 'respond-async' } });
	const page = await good(200, `${path}/messages?limit=2`);
	const [first] = v.parse(
		v.object({ messages: v.array(v.object({ id: v.string() })) }),
		JSON.parse(page.text),
	).messages;
	await good(200, `${path}/messages?cursor=${first?.id}`);
	await good(200, `${path}/messages/${first?.id}`);
	await good(200, `${path}/cancel`, { method: 'POST', headers: { 'idempotency-key': 'stop' } });

	const asked = await good(201, '/v1/sessions', {
		json: { agent: 'support', text: 'Please refund order 1042: issue_refund orderId 1042 amount 20' },
	});
	const waiting = `/v1/sessions/${readId(asked.text)}`;
	await good(200, waiting);
	const output = { refunded: true };
	await good(200, `${waiting}/tool-results`, { json: readCalls(asked.text).map((id) => ({ id, output })) });

	const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is 17 + 25?' }] }];
	await good(200, '/v1/chat/completions', { json: { model: 'assistant', messages, user: 'somebody' } });
	await good(200, '/v1/messages', { json: { model: 'assistant', messages } });
	await good(200, '/v1/messages/count_tokens', { json: { model: 'assistant', messages } });
	const inSession = { json: { model: 'assistant', messages }, headers: { 'runlet-session': 'prism' } };
	await good(200, '/v1/chat/completions', inSession);
	await good(200, '/v1/models');
	await good(200, '/v1/models/assistant');
	const chat = '/v1/ui/assistant/chat-1';
	await good(204, `${chat}/stream`);
	await good(200, `${chat}/messages`);
	const said = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'What is 17 + 25?' }] };
	await good(200, '/v1/ui/assistant', { json: { id: 'chat-1', messages: [said], trigger: 'submit-message' } });
	await good(200, `${chat}/messages`);
	await good(204, `${chat}/stream`, { method: 'DELETE' });

	const user = { login: 'ada', type: 'User' };
	const issue = { number: 7, title: 'It does not start', body: 'See the title.', user };
	const repository = { full_name: 'ada/engine' };
	const event = JSON.stringify({ action: 'opened', issue, repository, sender: user });
	const delivery = (id: string, secret: string) => ({
		text: event,
		headers: { 'content-type': 'application/json', ...github.headers(event, { id, at: 0, secrets: [secret] }) },
	});
	await good(202, '/v1/webhooks/triage/github', delivery('one', github.secret));
	await good(200, '/v1/webhooks/triage/github', delivery('one', github.secret));
	await good(401, '/v1/webhooks/triage/github', delivery('two', 'wrong'));
	await good(404, '/v1/webhooks/triage/stripe', delivery('three', github.secret));

	const markdown = '---\nname: from-prism\ndescription: Published through a proxy.\n---\n\nSo.\n';
	const put = { method: 'PUT', text: markdown, headers: { 'content-type': 'text/markdown' } };
	const made = await good(201, '/v1/skills/from-prism', put);
	const listed = await good(200, '/v1/skills?limit=1');
	await good(200, '/v1/skills?query=proxy');
	const [skill] = v.parse(
		v.object({ skills: v.array(v.object({ name: v.string() })) }),
		JSON.parse(listed.text),
	).skills;
	const read = await good(200, `/v1/skills/${skill?.name}`);
	await good(304, `/v1/skills/${skill?.name}`, { headers: { 'if-none-match': read.headers.get('etag') ?? '' } });
	const etag = made.headers.get('etag') ?? '';
	await good(200, '/v1/skills/from-prism', {
		...put,
		text: markdown.replace('So.', 'Thus.'),
		headers: { ...put.headers, 'if-match': etag },
	});
	await good(428, '/v1/skills/from-prism', put);
	await good(412, '/v1/skills/from-prism', { ...put, headers: { ...put.headers, 'if-match': '"other"' } });
	await good(204, '/v1/skills/from-prism', { method: 'DELETE' });
	await good(204, waiting, { method: 'DELETE' });
});

test('errors that depend on stored data match the OpenAPI document', async () => {
	const none = `/v1/sessions/${'0'.repeat(64)}`;
	await good(404, none);
	await good(404, `${none}/messages`, { json: { text: 'hello' } });
	await good(404, '/v1/sessions', { json: { agent: 'nobody' } });
	await good(400, '/v1/sessions', {
		json: { agent: 'assistant', text: 'one', parts: [{ kind: 'text', text: 'two' }] },
	});
	await good(400, '/v1/sessions', { json: { agent: 'assistant', model: 'gpt-99' } });
	await good(404, '/v1/skills/there-is-none');
	await good(404, '/v1/models/none');
	const messages = [{ role: 'assistant', content: 'hello' }];
	await good(400, '/v1/chat/completions', { json: { model: 'assistant', messages } });
	await good(404, '/v1/chat/completions', { json: { model: 'none', messages: [{ role: 'user', content: 'hello' }] } });
	const plain = { headers: { accept: 'text/plain' } };
	await good(404, '/v1/ui/assistant/never-begun/stream', { method: 'DELETE', ...plain });
	const nothing = { id: 'chat-2', messages: [{ role: 'user', parts: [] }] };
	await good(400, '/v1/ui/assistant', { json: nothing, ...plain });
	await good(404, '/v1/ui/nobody', { json: nothing, ...plain });
	const created = await good(201, '/v1/sessions', { json: { agent: 'assistant', budget: { tokens: 0 } } });
	const path = `/v1/sessions/${readId(created.text)}`;
	await good(409, `${path}/answer`, { json: { text: 'hello' } });
	await good(409, `${path}/continue`, { method: 'POST' });
	await good(409, `${path}/step`, { method: 'POST' });
	await good(409, `${path}/tool-results`, { json: [{ id: 'none', approve: true }] });
	await good(402, `${path}/messages`, { json: { text: 'hello' } });
	await good(402, `${path}/continue`, { method: 'POST' });
	await good(400, `${path}/messages`, { json: { text: ' ' } });
	await good(400, `${path}/events`, { headers: { 'last-event-id': 'none' } });
});

test('the Worker refuses requests that violate the OpenAPI document, with the documented error', async () => {
	const path = `/v1/sessions/${readId((await good(201, '/v1/sessions', { json: { agent: 'assistant' } })).text)}`;
	const bad: readonly (readonly [path: string, asked: Asked])[] = [
		['/v1/sessions', { json: {} }],
		['/v1/sessions', { json: [] }],
		['/v1/sessions', { json: { agent: 7 } }],
		['/v1/sessions', { json: { agent: 'assistant', colour: 'blue' } }],
		['/v1/sessions', { json: { agent: 'assistant', budget: { tokens: -1 } } }],
		['/v1/sessions', { json: { agent: 'assistant', budget: { tokens: 1.5 } } }],
		['/v1/sessions', { json: { agent: 'assistant', metadata: { n: 1 } } }],
		['/v1/sessions', { json: { agent: 'assistant', expiresAfterMs: 0 } }],
		['/v1/sessions', { json: { agent: 'assistant', parts: [] } }],
		['/v1/sessions', { text: 'agent=assistant', headers: { 'content-type': 'text/plain' } }],
		['/v1/sessions?limit=0', {}],
		['/v1/sessions?limit=many', {}],
		['/v1/sessions?cursor=none', {}],
		[path, { method: 'PATCH', json: {} }],
		[path, { method: 'PATCH', json: { budget: null } }],
		[`${path}/token`, { json: { expiresInSeconds: 5 } }],
		[`${path}/messages?limit=501`, {}],
		[`${path}/messages`, { json: { text: 5 } }],
		[`${path}/messages`, { json: { parts: [{ kind: 'film' }] } }],
		[`${path}/messages`, { json: { text: 'hello', whenBusy: 'now' } }],
		[`${path}/messages`, { json: { text: 'hello', attachments: [{ name: 'a', type: 'text/plain' }] } }],
		[`${path}/answer`, { json: { answer: 'yes' } }],
		[`${path}/tool-results`, { json: [] }],
		[`${path}/tool-results`, { json: [{ id: 'a' }] }],
		[`${path}/tool-results`, { json: [{ id: 'a', approve: 'yes' }] }],
		['/v1/chat/completions', { json: { model: 'assistant' } }],
		['/v1/messages', { json: { model: 'assistant' } }],
		['/v1/messages', { json: { model: 'assistant', messages: [] } }],
		['/v1/chat/completions', { json: { model: 'assistant', messages: [] } }],
		['/v1/chat/completions', { json: { model: 'assistant', messages: [{ role: 'critic', content: 'no' }] } }],
		['/v1/chat/completions', { json: { model: 'assistant', messages: [{ role: 'user', content: 'hello' }], n: 2 } }],
		['/v1/skills?limit=101', {}],
		['/v1/skills?cursor=ÄÖ', {}],
	];
	for (const [to, asked] of bad) {
		const answer = await ask(lenient.url, to, asked);
		const where = `${to} ${JSON.stringify(asked)}: ${answer.text}`;
		expect(
			answer.violations.some(({ location }) => location[0] === 'request'),
			where,
		).toBe(true);
		expect(
			answer.violations.filter(({ location }) => location[0] !== 'request'),
			where,
		).toEqual([]);
		expect(answer.status, where).toBeGreaterThanOrEqual(400);
		expect(answer.status, where).toBeLessThan(500);
		expect(JSON.parse(answer.text), where).toHaveProperty('error.message');
	}
});
