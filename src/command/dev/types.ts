/** Checks the types of the sources during `runlet dev`. Prints errors as warnings, which stop nothing. */

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { styleText } from 'node:util';
import { resolveInProject, root } from '../project.ts';

/** The most characters of the compiler's output that are read. */
const maxOutput = 1_000_000;

export class TypeCheck {
	readonly #print: (text: string) => void;
	#compiler: ChildProcess | undefined;
	/** The last printed errors. Empty if there were none. */
	#printed = '';

	constructor({ print }: { readonly print: (text: string) => void }) {
		this.#print = print;
		process.once('exit', () => this.#compiler?.kill('SIGKILL'));
	}

	/** Starts a check in place of the running one. Never throws. */
	start(): void {
		this.#compiler?.kill('SIGKILL');
		const compiler = startCompiler();
		this.#compiler = compiler;
		let output = '';
		compiler?.stdout?.setEncoding('utf8').on('data', (text: string) => {
			output = `${output}${text}`.slice(0, maxOutput);
		});
		compiler?.once('close', (code) => {
			if (this.#compiler === compiler && code !== null) this.#printErrors(code, output);
		});
	}

	#printErrors(code: number, output: string): void {
		const text = code === 0 ? '' : describeTypeErrors(output);
		// A crash of the compiler says nothing about the types.
		if (text === undefined || text === this.#printed) return;
		this.#printed = text;
		if (text === '') this.#print('The types are right again.');
		else this.#print(styleText('yellow', text, { stream: process.stdout }));
	}
}

/** Starts the compiler at low priority. Returns undefined if the project has none. */
function startCompiler(): ChildProcess | undefined {
	try {
		const compiler = join(dirname(resolveInProject('typescript/package.json')), 'bin', 'tsc');
		const project = existsSync(join(root, 'src', 'tsconfig.json')) ? 'src' : '.';
		const args = [compiler, '-p', project, '--noEmit', '--singleThreaded', '--pretty', 'false'];
		const child = spawn(process.execPath, ['--no-warnings', ...args], {
			cwd: root,
			stdio: ['ignore', 'pipe', 'ignore'],
		});
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
		const words = message.length > 200 ? `${message.slice(0, 200)}…` : message;
		return [`  ${relative(root, resolve(root, file)).replaceAll('\\', '/')}:${row}:${column} ${words.trimEnd()}`];
	});
	if (errors.length === 0) return undefined;
	const shown = errors.slice(0, maxShown);
	if (errors.length > maxShown)
		shown.push(`  and ${errors.length - maxShown} more: npx tsc --noEmit shows all of them`);
	const count = errors.length === 1 ? 'A type error' : `${errors.length} type errors`;
	return `${count} (it runs all the same):\n${shown.join('\n')}`;
}
