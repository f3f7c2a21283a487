import { type Column, measureRow } from './measures.ts';
import { type RowName, rowNames, rows } from './rows.ts';
import type { Stage } from './stage.ts';
import { readMedian } from './statistics.ts';
import type { Subject } from './subjects.ts';
import type { Workerd } from './workerd.ts';

type Figures = Readonly<Record<Column, number>>;
export type Turns = Readonly<Record<RowName, Figures>>;

/** Measures every row once in each round, so that a busy moment of the machine meets all of them. Returns the medians. */
export async function measureTurns({ start }: Stage, rounds: number): Promise<Turns> {
	const servers = new Map<Subject, Workerd>();
	for (const { subject } of Object.values(rows)) if (!servers.has(subject)) servers.set(subject, await start(subject));
	const measured = new Map<RowName, Figures[]>(rowNames.map((name) => [name, []]));
	// The first round compiles the code, and counts for nothing.
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
