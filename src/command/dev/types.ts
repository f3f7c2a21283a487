/** Checks the types of the sources during `runlet dev`. Prints errors only as warnings. */

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { styleText } from 'node:util';
import { resolveInProject, root } from '../project.ts';

/** Makes a function that never throws. It starts a check, and ends the check that is still running. */
export function createTypeCheck(print: (text: string) => void): () => void {
	let compiler: ChildProcess | undefined;
	/** The last printed errors. Empty if there were none. */
	let printed = '';
	process.once('exit', () => compiler?.kill('SIGKILL'));
	return () => {
		compiler?.kill('SIGKILL');
		const started = startCompiler();
		compiler = started;
		if (started?.stdout == null) return;
		const output = readText(started.stdout).catch(() => '');
		started.once('close', async (code) => {
			if (compiler !== started || code === null) return;
			const text = code === 0 ? '' : describeTypeErrors(await output);
			// A crash of the compiler says nothing about the types.
			if (text === undefined || text === printed) return;
			printed = text;
			print(text === '' ? 'The types are right again.' : styleText('yellow', text, { stream: process.stdout }));
		});
	};
}

/** Starts the compiler at low priority. Returns undefined if the project has none. */
function startCompiler(): ChildProcess | undefined {
	try {
		const compiler = join(dirname(resolveInProject('typescript/package.json')), 'bin', 'tsc');
		const project = existsSync(join(root, 'src', 'tsconfig.json')) ? 'src' : '.';
		const args = ['--no-warnings', compiler, '-p', project, '--noEmit', '--singleThreaded', '--pretty', 'false'];
		const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
		child.on('error', () => {});
		if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
		return child;
	} catch {
		return undefined;
	}
}

const maxShown = 10;

/** Returns the compiler's errors, one line each, or undefined if there are none. */
function describeTypeErrors(output: string): string | undefined {
	const errors = output.split('\n').flatMap((line) => {
		const [, file, row, column, message = ''] = /^(.{1,500}?)\((\d+),(\d+)\): error TS\d+: (.*)$/.exec(line) ?? [];
		if (file === undefined) return [];
		const words = message.length > 200 ? `${message.slice(0, 200)}…` : message.trimEnd();
		return [`  ${relative(root, resolve(root, file)).replaceAll('\\', '/')}:${row}:${column} ${words}`];
	});
	if (errors.length === 0) return undefined;
	const more = errors.length - maxShown;
	const shown = [...errors.slice(0, maxShown), ...(more > 0 ? [`  and ${more} more: npx tsc --noEmit shows all`] : [])];
	const count = errors.length === 1 ? 'A type error' : `${errors.length} type errors`;
	return `${count} (it runs all the same):\n${shown.join('\n')}`;
}
