/** `runlet evals` in a project: in memory, and with the same file at a running server. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { root } from '../../scripts/root.ts';
import { createClient } from '../../src/client/index.ts';
import { startRunlet } from '../runlet.ts';

let project: string;
beforeAll(async () => {
	project = await mkdtemp(join(tmpdir(), 'runlet-evals-'));
	await writeFile(join(project, 'wrangler.toml'), 'name = "evals"\n');
	await writeFile(join(project, 'package.json'), '{ "type": "module" }');
	// The project imports the package by its name. Here its sources answer to that name.
	await writeFile(
		join(project, 'names.mjs'),
		`import { registerHooks } from 'node:module';
		import { pathToFileURL } from 'node:url';
		import { listSources } from '${pathToFileURL(join(root, 'scripts/source-names.ts')).href}';
		const sources = listSources();
		registerHooks({
			resolve: (name, context, next) => next(sources.has(name) ? pathToFileURL(sources.get(name)).href : name, context),
		});`,
	);
});
afterAll(() => rm(project, { recursive: true, force: true }));

beforeEach(async () => {
	for (const folder of ['evals', 'node_modules/other']) {
		await rm(join(project, folder), { recursive: true, force: true });
		await mkdir(join(project, folder), { recursive: true });
	}
	await rm(join(project, '.dev.vars'), { force: true });
});

const program = () => [
	...['--import', pathToFileURL(join(project, 'names.mjs')).href, join(root, 'src/command/bin.ts'), 'evals'],
];

/** The environment of a terminal without keys of models. */
const env = (): NodeJS.ProcessEnv => ({
	...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/_API_KEY$|^npm_/i.test(name))),
	NODE_OPTIONS: `--import=${pathToFileURL(join(project, 'names.mjs')).href}`,
});

async function run(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
	const running = promisify(execFile)(process.execPath, [...program().slice(2), ...args], { cwd: project, env: env() });
	return running.then(
		(said) => ({ code: 0, ...said }),
		({ code, stdout, stderr }) => ({ code, stdout, stderr }),
	);
}

const agents = pathToFileURL(join(root, 'src/agents/index.ts')).href;

/** Writes an eval of an agent of this repository. */
function writeEval(file: string, agent: string, rest: string): Promise<void> {
	return writeFile(
		join(project, file),
		`import { calledTool, costBelow, defineEval, fromJsonl, fromRecording, judge, neverCalled, output, stepsBelow, type EvalDefinition } from 'runlet/evals';
		import { agents } from '${agents}';
		const agent = agents.find(({ name }) => name === '${agent}');
		if (agent === undefined) throw new Error('There is no agent.');
		const rest: Omit<EvalDefinition<string>, 'agent'> = { ${rest} };
		export default defineEval({ agent, ...rest });`,
	);
}

const sums = `cases: [{ name: 'sum', input: 'What is 17 + 25?', expect: [calledTool('calculate'), output('42'), costBelow(0.01), stepsBelow(3)] }],`;

