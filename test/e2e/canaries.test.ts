/** Checks that each secret appears only in its permitted places. */

import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Readable } from 'node:stream';
import { Miniflare } from 'miniflare';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hashKey, makeKey } from '../../src/cloudflare/auth/key.ts';
import { sourceNames } from '../../src/cloudflare/wire/protocols/webhooks/source.ts';
import { readWorkerOptions } from '../bundle.ts';

/** For each provider that needs a key: a model, and the variable with the key. */
const providers = {
	ANTHROPIC: 'claude-sonnet-4-6',
	OPENAI: 'gpt-5',
	XAI: 'grok-4',
	GEMINI: 'gemini-2.5-flash',
	GROQ: 'groq/llama',
	DEEPSEEK: 'deepseek/deepseek-chat',
	MISTRAL: 'mistral/mistral-small',
	OLLAMA: 'ollama/llama',
} as const;
const webhookSources = sourceNames.map((name) => name.toUpperCase());

const canary = (name: string): string => `canary-${name}-${randomBytes(12).toString('hex')}`;

/** Secrets of the configuration. They must appear nowhere. */
const configured = new Map<string, string>();
/** Canaries in requests, and the places where each may appear. */
const sent = {
	'a message': { text: canary('message'), in: ['storage', 'answers'] },
	'an attachment': { text: canary('attachment'), in: ['storage', 'answers'] },
	metadata: { text: canary('metadata'), in: ['storage', 'answers'] },
	'the result of a tool': { text: canary('result'), in: ['storage', 'answers'] },
	'an Idempotency-Key': { text: canary('idempotency'), in: ['storage'] },
	'a query': { text: canary('query'), in: [] },
	'a cookie': { text: canary('cookie'), in: [] },
	'a key that is not known': { text: canary('unknown-key'), in: [] },
	'a path': { text: canary('path'), in: ['answers'] },
	'a body that is not JSON': { text: canary('broken'), in: ['answers'] },
	'a field that there is not': { text: canary('field'), in: ['answers'] },
	'what a provider complains': { text: canary('complaint'), in: ['storage', 'answers'] },
} as const;

let folder: string;
let provider: Server;
let miniflare: Miniflare;
let logs = '';
let answers = '';
let url: URL;
const key = makeKey();
const tokens: string[] = [];

/** Starts a provider that fails in many ways, and repeats each request in its error. */
async function startProvider(): Promise<Server> {
	let times = 0;
	const server = createServer(async (request, response) => {
		const body = await readBytes(request);
		const echo = `${sent['what a provider complains'].text} ${JSON.stringify(request.headers)} ${request.url} ${body}`;
		const error = { error: { type: 'invalid_request_error', code: 'bad', message: echo } };
		const ways = [
			() => response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify(error)),
			() => response.writeHead(400, { 'content-type': 'text/plain', 'x-echo': 'a' }).end(echo),
			() => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${JSON.stringify(error)}\n\n`),
			() =>
				response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`event: error\ndata: {"a" ${echo}\n\n`),
			() =>
				response.writeHead(302, { location: `http://127.0.0.1:1/?${encodeURIComponent(echo.slice(0, 500))}` }).end(),
			() => response.writeHead(200, { 'content-type': 'text/html' }).end(`<p>${echo}`),
		];
		ways[times++ % ways.length]?.();
	}).listen(0, '127.0.0.1');
	await once(server, 'listening');
	return server;
}

async function readBytes(request: IncomingMessage): Promise<string> {
	const chunks: Uint8Array[] = [];
	for await (const chunk of request) if (chunk instanceof Uint8Array) chunks.push(chunk);
	return Buffer.concat(chunks).toString('utf8');
}

