import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/**
 * Remembers which process started this one, and gives a function that calls back once that one is gone. Under npm it is
 * npm that counts, also when a shell stands between. Without npm nobody is watched: `node scripts/start.ts &` may outlive its shell.
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

/** Field 4 of /proc/PID/stat. Elsewhere than on Linux `sh -c` becomes the command it runs, so no shell stands between. */
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
 * Kills what is left of the processes that have `mark` (`NAME=value`) in their environment, wherever their parent went.
 * On Windows there is nothing to do it with.
 */
export function killMarked(mark: string): void {
	for (const pid of findMarked(mark)) {
		try {
			process.kill(pid, 'SIGKILL');
		} catch {
			// Gone by itself.
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
