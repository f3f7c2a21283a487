import { createRequire } from 'node:module';
import { resolve } from 'node:path';

/** The folder of the project. */
export const root = resolve(import.meta.dirname, '..');

/** Wrangler's program. Not its `bin`: that one starts this in a child of its own, which a lost parent leaves behind. */
export const wranglerPath = createRequire(import.meta.url).resolve('wrangler');

/** Keeps Wrangler off the network and out of the home folder, without its banner. The environment of the caller wins. */
export const quietEnv: NodeJS.ProcessEnv = {
	// With the banner goes the look for a newer version.
	WRANGLER_HIDE_BANNER: 'true',
	WRANGLER_SEND_METRICS: 'false',
	WRANGLER_SEND_ERROR_REPORTS: 'false',
	WRANGLER_WRITE_LOGS: 'false',
	CLOUDFLARE_CF_FETCH_ENABLED: 'false',
	// A page under /cdn-cgi that shows all that is stored.
	X_LOCAL_EXPLORER: 'false',
	...process.env,
};
