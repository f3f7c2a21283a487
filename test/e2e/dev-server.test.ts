/** `npm start` with a Wrangler that ends slowly. A small program replaces Wrangler. */
import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { DevServer } from '../../src/command/dev/dev-server.ts';

let folder: string;
beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), 'runlet-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The started processes. */
const children: ChildProcess[] = [];
const started = v.object({ process: v.custom<ChildProcess>((one) => typeof one === 'object') });
subscribe('child_process', (message) => children.push(v.parse(started, message).process));

/** Emits the events of Wrangler, and asks the test at a URL for its next step. */
const program = `
exports.unstable_DevEnv = class {
	dispatch() {}
};
const emit = (event) => new exports.unstable_DevEnv().dispatch(event);
const run = (port) =>
	emit({ type: 'reloadComplete', proxyData: { userWorkerUrl: { hostname: '127.0.0.1', port: String(port) } } });
const url = process.argv[3];
const ask = async (what) => (await fetch(url + what)).text();
process.on('SIGTERM', () => {
	console.error('fatal error: all goroutines are asleep - deadlock!\\n\\ngoroutine 1 [semacquire]:');
	process.exit(0);
});
(async () => {
const does = await ask('does');
if (does === 'fail' || does === 'crash') {
	run(2);
	await ask('up');
	emit({ type: 'bundleStart' });
	const message = JSON.stringify({ timestamp: '0', message: 'Uncaught TypeError: at load\\n  at agent.ts:1:1' });
	emit({ type: 'error', source: 'LocalRuntimeController', cause: new Error('The runtime failed.\\n' + message) });
	await ask('end');
	if (does === 'crash') {
		emit({ type: 'bundleStart' });
		await ask('later');
	}
	process.exit(1);
}
if (does === 'reload') {
	run(2);
	await ask('up');
	await ask('later');
	emit({ type: 'bundleStart' });
	run(3);
	await ask('reloaded');
	process.exit(1);
}
if (does === 'watch nothing')
	emit({
		type: 'error',
		source: 'BundlerController',
		cause: { errors: [{ text: 'Unexpected ";"', location: { file: 'agent.ts', line: 1, column: 10 } }] },
	});
else run(does === 'wait' ? 4 : 1);
setInterval(() => {}, 1_000);
})();
`;

/** Starts a server. The last Wrangler runs, and `first` controls every earlier Wrangler. */
async function startServer(
	first: 'fail' | 'crash' | 'watch nothing' | 'reload' | 'wait',
	{ starts: lastStart = 2, onLater = () => {} }: { readonly starts?: number; readonly onLater?: () => void } = {},
) {
	const file = join(folder, 'wrangler.cjs');
	await writeFile(file, program);
	let starts = 0;
	const printed: string[] = [];
	const waiting = Promise.withResolvers<void>();
	let [wasUp, wasReloaded] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
	const [mistake, ending, up, over] = [
		Promise.withResolvers<void>(),
		Promise.withResolvers<() => void>(),
		Promise.withResolvers<number>(),
		Promise.withResolvers<number>(),
	];
	const control = createServer((req, res) => {
		if (req.url === '/does') {
			[wasUp, wasReloaded] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
			res.end(++starts < lastStart ? first : 'run');
		} else if (req.url === '/up') void wasUp.promise.then(() => res.end());
		else if (req.url === '/reloaded') void wasReloaded.promise.then(() => res.end());
		else if (req.url === '/later') {
			onLater();
			res.end();
		} else ending.resolve(() => void res.end());
	});
	control.listen(0, '127.0.0.1');
	await once(control, 'listening');
	const address = control.address();
	const server = new DevServer({
		program: file,
		args: [`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`],
		json: false,
		print: (text) => {
			printed.push(text);
			if (text.includes('The Worker does not run')) mistake.resolve();
		},
		onUp: ({ port }) => {
			if (port === 4) waiting.resolve();
			else if (port === 1) up.resolve(port);
			else (port === 2 ? wasUp : wasReloaded).resolve();
		},
		onEnd: over.resolve,
	});
	server.start();
	return {
		server,
		printed,
		/** Resolves when a waiting Wrangler reports that its Worker runs. */
		waits: waiting.promise,
		mistake: mistake.promise,
		/** Resolves with a function that lets the first Wrangler end. */
		ending: ending.promise,
		/** Checks that the last Wrangler runs, and stops the server. */
		async expectLast() {
			expect(await up.promise).toBe(1);
			expect([starts, await server.findAddress()]).toEqual([
				lastStart,
				expect.objectContaining({ port: 1, isSecure: false }),
			]);
			server.stop('SIGTERM');
			expect(await over.promise).toBe(0);
			control.close();
		},
	};
}

test('restarts Wrangler after Wrangler crashes in the build of a saved fix', async () => {
	const { server, mistake, ending, expectLast } = await startServer('crash');
	const [letEnd] = await Promise.all([ending, mistake]);
	server.retry();
	letEnd();
	await expectLast();
});

test('restarts Wrangler if a file is saved while Wrangler exits because of an error', async () => {
	const { server, mistake, ending, expectLast } = await startServer('fail');
	const [letEnd] = await Promise.all([ending, mistake]);
	await expect(server.findAddress()).rejects.toThrow('The Worker does not run: agent.ts:1:1: TypeError: at load');
	server.retry(Date.now() + 1);
	letEnd();
	await expectLast();
});

test('restarts Wrangler when a file is saved after a failed first build', async () => {
	const { server, mistake, expectLast } = await startServer('watch nothing');
	await mistake;
	await expect(server.findAddress()).rejects.toThrow('The Worker does not run: agent.ts:1:10: Unexpected ";"');
	server.retry(Date.now() + 1);
	await expectLast();
});

test('restarts Wrangler when a file is saved during a first build that then fails', async () => {
	const { server, mistake, expectLast } = await startServer('watch nothing');
	server.retry(Date.now() + 1);
	await mistake;
	await expectLast();
});

test('repeats a failed build only if a file was saved after the start of the build', async () => {
	const { server, mistake, ending, expectLast } = await startServer('fail');
	const wrangler = children.at(-1);
	const before = children.length;
	server.retry();
	const [letEnd] = await Promise.all([ending, mistake]);
	const closed = wrangler && once(wrangler, 'close');
	letEnd();
	await closed;
	expect(children).toHaveLength(before);
	await expect(server.findAddress()).rejects.toThrow('The Worker does not run');
	server.retry();
	await expectLast();
});

test('restarts Wrangler each time that Wrangler exits soon after a reload', async () => {
	const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
	const { expectLast } = await startServer('reload', {
		starts: 6,
		onLater: () => clock.mockReturnValue(performance.now() + 2_000),
	});
	await expectLast();
	clock.mockRestore();
});

test('prints no output of a Wrangler process while it is being stopped', async () => {
	const { server, printed, waits, expectLast } = await startServer('wait');
	await waits;
	server.restart();
	await expectLast();
	expect(printed.join('\n')).not.toMatch(/fatal error|goroutine/);
});
