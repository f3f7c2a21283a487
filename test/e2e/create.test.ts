/** `npm create runlet`, and the new project, for a user who has only the packages. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { root } from '../../scripts/root.ts';
import { findBlock } from '../docs.ts';
import { findPacked } from '../pack.ts';
import { claimPort } from '../port.ts';
import { openTerminal } from '../terminal.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

let folder: string;
let project = '';
/** The recording of a session, in the project. */
let recording = '';
/** The tarballs of the two packages. */
let runlet: string;
let creator: string;

let terminal: ReturnType<typeof openTerminal>;

async function run(cwd: string, command: string, ...args: readonly string[]): Promise<string> {
	// With an empty string as its folder, the command would run in this repository.
	if (cwd === '') throw new Error('There is no new project.');
	return terminal.run(cwd, command, ...args);
}

/** Runs the installed `create-runlet`. */
function create(cwd: string, ...args: readonly string[]) {
	return runToEnd(cwd, join(folder, 'installed/node_modules/.bin/create-runlet'), ...args);
}

/** Runs `npm create runlet` with the package from its tarball. */
function createByNpm(cwd: string, ...args: readonly string[]) {
	return runToEnd(cwd, 'npm', 'exec', '--yes', '--package', creator, '--', 'create-runlet', ...args);
}

function runToEnd(cwd: string, command: string, ...args: readonly string[]) {
	return terminal.runToEnd(cwd, command, ...args);
}

beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), 'runlet-create-'));
	terminal = openTerminal(folder);
	runlet = (await findPacked()).file;
	const from = join(root, 'packages/create-runlet');
	const { stdout } = await promisify(execFile)('npm', ['pack', '--silent', '--pack-destination', folder], {
		cwd: from,
	});
	creator = join(folder, stdout.trim());
	await run(folder, 'npm', 'install', '--no-audit', '--no-fund', '--prefix', join(folder, 'installed'), creator);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('npm create runlet', () => {
	test('refuses a folder with files, and changes nothing in it', async () => {
		await mkdir(join(folder, 'full'));
		await writeFile(join(folder, 'full/mine.txt'), 'mine');
		expect(await create(folder, 'full')).toMatchObject({
			code: 1,
			stderr: expect.stringContaining('full is not empty'),
		});
		expect(await readdir(join(folder, 'full'))).toEqual(['mine.txt']);
		expect(await create(folder, 'full/mine.txt')).toMatchObject({ code: 1 });
	});

	test.each([
		['My Shop', /cannot be the name of a Worker.*such as my-shop/],
		['-shop', /-shop: there is no such option/],
		['shop-', /such as shop\./],
	])('refuses the name %s, and suggests a valid name', async (name, words) => {
		expect(await create(folder, name)).toMatchObject({ code: 1, stderr: expect.stringMatching(words) });
		expect(await readdir(folder)).not.toContain(name);
	});

	test('asks for a folder if none is given, and shows its help with --help', async () => {
		expect(await create(folder)).toMatchObject({
			code: 1,
			stderr: expect.stringContaining('npm create runlet my-agents'),
		});
		expect(await create(folder, '--help')).toMatchObject({
			code: 0,
			stdout: expect.stringContaining('npm create runlet'),
		});
	});

	test('prints the next two commands, and creates exactly the expected files', async () => {
		await copyFile(runlet, join(folder, 'runlet-0.1.0.tgz'));
		await mkdir(join(folder, 'my-shop/.git'), { recursive: true });
		const { code, stdout } = await createByNpm(folder, 'my-shop');
		expect([code, stdout]).toEqual([0, expect.stringContaining('  cd my-shop && npm install\n  npm start\n')]);
		project = join(folder, 'my-shop');
		const files = await readdir(project, { recursive: true, withFileTypes: true });
		const made = files.filter((file) => file.isFile()).map(({ name }) => name);
		expect(made.sort()).toEqual(
			[
				...[
					'.dev.vars.example',
					'.gitignore',
					'README.md',
					'package.json',
					'tsconfig.json',
					'wrangler.toml',
					'worker.ts',
				],
				...['index.ts', 'desk.ts', 'SKILL.md', 'desk.test.ts', 'desk.eval.ts'],
			].sort(),
		);
		expect(await readFile(join(project, 'package.json'), 'utf8')).toContain('"name": "my-shop"');
		expect(await readFile(join(project, 'wrangler.toml'), 'utf8')).toContain('name = "my-shop"');
		expect(await readFile(join(project, 'README.md'), 'utf8')).toMatch(/^# my-shop\n/);
	});

	test('uses the tarball of runlet in the folder, or prints how to get runlet', async () => {
		expect(await readFile(join(project, 'package.json'), 'utf8')).toContain('"runlet": "file:../runlet-0.1.0.tgz"');
		const elsewhere = join(folder, 'elsewhere');
		await mkdir(elsewhere);
		const { stdout } = await create(elsewhere, 'my-desk');
		expect(stdout).toContain('npm install PATH/runlet-0.1.0.tgz');
		expect(await readFile(join(elsewhere, 'my-desk/package.json'), 'utf8')).toContain('"runlet": "0.1.0"');
	});
});

describe('the new project', () => {
	beforeAll(async () => {
		await run(project, 'npm', 'install', '--no-audit', '--no-fund', '--prefer-offline');
	});

	test('serves its agent with npm start, and the printed command gets an answer', async () => {
		const { url, said, close } = await terminal.startProject(project, await claimPort());
		try {
			expect(said).toContain('1 published (tone)');
			expect(said).toContain(`Runlet is at ${url}\n`);
			const [, command = ''] = /With curl +(curl .*)/.exec(said) ?? [];
			expect(command).toContain('{"agent":"desk","text":"Where is my order A-1042?"}');
			const answer = await run(project, 'sh', '-c', command);
			expect(answer).toMatch(/event: done\ndata: .*find_order answered/);
			expect(await (await fetch(url)).text()).toContain('<!doctype html>');
			const chat = await run(project, 'npx', 'runlet', 'chat', '--url', url, 'Which tone do we write in?');
			expect(chat).toContain('Begin with the answer');
			const { sessions } = await (await fetch(`${url}/v1/sessions`)).json();
			const [id] = sessions.flatMap((one: { id: string; title: string }) => (/A-1042/.test(one.title) ? [one.id] : []));
			const recorded = await run(project, 'npx', 'runlet', 'record', id, '--url', url, '--redact');
			expect(recorded).toBe(`recordings/desk-${id.slice(0, 8)}.json: 4 messages of desk\n`);
			recording = recorded.split(':')[0] ?? '';
		} finally {
			await close();
		}
	});

	test('turns a complaint about a session into a test and an eval, as in docs/testing.md', async () => {
		const replay = (...args: readonly string[]) => runToEnd(project, 'npx', 'runlet', 'replay', ...args);
		const edit = async (file: string, from: string, to: string) => {
			const path = join(project, file);
			const text = await readFile(path, 'utf8');
			expect(text).toContain(from);
			await writeFile(path, text.replace(from, to));
		};
		expect(await replay()).toMatchObject({
			code: 0,
			stdout: expect.stringMatching(/^same .* 1 run, 2 turns, \d+ ms\n$/),
		});
		await edit(recording, '"arrives": "tomorrow"', '"arrives": "today"');
		const complaint = join(project, 'evals/complaint.eval.ts');
		await writeFile(
			complaint,
			`import { defineEval, fromRecording, output } from 'runlet/evals';
			import { desk } from '../src/agents/desk.ts';
			const cases = [fromRecording('${recording}', { tools: 'recorded' })];
			export default defineEval({ agent: desk, cases, expect: [output('today')] });`,
		);
		expect(await runToEnd(project, 'npx', 'runlet', 'evals', complaint)).toMatchObject({
			code: 0,
			stdout: expect.stringMatching(/ {2}desk-[\da-f]{8} +passed\n/),
		});
		await rm(complaint);
		const different = await replay('--live', 'find_order');
		expect(different).toMatchObject({ code: 1, stdout: expect.stringContaining('differs: content.arrives\n') });
		expect(different.stdout).toContain(
			'recorded  "today"\n  now       "tomorrow"\n  at        src/agents/desk.ts:7 (find_order)',
		);
		await edit('src/agents/desk.ts', "arrives: 'tomorrow'", "arrives: 'today'");
		await edit('test/desk.test.ts', "arrives: 'tomorrow'", "arrives: 'today'");
		expect(await replay('--live', 'find_order')).toMatchObject({ code: 0 });
		const block = findBlock('docs/testing.md', "import { readFile } from 'node:fs/promises';");
		await writeFile(join(project, 'test/complaint.test.ts'), block.replace(/recordings\/[\w-]+\.json/, recording));
		expect(await run(project, 'npm', 'test')).toMatch(/pass 2\n/);
		await edit('src/agents/desk.ts', 'a small shop', 'a big shop');
		expect(await replay()).toMatchObject({ code: 1, stdout: expect.stringContaining('The system prompt differs') });
		expect(await replay('--update')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^updated /) });
		expect(await replay('--live', 'find_order')).toMatchObject({ code: 0 });
		await rm(join(project, 'test/complaint.test.ts'));
	});

	test('compares its session with another model, as in docs/testing.md', async () => {
		const replay = (...args: readonly string[]) => runToEnd(project, 'npx', 'runlet', 'replay', recording, ...args);
		const { code, stdout, stderr } = await replay('--model', 'demo', '--runs', '2');
		expect([code, stderr]).toEqual([0, '']);
		const lines = stdout.replaceAll(/ {2,}/g, ' | ').split('\n');
		expect(lines.slice(1, 5)).toEqual([
			expect.stringContaining('| ended | steps | tokens | dollars | seconds | calls'),
			expect.stringMatching(/^recorded \| done \| 2 \| \d+ \| \$0 \| /),
			'baseline | same',
			expect.stringMatching(/^demo \| 2 of 2 .*\| 1 \| 0 \| 0$/),
		]);
		expect(stdout).not.toContain('no recorded answer');
		const shown = JSON.parse((await replay('--model', 'demo', '--json')).stdout);
		expect(shown).toMatchObject([
			{ file: recording, candidates: [{ trials: [{ calls: [{ answeredBy: 'recording' }] }] }] },
		]);
		await writeFile(
			join(project, 'polite.ts'),
			(await readFile(join(project, 'src/agents/desk.ts'), 'utf8')).replace('small', 'polite'),
		);
		expect(await replay('--agent', 'polite.ts')).toMatchObject({ code: 0, stdout: expect.stringContaining('demo') });
		expect(await replay('--model', 'claude-haiku-4-5')).toMatchObject({
			...{ code: 2, stderr: expect.stringContaining('set ANTHROPIC_API_KEY') },
		});
		expect(await replay('--model', 'demo', '--live', 'find_order')).toMatchObject({
			...{ code: 2, stderr: expect.stringContaining('find_order may not run') },
		});
		expect(await replay('--runs', '2')).toMatchObject({
			code: 2,
			stderr: expect.stringContaining('--runs needs --model'),
		});
		const block = findBlock('docs/testing.md', 'import { compareCandidates');
		await writeFile(join(project, 'test/compare.ts'), block.replace(/recordings\/[\w-]+\.json/, recording));
		expect(await run(project, 'npx', 'node', 'test/compare.ts')).toContain('3 of 3');
		await Promise.all(['polite.ts', 'test/compare.ts'].map((file) => rm(join(project, file))));
	});

	test('passes npm test, npm run evals and npm run check', async () => {
		expect(await run(project, 'npm', 'test')).toMatch(/pass 1\n/);
		const evals = await run(project, 'npm', 'run', 'evals');
		expect(evals).toMatch(/passed {2}evals\/desk\.eval\.ts: desk\n[\s\S]* {2}pass rate {2}2\/2\n/);
		await run(project, 'npm', 'run', 'check');
	});

	test('is built and checked by npx runlet deploy --dry-run', async () => {
		const said = await run(project, 'npx', 'runlet', 'deploy', '--dry-run');
		expect(said).toContain('skills: 1 checked, no problems');
		expect(said).toContain('Nothing was deployed.');
	});

	test('has a command runlet that suggests a correction, and reports missing packages', async () => {
		const bin = join(project, 'node_modules/.bin/runlet');
		expect(await run(project, bin, '--help')).toContain('npx runlet COMMAND');
		for (const name of ['dev', 'chat', 'evals', 'skills', 'keys', 'deploy'])
			expect(await run(project, bin, name, '--help')).toMatch(name === 'dev' ? /npm start/ : `npm run ${name}`);
		for (const name of ['find', 'record', 'replay'])
			expect(await run(project, bin, name, '--help')).toMatch(`npx runlet ${name}`);
		await expect(run(project, bin, 'deplyo')).rejects.toMatchObject({
			code: 2,
			stderr: expect.stringContaining('Did you mean deploy?'),
		});
		await expect(run(project, bin, 'skills', '--chekc')).rejects.toMatchObject({
			stderr: expect.stringContaining('Did you mean --check?'),
		});
		await expect(run(folder, join(project, 'node_modules/node/bin/node'), bin, 'skills')).rejects.toMatchObject({
			stderr: expect.stringContaining('There is no wrangler.toml'),
		});
		await rm(join(project, 'node_modules/wrangler'), { recursive: true });
		await expect(run(project, bin, 'dev')).rejects.toMatchObject({
			stderr: expect.stringMatching(/wrangler is not installed in .*: npm install --save-dev wrangler@\d/),
		});
	});
});
