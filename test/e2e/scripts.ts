import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { root } from '../../scripts/root.ts';

const manifest = v.object({ scripts: v.record(v.string(), v.string()) });
const { scripts } = v.parse(manifest, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));

/** The output of a script, and its exit code. */
export interface Ended {
	readonly code: number;
	readonly stdout: string;
	readonly stderr: string;
}

/** Runs a script of package.json like npm. */
export function runScript(name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
	const [, ...command] = scripts[name]?.split(' ') ?? [];
	return runNode(root, [...command, ...args], env);
}

export function runCommand(project: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
	return runNode(project, [join(root, 'src/command/bin.ts'), ...args], env);
}

async function runNode(cwd: string, command: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
	const child = spawn(process.execPath, command, {
		cwd,
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
