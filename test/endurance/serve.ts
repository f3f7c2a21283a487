/**
 * The child of `server.ts`: serves a Worker under Miniflare with the options of the last message, as JSON, and says when
 * it does. A message while one is served kills that one: Miniflare ends workerd, which does all the work and has all the
 * data, by SIGKILL, and starts another one.
 */
import { flushCompileCache } from 'node:module';
import type { Miniflare as Server } from 'miniflare';
import '../hasten.ts';

// The whole group goes when the programme does, however it ended.
process.on('disconnect', () => process.kill(0, 'SIGKILL'));
const { Miniflare } = await import('miniflare');
// It is killed in the end, when Node would keep what it compiled.
flushCompileCache();
let server: Server | undefined;
process.on('message', async (message) => {
	const options = JSON.parse(String(message));
	if (server === undefined) server = new Miniflare(options);
	else await server.setOptions(options);
	await server.ready;
	process.send?.('ready');
});
