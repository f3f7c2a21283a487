import { readdirSync, readFileSync } from 'node:fs';

/** Throws where the system does not say what a process costs. */
export function assertMeasurable(): void {
	if (process.platform === 'linux') return;
	throw new Error('This part reads the processor time and the memory of workerd in /proc, so it needs Linux.');
}

/** Returns a function that gives the processor time of a process since now, in microseconds. */
export function startProcessorClock(pid: number): () => number {
	const before = readThreads(pid);
	return () => {
		let nanoseconds = 0;
		for (const [thread, time] of readThreads(pid)) nanoseconds += time - (before.get(thread) ?? 0);
		return nanoseconds / 1_000;
	};
}

/** Nanoseconds of each thread. They are finer than the hundredths of a second in `stat`. */
function readThreads(pid: number): ReadonlyMap<string, number> {
	const folder = `/proc/${pid}/task`;
	return new Map(
		readdirSync(folder).flatMap((thread) => {
			try {
				return [[thread, Number(readFileSync(`${folder}/${thread}/schedstat`, 'utf8').split(' ')[0])] as const];
			} catch {
				// The thread has ended.
				return [];
			}
		}),
	);
}

/** Returns the memory of a process that no other shares, in bytes. */
export function readMemory(pid: number): number {
	const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
	const fields = [...rollup.matchAll(/^Private_(?:Clean|Dirty): +(\d+) kB$/gm)];
	return fields.reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1_024, 0);
}
