/** The command `runlet`, outside of a project and on an old Node. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../../scripts/root.ts';

let empty: string;
beforeAll(() => {
	empty = mkdtempSync(join(tmpdir(), 'runlet-command-'));
});
afterAll(() => rmSync(empty, { recursive: true, force: true }));

const bin = join(root, 'src/command/bin.ts');

/** Runs the command in a folder, as if on a Node of this version. */
function run(cwd: string, args: readonly string[], version = process.versions.node) {
	const pretend = `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})`;
	return spawnSync(process.execPath, ['--import', pretend, bin, ...args], { cwd, encoding: 'utf8' });
}

test.each(['20.11.0', '22.14.0'])('runlet uses the Node of the project if Node %s is too old', (version) => {
	expect(run(root, ['--version'], version)).toMatchObject({
		status: 0,
		stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
	});
	const { status, stderr } = run(empty, ['--version'], version);
	expect(status).toBe(1);
	expect(stderr).toMatch(
		new RegExp(`^runlet needs Node 22.15 or newer.* ${version}\\..*npm install --save-dev node@24\\n$`),
	);
});

test('runlet lists its commands if it gets no argument', () => {
	for (const args of [[], ['--help'], ['help']]) expect(run(empty, args)).toMatchObject({ status: 0, stderr: '' });
	expect(run(empty, []).stdout).toMatch(
		/dev .*\n.*chat .*\n.*find .*\n.*record .*\n.*evals .*\n.*replay .*\n.*skills .*\n.*keys .*\n.*deploy /,
	);
});

test('runlet refuses an unknown command, and suggests the most similar command', () => {
	const { status, stderr } = run(empty, ['kyes', 'list']);
	expect([status, stderr]).toEqual([
		2,
		expect.stringContaining('"kyes": there is no such command. Did you mean keys?'),
	]);
});

test('replay ends with 2 if it cannot run, because 1 means that a recording is different', () => {
	expect(run(empty, ['replay'])).toMatchObject({ status: 2, stderr: expect.stringContaining('no such file') });
	expect(run(empty, ['replay', '--lvie'])).toMatchObject({ status: 2, stderr: expect.stringContaining('--live') });
});

test.each(['dev', 'deploy', 'skills'])(
	'%s without a configuration of Wrangler names the folder and the remedy',
	(name) => {
		const { status, stderr } = run(empty, [name]);
		expect([status, stderr]).toEqual([
			1,
			expect.stringMatching(/There is no wrangler\.toml in .*npm create runlet DIR\n$/),
		]);
	},
);

test.each(['dev', 'deploy', 'skills'])('%s shows how to install Wrangler if Wrangler is missing', (name) => {
	const project = mkdtempSync(join(empty, 'project-'));
	writeFileSync(join(project, 'wrangler.toml'), 'name = "shop"\n');
	const { status, stderr } = run(project, [name]);
	expect([status, stderr]).toEqual([1, expect.stringMatching(/npm install --save-dev wrangler@\d/)]);
});

test('runlet refuses another major version of Wrangler, and names the version to install', () => {
	const project = mkdtempSync(join(empty, 'project-'));
	writeFileSync(join(project, 'wrangler.toml'), 'name = "shop"\n');
	for (const [name, file] of [
		['wrangler', 'index.js'],
		['miniflare', 'dist/src/index.js'],
	] as const) {
		const path = join(project, 'node_modules', name, file);
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, '');
		const manifest = JSON.stringify({ name, version: '5.20261117.0-beta', main: file });
		writeFileSync(join(project, 'node_modules', name, 'package.json'), manifest);
	}
	const { status, stderr } = run(project, ['skills']);
	expect([status, stderr]).toEqual([1, expect.stringMatching(/has Miniflare 5\.2.*npm install --save-dev wrangler@4/)]);
});

test('help texts suggest a script of the project, or npx runlet if there is no script', () => {
	const project = mkdtempSync(join(empty, 'project-'));
	writeFileSync(join(project, 'wrangler.toml'), 'name = "shop"\n');
	const scripts = { keys: 'runlet keys', deploy: 'wrangler deploy', start: 'runlet dev --port 8799' };
	writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'shop', scripts }));
	expect(run(project, ['keys', 'list']).stdout).toContain('npm run keys -- make');
	expect(run(project, ['dev', '--help']).stdout).toContain('npm start -- [OPTIONS]');
	expect(run(project, ['deploy', '--help']).stdout).toContain('npx runlet deploy [OPTIONS]');
});
