import { performance } from 'node:perf_hooks';
import type { Plan } from './plan.ts';
import { startProcessorClock } from './process.ts';
import { openLanes, type Row } from './rows.ts';
import { readMedian, readQuantile } from './table.ts';
import type { Workerd } from './workerd.ts';

/** The columns that are measured in rounds. */
export const columns = {
	delta16: 'CPU µs a delta, 16 a write',
	delta1: 'CPU µs a delta, one a write',
	rate: 'tools-3 ×16, runs/s',
	run: 'CPU ms a tools-3 run',
	first: 'first delta, ms',
	late: 'delta under way, p99, ms',
} as const;
export type Column = keyof typeof columns;

const atOnce = 16;
const tools: Plan = { tools: 3, deltas: 4, perWrite: 4, paceMs: 0, padding: 0 };

/** Measures all columns of a row once. */
export async function measureRow(row: Row, server: Workerd): Promise<Readonly<Record<Column, number>>> {
	const text = { tools: 0, padding: 0 };
	const delta16 = await measureDelta(row, server, 4, { ...text, deltas: 10_000, perWrite: 16, paceMs: 2 });
	const delta1 = await measureDelta(row, server, 8, { ...text, deltas: 1_000, perWrite: 1, paceMs: 1 });
	const [lane = fail] = await openLanes(row, server.url, 1);
	const firsts: number[] = [];
	for (let n = 0; n < 15; n++) firsts.push((await lane({ ...text, deltas: 1, perWrite: 1, paceMs: 0 })).firstMs);
	const { delaysMs } = await lane({ ...text, deltas: 400, perWrite: 1, paceMs: 2 });
	return {
		delta16,
		delta1,
		...(await measureTools(row, server)),
		first: readMedian(firsts),
		late: readQuantile(delaysMs, 0.99),
	};
}

/**
 * Microseconds of processor time for a further delta: a long reply minus a short reply, without the cost of the run.
 * Several streams run at once, paced so that no delta waits for the previous delta.
 */
async function measureDelta(row: Row, { url, pid }: Workerd, streams: number, plan: Plan): Promise<number> {
	const lanes = await openLanes(row, url, streams);
	const measure = async (deltas: number) => {
		const readClock = startProcessorClock(pid);
		await Promise.all(lanes.map((lane) => lane({ ...plan, deltas })));
		return readClock();
	};
	const short = await measure(plan.perWrite);
	const long = await measure(plan.deltas);
	return (long - short) / (streams * (plan.deltas - plan.perWrite));
}

/** Runs with three turns of a tool, sixteen at once, two in each conversation. */
async function measureTools(row: Row, { url, pid }: Workerd): Promise<{ readonly rate: number; readonly run: number }> {
	let [runs, ms, cpu] = [0, 0, 0];
	while (ms < 500) {
		const lanes = await openLanes(row, url, atOnce);
		const readClock = startProcessorClock(pid);
		const begun = performance.now();
		await Promise.all(
			lanes.map(async (lane) => {
				for (let n = 0; n < 2; n++) await lane(tools);
			}),
		);
		ms += performance.now() - begun;
		cpu += readClock();
		runs += 2 * atOnce;
	}
	return { rate: (1_000 * runs) / ms, run: cpu / 1_000 / runs };
}

function fail(): never {
	throw new Error('there is no conversation');
}
