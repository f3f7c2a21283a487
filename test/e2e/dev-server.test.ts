/** What `npm start` does with a Wrangler that ends slowly: a small program acts as Wrangler. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DevServer } from '../../src/command/dev/dev-server.ts';

let folder: string;
beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), 'runlet-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** It asks the test for a URL what it shall do. */
const program = `
const url = process.argv[3];
const ask = async (what) => (await fetch(url + what)).text();
process.on('SIGTERM', () => process.exit(0));
const does = await ask('does');
if (does === 'fail') {
	process.send(JSON.stringify({ event: 'worker', port: 2 }));
	await ask('up');
	console.error('✘ [ERROR] Uncaught TypeError: at load\\n\\n    at null.<anonymous> (agent.ts:1:1)\\n');
	await ask('end');
	process.exit(1);
}
if (does === 'watch nothing')
	console.error('✘ [ERROR] Build failed with 1 error:\\n  ✘ [ERROR] Unexpected ";"\\n\\n      agent.ts:1:10:\\n');
else process.send(JSON.stringify({ event: 'worker', port: 1 }));
setInterval(() => {}, 1_000);
`;

/** Starts a server whose first Wrangler does as it is told, and whose second one runs. */
async function startServer(first: 'fail' | 'watch nothing') {
	const file = join(folder, 'wrangler.mjs');
	await writeFile(file, program);
	let lives = 0;
	const [mistake, ending, wasUp, up, over] = [
		Promise.withResolvers<void>(),
		Promise.withResolvers<() => void>(),
		Promise.withResolvers<void>(),
		Promise.withResolvers<number>(),
		Promise.withResolvers<number>(),
	];
	const control = createServer((req, res) => {
		if (req.url === '/does') res.end(lives++ === 0 ? first : 'run');
		else if (req.url === '/up') void wasUp.promise.then(() => res.end());
		else ending.resolve(() => void res.end());
	});
	control.listen(0, '127.0.0.1');
	await once(control, 'listening');
	const address = control.address();
	const server = new DevServer({
		program: file,
		args: [`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`],
		json: false,
		print: () => {},
		onUp: ({ port }) => (port === 1 ? up.resolve(port) : wasUp.resolve()),
		onMistake: () => mistake.resolve(),
		onEnd: over.resolve,
	});
	server.start();
	return {
		server,
		mistake: mistake.promise,
		/** Resolves when the first Wrangler ends, with what lets it. */
		ending: ending.promise,
		/** Expects that the second Wrangler runs, and ends all. */
		async expectSecond() {
			expect(await up.promise).toBe(1);
			expect([lives, await server.findAddress()]).toEqual([2, { port: 1, isSecure: false }]);
			server.stop('SIGTERM');
			expect(await over.promise).toBe(0);
			control.close();
		},
	};
}

test('a file that is saved while Wrangler still ends because of an error is not lost: it is started again', async () => {
	const { server, mistake, ending, expectSecond } = await startServer('fail');
	const [letEnd] = await Promise.all([ending, mistake]);
	await expect(server.findAddress()).rejects.toThrow('The Worker does not run: agent.ts:1:1: TypeError: at load');
	server.retry(Date.now() + 1);
	letEnd();
	await expectSecond();
});

test('a file that is saved after the first build of a Wrangler failed starts another', async () => {
	const { server, mistake, expectSecond } = await startServer('watch nothing');
	await mistake;
	await expect(server.findAddress()).rejects.toThrow('The Worker does not run: agent.ts:1:10: Unexpected ";"');
	server.retry(Date.now() + 1);
	await expectSecond();
});

test('a file that is saved during a first build that fails is not lost: another Wrangler is started', async () => {
	const { server, mistake, expectSecond } = await startServer('watch nothing');
	server.retry(Date.now() + 1);
	await mistake;
	await expectSecond();
});
