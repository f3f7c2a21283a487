import { type Column, columns, measureRow } from './measures.ts';
import { type RowName, rowNames, rows } from './rows.ts';
import type { Stage } from './stage.ts';
import type { Subject } from './subjects.ts';
import { type Bar, readMedian, toFigure, toTable } from './table.ts';
import type { Workerd } from './workerd.ts';

type Figures = Readonly<Record<Column, number>>;
type Turns = Readonly<Record<RowName, Figures>>;

/** Measures every row once in each round, so that a busy moment of the machine affects all rows. Returns the medians. */
export async function measureTurns({ start }: Stage, rounds: number): Promise<Turns> {
	const servers = new Map<Subject, Workerd>();
	for (const { subject } of Object.values(rows)) if (!servers.has(subject)) servers.set(subject, await start(subject));
	const measured = new Map<RowName, Figures[]>(rowNames.map((name) => [name, []]));
	// The first round compiles the code, and is not counted.
	for (let round = 0; round <= rounds; round++) {
		for (const name of rowNames) {
			const server = servers.get(rows[name].subject);
			if (server === undefined) continue;
			const figures = await measureRow(rows[name], server);
			if (round > 0) measured.get(name)?.push(figures);
		}
		console.error(round === 0 ? 'turns: warm' : `turns: round ${round} of ${rounds}`);
	}
	await Promise.all([...servers.values()].map((server) => server.close()));
	const toMedians = (name: RowName) => {
		const figures = measured.get(name) ?? [];
		const median = (column: Column) => readMedian(figures.map((one) => one[column]));
		return {
			delta16: median('delta16'),
			delta1: median('delta1'),
			rate: median('rate'),
			run: median('run'),
			first: median('first'),
			late: median('late'),
		};
	};
	return {
		plain: toMedians('plain'),
		durableNew: toMedians('durableNew'),
		durable: toMedians('durable'),
		loop: toMedians('loop'),
		sessionNew: toMedians('sessionNew'),
		session: toMedians('session'),
	};
}

const order: readonly Column[] = ['delta16', 'delta1', 'rate', 'run', 'first', 'late'];

/** The table of the turns, each cell with its ratio to the loop by hand. */
export function toTurnTable(turns: Turns): string {
	const cells = rowNames.map((name) => [
		rows[name].name,
		...order.map(
			(column) => `${toFigure(turns[name][column])} (${(turns[name][column] / turns.plain[column]).toFixed(2)})`,
		),
	]);
	return toTable([['', ...order.map((column) => columns[column])], ...cells]);
}

/** The limits of the turns, as ratios within this run. */
export function listTurnBars({ plain, durableNew, durable, loop, sessionNew, session }: Turns): readonly Bar[] {
	const unit = '× by hand';
	return [
		{ what: 'loop, CPU a delta, 16 a write', value: loop.delta16 / plain.delta16, unit, most: 1.4 },
		{ what: 'loop, CPU a delta, one a write', value: loop.delta1 / plain.delta1, unit, most: 1.3 },
		{ what: 'session, CPU a delta, 16 a write', value: session.delta16 / plain.delta16, unit, most: 1.9 },
		{ what: 'session, CPU a delta, one a write', value: session.delta1 / plain.delta1, unit, most: 1.6 },
		{ what: 'loop, tools-3 ×16', value: loop.rate / plain.rate, unit, least: 0.45 },
		{ what: 'new session, tools-3 ×16', value: sessionNew.rate / plain.rate, unit, least: 0.12 },
		{ what: 'existing session, tools-3 ×16', value: session.rate / plain.rate, unit, least: 0.2 },
		{ what: 'loop, CPU a tools-3 run', value: loop.run / plain.run, unit, most: 2.5 },
		{
			what: 'new session, CPU a tools-3 run',
			value: sessionNew.run / durableNew.run,
			unit: '× durable by hand',
			most: 1.8,
		},
		{ what: 'existing session, first delta', value: session.first, unit: 'ms', most: durable.first + 1.5 },
		{ what: 'loop, a delta under way, p99', value: loop.late, unit: 'ms', most: plain.late + 1 },
		{ what: 'session, a delta under way, p99', value: session.late, unit: 'ms', most: plain.late + 1 },
	];
}
