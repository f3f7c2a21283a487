/** The child of `server.ts`: serves a Worker under Miniflare with the options that it is given as JSON. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { hastenMiniflare, isMiniflare } from '../../src/command/dev/miniflare.ts';

// The whole group goes when the programme does, however it ended.
process.on('disconnect', () => process.kill(0, 'SIGKILL'));
// As in `runlet dev`: it is started after each kill.
registerHooks({
	load: (url, context, nextLoad) =>
		isMiniflare(url)
			? { format: 'commonjs', source: hastenMiniflare(readFileSync(new URL(url), 'utf8')), shortCircuit: true }
			: nextLoad(url, context),
});
const { Miniflare } = await import('miniflare');
const miniflare = new Miniflare(JSON.parse(process.argv[2] ?? ''));
await miniflare.ready;
process.send?.('ready');
