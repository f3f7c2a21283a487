/** `npm run deploy`: builds the page and the SDKs, and runs `runlet deploy`. */
import { main } from '../src/command/main.ts';
import { buildSdks } from './pack/sdks.ts';
import { buildPage } from './page.ts';

await buildSdks();
await main(['deploy', ...process.argv.slice(2)], { prepare: () => buildPage() });
