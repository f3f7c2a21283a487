/**
 * `npm run conformance`: runs the conformance suite of MCP against an agent as a server, and against Runlet as a client,
 * the cases of Open Responses against an agent, and the tests of what AG-UI and A2A require.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseOptions } from '../src/command/options.ts';
import { claimPort } from '../test/port.ts';
import { cases } from './conformance/responses.ts';
import { root } from './root.ts';

const usage = `npm run conformance: checks the protocols of others, and prints what passed
  npm run conformance -- PART …   only these parts: mcp (scripts/conformance has what is not declared), responses, and
                                  ag-ui and a2a, whose requirements are tests of this repository
  --help                          this text`;

/** The suite, which is fetched when it is run. The newest suite tests both revisions. */
const newest = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const stable = '@modelcontextprotocol/conformance@0.1.16';
const revisions = ['2025-11-25', '2026-07-28'];
const folder = join(root, 'scripts/conformance');

const parts: Readonly<Record<string, () => Promise<void>>> = {
	mcp: runMcp,
	responses: runResponses,
	// The client of AG-UI checks each event by the schemas of AG-UI.
	'ag-ui': () => runTests('test/cloudflare/agui', 'test/e2e/ag-ui.test.ts'),
	a2a: () => runTests('test/cloudflare/a2a', 'test/e2e/a2a.test.ts'),
};

try {
	await main();
} catch (error) {
	console.error(error instanceof Error ? error.message : error);
	process.exitCode = 1;
}

async function main(): Promise<void> {
	const { values, positionals } = parseOptions('npm run conformance -- --help', {
		options: { help: { type: 'boolean', short: 'h' } },
		allowPositionals: true,
	});
	if (values.help) return console.log(usage);
	for (const name of positionals)
		if (!Object.hasOwn(parts, name)) throw new Error(`There is no part "${name}": ${Object.keys(parts).join(', ')}.`);
	for (const [name, run] of Object.entries(parts))
		if (positionals.length === 0 || positionals.includes(name)) await run();
}

async function runMcp(): Promise<void> {
	const server = await serve();
	try {
		const asServer = ['server', '--url', `${server.url}/mcp/conformance`];
		for (const revision of revisions)
			await run(newest, [...asServer, ...expecting(`server-${revision}.yaml`), '--requirements', revision]);
		await run(stable, [...asServer, ...expecting('server-2025-11-25.yaml'), '--spec-version', '2025-11-25']);
	} finally {
		server.close();
	}
	const command = `${process.execPath} ${join(folder, 'client.ts')}`;
	// The suite starts all its clients at once.
	const asClient = ['client', '--command', command, '--timeout', '120000', ...expecting('client.yaml')];
	for (const revision of revisions) await run(newest, [...asClient, '--requirements', revision]);
}

/** Runs the cases of Open Responses (docs/responses.md, "Open Responses"), and prints each. */
async function runResponses(): Promise<void> {
	const server = await serve();
	try {
		for (const [name, check] of Object.entries(cases)) {
			const error = await check(`${server.url}/v1`).then(
				() => undefined,
				(thrown: unknown) => thrown,
			);
			console.log(error === undefined ? `passed  ${name}` : `FAILED  ${name}`);
			if (error === undefined) continue;
			console.error(error);
			process.exitCode = 1;
		}
	} finally {
		server.close();
	}
}

/** Runs the tests that check the requirements of a protocol. This script fails if one fails. */
async function runTests(...files: readonly string[]): Promise<void> {
	const vitest = join(root, 'node_modules/vitest/vitest.mjs');
	const all = [vitest, 'run', '--project', 'workerd', '--project', 'e2e', ...files];
	const [status] = await once(spawn(process.execPath, all, { cwd: root, stdio: 'inherit' }), 'close');
	if (status !== 0) process.exitCode = 1;
}

function expecting(baseline: string): readonly string[] {
	return ['--expected-failures', join(folder, baseline)];
}

/** Runs a suite and prints its summary. This script fails if a scenario fails unexpectedly. */
async function run(suite: string, args: readonly string[]): Promise<void> {
	const all = ['exec', '--yes', `--package=${suite}`, '--', 'conformance', ...args];
	const child = spawn('npm', all, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
	const [said, problems, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
	const summary = said.slice(Math.max(0, said.search(/^=== (SUMMARY|SUITE SUMMARY)/m)));
	console.log(`\n${suite} ${args[0]} ${args.at(-1)}\n${summary.trim()}`);
	if (status === 0) return;
	if (problems !== '') console.error(problems);
	process.exitCode = 1;
}

/** Serves the agent of the suite as `npm start` serves. */
async function serve(): Promise<{ readonly url: string; readonly close: () => void }> {
	const port = await claimPort();
	const state = mkdtempSync(join(tmpdir(), 'runlet-conformance-'));
	const own = ['--config', join(folder, 'wrangler.toml'), '--port', String(port), '--persist-to', state];
	const child = spawn(process.execPath, [join(root, 'src/command/bin.ts'), 'dev', ...own, '--no-type-check'], {
		cwd: root,
		stdio: ['ignore', 'pipe', 'inherit'],
		detached: true,
	});
	const close = (): void => {
		endGroup(child);
		rmSync(state, { recursive: true, force: true });
	};
	process.once('exit', () => endGroup(child));
	child.stdout.setEncoding('utf8');
	let said = '';
	for await (const piece of child.stdout.iterator({ destroyOnReturn: false })) {
		said += piece;
		if (said.includes('Runlet is at ')) break;
	}
	if (!said.includes('Runlet is at ')) {
		close();
		throw new Error(`The Worker did not start:\n${said}`);
	}
	child.stdout.resume();
	return { url: `http://localhost:${port}`, close };
}

function endGroup({ pid, exitCode }: ChildProcess): void {
	if (pid === undefined || exitCode !== null) return;
	try {
		process.kill(-pid, 'SIGTERM');
	} catch {
		// It has already ended.
	}
}
