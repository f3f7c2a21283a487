import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { copyProject, startRunletIn } from '../runlet.ts';

const agent = `
import { toolbox } from 'runlet';
import { defineAgent } from 'runlet/cloudflare';

export const analyst = defineAgent({
	name: 'analyst',
	description: 'Has a shell.',
	model: 'ollama/scripted',
	tools: toolbox.withShell(toolbox.withFiles()),
});
`;

/** The model makes these calls, one after another, and then repeats the last result. */
const calls = [
	['write_file', { path: 'data/fruit.txt', text: 'pear\napple\nfig\n' }],
	['run_shell', { command: 'sort data/fruit.txt > sorted.txt; wc -l < sorted.txt; curl http://127.0.0.1/ || true' }],
] as const;

let model: Server;
let project: string;
let server: Awaited<ReturnType<typeof startRunletIn>>;

/** The model makes only this call for the message `Take long.` */
const longCall = ['run_shell', { command: 'touch begun.txt; sleep 60', timeoutMs: 60_000 }] as const;

/** A Chat Completions server that makes the calls. */
async function startModel(): Promise<Server> {
	const started = createServer(async (request, response) => {
		const { messages } = JSON.parse(await text(request));
		const results: readonly { readonly content: string }[] = messages.filter(
			({ role }: { role: string }) => role === 'tool',
		);
		const isLong = messages.some(({ content }: { content: unknown }) => content === 'Take long.');
		const [name, input] = (isLong ? [longCall] : calls)[results.length] ?? [];
		const called = {
			index: 0,
			id: `c${results.length}`,
			type: 'function',
			function: { name, arguments: JSON.stringify(input) },
		};
		const delta = name === undefined ? { content: results.at(-1)?.content } : { tool_calls: [called] };
		const choice = { index: 0, delta, finish_reason: name === undefined ? 'stop' : 'tool_calls' };
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		response.end(
			`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [choice] })}\n\ndata: [DONE]\n\n`,
		);
	}).listen(0, '127.0.0.1');
	await once(started, 'listening');
	return started;
}

beforeAll(async () => {
	model = await startModel();
	project = await copyProject();
	const toml = await readFile(join(project, 'wrangler.toml'), 'utf8');
	const assets = 'directory = "build/page"';
	expect(toml).toContain(assets);
	await writeFile(
		join(project, 'wrangler.toml'),
		`${toml.replace(assets, `${assets}\nbinding = "PAGE"`)}\n[[worker_loaders]]\nbinding = "LOADER"\n`,
	);
	await writeFile(join(project, 'src/agents/analyst.ts'), agent);
	const index = await readFile(join(project, 'src/agents/index.ts'), 'utf8');
	await writeFile(
		join(project, 'src/agents/index.ts'),
		`import { analyst } from './analyst.ts';\n${index.replace(/\[(?=[^\]]*\]\s*;?\s*$)/, '[analyst, ')}`,
	);
	const address = model.address();
	const port = typeof address === 'object' ? address?.port : '';
	const variables = [`OLLAMA_BASE_URL:http://127.0.0.1:${port}/v1`, 'MODEL:gtp-5'];
	server = await startRunletIn(project, ...variables.flatMap((one) => ['--var', one]));
});
afterAll(async () => {
	await server?.close();
	model?.close();
	if (project !== undefined) await rm(project, { recursive: true, force: true });
});

test('npm start reports an unknown model beside its banner', () =>
	server.says(/Runlet is at[\s\S]*No provider knows the model "gtp-5"/));

test('an agent under npm start runs a shell that changes the files of its session', async () => {
	const client = createClient({ baseUrl: server.url });
	const { id } = await client.createSession({ agent: 'analyst' });
	let said = '';
	for await (const event of client.sendMessage(id, 'Sort it.')) if (event.type === 'done') said = event.text;
	expect(JSON.parse(said)).toEqual({
		stdout: '3\n',
		stderr: expect.stringContaining('curl: command not found'),
		exitCode: 0,
		truncated: false,
	});
	const sorted = await fetch(`${server.url}/v1/sessions/${id}/files/sorted.txt`);
	expect(await sorted.text()).toBe('apple\nfig\npear\n');
	const changes: unknown = await (await fetch(`${server.url}/v1/sessions/${id}/changes`)).json();
	expect(changes).toMatchObject({ changes: [{ path: 'sorted.txt', kind: 'created' }, { path: 'data/fruit.txt' }] });
});

test('after a kill during a command, the run reports an unknown outcome, and does not repeat the command', async () => {
	const client = createClient({ baseUrl: server.url });
	const { id } = await client.createSession({ agent: 'analyst' });
	const reading = client.sendMessage(id, 'Take long.');
	for await (const event of reading) if (event.type === 'note' && event.label === 'Running') break;
	await server.stop('SIGKILL');
	await server.restart();
	let said = '';
	for await (const event of client.followRun(id)) if (event.type === 'done') said = event.text;
	expect(said).toMatch(/cut off.*not known whether this call was carried out/);
	expect(await (await fetch(`${server.url}/v1/sessions/${id}/changes`)).json()).toMatchObject({ changes: [] });
});
