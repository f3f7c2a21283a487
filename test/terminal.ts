import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** What a command wrote, and its exit code. */
export interface Said {
	readonly code: number | null;
	readonly stdout: string;
	readonly stderr: string;
}

/**
 * Opens a terminal of a user who has only packages: without the packages of the repository and the variables of npm.
 *
 * @param home the folder of the user's settings
 * @param options.cached whether npm takes packages from the cache of whoever runs the tests
 */
export function openTerminal(home: string, { cached = false } = {}) {
	const kept = Object.entries(process.env).filter(([name]) => !/^(npm|vitest|node_env)/i.test(name));
	const paths = process.env.PATH?.split(delimiter).filter((path) => !path.includes('node_modules')) ?? [];
	const env: NodeJS.ProcessEnv = {
		...Object.fromEntries(kept),
		...{ PATH: paths.join(delimiter), HOME: home, XDG_CONFIG_HOME: home },
		...(cached && { npm_config_cache: process.env.npm_config_cache ?? join(homedir(), '.npm') }),
	};
	return {
		/** Runs a command, and returns what it wrote to its output. Throws if it fails. */
		run: async (cwd: string, command: string, ...args: readonly string[]): Promise<string> =>
			(await promisify(execFile)(command, args, { cwd, env })).stdout,
		/** Runs a command that may fail. */
		runToEnd: (cwd: string, command: string, ...args: readonly string[]): Promise<Said> =>
			runToEnd(cwd, env, command, args),
		/** Starts `npm start` in a project on a port, and waits for the end of what it prints at first. */
		startProject: (cwd: string, port: number, ...args: readonly string[]) => startProject(cwd, env, port, args),
	};
}

async function runToEnd(cwd: string, env: NodeJS.ProcessEnv, command: string, args: readonly string[]): Promise<Said> {
	const child = spawn(command, args, { cwd, env });
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

async function startProject(cwd: string, env: NodeJS.ProcessEnv, port: number, args: readonly string[]) {
	const child = spawn('npm', ['start', '--', '--port', String(port), ...args], {
		cwd,
		env,
		detached: true,
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	const close = async (): Promise<void> => {
		if (child.exitCode !== null || child.signalCode !== null) return;
		process.kill(-(child.pid ?? 0), 'SIGTERM');
		await once(child, 'close');
	};
	try {
		const said = await readUntil(child, /Stop +Ctrl-C/);
		return { url: `http://127.0.0.1:${port}`, said, close };
	} catch (error) {
		await close();
		throw error;
	}
}

/** Reads the output of a process until it matches. */
async function readUntil(child: ReturnType<typeof spawn>, expression: RegExp): Promise<string> {
	const { promise, resolve, reject } = Promise.withResolvers<string>();
	let said = '';
	for (const stream of [child.stdout, child.stderr])
		stream?.setEncoding('utf8').on('data', (text: string) => {
			said += text;
			if (expression.test(said)) resolve(said);
		});
	child.once('close', () => reject(new Error(`ended before it said ${expression}:\n${said}`)));
	return promise;
}
