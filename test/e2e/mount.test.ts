/** The example of a Worker with its own routes, under `npm start` and `npm run deploy`. */
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../../scripts/root.ts';
import { checkDeploy } from '../../src/command/deploy/check.ts';
import { copyProject, startRunlet, startRunletIn } from '../runlet.ts';

const config = join(root, 'examples/mount/wrangler.toml');

test('an existing Worker keeps its routes, and serves agents, their page and their API under /ai', async () => {
	const shop = await startRunlet('--config', config, '--base-path', '/ai');
	try {
		expect(shop.printed(/Runlet is at (\S+)/)).toBe(`${shop.url}/ai`);
		expect(await (await fetch(shop.url)).text()).toBe('The shop, as it was.');
		expect(await (await fetch(`${shop.url}/ai`)).text()).toContain('/ai/app.js');
		const command = shop.printed(/curl -N (.*)/) ?? '';
		expect(command).toContain(`${shop.url}/ai/v1/sessions`);
		expect(command).toContain('{"agent":"desk","text":"Where is my order?"}');
		const body = JSON.stringify({ agent: 'desk', text: 'What is your name?' });
		const headers = { 'content-type': 'application/json' };
		const created = await fetch(`${shop.url}/ai/v1/sessions`, { method: 'POST', headers, body });
		expect(created.status).toBe(201);
		const session = await fetch(new URL(created.headers.get('location') ?? '', shop.url));
		expect(await session.json()).toMatchObject({ agent: 'desk', status: 'completed' });
	} finally {
		await shop.close();
	}
});

describe('a Worker with its own accounts and another name for SKILLS', () => {
	let project: string;
	let own: readonly string[];
	beforeAll(async () => {
		project = await copyProject();
		const folder = join(project, 'examples/mount');
		const change = async (file: string, from: string, to: string) => {
			const text = await readFile(join(folder, file), 'utf8');
			await writeFile(join(folder, file), text.replace(from, to));
		};
		const options = "basePath: '/ai', authenticate: () => undefined, bindings: { SKILLS: 'TEXTS' }";
		await change('worker.ts', "basePath: '/ai'", options);
		await change('worker.ts', "name: 'desk',", "name: 'desk', skills: ['escalation'],");
		await change('wrangler.toml', 'binding = "SKILLS"', 'binding = "TEXTS"');
		own = ['--config', join(folder, 'wrangler.toml'), '--skills-binding', 'TEXTS'];
	});
	afterAll(() => rm(project, { recursive: true, force: true }));

	const run = (script: string, ...args: readonly string[]) =>
		promisify(execFile)('npm', ['run', '--silent', script, '--', ...args], { cwd: project }).catch((error) => error);

	test('runlet dev publishes its skills, and prints that requests need a login', async () => {
		const shop = await startRunletIn(project, ...own, '--base-path', '/ai');
		try {
			await shop.says(/[1-9]\d* published/);
			await shop.says(/Requests sign in as authenticate of createRunlet wants it/);
			expect((await fetch(`${shop.url}/ai/v1/agents`)).status).toBe(401);
		} finally {
			await shop.close();
		}
	});

	test('runlet deploy checks the Worker under --base-path, and suggests this option if it is missing', async () => {
		const built = join(project, 'built');
		const options = ['--outdir', built, '--keys-file', join(project, 'none.json')];
		const { stdout, stderr } = await run('deploy', '--dry-run', ...own, '--base-path', '/ai', ...options);
		expect([stdout, stderr]).toEqual([expect.stringContaining('Nothing was deployed.'), '']);
		const target = { config: join(project, 'examples/mount/wrangler.toml'), env: undefined };
		const { problems } = await checkDeploy(built, target, { basePath: '', skillsBinding: 'TEXTS' });
		expect(problems).toEqual([expect.objectContaining({ message: expect.stringContaining('--base-path /ai') })]);
	});

	test('runlet skills explains how to name the namespace', async () => {
		const { stderr } = await run('skills', ...own.slice(0, 2));
		expect(stderr).toMatch(/no KV namespace with the binding SKILLS\. .*--skills-binding NAME/);
	});
});
