/** A Worker with a wrong configuration reports it once at the start, and not at every request. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../../scripts/root.ts';
import { wranglerNames } from '../../src/command/dev/options.ts';
import { wrangler } from '../../src/command/wrangler.ts';
import { claimPort } from '../port.ts';
import { copyProject } from '../runlet.ts';
import { runScript } from './scripts.ts';

let folder: string;
beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), 'runlet-setup-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The output of `npm start` up to the matching line. */
async function startUntil(expression: RegExp, ...options: readonly string[]): Promise<string> {
	const own = ['--port', String(await claimPort()), '--persist-to', folder, '--no-type-check'];
	const args = ['scripts/start.ts', ...own, ...options];
	const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
	let output = '';
	const matched = Promise.withResolvers<void>();
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding('utf8').on('data', (text: string) => {
			output += text;
			if (expression.test(output)) matched.resolve();
		});
	const closed = once(child, 'close').then(() => matched.reject(new Error(`ended before ${expression}:\n${output}`)));
	await matched.promise;
	child.kill('SIGTERM');
	await closed;
	return output;
}

test('npm start reports an invalid variable instead of its banner', async () => {
	const output = await startUntil(
		/CORS_ORIGINS: .*\n/,
		'--var',
		'DAY_BUDGET_USD:lots',
		'--var',
		'CORS_ORIGINS:example.com',
	);
	expect(output).toMatch(/DAY_BUDGET_USD: must be a number above 0, such as 2.50/);
	expect(output).not.toContain('Runlet is at');
});

describe('npm start', () => {
	test.each([
		[['--port', 'abc'], /--port abc: expected a number from 1 to 65535/],
		[['--port'], /--port: its value is missing/],
		[['--prot', '8799'], /--prot: there is no such option. Did you mean --port\?/],
		[['--local-protocol', 'https'], /--https-key-path FILE/],
		[['8799'], /npm start -- --port 8799/],
	])('refuses %j before anything starts', async (args, words) => {
		const { code, stderr } = await runScript('start', args);
		expect([code, stderr]).toEqual([1, expect.stringMatching(words)]);
		expect(stderr).not.toMatch(/\n {4}at /);
	});

	test('accepts every option of wrangler dev', async () => {
		const help = await wrangler(['dev', '--help']);
		const names = [...help.matchAll(/(?<=^|[\s,])--([a-z][a-z-]*)/gm)].map(([, name = '']) => name);
		const known = new Set(wranglerNames);
		expect(names.length).toBeGreaterThan(30);
		expect(names.filter((name) => !known.has(name) && !known.has(name.replace(/^no-/, '')))).toEqual([]);
	});

	test('shows the help of runlet, not of Wrangler, with --help', async () => {
		const { code, stdout } = await runScript('start', ['--help']);
		expect([code, stdout]).toEqual([0, expect.stringContaining('npm start -- [OPTIONS]')]);
	});

	test('starts nothing if the port of --port or PORT is occupied', async () => {
		const { createServer } = await import('node:net');
		const server = createServer().listen(0, '127.0.0.1');
		await once(server, 'listening');
		const address = server.address();
		const port = typeof address === 'object' && address !== null ? address.port : 0;
		const { code, stderr } = await runScript('start', ['--port', String(port)]);
		const byVariable = await runScript('start', [], { PORT: String(port) });
		server.close();
		expect([code, stderr]).toEqual([1, expect.stringMatching(`--port: ${port} is in use.*--port ${port + 1}`)]);
		expect([byVariable.code, byVariable.stderr]).toEqual([1, stderr]);
	});

	test('refuses an invalid PORT of the environment', async () => {
		const { code, stderr } = await runScript('start', [], { PORT: 'abc' });
		expect([code, stderr]).toEqual([1, expect.stringContaining('PORT=abc: expected a number from 1 to 65535')]);
	});
});

describe('npm run deploy -- --dry-run checks the Worker that would be deployed', () => {
	let project: string;
	beforeAll(async () => {
		project = await copyProject();
	});
	afterAll(() => rm(project, { recursive: true, force: true }));

	/** The output of a dry run of the project with changed files. */
	async function dryRun(changes: Readonly<Record<string, (text: string) => string>>) {
		const before: [path: string, text: string][] = [];
		for (const [file, change] of Object.entries(changes)) {
			const path = join(project, file);
			const text = await readFile(path, 'utf8');
			before.push([path, text]);
			await writeFile(path, change(text));
		}
		const { status, stderr } = spawnSync(process.execPath, ['scripts/deploy.ts', '--dry-run'], {
			cwd: project,
			encoding: 'utf8',
		});
		for (const [path, text] of before) await writeFile(path, text);
		return [status, stderr] as const;
	}

	test('reports invalid variables and models, a missing skill, and Durable Objects without SQLite, all at once', async () => {
		const [status, stderr] = await dryRun({
			'wrangler.toml': (text) =>
				text
					.replace('[assets]', '[vars]\nDAY_BUDGET_USD = "lots"\nMODEL = "gtp-5"\n\n[assets]')
					.replace('["Session"]', '[]')
					.replace('["Ledger", "Directory"]', '["Directory"]'),
			'src/agents/support.ts': (text) => text.replace("'escalation'", "'escalations'"),
		});
		expect(status).toBe(1);
		expect(stderr).toMatch(/^DAY_BUDGET_USD: must be a number above 0/m);
		expect(stderr).toMatch(/^MODEL: No provider knows the model "gtp-5".* give createRunlet a provider/m);
		expect(stderr).toMatch(/^agent support: .*skills\/escalations\/SKILL\.md/m);
		expect(stderr).toMatch(
			/^SESSIONS, LEDGERS: nothing in wrangler.toml .* new_sqlite_classes = \["Session", "Ledger"\]/m,
		);
	});

	test('reports an error that the function `providers` throws, and ignores .dev.vars', async () => {
		await writeFile(join(project, '.dev.vars'), 'GITHUB_WEBHOOK_SECRET=hunter22\n');
		const good = spawnSync(process.execPath, ['scripts/deploy.ts', '--dry-run'], { cwd: project, encoding: 'utf8' });
		await rm(join(project, '.dev.vars'));
		expect(good.status, good.stderr).toBe(0);
		expect(good.stdout + good.stderr).not.toContain('Using secrets');
		expect(good.stderr).toMatch(/needs it as a secret.*\n {2}agent triage: GITHUB_WEBHOOK_SECRET: not set/);
		const [status, stderr] = await dryRun({
			'src/worker.ts': (text) =>
				text.replace('createRunlet({', "createRunlet({ providers: () => { throw new Error('no house key'); },"),
		});
		expect([status, stderr]).toEqual([1, expect.stringMatching(/^providers: .*no house key$/m)]);
		expect(stderr).not.toContain('base-path');
	});

	test('reports a mistake in the call of createRunlet with its line, and suggests the correct option', async () => {
		const [status, stderr] = await dryRun({
			'src/worker.ts': (text) => text.replace('createRunlet({', "createRunlet({ basepath: '/ai',"),
		});
		expect(status).toBe(1);
		expect(stderr).toMatch(
			/src\/worker\.ts:\d+:\d+.*basepath: no such field \(createRunlet\)\. Did you mean basePath\?/,
		);
	});
});
