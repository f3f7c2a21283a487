/**
 * The child of `server.ts`: serves a Worker under Miniflare with the options of the last message, as JSON, and reports when
 * the Worker runs. A further message kills the present Worker: Miniflare SIGKILLs workerd, which does all the work and has
 * all the data, and starts another.
 */
import { flushCompileCache } from 'node:module';
import type { Miniflare as Server } from 'miniflare';
import '../hasten.ts';

// The whole group ends with the programme, in any case.
process.on('disconnect', () => process.kill(0, 'SIGKILL'));
const { Miniflare } = await import('miniflare');
// A killed Node never stores its compile cache.
flushCompileCache();
let server: Server | undefined;
process.on('message', async (message) => {
	const options = JSON.parse(String(message));
	if (server === undefined) server = new Miniflare(options);
	else await server.setOptions(options);
	await server.ready;
	process.send?.('ready');
});
