import { setTimeout as pause } from 'node:timers/promises';
import * as v from 'valibot';
import type { Plan } from './plan.ts';
import type { Stage } from './stage.ts';
import { session } from './subjects.ts';
import { type Bar, readMedian, toFigure, toTable } from './table.ts';

/**
 * Prices in dollars for one unit (developers.cloudflare.com/durable-objects/platform/pricing, /workers/platform/pricing). A
 * set or deleted alarm is billed as a row. A working object is billed for 128 MB.
 */
export const dollars = {
	rowWritten: 1 / 1e6,
	rowRead: 0.001 / 1e6,
	objectRequest: 0.15 / 1e6,
	workerRequest: 0.3 / 1e6,
	objectSecond: (12.5 / 1e6) * 0.128,
};

/** A reply of ten seconds: five pieces of 16 characters every 204 ms. */
const tenSeconds: Plan = { tools: 0, deltas: 250, perWrite: 5, paceMs: 204, padding: 0 };
const sessions = 4;
const minuteMs = 61_000;

const bill = v.object({
	rows: v.record(v.string(), v.number()),
	rowsRead: v.number(),
	requests: v.number(),
	callMs: v.number(),
});
/** The resources of turns: written rows by table, read rows, requests to objects, milliseconds of other objects. */
type Bill = v.InferOutput<typeof bill>;

interface Turn extends Bill {
	readonly seconds: number;
}
export interface Costs {
	/** The first turn of a session. */
	readonly first: Turn;
	/** The next turn, a minute later. */
	readonly next: Turn;
}

/** Runs the first turns, and returns a function that runs the next turns after a minute. */
export async function startCosts({ start }: Stage): Promise<() => Promise<Costs>> {
	const server = await start({ ...session, entry: 'scripts/bench/workers/counted.ts' });
	const takeBill = async () => v.parse(bill, await (await fetch(`${server.url}/bench/bill`)).json());
	const talks = await Promise.all(Array.from({ length: sessions }, () => session.begin(server.url)));
	const measure = async (): Promise<Turn> => {
		const readings = await Promise.all(talks.map((talk) => talk(tenSeconds)));
		// The other objects are notified of a run after its end.
		await pause(3_000);
		const { rows, rowsRead, requests, callMs } = await takeBill();
		const each = Object.entries(rows).map(([item, number]) => [item, number / sessions] as const);
		return {
			rows: Object.fromEntries(each),
			rowsRead: rowsRead / sessions,
			requests: requests / sessions,
			callMs: callMs / sessions,
			seconds: readMedian(readings.map(({ ms }) => ms)) / 1_000,
		};
	};
	const first = await measure();
	// If the bench fails, its process does not wait for the timer.
	const minute = pause(minuteMs, undefined, { ref: false });
	return async () => {
		await minute;
		const next = await measure();
		await server.close();
		return { first, next };
	};
}

function countRows({ rows }: Turn): number {
	return Object.values(rows).reduce((sum, number) => sum + number, 0);
}

/** Dollars for 1,000 turns, by the item. */
function listItems(turn: Turn) {
	const { rowsRead, requests, callMs, seconds } = turn;
	const items = [
		{ item: 'rows written', number: countRows(turn), each: dollars.rowWritten },
		{ item: 'rows read', number: rowsRead, each: dollars.rowRead },
		{ item: 'seconds of the session', number: seconds, each: dollars.objectSecond },
		{ item: 'seconds of other objects', number: callMs / 1_000, each: dollars.objectSecond },
		{ item: 'requests to objects, with alarms', number: requests, each: dollars.objectRequest },
		{ item: 'requests to the Worker', number: 1, each: dollars.workerRequest },
	];
	return items.map(({ item, number, each }) => ({ item, number, price: 1_000 * number * each }));
}

function sumDollars(turn: Turn): number {
	return listItems(turn).reduce((sum, { price }) => sum + price, 0);
}

/** The items of a turn with the price of 1,000 turns, and the written rows by table. */
export function toCostTable({ first, next }: Costs): string {
	const others = listItems(next);
	const toCell = (number = 0, price = 0) => [toFigure(number), price.toFixed(4)];
	const cells = listItems(first).map(({ item, number, price }, at) => [
		item,
		...toCell(number, price),
		...toCell(others[at]?.number, others[at]?.price),
	]);
	const sum = ['all', '', sumDollars(first).toFixed(4), '', sumDollars(next).toFixed(4)];
	const head = ['a turn of 10 s', 'first', '$ for 1,000', 'next', '$ for 1,000'];
	const tables = [...new Set([...Object.keys(first.rows), ...Object.keys(next.rows)])].toSorted();
	const rows = tables.map((name) => [name, ...[first, next].map((turn) => toFigure(turn.rows[name] ?? 0))]);
	return `${toTable([head, ...cells, sum])}\n\n${toTable([['rows written', 'first', 'next'], ...rows])}`;
}

export function listCostBars({ next }: Costs): readonly Bar[] {
	return [
		{ what: 'rows of a turn of 10 s', value: countRows(next), unit: 'rows', most: 10 },
		{ what: '1,000 turns of 10 s', value: sumDollars(next), unit: 'dollars', most: 0.032 },
	];
}
