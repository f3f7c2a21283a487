import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findViolations } from '../../scripts/layers.ts';

let project: string;

beforeEach(() => {
	project = mkdtempSync(join(tmpdir(), 'runlet-layers-'));
});
afterEach(() => rmSync(project, { recursive: true, force: true }));

/** Lists the violations of a file that imports another file. */
function check(file: string, specifier: string, form = `export * from '${specifier}';`): readonly string[] {
	const path = join(project, 'src', file);
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, `${form}\n`);
	return findViolations(project);
}

test('src follows the rules of its layers', () => {
	expect(findViolations(resolve(import.meta.dirname, '../..'))).toEqual([]);
});

test.each([
	['cloudflare/objects/publisher/writer.ts', '../../session/object.ts'],
	['cloudflare/objects/ledger/store.ts', '../directory/object.ts'],
	['cloudflare/objects/ledger/object.ts', '../../config/config.ts'],
	['cloudflare/wire/protocols/openai/protocol.ts', '../ui/protocol.ts'],
	['cloudflare/wire/protocols/webhooks/verify.ts', '../format.ts'],
	['cloudflare/session/object.ts', '../routes/operation.ts'],
	['cloudflare/config/config.ts', '../session/object.ts'],
	['cloudflare/config/config.ts', '../agent/define.ts'],
	['cloudflare/wire/session.ts', '../objects/session-api.ts'],
	['cloudflare/wire/session.ts', './protocols/format.ts'],
	['cloudflare/agent/shell-isolate.ts', './shell.ts'],
	['cloudflare/agent/define.ts', '../routes/operation.ts'],
	['cloudflare/session/run/agent.ts', '../../../agents/index.ts'],
	['cloudflare/session/store/runs.ts', '../events/log.ts'],
	['cloudflare/session/events/log.ts', '../run/run.ts'],
	['cloudflare/session/run/runner.ts', '../inbox/inbox.ts'],
	['cloudflare/session/run/runner.ts', '../object.ts'],
	['cloudflare/session/inbox/inbox.ts', '../ui/show.ts'],
	['cloudflare/session/store/store.ts', '../../routes/operation.ts'],
	['cloudflare/routes/sessions.ts', '../session/store/store.ts'],
	['cloudflare/session/object.ts', '../../client/index.ts'],
	['command/keys.ts', '../cloudflare/objects/budget.ts'],
	['core/tool/fn.ts', '../skill/index.ts'],
	['core/chat/loop.ts', '../providers/demo.ts'],
	['core/toolboxes/time.ts', '../skill/index.ts'],
	['core/base/errors.ts', '../tool/schema.ts'],
	['core/base/public-fetch.ts', '../../cloudflare/log.ts'],
	['agents/mine.ts', '../cloudflare/runlet/index.ts'],
	['agents/mine.ts', '../core/index.ts'],
	['worker.ts', './cloudflare/runlet/index.ts'],
	['cloudflare/routes/app.ts', '../runlet/create.ts'],
	['cloudflare/routes/files.ts', '../wire/operations/files.ts'],
	['cloudflare/routes/model-list.ts', '../wire/protocols/openai/operations.ts'],
	['cloudflare/mcp/routes/servers.ts', '../../wire/operations/mcp.ts'],
	['client/index.ts', '../cloudflare/objects/session-api.ts'],
	['page/app.ts', '../cloudflare/wire/event.ts'],
	['page/app.ts', '../command/options.ts'],
	['client/index.ts', '../command/options.ts'],
	['cloudflare/routes/app.ts', '../../worker.ts'],
	['core/tool/fn.ts', '../../../package.json'],
	['cloudflare/log.ts', '../../package.json'],
])('%s must not import %s', (file, specifier) => {
	expect(check(file, specifier)).toEqual([expect.stringContaining(`src/${file}: imports ${specifier}: `)]);
});

