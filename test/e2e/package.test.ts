import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { serveStateless } from '../core/mcp/serve.ts';
import { type Block, listBlocks, pages, toFile } from '../docs.ts';
import { copySources, findPacked } from '../pack.ts';

const root = resolve(import.meta.dirname, '../..');
const project = mkdtempSync(join(tmpdir(), 'runlet-package-'));

const run = (command: string, args: readonly string[]): string =>
	execFileSync(command, args, { cwd: project, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

/** Returns whether a block is a test or an eval of an agent. */
const isTest = ({ code }: Block) => /'runlet\/(testing|evals)'/.test(code);

/** Compiles the files of a folder with the strict options of TypeScript. */
function compile(folder: string, types: readonly string[], lib: readonly string[], more: object = {}): void {
	const compilerOptions = {
		strict: true,
		noEmit: true,
		target: 'es2024',
		module: 'nodenext',
		types,
		lib,
		allowImportingTsExtensions: true,
		...more,
	};
	const config = JSON.stringify({ compilerOptions, include: ['**/*.ts'] });
	writeFileSync(join(project, folder, 'tsconfig.json'), config);
	const command = join(root, 'node_modules/.bin/tsc');
	expect(spawnSync(command, ['--singleThreaded', '-p', folder], { cwd: project, encoding: 'utf8' }).stdout).toBe('');
}

let packed: Awaited<ReturnType<typeof findPacked>>;
beforeAll(async () => {
	packed = await findPacked();
	writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'fresh', private: true, type: 'module' }));
	run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', packed.file]);
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

test('a fresh clone without build output packs the page and the API documents', () => {
	for (const name of [
		'index.html',
		'app.js',
		'embed.js',
		'highlight.js',
		'mathml.js',
		'style.css',
		'theme.js',
		'openapi.json',
		'docs.html',
		'shell.js',
	])
		expect(packed.paths).toContain(`dist/page/${name}`);
});

test('a failed build prints its reason, and leaves no partial dist/', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'runlet-build-'));
	onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
	const copy = await copySources(folder);
	rmSync(join(copy, 'src/page/app.ts'));
	const { status, stderr } = spawnSync(process.execPath, ['scripts/build.ts', '--no-check'], {
		cwd: copy,
		encoding: 'utf8',
	});
	expect([status, stderr]).toEqual([1, expect.stringContaining('app.ts')]);
	expect(existsSync(join(copy, 'dist'))).toBe(false);
});

test('a fresh project can import every entry of the package and every public name', () => {
	writeFileSync(
		join(project, 'parts.mjs'),
		`import * as all from 'runlet';
		import * as tool from 'runlet/tool';
		import * as skill from 'runlet/skill';
		import * as chat from 'runlet/chat';
		import * as toolbox from 'runlet/toolbox';
		import * as providers from 'runlet/providers';
		import { fromServer } from 'runlet/mcp';
		import { createClient } from 'runlet/client';
		await fromServer({ name: 'x', url: 'http://10.0.0.1/' }).then(() => { throw new Error('mcp'); }, ({ code }) => { if (code !== 'invalid_request') throw new Error(code); });
		createClient('http://127.0.0.1').v1.sessions.$url();
		createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'k' }).followRun('s');
		const same = { tool, skill, chat, toolbox, providers };
		for (const [name, part] of Object.entries(same)) for (const key of Object.keys(part)) if (all[name][key] !== part[key]) throw new Error(name + '.' + key);
		console.log(JSON.stringify(Object.keys(all).sort()));`,
	);
	expect(JSON.parse(run(process.execPath, ['parts.mjs']))).toEqual(
		[
			'RunletError',
			'askUser',
			'chat',
			'fn',
			'halt',
			'isSamePerson',
			'parts',
			'providers',
			'skill',
			'tool',
			'toolbox',
			'workspace',
		].sort(),
	);
});

test('an installation by npm takes less than 26 MB', () => {
	const files = globSync('node_modules/**', { cwd: project });
	const bytes = files.reduce((sum, file) => sum + lstatSync(join(project, file)).blocks * 512, 0);
	expect(files.length).toBeGreaterThan(100);
	expect(bytes / 1e6).toBeLessThan(26);
});

