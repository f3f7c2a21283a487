import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const project = mkdtempSync(join(tmpdir(), 'runlet-package-'));

const run = (command: string, args: readonly string[], cwd = project): string =>
	execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

/** The TypeScript blocks of README.md, in order. */
const blocks = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map(
	([, code = '']) => code,
);

/** Compiles the files of a folder as a strict project does. */
function compile(folder = '.', types: readonly string[] = [], lib: readonly string[] = ['es2024', 'dom']): void {
	const compilerOptions = {
		strict: true,
		noEmit: true,
		target: 'es2024',
		module: 'nodenext',
		types,
		lib,
		allowImportingTsExtensions: true,
	};
	const config = JSON.stringify({ compilerOptions, include: ['*.ts'] });
	writeFileSync(join(project, folder, 'tsconfig.json'), config);
	run(join(root, 'node_modules/.bin/tsc'), ['-p', folder]);
}

beforeAll(() => {
	const packed: unknown = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', project], root));
	const [{ filename }] = packed as [{ filename: string }];
	writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'fresh', private: true, type: 'module' }));
	run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', `./${filename}`]);
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

test('a fresh project imports every part of the package, and every public name is there', () => {
	writeFileSync(
		join(project, 'parts.mjs'),
		`import * as all from 'runlet';
		import * as tool from 'runlet/tool';
		import * as skill from 'runlet/skill';
		import * as chat from 'runlet/chat';
		import * as toolbox from 'runlet/toolbox';
		import * as providers from 'runlet/providers';
		import { createClient } from 'runlet/client';
		createClient('http://127.0.0.1').v1.sessions.$url();
		createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'k' }).followRun('s');
		const same = { tool, skill, chat, toolbox, providers };
		for (const [name, part] of Object.entries(same)) for (const key of Object.keys(part)) if (all[name][key] !== part[key]) throw new Error(name + '.' + key);
		console.log(JSON.stringify(Object.keys(all).sort()));`,
	);
	expect(JSON.parse(run(process.execPath, ['parts.mjs']))).toEqual(
		['RunletError', 'askUser', 'chat', 'fn', 'halt', 'providers', 'skill', 'tool', 'toolbox'].sort(),
	);
});

test('the package holds no test and no script', () => {
	const files = run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], root);
	const [{ files: listed }] = JSON.parse(files) as [{ files: { path: string }[] }];
	const odd = listed
		.map(({ path }) => path)
		.filter(
			(path) =>
				!/^(dist\/(core|client|cloudflare)\/[\w/-]+\.(js|d\.ts)|package\.json|README\.md|LICENSE|CHANGELOG\.md)$/.test(
					path,
				),
		);
	expect(odd).toEqual([]);
});

test('the code in README.md compiles against the package, and what can run offline prints what it says', () => {
	const [add = '', book = '', skilled = '', agent = '', models = '', hooked = '', client = '', library = ''] = blocks;
	expect(blocks).toHaveLength(8);
	const files = { add, book, models, client, library };
	for (const [name, code] of Object.entries(files)) writeFileSync(join(project, `${name}.ts`), code);
	compile();
	mkdirSync(join(project, 'worker'));
	for (const [name, code] of Object.entries({ book, skilled, agent, hooked }))
		writeFileSync(join(project, 'worker', `${name}.ts`), code);
	compile('worker', [join(root, 'node_modules/@cloudflare/workers-types')], ['es2024', 'esnext.array']);
	expect(run(process.execPath, ['add.ts'])).toMatch(/^5\n[\s\S]*17 \+ 25 is 42\.\n$/);
	expect(run(process.execPath, ['models.ts'])).toBe('Anthropic\n');
	const said = run(process.execPath, ['library.ts']);
	expect(said).toContain('the skill says: Be warm.');
	expect(said).toMatch(/completed 4 \d+\n$/);
});
