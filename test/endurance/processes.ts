import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/**
 * Returns the memory of a process in bytes; 0 if it has ended. Reads Linux's file, because ten starts of `ps` a second take
 * half a processor.
 */
export function readMemory(id: number | undefined): number {
	if (id === undefined) return 0;
	const file = `/proc/${id}/status`;
	if (existsSync(file)) return 1_024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(file, 'utf8'))?.[1] ?? 0);
	const { stdout } = spawnSync('ps', ['-o', 'rss=', '-p', String(id)], { encoding: 'utf8' });
	return 1_024 * Number(stdout);
}

/**
 * Returns the processor time of a process's main thread, in which workerd runs JavaScript, in seconds; 0 if the process has
 * ended. `ps` rounds to whole seconds of the process.
 */
export function readCpu(id: number | undefined): number {
	if (id === undefined) return 0;
	const file = `/proc/${id}/task/${id}/stat`;
	if (existsSync(file)) {
		// The fields follow the name, which may contain any character: fields 12 and 13 are hundredths of a second
		// (proc(5)).
		const fields = readFileSync(file, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
		return (Number(fields[11]) + Number(fields[12])) / 100;
	}
	const { stdout } = spawnSync('ps', ['-o', 'cputimes=', '-p', String(id)], { encoding: 'utf8' });
	return Number(stdout);
}