describe('in memory', () => {
	test('finds the evals of a project, but not those of packages, and ends with 0 if all gates hold', async () => {
		await writeEval('evals/sum.eval.ts', 'assistant', sums);
		await writeFile(join(project, 'node_modules/other/x.eval.js'), 'throw new Error("not mine");');
		const { code, stdout, stderr } = await run();
		expect([code, stderr]).toEqual([0, '']);
		expect(stdout).toMatch(/passed {2}evals\/sum\.eval\.ts: assistant\n {13}demo\n {2}sum +passed\n/);
		expect(stdout).toMatch(/ {2}cost +\$0\n/);
	});

	test('ends with 1 if a gate does not hold, and says why', async () => {
		await writeEval('evals/sum.eval.ts', 'assistant', sums);
		await writeEval('evals/wrong.eval.ts', 'assistant', `cases: [{ input: 'What is 1 + 1?', expect: [output('3')] }]`);
		const { code, stdout } = await run();
		expect(code).toBe(1);
		expect(stdout).toMatch(/case 1, demo: output\(3\): ".*2.*" does not contain it\.\n {2}demo: gate passRate: 0 is/);
		expect(await run('evals/sum.eval.ts')).toMatchObject({ code: 0 });
	});

	test('--case and --model choose, and --junit and --report write reports', async () => {
		const cases = `cases: [{ name: 'a', input: 'What is 1 + 1?' }, { name: 'b', input: 'Hi', expect: [() => false] }]`;
		await writeEval('evals/two.eval.ts', 'assistant', cases);
		await writeEval('evals/sum.eval.ts', 'assistant', sums);
		const reports = ['--junit', 'out.xml', '--report', 'out.html'];
		const { code, stdout } = await run('--case', 'a', '--model', 'demo/other', ...reports);
		expect([code, stdout.match(/^passed.*$/gm)]).toEqual([0, ['passed  evals/two.eval.ts: assistant']]);
		expect(await readFile(join(project, 'out.xml'), 'utf8')).toMatch(
			/<testsuite name="evals\/two\.eval\.ts demo\/other" tests="2" failures="0" errors="0" skipped="0"/,
		);
		expect(await readFile(join(project, 'out.html'), 'utf8')).toContain('<h2>assistant');
	});

	test('reads lines of cases from the folder of the project', async () => {
		await writeFile(join(project, 'cases.jsonl'), '{"name":"one","input":"What is 2 + 3?","expected":"5"}\n\n');
		const includes = `scores: [({ output, expected }) => ({ name: 'right', score: output.includes(expected) ? 1 : 0 })]`;
		await writeEval('evals/lines.eval.ts', 'assistant', `cases: [fromJsonl('cases.jsonl')], ${includes}`);
		const { code, stdout } = await run();
		expect([code, stdout]).toEqual([0, expect.stringMatching(/ {2}right +1\.00\n/)]);
		await writeFile(join(project, 'cases.jsonl'), '{"input":"Hi"}\n{"inputs":"Hi"}\n');
		expect(await run()).toMatchObject({ code: 2, stderr: expect.stringMatching(/input.*missing|inputs/) });
	});

	test('names the variable of a missing key, and reads keys from .dev.vars', async () => {
		await writeEval(
			'evals/key.eval.ts',
			'assistant',
			`models: ['claude-sonnet-4-6'], cases: [{ input: 'Hi' }], timeoutMs: 5_000`,
		);
		expect(await run()).toMatchObject({ code: 2, stderr: expect.stringContaining('set ANTHROPIC_API_KEY') });
		// The port is closed, so a request fails at once.
		await writeFile(join(project, '.dev.vars'), 'ANTHROPIC_API_KEY=x\nANTHROPIC_BASE_URL=http://127.0.0.1:1\n');
		const { code, stdout } = await run();
		expect([code, stdout]).toEqual([1, expect.stringContaining('gate passRate: 0 is below 1')]);
	});

	test.each([
		[['nothing.eval.ts'], 'nothing.eval.ts: there is no such file'],
		[[], 'no file *.eval.ts'],
		[['--juint', 'x'], '--juint: there is no such option. Did you mean --junit?'],
		[['--keep'], '--keep needs --url'],
	])('ends with 2 for a wrong use: %j', async (args, message) => {
		if (args[0] === '--keep') await writeEval('evals/sum.eval.ts', 'assistant', sums);
		expect(await run(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
	});

	test('ends with 2 if no case has the name, or a file exports no eval, and runs the other files', async () => {
		await writeEval('evals/sum.eval.ts', 'assistant', sums);
		expect(await run('--case', 'other')).toMatchObject({ code: 2, stderr: expect.stringContaining('--case') });
		await writeFile(join(project, 'evals/empty.eval.ts'), 'export const nothing = 1;');
		const { code, stdout, stderr } = await run();
		expect([code, stdout, stderr]).toEqual([
			2,
			expect.stringContaining('passed  evals/sum.eval.ts'),
			expect.stringContaining('evals/empty.eval.ts: exports no eval'),
		]);
	});

	test('--watch runs a file again when it is saved', async () => {
		await writeEval('evals/sum.eval.ts', 'assistant', sums);
		const child = spawn(process.execPath, [...program().slice(2), '--watch'], { cwd: project, env: env() });
		let said = '';
		const until = (expression: RegExp) =>
			new Promise<void>((resolve) => {
				const look = () => expression.test(said) && resolve();
				child.stdout.on('data', look);
				look();
			});
		child.stdout.setEncoding('utf8').on('data', (text: string) => {
			said += text;
		});
		try {
			await until(/passed[\s\S]*Waiting for a file/);
			said = '';
			await writeEval('evals/sum.eval.ts', 'assistant', sums.replace("output('42')", "output('43')"));
			await until(/failed[\s\S]*Waiting for a file/);
		} finally {
			child.kill();
			await once(child, 'close');
		}
	});
});

describe('at a server', () => {
	let server: Awaited<ReturnType<typeof startRunlet>>;
	beforeAll(async () => {
		server = await startRunlet();
	});
	afterAll(() => server?.close());

	const list = async () => (await createClient(server.url).listSessions()).sessions;
	const refunds = `cases: [{
		name: 'refund',
		input: ['Please refund order A-1042, amount 25 euros.', { result: 'issue_refund', output: 'refunded' }],
		expect: [calledTool('issue_refund', { orderId: 'A-1042', amount: 25 }), output('refunded'), neverCalled('calculate')],
	}],`;

	test('the same eval passes in memory and at a server, and its sessions are deleted', async () => {
		await writeEval('evals/refund.eval.ts', 'support', `${refunds} trialCount: 2`);
		await writeEval('evals/sum.eval.ts', 'assistant', sums);
		expect(await run()).toMatchObject({ code: 0, stderr: '' });
		const { code, stdout, stderr } = await run('--url', server.url);
		expect([code, stderr]).toEqual([0, '']);
		expect(stdout).toMatch(/refund +2\/2 34–100 %\n/);
		expect(stdout).toMatch(/ {2}tokens +[1-9]\d*\n {2}cost +\$0\n/);
		expect(await list()).toEqual([]);
	});

	test('--keep leaves the sessions', async () => {
		await writeEval('evals/sum.eval.ts', 'assistant', sums);
		expect(await run('--url', server.url, '--keep')).toMatchObject({ code: 0 });
		const kept = await list();
		expect(kept).toMatchObject([{ agent: 'assistant' }]);
		for (const { id } of kept) await createClient(server.url).deleteSession(id);
	});

	test('a case begins with its files, and fails for a field that a server does not take', async () => {
		const cases = `cases: [
			{ name: 'file', input: 'Hi', files: { 'a.txt': 'A bag' } },
			{ name: 'state', input: 'Hi', state: { a: 1 } },
		]`;
		await writeEval('evals/begin.eval.ts', 'assistant', cases);
		const { code, stdout } = await run('--url', server.url, '--keep');
		expect([code, stdout]).toEqual([1, expect.stringContaining('state: a session at a server cannot begin with it.')]);
		const [kept] = await list();
		const file = await createClient(server.url).readFile(kept?.id ?? '', 'a.txt');
		expect(await file.text()).toBe('A bag');
		await createClient(server.url).deleteSession(kept?.id ?? '');
	});

	test('a server that does not answer, or has no such agent, is named before any trial', async () => {
		await writeEval('evals/sum.eval.ts', 'assistant', `name: 'sum', ${sums}`);
		expect(await run('--url', 'http://127.0.0.1:1')).toMatchObject({
			code: 2,
			stderr: expect.stringContaining('http://127.0.0.1:1: it does not answer'),
		});
		const text = await readFile(join(project, 'evals/sum.eval.ts'), 'utf8');
		await writeFile(
			join(project, 'evals/sum.eval.ts'),
			text.replace('agent, ...rest', "agent: { ...agent, name: 'nobody' }, ...rest"),
		);
		expect(await run('--url', server.url)).toMatchObject({
			code: 2,
			stderr: expect.stringContaining('no agent nobody'),
		});
		expect(existsSync(join(project, 'evals'))).toBe(true);
	});
});
