import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as v from 'valibot';
import { pinned, resolveInProject, root } from './project.ts';

/** Finds Wrangler's program. Its `bin` would run the program in a child process that outlives a killed parent. */
export function findWrangler(): string {
	return resolveInProject('wrangler');
}

/** Returns Node's arguments for a short command of Wrangler. Larger semi-spaces make its 17 MB load faster. */
export function toShortCommand(args: readonly string[]): string[] {
	return ['--no-warnings', '--min-semi-space-size=64', '--max-semi-space-size=64', findWrangler(), ...args];
}

export async function loadWrangler(): Promise<typeof import('wrangler')> {
	return import(pathToFileURL(findWrangler()).href);
}

const manifest = v.object({ version: v.string() });

/** Loads the Miniflare of the project's Wrangler. Throws unless Miniflare is version 4: other versions differ. */
export async function loadMiniflare(): Promise<typeof import('miniflare')> {
	const path = resolveInProject('miniflare', findWrangler());
	const { version } = v.parse(manifest, JSON.parse(readFileSync(join(dirname(path), '../../package.json'), 'utf8')));
	if (!version.startsWith('4.'))
		throw new Error(
			`The Wrangler of this project has Miniflare ${version}, which this Runlet does not know. Install the one that it is tested with: npm install --save-dev ${pinned('wrangler')}`,
		);
	return import(pathToFileURL(path).href);
}

/** Keeps Wrangler off the network and out of the home folder. The caller's own variables take precedence. */
export const quietEnv: NodeJS.ProcessEnv = {
	// Without the banner Wrangler does not look for a newer version.
	WRANGLER_HIDE_BANNER: 'true',
	WRANGLER_SEND_METRICS: 'false',
	WRANGLER_SEND_ERROR_REPORTS: 'false',
	WRANGLER_WRITE_LOGS: 'false',
	CLOUDFLARE_CF_FETCH_ENABLED: 'false',
	// Turns off a page under /cdn-cgi that shows all stored data.
	X_LOCAL_EXPLORER: 'false',
	...process.env,
};

/** The Worker that a command works on, as Wrangler's options `--config` and `--env`. */
export interface Target {
	readonly config: string;
	readonly env: string | undefined;
}

export function targetOptions({ config, env }: Target): string[] {
	return ['--config', config, ...(env === undefined ? [] : ['--env', env])];
}

/** A failed command of Wrangler, with its output. */
export class WranglerError extends Error {
	override readonly name = 'WranglerError';
	readonly output: string;

	constructor(output: string) {
		super(output.trim() || 'wrangler ended without saying why');
		this.output = output;
	}
}

export interface WranglerOptions {
	/** The text for the standard input, which is no terminal. So Wrangler asks no questions. */
	readonly input?: string;
	readonly env?: NodeJS.ProcessEnv;
	/** Whether to print the output, besides returning it. */
	readonly show?: boolean;
}

/** Runs a command of Wrangler and returns its output. Throws a `WranglerError`. */
export async function wrangler(
	args: readonly string[],
	{ input = '', env = {}, show = false }: WranglerOptions = {},
): Promise<string> {
	const child = spawn(process.execPath, toShortCommand(args), {
		cwd: root,
		stdio: ['pipe', 'pipe', 'pipe'],
		env: { ...quietEnv, ...env },
	});
	let [printed, all] = ['', ''];
	child.stdout.setEncoding('utf8').on('data', (text: string) => {
		printed += text;
		all += text;
		if (show) process.stdout.write(text);
	});
	child.stderr.setEncoding('utf8').on('data', (text: string) => {
		all += text;
		if (show) process.stderr.write(text);
	});
	// The error is ignored, because a process that ends before it has read all input reports its own error.
	child.stdin.on('error', () => {});
	child.stdin.end(input);
	const [code] = await once(child, 'close');
	if (code !== 0) throw new WranglerError(all);
	return printed;
}
