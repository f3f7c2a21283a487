/** Runs inside Wrangler's process, before Wrangler. It reports to `runlet dev` what Wrangler does. */

import childProcess from 'node:child_process';
import { resolve } from 'node:path';
import { pinned } from '../project.ts';

const { ppid } = process;
const { spawn } = childProcess;

/** The messages to `runlet dev` over IPC. */
export type Message =
	/** A process that Wrangler needs was killed. */
	| { readonly event: 'lost'; readonly name: string; readonly signal: string }
	/** Wrangler reads the sources. */
	| { readonly event: 'building'; readonly at: number }
	/** Wrangler has built the Worker, and replaces the running Worker. */
	| { readonly event: 'built'; readonly map: string }
	/** The Worker runs. */
	| { readonly event: 'worker'; readonly port: number; readonly isSecure: boolean }
	/** The sources cannot be built. */
	| { readonly event: 'mistake'; readonly what: string }
	/** The Worker cannot be loaded. */
	| { readonly event: 'not-loaded'; readonly output: string };

/** An event of Wrangler's `DevEnv`. */
interface WranglerEvent {
	readonly type: string;
	readonly source?: string;
	readonly config?: { readonly dev: { inspector?: unknown; origin?: { hostname?: unknown } } };
	readonly bundle?: { readonly sourceMapPath?: string };
	readonly proxyData?: {
		readonly userWorkerUrl: { readonly protocol: string; readonly hostname: string; readonly port: string };
		readonly userWorkerInnerUrlOverrides?: { readonly protocol?: string };
	};
	readonly cause?: Failure;
}

/** A failed build. The errors of esbuild are in the failure itself or in its cause. */
interface Failure {
	readonly message: string;
	readonly cause?: Failure;
	readonly errors?: readonly BuildError[];
}

interface BuildError {
	readonly text: string;
	readonly location: { readonly file: string; readonly line: number; readonly column: number } | null;
}

function send(message: Message): void {
	if (process.connected) process.send?.(JSON.stringify(message));
}

// Ends Wrangler if `runlet dev` was killed and could not end it.
setInterval(() => ppid === process.ppid || process.kill(process.pid, 'SIGTERM'), 1000).unref();

Object.assign(childProcess, {
	spawn(...args: Parameters<typeof spawn>) {
		const child = Reflect.apply(spawn, childProcess, args);
		const name = /(workerd|esbuild)[^/\\]*$/.exec(String(args[0]))?.[1];
		child.once('exit', (_: unknown, signal: string | null) => {
			// The process is not lost if Wrangler killed it, or if it ended by itself and printed its reason.
			if (name !== undefined && signal !== null && !child.killed) send({ event: 'lost', name, signal });
		});
		return child;
	},
});

const hasOption = (form: RegExp): boolean => process.argv.some((arg) => form.test(arg));

/** Wrangler's `DevEnv`: all its events pass `dispatch`. */
interface DevEnv {
	readonly proxy: { readonly ready: { readonly promise: Promise<{ readonly url: URL }> } };
	dispatch(event: WranglerEvent): void;
}

async function onEvent(
	{ type, source, config, bundle, proxyData, cause }: WranglerEvent,
	{ proxy }: DevEnv,
): Promise<void> {
	if (type === 'configUpdate' && config !== undefined) {
		// Anybody who can reach the inspector can run code in the Worker. The inspector has no authentication, and
		// any page may open a WebSocket to it.
		if (!hasOption(/^--inspector-?(port|ip)\b/i)) config.dev.inspector = false;
		// The Worker sees the address of `runlet dev`, and not the address in its routes.
		if (config.dev.origin !== undefined && !hasOption(/^--(host|local-?upstream)\b/i))
			delete config.dev.origin.hostname;
	}
	if (type === 'bundleStart') send({ event: 'building', at: Date.now() });
	if (type === 'reloadStart') send({ event: 'built', map: resolve(bundle?.sourceMapPath ?? '') });
	if (type === 'reloadComplete' && proxyData !== undefined) {
		const { userWorkerUrl, userWorkerInnerUrlOverrides } = proxyData;
		const isHere = userWorkerUrl.hostname === '127.0.0.1';
		// Wrangler's own proxy and the Worker both keep idle connections for five seconds. If a request is sent while
		// the connection closes, the request is lost and Wrangler crashes (cloudflare/workers-sdk#14641). So `runlet
		// dev` calls the Worker directly, unless the Worker runs at Cloudflare.
		const { port } = isHere ? userWorkerUrl : (await proxy.ready.promise).url;
		const isSecure = isHere && userWorkerInnerUrlOverrides?.protocol === 'https:';
		send({ event: 'worker', port: Number(port), isSecure });
	}
	if (type !== 'error' || cause === undefined) return;
	if (source === 'BundlerController') send({ event: 'mistake', what: describeBuild(cause) });
	else send({ event: 'not-loaded', output: readOutput(cause.message) });
}

function describeBuild({ message, errors, cause }: Failure): string {
	const [error] = errors ?? cause?.errors ?? [];
	if (error === undefined) return message;
	const { text, location } = error;
	return location === null ? text : `${location.file}:${location.line}:${location.column}: ${text}`;
}

/** Returns the output of workerd, which is a line of JSON in Miniflare's message. */
function readOutput(message: string): string {
	const line = message.split('\n').find((text) => text.startsWith('{"timestamp"'));
	return line === undefined ? message : String(JSON.parse(line).message);
}

// This runs after Wrangler is loaded and has exported its classes, but before its first event.
setImmediate(() => {
	const prototype: DevEnv | undefined = process.mainModule?.exports?.unstable_DevEnv?.prototype;
	if (prototype === undefined)
		throw new Error(`This Runlet needs another version of Wrangler: npm install --save-dev ${pinned('wrangler')}`);
	const { dispatch } = prototype;
	prototype.dispatch = function onDispatch(this: DevEnv, event: WranglerEvent) {
		void onEvent(event, this);
		dispatch.call(this, event);
	};
});
