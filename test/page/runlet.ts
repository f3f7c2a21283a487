import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** `npm start` as a user would run it, on a free port and with storage of its own; `vars` as `NAME:value`. */
export async function startRunlet(vars: string[] = []) {
	const port = await freePort();
	const folder = await mkdtemp(join(tmpdir(), 'runlet-page-'));
	const options = ['--port', String(port), '--persist-to', folder, ...vars.flatMap((entry) => ['--var', entry])];
	const child = spawn('npm', ['start', '--', ...options], {
		cwd: root,
		detached: true,
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	let log = '';
	for (const stream of [child.stdout, child.stderr]) {
		stream.on('data', (chunk) => {
			log += chunk;
		});
	}
	const exited = once(child, 'exit');
	const killGroup = (signal: NodeJS.Signals) => {
		try {
			if (child.pid !== undefined) process.kill(-child.pid, signal);
		} catch {
			// The group has ended.
		}
	};
	const killNow = () => killGroup('SIGKILL');
	process.on('exit', killNow);

	const url = `http://127.0.0.1:${port}`;
	const isUp = await Promise.race([answers(`${url}/v1/agents`), exited.then(() => false)]);
	if (!isUp) throw new Error(`npm start did not come up:\n${log}`);
	const onEarlyExit = () => console.error(`npm start ended by itself:\n${log.slice(-4_000)}`);
	child.once('exit', onEarlyExit);
	return {
		url,
		async close() {
			child.off('exit', onEarlyExit);
			killGroup('SIGTERM');
			const deadline = setTimeout(killNow, 10_000);
			await exited;
			clearTimeout(deadline);
			killNow();
			process.off('exit', killNow);
			await rm(folder, { recursive: true, force: true });
		},
	};
}

async function answers(url: string): Promise<boolean> {
	const deadline = Date.now() + 90_000;
	while (Date.now() < deadline) {
		const response = await fetch(url).catch(() => undefined);
		if (response?.ok) return true;
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
	return false;
}

async function freePort(): Promise<number> {
	const server = createServer().listen(0, '127.0.0.1');
	await once(server, 'listening');
	const { port } = server.address() as AddressInfo;
	server.close();
	await once(server, 'close');
	return port;
}
