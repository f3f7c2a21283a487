import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readWorkerOptions } from '../bundle.ts';
import { claimPort } from '../port.ts';
import { readCpu, readMemory } from './processes.ts';

type Variables = Readonly<Record<string, string>>;

/**
 * The Worker under test in its own process group, with the same port and folder after each restart. A kill is a SIGKILL to
 * workerd. `heapMegabytes` limits its heap.
 */
export async function startServer(variables: Variables, heapMegabytes?: number) {
	const folder = await mkdtemp(join(tmpdir(), 'runlet-endurance-'));
	const port = await claimPort();
	const options = {
		...(await readWorkerOptions('test/endurance/worker.ts', folder, port)),
		// The shell needs this binding.
		workerLoaders: { LOADER: {} },
		serviceBindings: { PAGE: { disk: { path: join(import.meta.dirname, '../../build/page'), writable: false } } },
	};
	const url = `http://127.0.0.1:${port}`;
	let output = '';
	let up = Promise.withResolvers<void>();
	let isUp = false;
	let lives = 0;
	let workerd: number | undefined;

	const child = spawnHost(heapMegabytes, (text) => {
		output = `${output}${text}`.slice(-20_000);
	});
	const dead = once(child, 'exit').then(() => {
		throw new Error(`the server ended:\n${output}`);
	});
	dead.catch(() => {});
	const endNow = (): void => signal(child.pid);
	process.on('exit', endNow);
	const start = async (more: Variables = {}): Promise<void> => {
		child.send(JSON.stringify({ ...options, bindings: { ...variables, ...more, LOCAL: 'true' } }));
		await Promise.race([once(child, 'message'), dead]);
		const health = await fetch(`${url}/healthz`);
		if (!health.ok) throw new Error(`the server is up, but not well: ${health.status}`);
		const before = workerd;
		workerd = findProcesses(child.pid).find(({ name }) => name.includes('workerd'))?.id;
		if (workerd === undefined || workerd === before) throw new Error('the server was not killed');
		lives++;
		isUp = true;
		up.resolve();
	};
	await start();
	return {
		url,
		/** Resolves when the server answers. */
		up: (): Promise<void> => up.promise,
		/** How often the server started. A request failed because of a kill only if this number changed. */
		get lives(): number {
			return lives;
		},
		get isUp(): boolean {
			return isUp;
		},
		/** Kills the server and starts it again, with further variables until the next restart. */
		restart: async (more?: Variables): Promise<void> => {
			isUp = false;
			up = Promise.withResolvers();
			await start(more);
		},
		/** The end of its output: the logged errors. */
		errors: (): string =>
			output
				.split('\n')
				.filter((line) => !line.startsWith('{"level":"info"'))
				.join('\n'),
		/** The id of workerd's process. */
		get process(): number | undefined {
			return workerd;
		},
		/** Memory of workerd, in bytes. */
		memory: (): number => readMemory(workerd),
		/** Bytes of its stored data. */
		stored: async (): Promise<number> => {
			const entries = await readdir(folder, { recursive: true, withFileTypes: true });
			const files = entries.filter((entry) => entry.isFile());
			// A file may go meanwhile.
			const sizes = files.map(({ parentPath, name }) =>
				stat(join(parentPath, name)).then(
					({ size }) => size,
					() => 0,
				),
			);
			return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
		},
		/** Processor time of workerd's main thread, in seconds. */
		cpu: (): number => readCpu(workerd),
		close: async (): Promise<void> => {
			endNow();
			while (findProcesses(child.pid).length > 0) await pause(5);
			process.off('exit', endNow);
			await rm(folder, { recursive: true, force: true });
		},
	};
}

export type Server = Awaited<ReturnType<typeof startServer>>;

/** Starts the process that starts workerd. The process survives kills, because it loads more slowly than workerd. */
function spawnHost(heapMegabytes: number | undefined, onOutput: (text: string) => void): ChildProcess {
	const heap = heapMegabytes && { MINIFLARE_WORKERD_V8_FLAGS: `--max-old-space-size=${heapMegabytes}` };
	const child = spawn(process.execPath, [join(import.meta.dirname, 'serve.ts')], {
		detached: true,
		stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
		env: { ...process.env, NODE_NO_WARNINGS: '1', ...heap },
	});
	for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', onOutput);
	return child;
}

function signal(group: number | undefined): void {
	try {
		if (group !== undefined) process.kill(-group, 'SIGKILL');
	} catch {
		// The group has ended.
	}
}

/** Lists the processes of a group, without zombies. */
function findProcesses(group: number | undefined): readonly { readonly id: number; readonly name: string }[] {
	if (group === undefined) return [];
	const { stdout } = spawnSync('ps', ['-o', 'stat=,pid=,comm=', '-g', String(group)], { encoding: 'utf8' });
	return stdout
		.split('\n')
		.map((line) => line.trim().split(/\s+/))
		.filter(([state = 'Z']) => state !== '' && !state.startsWith('Z'))
		.map(([, id, name = '']) => ({ id: Number(id), name }));
}
