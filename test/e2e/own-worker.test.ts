/**
 * A separate project (test/fixtures/own-worker) that uses the packed package. Its Worker is a Hono app that mounts
 * Runlet with all options.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { findWrangler, quietEnv } from '../../src/command/wrangler.ts';
import { findPacked } from '../pack.ts';
import { claimPort } from '../port.ts';

const root = resolve(import.meta.dirname, '../..');
const wranglerPath = findWrangler();
const project = mkdtempSync(join(tmpdir(), 'runlet-own-worker-'));

const run = (command: string, args: readonly string[]): string =>
	execFileSync(command, args, { cwd: project, encoding: 'utf8', env: quietEnv, stdio: ['ignore', 'pipe', 'inherit'] });

beforeAll(async () => {
	cpSync(join(root, 'test/fixtures/own-worker'), project, { recursive: true });
	const { file } = await findPacked();
	writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'own-worker', private: true, type: 'module' }));
	const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
	run('npm', ['install', ...quiet, file, 'typescript@5.6.3']);
	mkdirSync(join(project, 'node_modules/@cloudflare'), { recursive: true });
	const types = 'node_modules/@cloudflare/workers-types';
	symlinkSync(join(root, types), join(project, types), 'junction');
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

test('a project type-checks strictly with all declarations, and reports an unknown name of context.env', () => {
	const file = join(project, 'src/wrong.ts');
	onTestFinished(() => rmSync(file));
	writeFileSync(
		file,
		"import { tool } from 'runlet';\ntool.define({ name: 'x', description: 'X.', inputSchema: {}, passInput: true, fn: (_, { env }) => env.CRM_KYE });\n",
	);
	const compiler = join(root, 'node_modules/typescript/bin/tsc');
	const options = { cwd: project, encoding: 'utf8' } as const;
	const { stdout } = spawnSync(
		process.execPath,
		[compiler, '--singleThreaded', '--pretty', 'false', '-p', '.'],
		options,
	);
	expect(stdout.match(/^\S.*$/gm)).toEqual([
		expect.stringMatching(/^src\/wrong\.ts.*'CRM_KYE' does not exist on type 'Env'/),
	]);
});

test('a project type-checks with TypeScript 5.6 and skipLibCheck', () => {
	run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', '.', '--skipLibCheck']);
});

/** Builds a Worker as Wrangler deploys it. Returns its code. */
function build(entry: string, ...more: readonly string[]): string {
	const out = mkdtempSync(join(project, 'out-'));
	run(process.execPath, ['--no-warnings', wranglerPath, 'deploy', entry, '--dry-run', '--outdir', out, ...more]);
	return readFileSync(join(out, 'index.js'), 'utf8');
}

