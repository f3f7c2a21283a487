import { RunletError } from '../../core/base/errors.ts';
import { withTimeLimit } from '../../core/base/promises.ts';
import type { Shell, ShellOutcome, ShellRequest } from '../../core/tool/tool.ts';
import type { Config } from '../config/config.ts';
import type { PageFiles } from '../config/env.ts';

/** The code of the isolate, in the folder of the page. The Worker's own code does not contain it. */
const file = 'shell.js';

/** Milliseconds that a command gets in addition to its time limit, for the start and for its files. */
const extraMs = 5_000;

/** Milliseconds of processor time of a command. */
const mostCpuMs = 30_000;

/** How many milliseconds a start waits at most for the previous start, and the milliseconds between its checks. */
const [longestStartMs, checkMs] = [500, 10];

interface Isolate extends Rpc.WorkerEntrypointBranded {
	start(): Promise<void>;
	run(request: ShellRequest): Promise<ShellOutcome>;
}

const codes = new WeakMap<PageFiles, Promise<string>>();

/** The shell of a Worker with the bindings `LOADER` and `PAGE`. A command runs in a new isolate without network. */
export function createShell({ loader, page }: Pick<Config, 'loader' | 'page'>): Shell | undefined {
	if (loader === undefined || page === undefined) return undefined;
	return {
		run: async (request) => {
			const cpuMs = Math.min(request.timeoutMs, mostCpuMs);
			const worker = loader.load({
				compatibilityDate: '2026-07-30',
				// The commands that make and unpack archives need this flag.
				compatibilityFlags: ['nodejs_compat'],
				mainModule: file,
				modules: { [file]: await readCode(page) },
				globalOutbound: null,
				env: {},
				limits: { cpuMs, subRequests: 10_000 },
			});
			const isolate = worker.getEntrypoint<Isolate>();
			try {
				await startAlone(isolate);
				return await withTimeLimit(isolate.run(request), request.timeoutMs + extraMs, 'The command');
			} catch (cause) {
				throw toFailure(cause);
			}
		},
	};
}

/** The time until which other starts wait for the current one, in milliseconds since 1970. */
let startsUntil = 0;

/** Starts isolates one after another: on a laptop a start blocks all requests for 100 ms. */
async function startAlone(isolate: Pick<Isolate, 'start'>): Promise<void> {
	while (Date.now() < startsUntil) await new Promise((resolve) => setTimeout(resolve, checkMs));
	startsUntil = Date.now() + longestStartMs;
	try {
		await withTimeLimit(isolate.start(), extraMs, 'The shell');
	} finally {
		startsUntil = 0;
	}
}

function readCode(page: PageFiles): Promise<string> {
	const known = codes.get(page);
	if (known !== undefined) return known;
	const code = fetchCode(page);
	codes.set(page, code);
	code.catch(() => codes.delete(page));
	return code;
}

async function fetchCode(page: PageFiles): Promise<string> {
	const response = await page.fetch(new Request(`https://page/${file}`));
	if (response.ok) return response.text();
	const remedy = 'Bind the folder of the page of this version: node_modules/runlet/dist/page';
	throw new RunletError('not_configured', `PAGE: has no ${file}. ${remedy}.`);
}

/** Returns the failure of an isolate as an error for the model. A failure of the workspace keeps its message. */
function toFailure(cause: unknown): RunletError {
	if (cause instanceof RunletError) return cause;
	const message = 'The command was stopped: it took too much time or memory. Nothing was changed. Do less at a time.';
	return new RunletError('timeout', message, undefined, { cause });
}
