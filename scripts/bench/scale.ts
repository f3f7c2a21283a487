import { startProcessorClock } from './process.ts';
import type { Stage } from './stage.ts';
import { session } from './subjects.ts';
import { type Bar, readMedian, toFigure, toTable } from './table.ts';

/** The numbers of sessions in the lists of an owner. */
const sizes = [10_000, 100_000, 1_000_000] as const;

const lists = {
	newest: 'first page of 50 sessions',
	agent: 'page of 50 sessions of a rare agent and a user',
	nobody: 'page of an agent that no session has',
	waiting: 'page of 50 of 10,000 waiting calls',
	touch: 'one more session in the list',
} as const;
const listNames = ['newest', 'agent', 'nobody', 'waiting', 'touch'] as const satisfies readonly (keyof typeof lists)[];

const times = 200;

/** CPU milliseconds of each call of an object, and of a call of an object that only counts. */
export interface ScaleCosts {
	readonly counter: number;
	readonly lists: ReadonlyMap<number, Readonly<Record<keyof typeof lists, number>>>;
	/** A lease of the ledger: its reservation and its settlement. */
	readonly lease: number;
}

export async function measureScale({ start }: Stage, rounds: number): Promise<ScaleCosts> {
	const server = await start({
		entry: 'scripts/bench/workers/scale.ts',
		bind: (url) => ({ ...session.bind(url), objects: { ...session.bind(url).objects, COUNTERS: 'Counter' } }),
	});
	const ask = async (path: string): Promise<void> => {
		const response = await fetch(`${server.url}${path}`);
		const text = await response.text();
		if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
	};
	const measure = async (path: string): Promise<number> => {
		const costs: number[] = [];
		for (let round = 0; round <= rounds; round++) {
			const readClock = startProcessorClock(server.pid);
			await ask(`${path}&times=${times}`);
			if (round > 0) costs.push(readClock() / 1_000 / times);
		}
		return readMedian(costs);
	};
	const counter = await measure('/counter?name=one');
	const lease = await measure('/turn?name=one');
	const measured = new Map<number, Record<keyof typeof lists, number>>();
	for (const size of sizes) {
		await ask(`/fill?name=of-${size}&times=${size}`);
		const costs: number[] = [];
		for (const name of listNames) costs.push(await measure(`/${name}?name=of-${size}`));
		const [newest = 0, agent = 0, nobody = 0, waiting = 0, touch = 0] = costs;
		measured.set(size, { newest, agent, nobody, waiting, touch });
		console.error(`scale: ${size} sessions`);
	}
	await server.close();
	return { counter, lists: measured, lease };
}

export function toScaleTable({ counter, lists: measured, lease }: ScaleCosts): string {
	const toCell = (cost: number) => `${toFigure(cost)} (${toFigure(cost / counter)} ×)`;
	const rows = listNames.map((name) => [lists[name], ...sizes.map((size) => toCell(measured.get(size)?.[name] ?? 0))]);
	const heads = sizes.map((size) => `${size.toLocaleString('en-US')} sessions`);
	return toTable([
		['CPU ms of a call (beside a call that counts)', ...heads],
		...rows,
		['a lease of the ledger, reserved and settled', toCell(lease), '', ''],
	]);
}

export function listScaleBars({ counter, lists: measured }: ScaleCosts): readonly Bar[] {
	const most = Math.max(...[...measured.values()].flatMap((costs) => Object.values(costs)));
	return [
		{ what: 'the dearest call of a list, of any size', value: most / counter, unit: '× a call that counts', most: 20 },
	];
}