test('the bundled SDKs call their APIs, and their licences are beside them', async () => {
	const asked: string[] = [];
	const server = createServer((request, response) => {
		const { authorization, 'x-api-key': key = authorization } = request.headers;
		asked.push(`${request.method} ${request.url} ${key}`);
		response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"message":"No."}}');
	}).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
	writeFileSync(
		join(project, 'ask.mjs'),
		`import { chat, providers } from 'runlet';
		for (const [model, provider] of [
			['claude-sonnet-4-6', providers.anthropic({ apiKey: 'a', baseURL: '${url}' })],
			['gpt-5.4', providers.openai({ apiKey: 'o', baseURL: '${url}/v1' })],
		]) await chat.runLoop({ model, providers: [provider] }, 'Hi').catch(({ code }) => console.log(code));`,
	);
	const { stdout } = await promisify(execFile)(process.execPath, ['ask.mjs'], { cwd: project });
	server.close();
	expect(stdout).toBe('auth\nauth\n');
	expect(asked).toEqual(['POST /v1/messages Bearer a', 'POST /v1/responses Bearer o']);
	const licenses = readFileSync(join(project, 'node_modules/runlet/dist/LICENSES.txt'), 'utf8');
	const modelContext = ['@modelcontextprotocol/client', '@modelcontextprotocol/server', 'zod'];
	for (const name of ['@anthropic-ai/sdk', 'openai', 'eventsource-parser', ...modelContext])
		expect(licenses).toMatch(new RegExp(`^${name} `, 'm'));
});

test('the bundled MCP client calls the tools of a server', async () => {
	const served = await serveStateless(() => {
		const server = new McpServer({ name: 'clock', version: '1' });
		server.registerTool('now', { description: 'The time.' }, () => ({ content: [{ type: 'text', text: 'noon' }] }));
		return server;
	});
	onTestFinished(() => served.close());
	writeFileSync(
		join(project, 'mcp.mjs'),
		`import { chat, providers } from 'runlet';
		import { fromServer } from 'runlet/mcp';
		const { tools, close } = await fromServer({ name: 'clock', url: '${served.url}' });
		const model = providers.scripted([{ toolCalls: [{ id: 'a', name: 'clock_now', input: {} }] }, 'It is noon.']);
		await chat.runLoop({ model: 'scripted', providers: [model], tools }, 'What time is it?');
		console.log(model.requests[1].messages.find(({ role }) => role === 'tool').content);
		await close();`,
	);
	const { stdout } = await promisify(execFile)(process.execPath, ['mcp.mjs'], { cwd: project });
	expect(stdout).toBe('noon\n');
});

test('the package contains no test and no script', () => {
	const odd = packed.paths.filter(
		(path) =>
			!/^(dist\/((core|client|react|cloudflare|evals|replay|testing)\/[\w/-]+\.(js|d\.ts)|command\/([\w/-]+\.js|skills\/read\.d\.ts)|page\/\w+(\.\w+)?|LICENSES\.txt)|package\.json|README\.md|LICENSE|CHANGELOG\.md|llms\.txt|docs\/[\w-]+\.(md|png))$/.test(
				path,
			),
	);
	expect(odd).toEqual([]);
});

test('the code of README and of docs compiles against the package, and tests of agents pass without a Worker', () => {
	const blocks = pages.flatMap(listBlocks).filter(({ language }) => language === 'ts');
	expect(blocks.length).toBeGreaterThan(15);
	for (const block of blocks) {
		const path = isTest(block) ? toFile(block).replace('pages/', 'tests/') : toFile(block);
		const file = join(project, 'docs', path);
		mkdirSync(dirname(file), { recursive: true });
		writeFileSync(file, block.code);
	}
	const types = join(root, 'node_modules/@cloudflare/workers-types');
	compile('docs/src', [types], ['es2024', 'esnext.array']);
	const node = join(root, 'node_modules/@types/node');
	compile('docs/pages', [node], ['es2024', 'dom']);
	// The types of Node and of Workers contradict each other.
	compile('docs/tests', [types, node], ['es2024', 'esnext.array'], { skipLibCheck: true });
	for (const file of globSync('docs/tests/*.ts', { cwd: project }))
		expect(run(process.execPath, ['--test', file])).toMatch(/pass 1\b[\s\S]*fail 0\b/);
});
