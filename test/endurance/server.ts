import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readWorkerOptions } from '../bundle.ts';
import { claimPort } from '../port.ts';

type Variables = Readonly<Record<string, string>>;

/**
 * The Worker under test in a process group of its own, on one port and one folder for all its lives. A kill is a SIGKILL
 * to the whole group, workerd included. Its heap is as large as it gets, unless a bound is given.
 */
export async function startServer(variables: Variables, heapMegabytes?: number) {
	const folder = await mkdtemp(join(tmpdir(), 'runlet-endurance-'));
	const port = await claimPort();
	const options = await readWorkerOptions('test/endurance/worker.ts', folder, port);
	const url = `http://127.0.0.1:${port}`;
	let child: ChildProcess | undefined;
	let output = '';
	let up = Promise.withResolvers<void>();
	let lives = 0;

	const killNow = (): void => signal(child?.pid);
	process.on('exit', killNow);
	const start = async (more: Variables = {}): Promise<void> => {
		const bindings = { ...variables, ...more, LOCAL: 'true' };
		child = await serve(JSON.stringify({ ...options, bindings }), heapMegabytes, (text) => {
			output = `${output}${text}`.slice(-20_000);
		});
		const health = await fetch(`${url}/healthz`);
		if (!health.ok) throw new Error(`the server is up, but not well: ${health.status}`);
		lives++;
		up.resolve();
	};
	const kill = async (): Promise<void> => {
		const dying = child;
		if (dying?.pid === undefined) return;
		child = undefined;
		up = Promise.withResolvers();
		const exited = once(dying, 'exit');
		signal(dying.pid);
		await exited;
		while (living(dying.pid).length > 0) await pause(5);
	};
	await start();
	return {
		url,
		/** Resolves when the server answers. */
		up: (): Promise<void> => up.promise,
		/** How often it was started; a request that fails while this stays the same was not cut off by a kill. */
		get lives(): number {
			return lives;
		},
		get isUp(): boolean {
			return child !== undefined;
		},
		kill,
		/** Kills it and starts it again, with further variables for this life. */
		restart: async (more?: Variables): Promise<void> => {
			await kill();
			await start(more);
		},
		/** The end of what it wrote: what it logged of errors. */
		errors: (): string =>
			output
				.split('\n')
				.filter((line) => !line.startsWith('{"level":"info"'))
				.join('\n'),
		/** Memory of workerd, in bytes. */
		memory: (): number =>
			living(child?.pid).reduce(
				(most, { bytes, name }) => (name.includes('workerd') ? Math.max(most, bytes) : most),
				0,
			),
		close: async (): Promise<void> => {
			await kill();
			process.off('exit', killNow);
			await rm(folder, { recursive: true, force: true });
		},
	};
}

export type Server = Awaited<ReturnType<typeof startServer>>;

async function serve(
	options: string,
	heapMegabytes: number | undefined,
	onOutput: (text: string) => void,
): Promise<ChildProcess> {
	const heap = heapMegabytes && { MINIFLARE_WORKERD_V8_FLAGS: `--max-old-space-size=${heapMegabytes}` };
	const child = spawn(process.execPath, [join(import.meta.dirname, 'serve.ts'), options], {
		detached: true,
		stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
		env: { ...process.env, NODE_NO_WARNINGS: '1', ...heap },
	});
	let output = '';
	for (const stream of [child.stdout, child.stderr]) {
		stream?.setEncoding('utf8').on('data', (text: string) => {
			output = `${output}${text}`.slice(-20_000);
			onOutput(text);
		});
	}
	const dead = once(child, 'exit').then(() => {
		throw new Error(`the server ended before it was ready:\n${output}`);
	});
	await Promise.race([once(child, 'message'), dead]);
	dead.catch(() => {});
	return child;
}

function signal(group: number | undefined): void {
	try {
		if (group !== undefined) process.kill(-group, 'SIGKILL');
	} catch {
		// The group has ended.
	}
}

/** Processes of a group; one that has ended and waits to be collected is none. */
function living(group: number | undefined): { readonly name: string; readonly bytes: number }[] {
	if (group === undefined) return [];
	const { stdout } = spawnSync('ps', ['-o', 'stat=,rss=,comm=', '-g', String(group)], { encoding: 'utf8' });
	return stdout
		.split('\n')
		.map((line) => line.trim().split(/\s+/))
		.filter(([state = 'Z']) => state !== '' && !state.startsWith('Z'))
		.map(([, kilobytes, name = '']) => ({ name, bytes: Number(kilobytes) * 1_024 }));
}
