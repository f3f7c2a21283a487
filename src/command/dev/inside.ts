/** Runs inside Wrangler's process, before Wrangler: sends `runlet dev` what Wrangler does not print. */

import childProcess from 'node:child_process';
import fs from 'node:fs';
import { registerHooks } from 'node:module';
import { pinned } from '../project.ts';
import { hastenMiniflare, isMiniflare } from './miniflare.ts';

const { ppid } = process;
const { spawn } = childProcess;
const { mkdtempSync } = fs;

/** The messages to `runlet dev` over IPC, beside those of Wrangler itself. */
export type Message =
	/** A process that Wrangler needs to answer was killed. */
	| { readonly event: 'lost'; readonly name: string; readonly signal: string }
	/** The folder of the built Worker and its source map. */
	| { readonly event: 'built-in'; readonly folder: string }
	/** Wrangler reads the sources or the page again and will replace the running Worker; the time says since when. */
	| { readonly event: 'replacing'; readonly at: number }
	/** The Worker runs. Without a port of its own it is reached through Wrangler's. */
	| { readonly event: 'worker'; readonly port?: number; readonly isSecure?: boolean };

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
			// Ignores a process that Wrangler ended, and one that ended by itself and printed its reason.
			if (name !== undefined && signal !== null && !child.killed) send({ event: 'lost', name, signal });
		});
		return child;
	},
});

Object.assign(fs, {
	mkdtempSync(...args: Parameters<typeof mkdtempSync>) {
		const folder = String(Reflect.apply(mkdtempSync, fs, args));
		if (/[/\\]\.wrangler[/\\]tmp[/\\]dev-[^/\\]*$/.test(folder)) send({ event: 'built-in', folder });
		return folder;
	},
});

/** What Wrangler sends its own proxy about the Worker. */
interface ProxyData {
	readonly userWorkerUrl: { readonly protocol: string; readonly hostname: string; readonly port: string };
	readonly userWorkerInnerUrlOverrides?: { readonly protocol?: string; readonly hostname?: string };
}

/**
 * Wrangler's own proxy and the Worker both keep idle connections for five seconds. A request at the moment of closing
 * is lost and crashes Wrangler (cloudflare/workers-sdk#14641). So `runlet dev` calls the Worker directly, unless the
 * Worker runs at Cloudflare or sees another host name: these need Wrangler's proxy.
 */
function describeWorker({ userWorkerUrl, userWorkerInnerUrlOverrides: shown }: ProxyData): Message {
	const isHere = userWorkerUrl.protocol === 'http:' && userWorkerUrl.hostname === '127.0.0.1';
	if (!isHere || shown?.hostname !== undefined) return { event: 'worker' };
	return { event: 'worker', port: Number(userWorkerUrl.port), isSecure: shown?.protocol === 'https:' };
}

process.on('runlet:replacing', () => send({ event: 'replacing', at: Date.now() }));
process.on('runlet:worker', (data: ProxyData) => send(describeWorker(data)));

/** A change to Wrangler's code at load time, because no option does it. */
interface Change {
	readonly what: string;
	readonly place: RegExp;
	readonly by: (found: string) => string;
}

const emitReplacing = (found: string): string => `${found} process.emit('runlet:replacing');`;

const changesOfWrangler: Change[] = [
	{
		what: 'The start of a build',
		place: /onBundleStart\(data\) \{(?=\s*this\.latestConfig = data\.config;\s*void this\.sendMessageToProxyWorker)/,
		by: emitReplacing,
	},
	{
		// A saved page is not built: Wrangler only reloads.
		what: 'The start of a reload',
		place: /onReloadStart\(data\) \{(?=\s*this\.latestConfig = data\.config;\s*void this\.sendMessageToProxyWorker)/,
		by: emitReplacing,
	},
	{
		what: 'The address of the Worker',
		place: /onReloadComplete\(data\) \{(?=\s*this\.localServerReady\.resolve)/,
		by: (found) => `${found} process.emit('runlet:worker', data.proxyData);`,
	},
];

// Anybody who reaches the inspector can run code in the Worker. It has no authentication, and any page may open a
// WebSocket.
if (!process.argv.some((arg) => /^--inspector-?(port|ip)\b/i.test(arg)))
	changesOfWrangler.push({
		what: 'The switch of the inspector',
		place: /inspector: \{\s*hostname: args\.inspectorIp,\s*port: args\.inspectorPort\s*\}/,
		by: () => 'inspector: false',
	});

registerHooks({
	load(url, context, nextLoad) {
		const isWrangler = url.endsWith('/wrangler-dist/cli.js');
		if (!isWrangler && !isMiniflare(url)) return nextLoad(url, context);
		const source = fs.readFileSync(new URL(url), 'utf8');
		return {
			// Otherwise Node searches 17 MB for the format.
			format: 'commonjs',
			source: isWrangler ? changeWrangler(source) : hastenMiniflare(source),
			shortCircuit: true,
		};
	},
});

/** Applies the changes. Wrangler's code is 17 MB, so it is searched once for each change and copied once. */
function changeWrangler(source: string): string {
	const found = changesOfWrangler.map(({ what, place, by }) => {
		const { index, 0: text = '' } = place.exec(source) ?? {};
		if (index === undefined)
			throw new Error(
				`${what} is not found in this version of Wrangler. This Runlet runs with another: npm install --save-dev ${pinned('wrangler')}`,
			);
		return { from: index, to: index + text.length, text: by(text) };
	});
	let end = 0;
	const pieces = found
		.toSorted((one, other) => one.from - other.from)
		.flatMap(({ from, to, text }) => {
			const before = source.slice(end, from);
			end = to;
			return [before, text];
		});
	return [...pieces, source.slice(end)].join('');
}
