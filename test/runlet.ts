import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { claimPort } from './port.ts';

const root = resolve(import.meta.dirname, '..');

/** The sources, and the built page (`test/share.ts`). */
const copied = [
	...['src', 'scripts', 'skills', 'examples', 'package.json', 'package-lock.json', 'wrangler.toml', 'tsconfig.json'],
	...['build/page', 'build/page.json'],
];

/**
 * Copies the project for tests that change files. The copy uses the packages of the project. Its Worker contains MCP only
 * with `mcp`: without MCP a build takes a third less time.
 */
export async function copyProject({ mcp = false } = {}): Promise<string> {
	const copy = await mkdtemp(join(tmpdir(), 'runlet-project-'));
	for (const name of copied) await cp(join(root, name), join(copy, name), { recursive: true });
	await symlink(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction');
	if (mcp) return copy;
	const worker = join(copy, 'src/worker.ts');
	const text = await readFile(worker, 'utf8');
	await writeFile(worker, text.replace(/^import .*\/mcp';\n/m, '').replace('[mcp, ', '['));
	return copy;
}

/**
 * Runs the program of `npm start` with its own port, storage and process group. End it with `close`. `options` are further
 * command-line options.
 */
export function startRunlet(...options: readonly string[]) {
	return startRunletIn(root, ...options);
}

/** Runs the program of `npm start` in another folder. */
export function startRunletIn(project: string, ...options: readonly string[]) {
	return start([process.execPath, 'scripts/start.ts'], project, options);
}

/** Runs `npm start` like a user. npm itself takes most of a second of processor time. */
export function startRunletByNpm() {
	return start(['npm', 'start', '--'], root, []);
}

type Command = readonly [program: string, ...args: string[]];

async function start(command: Command, project: string, options: readonly string[]) {
	const port = await claimPort();
	const folder = await mkdtemp(join(tmpdir(), 'runlet-'));
	let server = await serve(command, project, port, folder, options);
	const killNow = (): void => kill(server.group, 'SIGKILL');
	process.on('exit', killNow);

	const stop = async (signal: NodeJS.Signals): Promise<void> => {
		kill(server.group, signal);
		await server.exited;
	};
	return {
		url: `http://127.0.0.1:${port}`,
		/** The id of the process group. */
		get group(): number {
			return server.group;
		},
		/** Returns the text in the output that the first group of the expression matches. */
		printed: (expression: RegExp): string | undefined => expression.exec(server.output())?.[1],
		/** Resolves when the output matches. */
		says: (expression: RegExp): Promise<void> => server.says(expression),
		/** Clears the output. */
		forget: (): void => server.forget(),
		exited: (): Promise<void> => server.exited,
		stop,
		/** Restarts the server. Resolves when the new output matches. */
		restart: async (until?: RegExp): Promise<void> => {
			await stop('SIGTERM');
			server = await serve(command, project, port, folder, options, until);
		},
		close: async (): Promise<void> => {
			await stop('SIGTERM');
			killNow();
			process.off('exit', killNow);
			await rm(folder, { recursive: true, force: true });
		},
	};
}

async function serve(
	[program, ...args]: Command,
	project: string,
	port: number,
	folder: string,
	more: readonly string[],
	until: RegExp = /Runlet is at /,
) {
	// Turns type checks off, because a dozen parallel servers would all check the types. Tests of type checks turn
	// them on.
	const own = ['--port', String(port), '--persist-to', folder, '--no-type-check'];
	const child = spawn(program, [...args, ...own, ...more], {
		cwd: project,
		detached: true,
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	let output = '';
	const waiting = new Set<() => void>();
	for (const stream of [child.stdout, child.stderr]) {
		stream.setEncoding('utf8').on('data', (text: string) => {
			output += text;
			for (const look of waiting) look();
		});
	}
	const exited = ended(child);
	const says = (expression: RegExp): Promise<void> => {
		const { promise, resolve, reject } = Promise.withResolvers<void>();
		const look = (): void => {
			if (expression.test(output)) resolve();
		};
		waiting.add(look);
		void exited.then(() => reject(new Error(`npm start ended before it said ${expression}:\n${output}`)));
		look();
		return promise.finally(() => waiting.delete(look));
	};
	await says(until);
	const forget = (): void => {
		output = '';
	};
	return { group: child.pid ?? 0, output: () => output, says, forget, exited };
}

/** Resolves when the process and all writers to its output have ended. */
async function ended(child: ChildProcess): Promise<void> {
	await once(child, 'close');
}

function kill(group: number, signal: NodeJS.Signals): void {
	try {
		if (group > 0) process.kill(-group, signal);
	} catch {
		// The group has already ended.
	}
}