test.each([
	['cloudflare/session/run/agent.ts', '../../agent/define.ts'],
	['cloudflare/session/run/runner.ts', '../events/log.ts'],
	['cloudflare/openapi/document.ts', '../log.ts'],
	['cloudflare/openapi/operations.ts', '../wire/operations/index.ts'],
	['cloudflare/routes/files.ts', '../wire/endpoints/files.ts'],
	['cloudflare/session/events/log.ts', './event-id.ts'],
	['cloudflare/session/object.ts', './ui/show.ts'],
	['cloudflare/routes/sessions.ts', '../objects/session-api.ts'],
	['cloudflare/wire/protocols/format.ts', '../../../core/chat/index.ts'],
	['cloudflare/wire/protocols/format.ts', './openai/protocol.ts'],
	['cloudflare/wire/protocols/webhooks/github.ts', '../../body.ts'],
	['core/chat/loop.ts', './turn.ts'],
	['command/chat.ts', '../client/index.ts'],
	['command/keys.ts', '../cloudflare/auth/key.ts'],
	['worker.ts', './agents/index.ts'],
	['worker.ts', 'runlet/cloudflare'],
	['agents/mine.ts', 'runlet'],
])('%s is allowed to import %s', (file, specifier) => {
	expect(check(file, specifier)).toEqual([]);
});

test.each([
	["import type { A } from '../cloudflare/wire/event.ts';", 0],
	["export type\n\t{ A }\n\tfrom '../cloudflare/wire/event.ts';", 0],
	["import type { exported } from '../cloudflare/wire/export.ts';", 0],
	["import { exported } from '../cloudflare/wire/export.ts';", 1],
	["import { a } from '../cloudflare/wire/event.ts';", 1],
	["import { type A } from '../cloudflare/wire/event.ts';", 1],
	["import type { B } from './b.ts';\nimport '../cloudflare/wire/event.ts';", 1],
])('the client is allowed to import types of the wire, but no code: %s', (form, count) => {
	expect(check('client/index.ts', '', form)).toHaveLength(count);
});

test.each([
	['core/tool/fn.ts', 'runlet'],
	['cloudflare/agent/define.ts', 'runlet/chat'],
	['page/app.ts', 'runlet/client'],
])('%s must import by a path in src, not by the package name %s', (file, name) => {
	expect(check(file, name, `import {\n\ta,\n} from '${name}';`)).toEqual([
		`src/${file}: imports ${name}: write its path in src.`,
	]);
});

test('a file or folder that belongs to no module is a violation', () => {
	expect(check('helper.ts', './cloudflare/routes/operation.ts')).toEqual([
		expect.stringContaining('src/helper.ts: has no module'),
	]);
	expect(check('cloudflare/extra/one.ts', '../log.ts')).toContainEqual(
		expect.stringContaining('src/cloudflare/extra/one.ts: has no module'),
	);
	expect(check('cloudflare/session/helper.ts', './store/store.ts')).toContainEqual(
		expect.stringContaining('src/cloudflare/session/helper.ts: has no module'),
	);
});

test.each([
	"import type { A } from '../../session/object.ts';",
	"import\n\t{ a }\n\tfrom\n\t'../../session/object.ts';",
	"import '../../session/object.ts';",
	"const late = await import('../../session/object.ts');",
	'const late = await import(`../../session/object.ts`);',
	"type Late = typeof import('../../session/object.ts');",
	'export { a } from "../../session/object.ts";',
])('an import is recognized in each of its forms: %s', (form) => {
	expect(check('cloudflare/objects/ledger/one.ts', '../../session/object.ts', form)).toHaveLength(1);
});

test('the folders agent, config, objects, rpc and session create no Response', () => {
	const source = resolve(import.meta.dirname, '../../src/cloudflare');
	const files = globSync('{agent,config,objects,rpc,session}/**/*.ts', { cwd: source });
	expect(files.length).toBeGreaterThan(50);
	const makes = files.filter((file) =>
		/\bnew Response\(|\bResponse\.(json|redirect|error)\(/.test(readFileSync(join(source, file), 'utf8')),
	);
	expect(makes).toEqual([]);
});
