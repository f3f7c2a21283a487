/** `run_shell` in its isolate. Only the store of the files is fake. */
import { env } from 'cloudflare:test';
import { describe, expect, inject, test } from 'vitest';
import { createShell } from '../../../src/cloudflare/agent/shell.ts';
import { tool, toolbox, workspace } from '../../../src/core/index.ts';
import type { Workspace } from '../../../src/core/workspace/index.ts';

interface Result {
	readonly stdout: string;
	readonly stderr: string;
	readonly exitCode: number;
	readonly truncated: boolean;
}

const page = { fetch: () => fetch(`${inject('receiver')}/shell.js`) };
const shell = createShell({ loader: env.LOADER, page });
const tools = Object.values(toolbox.withShell());

let count = 0;
async function call(command: string, files: Workspace, input: object = {}) {
	const { output, isError } = await tool.dispatch(
		tools,
		{ id: `c${++count}`, name: 'run_shell', input: { command, ...input } },
		{ workspace: files, shell },
	);
	return { isError, text: String(output), ...(output as Result) };
}

async function readAll(files: Workspace): Promise<Record<string, string>> {
	const { entries } = await files.list({ recursive: true });
	const paths = entries.flatMap(({ path, type }) => (type === 'file' ? [path] : []));
	const texts = await Promise.all(paths.map(async (path) => new TextDecoder().decode(await files.read(path))));
	return Object.fromEntries(paths.map((path, index) => [path, texts[index] ?? '']));
}

const someFiles = { 'notes.txt': 'one\ntwo\nthree\n', 'src/a.ts': 'export const a = 1;\n', 'src/b.ts': 'let b;\n' };

describe('a command', () => {
	test('reads the session’s files, and returns its output and exit status', async () => {
		const files = workspace.inMemory(someFiles);
		expect(await call('grep -n two notes.txt | sed s/two/2/; ls src; echo no >&2; exit 3', files)).toMatchObject({
			stdout: '2:2\na.ts\nb.ts\n',
			stderr: 'no\n',
			exitCode: 3,
			truncated: false,
			isError: false,
		});
		expect((await call('wc -l < notes.txt; cat src/*.ts | sort', files)).stdout).toBe(
			'3\nexport const a = 1;\nlet b;\n',
		);
		expect((await files.changes()).changes.filter(({ callId }) => callId !== undefined)).toEqual([]);
	});

	test('changes files in one journal step that can be undone', async () => {
		const files = workspace.inMemory(someFiles);
		const { exitCode } = await call(
			'echo four >> notes.txt; echo new > fresh.txt; rm src/a.ts; mv src/b.ts src/c.ts; echo all > src/b.ts; mkdir -p d/e && cp notes.txt d/e/',
			files,
		);
		expect(exitCode).toBe(0);
		const changed = {
			'd/e/notes.txt': 'one\ntwo\nthree\nfour\n',
			'fresh.txt': 'new\n',
			'notes.txt': 'one\ntwo\nthree\nfour\n',
			'src/b.ts': 'all\n',
			'src/c.ts': 'let b;\n',
		};
		expect(await readAll(files)).toEqual(changed);
		const changes = (await files.changes()).changes.filter(({ callId }) => callId !== undefined);
		expect(new Set(changes.map(({ callId }) => callId)).size).toBe(1);
		expect(changes.map(({ kind, path }) => `${kind} ${path}`).toSorted()).toEqual([
			'changed notes.txt',
			'changed src/b.ts',
			'created d/e/notes.txt',
			'created fresh.txt',
			'created src/c.ts',
			'deleted src/a.ts',
		]);
		await files.undo();
		expect(await readAll(files)).toEqual(someFiles);
	});

	test('makes its changes once if it runs again after a crash', async () => {
		const files = workspace.inMemory(someFiles);
		// The store recognises a repeated call, like a store that outlives the process.
		const own = files.forCall('same');
		const again = () =>
			tool.dispatch(
				tools,
				{ id: 'same', name: 'run_shell', input: { command: 'echo x >> notes.txt; echo ran' } },
				{ workspace: { ...files, forCall: () => own }, shell },
			);
		expect(await again()).toMatchObject({ output: { stdout: 'ran\n' } });
		expect(await again()).toMatchObject({ output: { stdout: 'ran\n' } });
		expect((await readAll(files))['notes.txt']).toBe('one\ntwo\nthree\nx\n');
	});

	test('makes all of its changes, or changes nothing', async () => {
		const files = workspace.inMemory(someFiles);
		const { isError, text } = await call("echo a > ok.txt; echo b > 'a\\b.txt'", files);
		expect(isError).toBe(true);
		expect(text).toMatch(/has a backslash/);
		expect(await readAll(files)).toEqual(someFiles);
	});

	test('changes nothing if a person changed one of its files meanwhile', async () => {
		const files = workspace.inMemory(someFiles);
		const slow: typeof shell = shell && {
			run: async (request) => {
				const outcome = await shell.run(request);
				await files.write('notes.txt', 'by a person\n');
				return outcome;
			},
		};
		const input = { command: 'sed -i s/one/1/ notes.txt; echo x > other.txt' };
		const { isError } = await tool.dispatch(
			tools,
			{ id: 'p', name: 'run_shell', input },
			{ workspace: files, shell: slow },
		);
		expect(isError).toBe(true);
		expect(await readAll(files)).toEqual({ ...someFiles, 'notes.txt': 'by a person\n' });
	});

	test('keeps binary files as they are, byte for byte', async () => {
		const bytes = Uint8Array.from({ length: 1_000 }, (_, at) => (at * 7) % 256);
		const files = workspace.inMemory({ 'a.bin': bytes });
		await call('cp a.bin b.bin; mv a.bin c.bin; cat b.bin c.bin > d.bin', files);
		expect(await files.read('b.bin')).toEqual(bytes);
		expect(await files.read('c.bin')).toEqual(bytes);
		expect((await files.read('d.bin')).length).toBe(2_000);
	});

	test('shares no state with another command', async () => {
		const files = workspace.inMemory({});
		await call('x=1; export x; f() { :; }; echo left > /tmp.txt; cd /', files);
		expect((await call('echo "[$x]"; pwd; ls /tmp.txt', files)).stdout).toBe('[]\n/workspace\n');
		expect(await readAll(files)).toEqual({});
	});
});

