/** Has Miniflare start faster in this process, as `runlet dev` does: tests start it often. To be loaded before it. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { hastenMiniflare, isMiniflare } from '../src/command/dev/miniflare.ts';

registerHooks({
	load: (url, context, nextLoad) =>
		isMiniflare(url)
			? { format: 'commonjs', source: hastenMiniflare(readFileSync(new URL(url), 'utf8')), shortCircuit: true }
			: nextLoad(url, context),
});
