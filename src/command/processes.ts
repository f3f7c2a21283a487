import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/**
 * Returns a function that calls `onDeath` when the process that started this process has ended. Under npm the function
 * watches npm, even if there is a shell in between. Without npm it watches nothing, because `npx runlet dev &` can run
 * longer than its shell.
 */
export function watchParent(): (onDeath: () => void) => void {
	const listAncestors = () => `${process.ppid} ${isShell(process.ppid) ? findParent(process.ppid) : ''}`;
	const first = listAncestors();
	return (onDeath) => {
		if (process.env.npm_lifecycle_event === undefined) return;
		const timer = setInterval(() => {
			if (listAncestors() === first) return;
			clearInterval(timer);
			onDeath();
		}, 1_000);
		timer.unref();
	};
}

/**
 * Reads the parent from field 4 of /proc/PID/stat (Linux). On other systems the shell of `sh -c` is replaced by its
 * command, so no shell is in between.
 */
function findParent(pid: number): string {
	return (
		readProc(pid, 'stat')
			.replace(/^.*\) \S /s, '')
			.split(' ')[0] ?? ''
	);
}

function isShell(pid: number): boolean {
	return readProc(pid, 'comm').trim().endsWith('sh');
}

function readProc(pid: number | string, file: string): string {
	try {
		return readFileSync(`/proc/${pid}/${file}`, 'utf8');
	} catch {
		return '';
	}
}

/**
 * Kills all remaining processes with `mark` (`NAME=value`) in their environment, even if their parent has ended. Does
 * nothing on Windows.
 */
export function killMarked(mark: string): void {
	for (const pid of findMarked(mark)) {
		try {
			process.kill(pid, 'SIGKILL');
		} catch {
			// The process has already ended.
		}
	}
}

function findMarked(mark: string): number[] {
	if (process.platform === 'win32') return [];
	if (process.platform === 'linux') {
		const isMarked = (pid: string) => readProc(pid, 'environ').split('\0').includes(mark);
		return readdirSync('/proc')
			.filter((pid) => /^\d+$/.test(pid) && isMarked(pid))
			.map(Number);
	}
	const { stdout = '' } = spawnSync('ps', ['axeww', '-o', 'pid=,command='], { encoding: 'utf8', maxBuffer: 1 << 26 });
	return stdout
		.split('\n')
		.filter((line) => line.includes(mark))
		.map((line) => Number.parseInt(line, 10));
}
