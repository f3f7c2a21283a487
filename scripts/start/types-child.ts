/** Runs the compiler behind everything else, and ends it when it is told to, or when `npm start` is gone: that closes the channel. */

import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { root } from '../wrangler.ts';

try {
	setPriority(constants.priority.PRIORITY_LOW);
} catch {
	// It runs at the usual one.
}
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const args = ['-p', 'src', '--noEmit', '--singleThreaded', '--pretty', 'false'];
const end = (): void => void child.kill('SIGKILL');
// Before there is anything to end: a signal must not end this process alone.
process.once('SIGTERM', end);
process.once('disconnect', end);
const child = spawn(process.execPath, ['--no-warnings', compiler, ...args], {
	cwd: root,
	stdio: ['ignore', 'inherit', 'ignore'],
});
if (!process.connected) end();
child.once('error', () => process.exit(3));
child.once('exit', (code) => process.exit(code ?? 3));
