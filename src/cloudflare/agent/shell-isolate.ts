/**
 * The Worker in which a shell runs one command (docs/tools.md, "A shell"), without network and bindings.
 * scripts/page.ts builds it into build/page, where the main Worker reads it.
 */

import { WorkerEntrypoint } from 'cloudflare:workers';
import { Bash, InMemoryFs } from 'just-bash/browser';
import type { ShellOutcome, ShellRequest } from '../../core/tool/tool.ts';
import { stopped } from './shell-steps.ts';

const root = '/workspace';

/** The maximum number of bytes in all files that a command reads or writes. */
const mostBytes = 48_000_000;

/** The maximum number of bytes that a command writes. */
const mostWritten = 16_000_000;

export default class Isolate extends WorkerEntrypoint {
	start(): void {}

	async run({ command, paths, read, timeoutMs, maxOutput }: ShellRequest): Promise<ShellOutcome> {
		const fs = new InMemoryFs({}, { maxTotalBytes: mostBytes });
		fs.mkdirSync(root);
		const originals = new Map<string, Uint8Array>();
		/** The file that is being compared with its original. A file that was never read is unchanged. */
		let compared: string | undefined;
		for (const path of paths)
			fs.writeFileLazy(`${root}/${path}`, async () => {
				if (path === compared) throw new Error('It is as it was.');
				const content = await read(path);
				originals.set(path, content.slice());
				return content;
			});
		const bash = new Bash({
			fs,
			cwd: root,
			env: { HOME: root },
			executionLimits: {
				maxExecutionTimeMs: timeoutMs,
				maxCommandCount: 100_000,
				maxLoopIterations: 100_000,
				maxCallDepth: 100,
				maxOutputSize: 1_000_000,
				maxStringLength: 16_000_000,
				maxLiveBytes: 64_000_000,
				maxInputBytes: mostBytes,
				maxFileSystemBytes: mostBytes,
				maxArchiveBytes: mostBytes,
				maxArchiveEntryBytes: mostBytes,
			},
		});
		let isLate = false;
		const timer = setTimeout(() => {
			isLate = true;
		}, timeoutMs);
		const ended = await Promise.race([bash.exec(command), stopped]);
		clearTimeout(timer);
		const { stdout, stderr, exitCode } = ended === 'over' ? { stdout: '', stderr: '', exitCode: 1 } : ended;
		const leave = (why: string): ShellOutcome => ({
			...cut(stdout, `${stderr}${why} Nothing was changed.\n`, maxOutput),
			exitCode: exitCode === 0 ? 1 : exitCode,
			written: [],
			deleted: [],
		});
		if (ended === 'over') return leave('Stopped: it computes too much for one command. Do less at a time.');
		if (isLate) return leave(`Stopped after ${timeoutMs} ms.`);
		const written: { path: string; content: Uint8Array }[] = [];
		const left = new Set<string>();
		for (const full of fs.getAllPaths()) {
			if (!full.startsWith(`${root}/`) || !(await fs.lstat(full)).isFile) continue;
			const path = full.slice(root.length + 1);
			left.add(path);
			compared = path;
			const content = await fs.readFileBuffer(full).catch((): undefined => undefined);
			if (content !== undefined && !isSame(content, originals.get(path))) written.push({ path, content });
		}
		if (written.reduce((sum, { content }) => sum + content.length, 0) > mostWritten)
			return leave(`The command writes more than ${mostWritten} bytes.`);
		return {
			...cut(stdout, stderr, maxOutput),
			exitCode,
			written,
			deleted: paths.filter((path) => !left.has(path)),
		};
	}
}

/** Shortens both texts: keeps the beginning of `stdout`, and the end of `stderr`. */
function cut(stdout: string, stderr: string, most: number): Pick<ShellOutcome, 'stdout' | 'stderr' | 'truncated'> {
	return {
		stdout: stdout.slice(0, most),
		stderr: stderr.slice(-most),
		truncated: stdout.length > most || stderr.length > most,
	};
}

function isSame(one: Uint8Array, other: Uint8Array | undefined): boolean {
	// A loop here would use up the command's steps.
	return other?.length === one.length && crypto.subtle.timingSafeEqual(one, other);
}
