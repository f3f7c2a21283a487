/** Runs inside Wrangler, before it: tells `npm start` what Wrangler does not say, and ends with it. */

import childProcess from 'node:child_process';
import fs from 'node:fs';
import { registerHooks } from 'node:module';

const { ppid } = process;
const { spawn } = childProcess;
const { mkdtempSync } = fs;

/** What `npm start` is told over IPC, beside what Wrangler itself says. */
export type Told =
	/** A process of Wrangler's was killed, without which it answers nothing. */
	| { readonly event: 'lost'; readonly name: string; readonly signal: string }
	/** Where the built Worker and its source map stand. */
	| { readonly event: 'built-in'; readonly folder: string };

function tell(told: Told): void {
	if (process.connected) process.send?.(JSON.stringify(told));
}

// Ends Wrangler when `npm start` was killed and could not do it.
setInterval(() => ppid === process.ppid || process.kill(process.pid, 'SIGTERM'), 1000).unref();

Object.assign(childProcess, {
	spawn(...args: Parameters<typeof spawn>) {
		const child = Reflect.apply(spawn, childProcess, args);
		const name = /(workerd|esbuild)[^/\\]*$/.exec(String(args[0]))?.[1];
		child.once('exit', (_: unknown, signal: string | null) => {
			// One that Wrangler itself ends is not lost; one that ends by itself has said why.
			if (name !== undefined && signal !== null && !child.killed) tell({ event: 'lost', name, signal });
		});
		return child;
	},
});

Object.assign(fs, {
	mkdtempSync(...args: Parameters<typeof mkdtempSync>) {
		const folder = String(Reflect.apply(mkdtempSync, fs, args));
		if (/[/\\]\.wrangler[/\\]tmp[/\\]dev-[^/\\]*$/.test(folder)) tell({ event: 'built-in', folder });
		return folder;
	},
});

/** Where Wrangler's command turns the inspector on. It has no option against it, though its own code has the value. */
const inspectorSetting = /inspector: \{\s*hostname: args\.inspectorIp,\s*port: args\.inspectorPort\s*\}/;

// Who reaches the inspector runs code in the Worker. It asks nobody for anything, and any page may open a WebSocket.
if (!process.argv.some((arg) => /^--inspector-?(port|ip)\b/i.test(arg))) {
	registerHooks({
		load(url, context, nextLoad) {
			const loaded = nextLoad(url, context);
			if (!url.endsWith('/wrangler-dist/cli.js')) return loaded;
			const source = fs.readFileSync(new URL(url), 'utf8');
			if (!inspectorSetting.test(source))
				throw new Error('The inspector of this version of Wrangler cannot be turned off: see scripts/start/inside.ts.');
			return { ...loaded, source: source.replace(inspectorSetting, 'inspector: false') };
		},
	});
}
