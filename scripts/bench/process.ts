import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import * as v from 'valibot';

/** Throws if the system does not report the resources of a process. */
export function assertMeasurable(): void {
	if (process.platform === 'linux') return;
	throw new Error('This part reads the processor time and the memory of workerd in /proc, so it needs Linux.');
}

/**
 * Returns a function that returns the processor time of a process since this call, in microseconds.
 *
 * @param threads all threads, or only the main one, in which workerd runs JavaScript
 */
export function startProcessorClock(pid: number, threads: 'all' | 'main' = 'all'): () => number {
	const before = readThreads(pid);
	return () => {
		let nanoseconds = 0;
		for (const [thread, time] of readThreads(pid))
			if (threads === 'all' || thread === String(pid)) nanoseconds += time - (before.get(thread) ?? 0);
		return nanoseconds / 1_000;
	};
}

/** Processor nanoseconds of each thread, more precise than the hundredths of a second in `stat`. */
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

/** Returns the private memory of a process, in bytes. */
export function readMemory(pid: number): number {
	const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
	const fields = [...rollup.matchAll(/^Private_(?:Clean|Dirty): +(\d+) kB$/gm)];
	return fields.reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1_024, 0);
}

const targets = v.looseTuple([v.object({ webSocketDebuggerUrl: v.string() })]);
const heapUsage = v.object({ result: v.object({ usedSize: v.number(), backingStorageSize: v.number() }) });

/**
 * Returns the bytes of objects and buffers in the isolate of a workerd, by the port of its inspector
 * (https://chromedevtools.github.io/devtools-protocol/v8/Runtime/#method-getHeapUsage).
 */
export async function readHeap(inspector: number): Promise<number> {
	const [{ webSocketDebuggerUrl }] = v.parse(targets, await (await fetch(`http://127.0.0.1:${inspector}/json`)).json());
	const socket = new WebSocket(webSocketDebuggerUrl);
	await once(socket, 'open');
	socket.send(JSON.stringify({ id: 1, method: 'Runtime.getHeapUsage' }));
	const [message] = v.parse(v.tuple([v.object({ data: v.string() })]), await once(socket, 'message'));
	socket.close();
	const { usedSize, backingStorageSize } = v.parse(heapUsage, JSON.parse(message.data)).result;
	return usedSize + backingStorageSize;
}
