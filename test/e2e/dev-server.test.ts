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

/** It asks the test for a URL what it shall do, and ends when it is answered a second time. */
const program = `
const url = process.argv[3];
process.on('SIGTERM', () => process.exit(0));
const does = await (await fetch(url + 'does')).text();
if (does === 'fail') {
	console.error('✘ [ERROR] Uncaught TypeError: at load\\n\\n    at null.<anonymous> (agent.ts:1:1)\\n');
	await fetch(url + 'end');
	process.exit(1);
}
process.send(JSON.stringify({ event: 'worker', port: 1 }));
setInterval(() => {}, 1_000);
`;

test('a file that is saved while Wrangler still ends because of an error is not lost: it is started again', async () => {
	const file = join(folder, 'wrangler.mjs');
	await writeFile(file, program);
	let lives = 0;
	let letEnd = (): void => {};
	const control = createServer((req, res) => {
		if (req.url === '/does') res.end(lives++ === 0 ? 'fail' : 'run');
		else letEnd = () => void res.end();
	});
	control.listen(0, '127.0.0.1');
	await once(control, 'listening');
	const address = control.address();
	const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
	const ending = once(control, 'request').then(() => once(control, 'request'));
	const [failed, up, over] = [
		Promise.withResolvers<void>(),
		Promise.withResolvers<number>(),
		Promise.withResolvers<number>(),
	];
	const server = new DevServer({
		program: file,
		args: [url],
		json: false,
		print: () => {},
		onUp: ({ port }) => up.resolve(port),
		onMistake: () => failed.resolve(),
		onEnd: over.resolve,
	});
	server.start();
	await Promise.all([failed.promise, ending]);
	await expect(server.findAddress()).rejects.toThrow('The Worker does not run: agent.ts:1:1: TypeError: at load');
	server.retry(Date.now() + 1);
	letEnd();
	expect(await up.promise).toBe(1);
	expect([lives, await server.findAddress()]).toEqual([2, { port: 1, isSecure: false }]);
	server.stop('SIGTERM');
	expect(await over.promise).toBe(0);
	control.close();
});
