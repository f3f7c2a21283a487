import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** What a script said, and how it ended. */
export interface Ended {
	readonly code: number;
	readonly stdout: string;
	readonly stderr: string;
}

/** Runs a script of the folder `scripts` as npm would. */
export async function runScript(name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
	const path = join(import.meta.dirname, '../../scripts', name);
	const child = spawn(process.execPath, [path, ...args], {
		env: { ...process.env, ...env },
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	let [stdout, stderr] = ['', ''];
	child.stdout.setEncoding('utf8').on('data', (text: string) => {
		stdout += text;
	});
	child.stderr.setEncoding('utf8').on('data', (text: string) => {
		stderr += text;
	});
	const [code] = await once(child, 'close');
	return { code, stdout, stderr };
}
