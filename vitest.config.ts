import { join } from 'node:path';
import { cloudflareTest } from '@cloudflare/vitest-pool-workers';
import { defineConfig, type Plugin } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { listSources } from './scripts/source-names.ts';
import { sourceNames } from './src/cloudflare/wire/protocols/webhooks/source.ts';
import { callbackSecret, senders } from './test/cloudflare/wire/protocols/webhooks/senders.ts';
import { secretsKeys } from './test/secrets-keys.ts';

/**
 * Tests that need no platform. Those of what workerd has of its own (streams, timers, signals, fetch, URLs, cryptography, no
 * code made from text) run in Node and, by `npm run test:all`, in workerd.
 */
const pure = [
	'test/{source,core,cloudflare,client,command,testing,evals}/**/*.test.ts',
	'examples/shop/test/**/*.test.ts',
];
const worker = ['test/**/*.worker.test.ts'];
const both = [
	'test/core/chat/**/*.test.ts',
	'test/core/tool/{abort,dispatch,run,schema,state}.test.ts',
	'test/core/toolboxes/web/*.test.ts',
	'test/cloudflare/wire/protocols/webhooks/**/*.test.ts',
	'test/core/base/{public-url,public-fetch}.test.ts',
];

/**
 * What takes long begins first, so that nothing is waited for at the end; what shares a process comes together.
 */
class LongestFirst extends BaseSequencer {
	override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
		const names = ['start', 'e2e', 'page', 'workerd-long', 'workerd', 'node'];
		const toRank = ({ moduleId, project }: TestSpecification) =>
			/e2e\/(endurance|mistakes|types|create)|page\/page\./.test(moduleId) ? -1 : names.indexOf(project.name);
		return (await super.sort(files)).toSorted((one, other) => toRank(one) - toRank(other));
	}
}

/** The secrets of webhooks, in the Worker under test. */
const secrets = {
	...Object.fromEntries(sourceNames.map((name) => [`${name.toUpperCase()}_WEBHOOK_SECRET`, senders[name].secret])),
	CALLBACK_SECRET: callbackSecret,
	SECRETS_KEY: `${secretsKeys.newest} ${secretsKeys.older}`,
	TRACKER_KEY: 'key-of-the-tracker',
};

const inWorkerd = cloudflareTest({
	main: './test/worker.ts',
	wrangler: { configPath: './wrangler.toml' },
	miniflare: {
		// Tests of budgets bring their own.
		bindings: {
			LOCAL: 'true',
			SESSION_BUDGET_TOKENS: 'none',
			DAY_BUDGET_TOKENS: 'none',
			PUBLIC_URL: 'https://runlet.example.com',
			...secrets,
		},
		workerLoaders: { LOADER: {} },
		analyticsEngineDatasets: { METRICS: { dataset: 'runlet' } },
		// Tests ask as fast as they can; that of the rate brings its own.
		ratelimits: { RATE_LIMITER: { namespace_id: '8787', simple: { limit: 1_000_000, period: 10 } } },
	},
});

/** The main job from end to end: `npm start`, an answer, the page's routes, and a restart. */
const start = 'test/e2e/start.test.ts';

/** A server and a process of its own for each file. */
const served = {
	globalSetup: './test/share.ts',
	setupFiles: './test/hasten.ts',
	testTimeout: 300_000,
	hookTimeout: 300_000,
};

/** The long tests in workerd: attacks by people, random walks, and the library's tests again. They are for `npm run test:all`. */
const long = [
	'test/cloudflare/objects/ledger/many-shards.worker.test.ts',
	'test/cloudflare/people/*.worker.test.ts',
	'test/cloudflare/session/{money-walk,people-walk,property,deaths-property,file-deaths}.worker.test.ts',
	'test/cloudflare/traces/deaths.worker.test.ts',
	'test/testing/hundred.worker.test.ts',
	'test/cloudflare/flow/attacks.worker.test.ts',
];

/** Of those in workerd, what breaks first: `npm run test:fast`. */
const first = [
	'test/cloudflare/routes/sessions.worker.test.ts',
	'test/cloudflare/session/{run,resume,recovery}.worker.test.ts',
];

/** The parts of the package, by their names, are the sources. */
const alias = [...listSources()].map(([name, replacement]) => ({
	find: new RegExp(`^${name}$`),
	replacement,
}));

/**
 * Loads at the beginning what the Worker imports later, as its bundle has it. Here a later import is a request, which all
 * others wait for; if the object that made it dies meanwhile, they wait forever.
 */
const importAtOnce: Plugin = {
	name: 'import-at-once',
	enforce: 'pre',
	transform: (code, id) => {
		if (!/\/src\/(core|cloudflare)\/.*\.ts$/.test(id)) return undefined;
		const imports: string[] = [];
		const changed = code.replace(/(?<!typeof )\bimport\('(\.[^']+)'\)/g, (_, path) => {
			const name = `importedAtOnce${imports.length}`;
			imports.push(`import * as ${name} from '${path}';`);
			return `Promise.resolve(${name})`;
		});
		// The lines stay where they are.
		return imports.length === 0 ? undefined : { code: imports.join('') + changed, map: null };
	},
};

// Tests start hundreds of processes of the same few programs: each is compiled once.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled');
// esbuild and the compiler are written in Go, and spend a quarter of their time on collecting garbage of a second's life.
process.env.GOGC ??= 'off';
process.env.GOMEMLIMIT ??= '768MiB';

export default defineConfig(({ mode }) => ({
	resolve: { alias },
	test: {
		// What the Worker writes of each request and run; warnings and errors are shown.
		onConsoleLog: (text) => !text.startsWith('{"level":"info"'),
		// An object that a file has left behind may begin to live in the moment in which the file ends, and finds no module then.
		onUnhandledError: ({ name, message }) =>
			name !== 'EnvironmentTeardownError' || !message.includes('Closing rpc while'),
		sequence: { sequencer: LongestFirst },
		// Twice the processors of a small machine: tests of servers wait half of their time.
		maxWorkers: 4,
		// A machine that is busy is slow, and that is no failure.
		testTimeout: 240_000,
		expect: { poll: { timeout: 30_000 } },
		projects: [
			{
				extends: true,
				test: { name: 'node', include: pure, exclude: worker, isolate: false },
			},
			// A few workerds run them all: each test has sessions of its own.
			{
				extends: true,
				plugins: [inWorkerd, importAtOnce],
				test: {
					name: 'workerd',
					globalSetup: './test/receiver.ts',
					setupFiles: './test/clean.ts',
					include: mode === 'fast' ? first : worker,
					exclude: long,
					isolate: false,
				},
			},
			{
				extends: true,
				plugins: [inWorkerd, importAtOnce],
				test: {
					name: 'workerd-long',
					globalSetup: './test/receiver.ts',
					setupFiles: './test/clean.ts',
					include: [...both, ...long],
					isolate: false,
				},
			},
			{ extends: true, test: { ...served, name: 'start', include: [start] } },
			{ extends: true, test: { ...served, name: 'e2e', include: ['test/e2e/**/*.test.ts'], exclude: [start] } },
			{
				extends: true,
				test: {
					name: 'page',
					globalSetup: './test/share.ts',
					include: ['test/page/**/*.test.ts'],
					hookTimeout: 300_000,
					// The files of a process share Chromium (`test/page/browser.ts`).
					isolate: false,
				},
			},
		],
	},
}));
