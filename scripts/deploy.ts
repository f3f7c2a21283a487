/** `npm run deploy`: builds the page, and runs `runlet deploy`. */
import { main } from '../src/command/main.ts';
import { buildPage } from './page.ts';

await main(['deploy', ...process.argv.slice(2)], { prepare: () => buildPage() });
