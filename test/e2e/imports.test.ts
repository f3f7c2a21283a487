import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import * as v from 'valibot';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const copy = mkdtempSync(join(tmpdir(), 'runlet-imports-'));
const report = v.object({
	diagnostics: v.array(v.object({ category: v.string(), location: v.object({ path: v.string() }) })),
});

/** From the top of the house to its ground: who stands lower may not import who stands higher. */
const houses = ['routes', 'session', 'ledger', 'agents', 'toolboxes', 'chat', 'skill', 'tool'];
const everywhere = ['tool', 'skill', 'chat', 'providers'];

/** Imports that must not be, by the file that holds each. */
const wrong: Record<string, string> = {
	'src/chat/loop-to-provider.ts': '../providers/demo.ts',
	'src/cloudflare/migrate.ts': './errors.ts',
	'src/wire/to-session.ts': '../session/api.ts',
	'src/wire/to-tool.ts': '../tool/index.ts',
	'src/wire/to-node.ts': 'node:fs',
	'src/openapi/to-routes.ts': '../routes/operation.ts',
	'src/client/index.ts': './session/api.ts',
	'src/ledger/to-directory.ts': '../directory/api.ts',
	'src/directory/to-ledger.ts': '../ledger/api.ts',
	...Object.fromEntries(
		['routes', 'session', 'agents', 'toolboxes', 'providers', 'chat', 'skill'].flatMap((above) =>
			['ledger', 'directory'].map((folder) => [`src/${folder}/to-${above}.ts`, `../${above}/index.ts`]),
		),
	),
	...Object.fromEntries(
		['agents', 'toolboxes', ...everywhere].map((folder) => [`src/${folder}/to-directory.ts`, '../directory/api.ts']),
	),
	...Object.fromEntries(
		houses.flatMap((folder, place) => [
			...houses.slice(0, place).map((above) => [`src/${folder}/to-${above}.ts`, `../${above}/index.ts`]),
			[`src/${folder}/to-worker.ts`, '../worker.ts'],
		]),
	),
	...Object.fromEntries(
		['agents', 'toolboxes', ...everywhere].map((folder) => [`src/${folder}/to-config.ts`, '../config.ts']),
	),
	...Object.fromEntries(
		everywhere.flatMap((folder) => [
			[`src/${folder}/to-node.ts`, 'node:fs'],
			[`src/${folder}/to-workers.ts`, 'cloudflare:workers'],
		]),
	),
};
let found: Set<string>;

beforeAll(() => {
	cpSync(join(root, 'src'), join(copy, 'src'), { recursive: true });
	cpSync(join(root, 'biome.json'), join(copy, 'biome.json'));
	const write = (file: string, code: string): void => {
		mkdirSync(dirname(join(copy, file)), { recursive: true });
		writeFileSync(join(copy, file), code);
	};
	for (const [file, target] of Object.entries(wrong)) write(file, `export * from '${target}';\n`);
	write('src/session/to-ledger.ts', "export * from '../ledger/budget.ts';\n");
	write('src/session/to-directory.ts', "export * from '../directory/api.ts';\n");
	for (const folder of houses) write(`src/${folder}/right.ts`, "export { RunletError } from '../errors.ts';\n");
	write('src/tool/one.ts', "import { two } from './two.ts';\n\nexport const one = (): unknown => two;\n");
	write('src/tool/two.ts', "import { one } from './one.ts';\n\nexport const two = (): unknown => one;\n");
	const args = ['lint', '--reporter=json', '--max-diagnostics=none', 'src'];
	const { stdout } = spawnSync(join(root, 'node_modules/.bin/biome'), args, { cwd: copy, encoding: 'utf8' });
	const { diagnostics } = v.parse(report, JSON.parse(stdout));
	found = new Set(diagnostics.map(({ category, location }) => `${location.path} ${category.split('/').at(-1)}`));
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

test('an import against the one way, of a platform or of the configuration is an error', () => {
	for (const [file, target] of Object.entries(wrong))
		expect(found, `${target} in ${file}`).toContain(`${file} noRestrictedImports`);
});

test('an import down the house is none', () => {
	for (const folder of houses) expect(found).not.toContain(`src/${folder}/right.ts noRestrictedImports`);
	for (const room of ['ledger', 'directory'])
		expect(found).not.toContain(`src/session/to-${room}.ts noRestrictedImports`);
});

test('a cycle of imports is an error', () => {
	expect(found).toContain('src/tool/one.ts noImportCycles');
	expect(found).toContain('src/tool/two.ts noImportCycles');
});
