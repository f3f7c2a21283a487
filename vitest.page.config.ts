import { defineConfig } from 'vitest/config';

export default defineConfig({
	test: {
		include: ['test/page/**/*.test.ts'],
		testTimeout: 30_000,
		hookTimeout: 120_000,
		// What the Worker writes of each request and run.
		onConsoleLog: (text) => !text.startsWith('{"level":"info"'),
	},
});
