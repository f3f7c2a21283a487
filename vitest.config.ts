import { cloudflareTest } from '@cloudflare/vitest-pool-workers';
import { defineConfig } from 'vitest/config';
import { sourceNames } from './src/cloudflare/webhooks/source.ts';
import { callbackSecret, senders } from './test/cloudflare/webhooks/senders.ts';

/** Tests that need no platform; those of the loop run here and in workerd. */
const pure = ['test/{source,core,cloudflare}/**/*.test.ts'];
const workerd = ['test/**/*.worker.test.ts'];
const both = [
	'test/core/{chat,tool}/**/*.test.ts',
	'test/cloudflare/webhooks/**/*.test.ts',
	'test/core/ground/{public-url,public-fetch}.test.ts',
];

/** The secrets of webhooks, in the Worker under test. */
const secrets = {
	...Object.fromEntries(sourceNames.map((name) => [`${name.toUpperCase()}_WEBHOOK_SECRET`, senders[name].secret])),
	CALLBACK_SECRET: callbackSecret,
};

export default defineConfig({
	test: {
		// What the Worker writes of each request and run; warnings and errors are shown.
		onConsoleLog: (text) => !text.startsWith('{"level":"info"'),
		projects: [
			{ test: { name: 'node', include: pure, exclude: workerd, testTimeout: 60_000 } },
			{
				plugins: [
					cloudflareTest({
						main: './test/worker.ts',
						wrangler: { configPath: './wrangler.toml' },
						miniflare: {
							// Tests of budgets bring their own.
							bindings: { LOCAL: 'true', SESSION_BUDGET_TOKENS: 'none', DAY_BUDGET_TOKENS: 'none', ...secrets },
							analyticsEngineDatasets: { METRICS: { dataset: 'runlet' } },
							// Tests ask as fast as they can; that of the rate brings its own.
							ratelimits: { RATE_LIMITER: { namespace_id: '8787', simple: { limit: 1_000_000, period: 10 } } },
						},
					}),
				],
				// A machine that is busy is slow, and that is no failure.
				test: {
					name: 'workerd',
					globalSetup: './test/receiver.ts',
					include: [...workerd, ...both],
					testTimeout: 60_000,
				},
			},
			{ test: { name: 'e2e', include: ['test/e2e/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000 } },
		],
	},
});
