#!/usr/bin/env node
/**
 * The program `runlet`. Wrangler needs a newer Node than many machines have. If this Node is too old, the program
 * continues in the Node of the project's package `node`. This file itself must run on Node 20.11.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The first version of Node with `module.registerHooks`. */
const needed = [22, 15] as const;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const isNew = major > needed[0] || (major === needed[0] && minor >= needed[1]);

if (isNew) {
	const { main } = await import('./main.ts');
	await main(process.argv.slice(2));
} else {
	const own = findNode(process.cwd());
	if (own === undefined) {
		console.error(
			`runlet needs Node ${needed.join('.')} or newer, as Wrangler does, and this is Node ${process.versions.node}. Install one from https://nodejs.org, or for this project only: npm install --save-dev node@24`,
		);
		process.exitCode = 1;
	} else runIn(own);
}

/** Finds the Node of the project, in the folder or in a folder above it. */
function findNode(folder: string): string | undefined {
	const file = join(folder, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
	if (existsSync(file)) return file;
	return dirname(folder) === folder ? undefined : findNode(dirname(folder));
}

function runIn(node: string): void {
	const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' });
	for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
	child.on('exit', (code) => {
		process.exitCode = code ?? 1;
	});
}
