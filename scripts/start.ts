/** `npm start`: builds the page, and runs `runlet dev`. */
import { join } from 'node:path';
import { watchFolder } from '../src/command/dev/watch.ts';
import { main } from '../src/command/main.ts';
import { toMessageText } from '../src/core/base/errors.ts';
import { buildPage } from './page.ts';
import { root } from './root.ts';

await main(['dev', ...process.argv.slice(2)], {
	prepare: () => {
		updatePage();
		for (const folder of ['page', 'client']) watchFolder(join(root, 'src', folder), updatePage);
	},
});

/** Builds the page. If the page has an error, the old build stays and everything else continues. */
function updatePage(): void {
	try {
		buildPage();
	} catch (error) {
		console.log(`The page stays as it was until this is mended:\n${toMessageText(error)}`);
	}
}
