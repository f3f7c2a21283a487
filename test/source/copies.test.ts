import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { copyOptions } from '../../scripts/pack/copies.ts';
import { root } from '../../scripts/root.ts';
import { quietSdk } from '../../src/core/providers/adapter/fetch.ts';

let folder: string;
beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), 'runlet-copies-'));
});
afterAll(() => rm(folder, { recursive: true }));

test.each([
	['openai-sdk', 'OpenAI', { adminAPIKey: null, organization: null, project: null, webhookSecret: null }],
	['anthropic-sdk', 'BaseAnthropic', { authToken: null, webhookKey: null, openTelemetry: false }],
])('the copy of %s in the package sends the same request as the SDK', async (module, client, options) => {
	const entry = join(root, `src/core/providers/adapter/${module}.ts`);
	const copy = join(folder, `${module}.mjs`);
	await build({ ...copyOptions, entryPoints: [entry], outfile: copy });
	const [whole, short] = await Promise.all([import(pathToFileURL(entry).href), import(pathToFileURL(copy).href)]);
	expect(await send(short[client], options)).toEqual(await send(whole[client], options));
});

/** Sends a request, and returns the request that `fetch` got and the result for the caller. */
async function send(Client: new (options: object) => Sender, options: object) {
	const sent: unknown[] = [];
	const fetch = async (url: string, { method, headers, body }: RequestInit): Promise<Response> => {
		sent.push(url, method, Object.fromEntries(new Headers(headers)), body);
		return Response.json({ ok: true });
	};
	const sender = new Client({
		...quietSdk,
		...options,
		apiKey: 'secret',
		baseURL: 'https://llm.example.com/v1',
		fetch,
	});
	const { signal } = new AbortController();
	const answers = [
		await sender.post('/messages', { body: { text: 'Hello' }, signal, headers: { 'x-more': '1' } }).asResponse(),
		await sender.get('/messages/1', { signal }).asResponse(),
	];
	return { sent, texts: await Promise.all(answers.map((answer) => answer.text())) };
}

interface Sender {
	post(path: string, options: object): { asResponse(): Promise<Response> };
	get(path: string, options: object): { asResponse(): Promise<Response> };
}
