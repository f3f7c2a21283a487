/** A thread that polls `/healthz` until its first message. The other clients of a programme do not delay its requests. */
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import * as v from 'valibot';
import { readCpu } from './processes.ts';

/** The pause between two requests, in milliseconds. */
const lookMs = 50;
/** The longest time of a request, in milliseconds. */
const patienceMs = 120_000;

const { url, process } = v.parse(v.object({ url: v.string(), process: v.number() }), workerData);
const held = { looks: 0, seconds: 0, cpu: 0 };
let isOver = false;
parentPort?.once('message', () => {
	isOver = true;
});
while (!isOver) {
	const [begun, cpuBefore] = [performance.now(), readCpu(process)];
	const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(patienceMs) });
	const text = await response.text();
	if (!response.ok) throw new Error(`/healthz: ${response.status} ${text}`);
	held.looks++;
	held.seconds = Math.max(held.seconds, (performance.now() - begun) / 1_000);
	held.cpu = Math.max(held.cpu, readCpu(process) - cpuBefore);
	await pause(lookMs);
}
parentPort?.postMessage(held);