async function optionsWith(model: string): Promise<ConstructorParameters<typeof Miniflare>[0]> {
	const address = provider.address();
	const base = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/v1`;
	const bindings: Record<string, string> = {
		MODEL: model,
		API_KEYS: JSON.stringify([{ id: key.id, owner: 'alice', hash: await hashKey(key.key), scopes: ['run', 'admin'] }]),
		...Object.fromEntries(configured),
	};
	for (const name of Object.keys(providers)) bindings[`${name}_BASE_URL`] = base;
	return {
		...(await readWorkerOptions('src/worker.ts', folder)),
		bindings,
		handleRuntimeStdio: (stdout: Readable, stderr: Readable) => {
			for (const stream of [stdout, stderr])
				stream.setEncoding('utf8').on('data', (text: string) => {
					logs += text;
				});
		},
	};
}

beforeAll(async () => {
	for (const name of Object.keys(providers)) configured.set(`${name}_API_KEY`, canary(name.toLowerCase()));
	for (const name of webhookSources)
		configured.set(`${name}_WEBHOOK_SECRET`, `whsec_${Buffer.from(canary(name.toLowerCase())).toString('base64')}`);
	configured.set('CALLBACK_SECRET', `whsec_${Buffer.from(canary('callback')).toString('base64')}`);
	folder = await mkdtemp(join(tmpdir(), 'runlet-canaries-'));
	provider = await startProvider();
	miniflare = new Miniflare(await optionsWith('demo'));
	url = await miniflare.ready;
});
afterAll(async () => {
	await miniflare?.dispose();
	provider?.close();
	if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

interface Ask {
	readonly method?: string;
	readonly body?: unknown;
	readonly credential?: string;
	readonly headers?: Readonly<Record<string, string>>;
}

/** Sends a request, and records the text and the headers of its answer. */
async function ask(path: string, { method, body, credential = key.key, headers = {} }: Ask = {}): Promise<string> {
	const response = await fetch(new URL(path, url), {
		method: method ?? (body === undefined ? 'GET' : 'POST'),
		headers: {
			authorization: `Bearer ${credential}`,
			cookie: `a=${sent['a cookie'].text}`,
			'content-type': 'application/json',
			...headers,
		},
		...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
	});
	const text = await response.text();
	answers += `${response.status} ${JSON.stringify([...response.headers])} ${text}\n`;
	return text;
}

const streamed = { accept: 'text/event-stream' };

/** Creates a session with the present model, sends a message, and reads the session in all ways. */
async function talk(): Promise<string> {
	const attachments = [
		{
			name: 'a.txt',
			type: 'text/plain',
			size: sent['an attachment'].text.length,
			contentText: sent['an attachment'].text,
		},
	];
	const about = { agent: 'assistant', metadata: { a: sent.metadata.text } };
	const text = `Say ${sent['a message'].text}`;
	const created = JSON.parse(await ask('/v1/sessions', { body: about }));
	const path = `/v1/sessions/${created.id}`;
	const token = JSON.parse(await ask(`${path}/token`, { body: {} })).token;
	tokens.push(created.token, token);
	const idempotency = { 'idempotency-key': `${sent['an Idempotency-Key'].text}-${created.id}` };
	await ask(`${path}/messages`, { body: { text, attachments }, headers: { ...streamed, ...idempotency } });
	await ask(`${path}/continue`, { method: 'POST' });
	await ask(`${path}/messages?api_key=${sent['a query'].text}`, { credential: token });
	await ask(`${path}/messages`, { credential: token });
	await ask(`${path}/events`, { headers: streamed, credential: token });
	await ask(path, { credential: token });
	await ask(`${path}/messages`, { body: { text, [sent['a field that there is not'].text]: 1 } });
	await ask(`${path}/messages`, { body: `{"text": ${sent['a body that is not JSON'].text}` });
	await ask(`${path}/${sent['a path'].text}`);
	await ask(path, { credential: sent['a key that is not known'].text });
	await ask(path, { credential: `${token.slice(0, -4)}AAAA` });
	await ask('/v1/chat/completions', { body: { model: 'assistant', messages: [{ role: 'user', content: text }] } });
	await ask('/v1/chat/completions', {
		body: { model: 'assistant', stream: true, messages: [{ role: 'user', content: text }] },
	});
	return created.id;
}

async function storage(): Promise<string> {
	const files = await readdir(folder, { recursive: true, withFileTypes: true });
	const stored = files.filter((file) => file.isFile() && !/\.(js|map|md)$/.test(file.name));
	const texts = await Promise.all(stored.map((file) => readFile(join(file.parentPath, file.name), 'latin1')));
	expect(texts.some((text) => text.includes('CREATE TABLE session'))).toBe(true);
	return texts.join('\n');
}

/** The stored keys that sign the tokens of sessions. */
async function tokenKeys(): Promise<string[]> {
	const files = await readdir(join(folder, 'objects'), { recursive: true, withFileTypes: true });
	return files
		.filter(({ name, parentPath }) => name.endsWith('.sqlite') && /Session$/.test(parentPath))
		.flatMap(({ name, parentPath }) => {
			const database = new DatabaseSync(join(parentPath, name), { readOnly: true });
			try {
				const tables = database.prepare("SELECT name FROM sqlite_master WHERE name = 'session'").all();
				const rows = tables.length === 0 ? [] : database.prepare('SELECT token_key FROM session').all();
				return rows.flatMap(({ token_key }) => (typeof token_key === 'string' ? [token_key] : []));
			} finally {
				database.close();
			}
		});
}

test('no log, answer or database row contains a secret, even after failures', async () => {
	await ask(`/v1/skills?query=${sent['a query'].text}`);
	await ask(`/v1/sessions?cursor=${sent['a query'].text}`);
	const done = await talk();
	const refund = JSON.parse(
		await ask('/v1/sessions', { body: { agent: 'support', text: 'Please refund order A-1042, amount 25 euros.' } }),
	);
	tokens.push(refund.token);
	const session = JSON.parse(await ask(`/v1/sessions/${refund.id}`));
	await ask(`/v1/sessions/${refund.id}/tool-results`, {
		body: [{ id: session.toolCalls[0].id, output: sent['the result of a tool'].text }],
	});
	for (const source of webhookSources) {
		const body = JSON.stringify({ action: 'opened', text: sent['a message'].text });
		const secret = configured.get(`${source}_WEBHOOK_SECRET`) ?? '';
		const signature = createHmac('sha256', secret).update(body).digest('hex');
		for (const signed of [signature, signature.replace(/^./, 'x')])
			await ask(`/v1/webhooks/assistant/${source.toLowerCase()}?key=${sent['a query'].text}`, {
				body,
				headers: { 'x-hub-signature-256': `sha256=${signed}`, 'x-github-event': 'issues', 'x-github-delivery': 'd1' },
			});
	}
	for (const model of Object.values(providers)) {
		await miniflare.setOptions(await optionsWith(model));
		url = await miniflare.ready;
		await talk();
	}
	await ask('/v1/agents');
	await ask('/v1/sessions');
	await ask('/openapi.json');
	await miniflare.setOptions(await optionsWith('demo'));
	url = await miniflare.ready;
	const signing = await tokenKeys();
	const stored = await storage();

	expect(answers.includes(done)).toBe(true);
	expect(signing.length).toBeGreaterThan(8);
	const found: string[] = [];
	const search = (name: string, text: string, may: readonly string[]): void => {
		for (const [place, whole] of Object.entries({ logs, answers, storage: stored }))
			if (!may.includes(place) && whole.includes(text)) found.push(`${name} in ${place}`);
	};
	for (const [name, text] of configured) {
		search(name, text, []);
		const inner = Buffer.from(text.replace('whsec_', ''), 'base64').toString('latin1');
		if (text.startsWith('whsec_')) search(`${name}, decoded`, inner, []);
	}
	search('an API key', key.key, []);
	search('the secret part of an API key', key.key.slice(-43), []);
	search('the hash of an API key', await hashKey(key.key), []);
	for (const token of tokens) {
		search('a token', token, ['answers']);
		search('the signature of a token', token.slice(-43), ['answers']);
	}
	for (const tokenKey of signing) search('what signs tokens', tokenKey, ['storage']);
	for (const [name, { text, in: places }] of Object.entries(sent)) search(name, text, places);
	expect([...new Set(found)]).toEqual([]);
	// The search works: it finds the canaries in their permitted places.
	for (const name of [
		'a message',
		'an attachment',
		'metadata',
		'the result of a tool',
		'what a provider complains',
	] as const) {
		expect(stored.includes(sent[name].text), name).toBe(true);
		expect(answers.includes(sent[name].text), name).toBe(true);
	}
	expect(logs.includes('http.request')).toBe(true);
	expect(answers.includes('[key]')).toBe(true);
});
