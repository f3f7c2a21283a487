/** Runs the compiler at low priority. Ends it on a signal, or when `runlet dev` ends, which closes the channel. */

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { resolveInProject, root } from '../project.ts';

try {
	setPriority(constants.priority.PRIORITY_LOW);
} catch {
	// The compiler then runs at normal priority.
}
const compiler = join(dirname(resolveInProject('typescript/package.json')), 'bin', 'tsc');
const args = [
	'-p',
	existsSync(join(root, 'src', 'tsconfig.json')) ? 'src' : '.',
	'--noEmit',
	'--singleThreaded',
	'--pretty',
	'false',
];
const end = (): void => void child.kill('SIGKILL');
// Before the compiler starts: a signal must not end only this process.
process.once('SIGTERM', end);
process.once('disconnect', end);
const child = spawn(process.execPath, ['--no-warnings', compiler, ...args], {
	cwd: root,
	stdio: ['ignore', 'inherit', 'ignore'],
});
if (!process.connected) end();
child.once('error', () => process.exit(3));
child.once('exit', (code) => process.exit(code ?? 3));