describe('a command ends within its limits', () => {
	test.each<[what: string, command: string, says: RegExp, timeoutMs?: number]>([
		['an endless loop', 'while true; do :; done', /too many/],
		['an endless loop of awk', "awk 'BEGIN{while(1){}}'", /maximum iterations/],
		['a fork bomb', ':(){ :|:& };:', /recursion depth/],
		['a deep recursion', 'f() { f; }; f', /recursion depth/],
		['a deep nesting', 'eval "$(printf "(%.0s" {1..5000})"', /./],
		['a text that doubles', 'x=a; while true; do x=$x$x; done', /length limit/],
		['a list that explodes', 'echo {1..100}{1..100}{1..100}{1..100}', /./],
		['a huge query', "jq -n '[range(1e9)]|length'", /limit exceeded/],
		['a backtracking pattern', "echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab | grep -E '^(a+)+$'", /^$/],
		['a text that grows letter by letter', `jq -n 'reduce range(900000) as $i ("";.+"x")|length'`, /computes too much/],
		[
			'a list that grows one by one',
			`jq -n 'reduce range(900000) as $i ([];.+[$i])|length'`,
			/computes too much|limit exceeded/,
		],
		['sleep', 'echo x > notes.txt; sleep 100', /Stopped after 1000 ms\. Nothing was changed/, 1_000],
	])('%s ends and changes nothing', async (_, command, says, timeoutMs = 60_000) => {
		const files = workspace.inMemory(someFiles);
		const result = await call(command, files, { timeoutMs });
		expect(result.stderr ?? result.text).toMatch(says);
		if (!result.isError) expect(result.exitCode).not.toBe(0);
		expect(await readAll(files)).toEqual(someFiles);
	});

	test('files that grow without end stay within 16 MB', async () => {
		const files = workspace.inMemory({});
		const { exitCode } = await call('x=$(printf %01000000d 1); while true; do echo $x >> big; done', files, {
			timeoutMs: 60_000,
		});
		expect(exitCode).not.toBe(0);
		const info = await files.stat('big');
		expect(info?.type === 'file' ? info.size : 0).toBeLessThanOrEqual(16_000_000);
	});

	test('endless output is cut, and the result says so', async () => {
		const command = 'x=$(printf %0500d 1); while true; do echo $x; done';
		const result = await call(command, workspace.inMemory({}), { timeoutMs: 60_000 });
		expect(result.stdout).toHaveLength(30_000);
		expect(result.truncated).toBe(true);
	});
});

describe('a command reaches nothing outside', () => {
	test.each<[what: string, command: string, says: RegExp]>([
		['curl', 'curl http://127.0.0.1/', /not found/],
		['wget', 'wget https://example.com', /not found/],
		['/dev/tcp', 'echo hi > /dev/tcp/127.0.0.1/80', /^$|No such|denied/],
		['node', 'node -e 1', /not found/],
		['python', 'python3 -c 1', /not available|not found/],
		['the environment of a process', 'cat /proc/self/environ', /No such file/],
	])('a command cannot use %s', async (_, command, says) => {
		expect((await call(command, workspace.inMemory({}))).stderr).toMatch(says);
	});

	test('sees no variable of the Worker', async () => {
		const { stdout } = await call('env; set', workspace.inMemory({}));
		expect(stdout).toContain('PWD=/workspace');
		expect(stdout).not.toMatch(/SECRETS_KEY|API_KEYS|LOCAL=/);
	});

	test('has no network', async () => {
		const worker = env.LOADER.load({
			compatibilityDate: '2026-07-30',
			mainModule: 'a.js',
			modules: { 'a.js': `export default { fetch: () => fetch('${inject('receiver')}/x') }` },
			globalOutbound: null,
		});
		await expect(worker.getEntrypoint().fetch('http://x/')).rejects.toThrow(/not permitted/);
	});
});

describe('run_shell', () => {
	test('is only in the toolbox withShell, and needs a context with files and a shell', () => {
		expect(toolbox.all()).not.toHaveProperty('run_shell');
		const files = workspace.inMemory({});
		for (const [context, isThere] of [
			[{ workspace: files, shell }, true],
			[{ workspace: files }, false],
			[{ shell }, false],
		] as const)
			expect(Object.hasOwn(toolbox.withShell({}, context), 'run_shell')).toBe(isThere);
	});

	test('needs the bindings LOADER and PAGE, and the file shell.js', async () => {
		expect(createShell({ loader: undefined, page })).toBeUndefined();
		expect(createShell({ loader: env.LOADER, page: undefined })).toBeUndefined();
		const empty = { fetch: async () => new Response('', { status: 404 }) };
		const without = createShell({ loader: env.LOADER, page: empty });
		const request = { command: 'ls', paths: [], read: async () => new Uint8Array(), timeoutMs: 100, maxOutput: 10 };
		await expect(without?.run(request)).rejects.toThrow(/PAGE: has no shell\.js/);
	});
});
