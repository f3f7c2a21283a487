/** Checks the types of the sources during `runlet dev`. Prints errors as warnings, which stop nothing. */

import { type ChildProcess, fork } from 'node:child_process';
import { relative, resolve } from 'node:path';
import { styleText } from 'node:util';
import { extension, root } from '../project.ts';

export interface TypeCheckOptions {
	readonly print: (text: string) => void;
	/** The command to run. Its output has the compiler's form. */
	readonly program?: string;
}

const defaultProgram = resolve(import.meta.dirname, `types-child${extension}`);

/** The most characters of the compiler's output that are read. */
const maxOutput = 1_000_000;

export class TypeCheck {
	readonly #print: (text: string) => void;
	readonly #program: string;
	#child: ChildProcess | undefined;
	/** Whether another check follows the running one. */
	#isDue = false;
	/** The last printed errors. Empty if there were none. */
	#told = '';

	constructor({ print, program = defaultProgram }: TypeCheckOptions) {
		this.#print = print;
		this.#program = program;
	}

	/** Starts a check in place of the running one. Never throws. */
	start(): void {
		this.#isDue = true;
		if (this.#child === undefined) this.#run();
		else this.#child.kill('SIGTERM');
	}

	#run(): void {
		this.#isDue = false;
		const child = fork(this.#program, { cwd: root, stdio: ['ignore', 'pipe', 'ignore', 'ipc'] });
		this.#child = child;
		let output = '';
		child.stdout?.setEncoding('utf8').on('data', (text: string) => {
			output = `${output}${text}`.slice(0, maxOutput);
		});
		const end = (code: number | null): void => {
			if (this.#child !== child) return;
			this.#child = undefined;
			if (this.#isDue) this.#run();
			else if (code !== null) this.#tell(code, output);
		};
		child.once('close', end);
		child.once('error', () => end(null));
	}

	#tell(code: number, output: string): void {
		const text = code === 0 ? '' : describeTypeErrors(output);
		// A crash of the compiler says nothing about the types.
		if (text === undefined || text === this.#told) return;
		this.#told = text;
		if (text === '') this.#print('The types are right again.');
		else this.#print(styleText('yellow', text, { stream: process.stdout }));
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
