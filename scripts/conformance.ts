/** `npm run conformance`: runs the conformance suite of MCP against an agent as a server, and against Runlet as a client. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { claimPort } from '../test/port.ts';
import { root } from './root.ts';
import { isAsked } from './usage.ts';

const usage = `npm run conformance: runs the conformance suite of MCP, and prints what passed; scripts/conformance has what is not declared
  --help              this text`;

/** The suite, which is fetched when it is run. The newest suite tests both revisions. */
const newest = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const stable = '@modelcontextprotocol/conformance@0.1.16';
const revisions = ['2025-11-25', '2026-07-28'];
const folder = join(root, 'scripts/conformance');

if (isAsked('npm run conformance', usage)) await main();

async function main(): Promise<void> {
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
