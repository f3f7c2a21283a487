import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import * as v from 'valibot';
import { type Plan, readClock, writePlan } from './plan.ts';
import { startProcessorClock } from './process.ts';
import { readRun } from './reading.ts';
import type { Stage } from './stage.ts';
import { authorization, session, stream } from './subjects.ts';
import { type Bar, readMedian, toFigure, toTable } from './table.ts';

/** Numbers of readers of one session at the same time. */
const crowds = [1, 100, 1_000, 3_000] as const;

/** 50 deltas a second. The readers connect during the first half of the deltas, which is not counted. */
function createPlan(readers: number): Plan {
	return { tools: 0, deltas: readers > 1_000 ? 1_000 : 400, perWrite: 1, paceMs: 20, padding: 0 };
}

/** CPU of workerd for a delta to all readers, and the delay of a delta at the 99th percentile of readers. */
interface CrowdCost {
	readonly cpuMs: number;
	readonly lateMs: number;
}
export type ReaderCosts = Readonly<Record<(typeof crowds)[number], CrowdCost>>;

/** Measures one session whose deltas many clients read over HTTP. */
export async function measureReaders({ start }: Stage, rounds: number): Promise<ReaderCosts> {
	const server = await start(session);
	const measured = new Map<number, CrowdCost[]>(crowds.map((size) => [size, []]));
	for (let round = 0; round <= rounds; round++)
		for (const size of crowds) {
			const cost = await measureCrowd(server.url, server.pid, size);
			if (round > 0) measured.get(size)?.push(cost);
		}
	await server.close();
	const toMedian = (size: (typeof crowds)[number]): CrowdCost => {
		const costs = measured.get(size) ?? [];
		return {
			cpuMs: readMedian(costs.map(({ cpuMs }) => cpuMs)),
			lateMs: readMedian(costs.map(({ lateMs }) => lateMs)),
		};
	};
	return { 1: toMedian(1), 100: toMedian(100), 1000: toMedian(1_000), 3000: toMedian(3_000) };
}

async function measureCrowd(url: string, pid: number, size: number): Promise<CrowdCost> {
	const plan = createPlan(size);
	const countedFrom = plan.deltas / 2;
	const created = await fetch(`${url}/v1/sessions`, {
		method: 'POST',
		headers: { authorization, 'content-type': 'application/json' },
		body: JSON.stringify({ agent: 'bench' }),
	});
	const { id } = v.parse(v.object({ id: v.string() }), await created.json());
	const run = readRun(
		{ url: `${url}/v1/sessions/${id}/messages`, headers: stream, body: JSON.stringify({ text: writePlan(plan) }) },
		plan,
	);
	const delays: number[] = [];
	let clock: (() => number) | undefined;
	const note = (index: number, delay: number): void => {
		if (index >= countedFrom) delays.push(delay);
	};
	const readers = Array.from({ length: size - 1 }, () => openReader(url, id, note));
	const half = setTimeout(() => {
		clock = startProcessorClock(pid);
	}, countedFrom * plan.paceMs);
	const { delaysMs } = await run;
	clearTimeout(half);
	delays.push(...delaysMs.slice(countedFrom));
	const cpuMs = (clock?.() ?? 0) / 1_000 / (plan.deltas - countedFrom);
	await Promise.all(readers);
	const sorted = delays.toSorted((a, b) => a - b);
	return { cpuMs, lateMs: sorted[Math.floor(sorted.length * 0.99)] ?? 0 };
}

/** Reads a stream of events over a socket, without parsing its JSON. Resolves when the stream ends. */
async function openReader(url: string, id: string, note: (index: number, delayMs: number) => void): Promise<void> {
	const { port } = new URL(url);
	const socket: Socket = connect(Number(port), '127.0.0.1');
	socket.setEncoding('latin1');
	socket.write(
		`GET /v1/sessions/${id}/events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: ${authorization}\r\naccept: text/event-stream\r\n\r\n`,
	);
	let rest = '';
	socket.on('data', (chunk) => {
		const now = readClock();
		const frames = `${rest}${chunk}`.split('\n\n');
		rest = frames.pop() ?? '';
		for (const frame of frames) {
			if (frame.includes('"type":"done"')) socket.end();
			// The event of a whole turn has its text, too.
			if (!frame.includes('"type":"text"')) continue;
			for (const [, index, left] of frame.matchAll(/(\d+)@(\d+)/g)) note(Number(index), (now - Number(left)) / 1_000);
		}
	});
	await once(socket, 'close');
}

export function toReaderTable(costs: ReaderCosts): string {
	const cells = crowds.map((size) => [
		size.toLocaleString('en-US'),
		toFigure(costs[size].cpuMs),
		toFigure(costs[size].lateMs),
	]);
	return toTable([['readers of one session', 'CPU ms of a delta', 'delay of a delta, ms, p99'], ...cells]);
}

export function listReaderBars(costs: ReaderCosts): readonly Bar[] {
	const [one, many] = [costs[1], costs[1_000]];
	return [
		{ what: 'a delta to 1,000 readers, p99', value: many.lateMs, unit: 'ms', most: 250 },
		{ what: 'CPU of a delta to 1,000 readers', value: many.cpuMs / one.cpuMs, unit: '× one reader', most: 8 },
	];
}
