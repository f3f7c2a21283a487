import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

/**
 * `npm start` as a user would run it, on a free port and with storage of its own, in a process group of its own. Give
 * it back with `close`. `options` are further options of it.
 */
export async function startRunlet(...options: readonly string[]) {
	const port = await freePort();
	const folder = await mkdtemp(join(tmpdir(), 'runlet-'));
	let server = await serve(port, folder, options);
	const killNow = (): void => kill(server.group, 'SIGKILL');
	process.on('exit', killNow);

	const stop = async (signal: NodeJS.Signals): Promise<void> => {
		kill(server.group, signal);
		await server.exited;
	};
	return {
		url: `http://127.0.0.1:${port}`,
		/** Id of the process group, while it runs. */
		get group(): number {
			return server.group;
		},
		/** The first group of the expression in what it printed. */
		printed: (expression: RegExp): string | undefined => expression.exec(server.output())?.[1],
		stop,
		restart: async (): Promise<void> => {
			await stop('SIGTERM');
			server = await serve(port, folder, options);
		},
		close: async (): Promise<void> => {
			await stop('SIGTERM');
			killNow();
			process.off('exit', killNow);
			await rm(folder, { recursive: true, force: true });
		},
	};
}

async function serve(port: number, folder: string, more: readonly string[]) {
	const options = ['start', '--', '--port', String(port), '--persist-to', folder, ...more];
	const child = spawn('npm', options, { cwd: root, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
	let output = '';
	const ready = Promise.withResolvers<void>();
	for (const stream of [child.stdout, child.stderr]) {
		stream.setEncoding('utf8').on('data', (text: string) => {
			output += text;
			if (output.includes('Runlet is at ')) ready.resolve();
		});
	}
	const exited = ended(child);
	void exited.then(() => ready.reject(new Error(`npm start ended before it was ready:\n${output}`)));
	await ready.promise;
	return { group: child.pid ?? 0, output: () => output, exited };
}

/** When the process and all that writes to its output have ended. */
async function ended(child: ChildProcess): Promise<void> {
	await once(child, 'close');
}

function kill(group: number, signal: NodeJS.Signals): void {
	try {
		if (group > 0) process.kill(-group, signal);
	} catch {
		// The group has ended.
	}
}

async function freePort(): Promise<number> {
	const server = createServer().listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	server.close();
	await once(server, 'close');
	return typeof address === 'object' && address !== null ? address.port : 0;
}