test('Wrangler builds a project without unused schema libraries', () => {
	const built = build('src/index.ts');
	expect(built.length).toBeLessThan(6_000_000);
	const taken = new Set([...built.matchAll(/node_modules\/((?:@[\w-]+\/)?[\w.-]+)\//g)].map(([, name]) => name));
	expect(taken).toContain('runlet');
	for (const name of ['zod', 'effect', 'arktype']) expect(taken).not.toContain(name);
});

/** The largest allowed sizes of deployed Workers, in bytes after gzip. */
const weights = {
	/** A new project without MCP. */
	worker: 385_500,
	/** A new project. A third of these bytes is MCP, which is loaded at its first use. */
	project: 561_500,
	/** The loop with tools, without a provider. */
	chat: 54_900,
} as const;

test('only a project with mcp contains MCP, and each project is within its size limit', () => {
	const hello = join(project, 'hello');
	onTestFinished(() => rmSync(hello, { recursive: true }));
	cpSync(join(root, 'packages/create-runlet/template'), hello, { recursive: true });
	const config = readFileSync(join(hello, 'wrangler.toml'), 'utf8').replace('"node_modules/', '"../node_modules/');
	writeFileSync(join(hello, 'wrangler.toml'), config);
	const index = readFileSync(join(hello, 'src/worker.ts'), 'utf8');
	writeFileSync(join(hello, 'src/index.ts'), index);
	mkdirSync(join(hello, 'src/without'));
	writeFileSync(
		join(hello, 'src/without/index.ts'),
		index
			.replace(/^import \{ mcp.*\n/m, '')
			.replace(', mcp }', ' }')
			.replace("'./agents", "'../agents"),
	);
	mkdirSync(join(hello, 'src/chat'));
	writeFileSync(
		join(hello, 'src/chat/index.ts'),
		"import { chat } from 'runlet';\nexport default { fetch: () => Response.json(Object.keys(chat)) };\n",
	);
	writeFileSync(join(hello, 'chat.toml'), 'name = "chat"\ncompatibility_date = "2026-07-30"\nkeep_names = false\n');
	const minify = (entry: string, config: string) =>
		build(`hello/src/${entry}/index.ts`, '--minify', '--config', `hello/${config}`);
	const [worker, whole] = [minify('without', 'wrangler.toml'), minify('.', 'wrangler.toml')];
	const chat = minify('chat', 'chat.toml');
	for (const part of ['notifications/cancelled', '/v1/mcp/:name/accept']) {
		expect(whole).toContain(part);
		expect(worker).not.toContain(part);
	}
	// No agent of the project calls a remote agent.
	expect(whole).not.toContain('a2a-version');
	// The API document is a file beside the page: the Worker has neither its texts nor its examples.
	const document = readFileSync(join(project, 'node_modules/runlet/dist/page/openapi.json'), 'utf8');
	for (const part of ['whose tools agents offer', 'Make a token for a session', 'I want my money back.']) {
		expect(document).toContain(part);
		expect(whole).not.toContain(part);
	}
	const weigh = (code: string) => gzipSync(code).length;
	const found = { worker: weigh(worker), project: weigh(whole), chat: weigh(chat) };
	console.info('weights, in bytes of gzip:', found);
	for (const name of ['worker', 'project', 'chat'] as const)
		expect(found[name], `${name} is too heavy: esbuild's --analyze says what is in it`).toBeLessThanOrEqual(
			weights[name],
		);
});

/** Serves the project with `wrangler dev`, minified as deployed, in its own process group. */
async function serve(folder: string) {
	const port = await claimPort();
	const args = [
		'--no-warnings',
		wranglerPath,
		'dev',
		'--minify',
		'--ip',
		'127.0.0.1',
		'--port',
		String(port),
		'--persist-to',
		folder,
	];
	const child = spawn(process.execPath, [...args, '--show-interactive-dev-session=false'], {
		cwd: project,
		detached: true,
		env: quietEnv,
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	const { promise: up, resolve: tell, reject } = Promise.withResolvers<void>();
	let output = '';
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding('utf8').on('data', (text: string) => {
			output += text;
			if (/Ready on/.test(output)) tell();
		});
	const ended = once(child, 'close');
	void ended.then(() => reject(new Error(`wrangler dev ended:\n${output}`)));
	await up;
	return {
		url: `http://127.0.0.1:${port}`,
		readOutput: () => output,
		stop: async () => {
			if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
			await ended;
		},
	};
}

test('a Worker keeps a session and its state after a restart, and hides both from another owner', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'runlet-own-worker-state-'));
	let server = await serve(folder);
	onTestFinished(async () => {
		await server.stop();
		rmSync(folder, { recursive: true, force: true });
	});
	const ask = (path: string, user?: string, body?: object) =>
		fetch(`${server.url}${path}`, {
			method: body === undefined ? 'GET' : 'POST',
			headers: { ...(user !== undefined && { 'x-user': user }), 'content-type': 'application/json' },
			...(body !== undefined && { body: JSON.stringify(body) }),
		});

	const created = await ask('/ai/v1/sessions', 'ada', { agent: 'desk', text: 'Count hello' });
	expect(created.status).toBe(201);
	const location = created.headers.get('location') ?? '';
	expect(location).toMatch(/^\/ai\/v1\/sessions\/[0-9a-f]{64}$/);
	expect(await created.json()).toMatchObject({ status: 'completed', text: 'It is "hello 1 SECRET".' });

	await server.stop();
	server = await serve(folder);
	expect(await (await ask(location, 'ada')).json()).toMatchObject({ agent: 'desk', status: 'completed' });
	const again = await ask(`${location}/messages`, 'ada', { text: 'Count hello' });
	expect(await again.json()).toMatchObject({ text: 'It is "hello 2 SECRET".' });

	for (const path of [location, `${location}/messages`, `${location}/events`])
		expect([path, (await ask(path, 'bob')).status]).toEqual([path, 404]);
	expect((await ask(`${location}/messages`, 'bob', { text: 'Hi' })).status).toBe(404);
	expect((await ask(location)).status).toBe(401);
	expect((await ask('/ai/v1/sessions', undefined, { agent: 'desk' })).status).toBe(401);

	for (const user of ['named', 'nameless']) expect((await ask('/ai/v1/agents', user)).status).toBe(503);
	const { readOutput } = server;
	const readTypes = () => new Set([...readOutput().matchAll(/"exception\.type":"([^"]*)"/g)].map(([, type]) => type));
	await expect.poll(readTypes).toEqual(new Set(['LoginError', 'Error']));

	const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
	const requestInit = { headers: { 'x-user': 'ada' } };
	await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/ai/mcp/desk`), { requestInit }));
	const called = await client.callTool({ name: 'remember', arguments: { word: 'hello' } });
	expect(called).toMatchObject({ content: [{ type: 'text', text: 'hello 1 SECRET' }] });
	await client.close();

	const { agents }: { agents: { skills: object }[] } = await (await ask('/ai/v1/agents', 'bob')).json();
	expect(agents[0]?.skills).toEqual([{ name: 'handbook', description: 'user:handbook of user:bob.' }]);

	expect(await (await ask('/')).text()).toBe('The host.');
	expect(await (await ask('/nothing')).text()).toBe('The host has no such page.');
	for (const path of ['/ai', '/ai/']) {
		const page = await ask(path);
		expect([path, page.status, page.headers.get('content-security-policy')]).toEqual([
			path,
			200,
			expect.stringContaining("script-src 'self'"),
		]);
		expect(await page.text()).toContain('src="/ai/app.js"');
	}
	const script = await ask('/ai/app.js');
	expect([script.status, script.headers.get('content-type')]).toEqual([200, expect.stringContaining('javascript')]);
	const element = await ask('/ai/embed.js');
	expect([element.status, element.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
});
