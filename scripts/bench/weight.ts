import { performance } from 'node:perf_hooks';
import type { Stage } from './stage.ts';
import { durable, plain, type Subject, session, subjects } from './subjects.ts';
import { type Bar, readMedian, toFigure, toTable } from './table.ts';

/** The size of a Worker, and its cold start: from the start of the process to the first text. */
export interface Weight {
	readonly gzipKb: number;
	readonly coldMs: number;
}
export type Weights = ReadonlyMap<Subject, Weight>;

/** Bundles each subject. Starts the subjects one after the other, several times. */
export async function measureWeights(stage: Stage, rounds: number): Promise<Weights> {
	const times = new Map<Subject, number[]>(subjects.map((subject) => [subject, []]));
	for (const { entry } of subjects) await stage.bundle(entry);
	for (let round = 0; round < rounds; round++)
		for (const [subject, list] of times) list.push(await measureStart(stage, subject));
	const weights = new Map<Subject, Weight>();
	for (const [subject, list] of times)
		weights.set(subject, { gzipKb: (await stage.bundle(subject.entry)).gzipKb, coldMs: readMedian(list) });
	return weights;
}

/** Milliseconds from the start of the process to the first text of a run. */
async function measureStart({ start }: Stage, subject: Subject): Promise<number> {
	const begun = performance.now();
	const server = await start(subject);
	const conversation = await subject.begin(server.url);
	const startedMs = performance.now() - begun;
	const { firstMs } = await conversation({ tools: 0, deltas: 1, perWrite: 1, paceMs: 0, padding: 0 });
	const ms = startedMs + firstMs;
	await server.close();
	return ms;
}

export function toWeightTable(weights: Weights): string {
	const toMs = (subject: Subject) => weights.get(subject)?.coldMs ?? Number.NaN;
	const cells = [...weights].map(([subject, { gzipKb, coldMs }]) => [
		subject.name,
		toFigure(gzipKb),
		`${toFigure(coldMs)} (${(coldMs / toMs(plain)).toFixed(2)})`,
	]);
	return toTable([['', 'gzip KB', 'cold start, ms'], ...cells]);
}

export function listWeightBars(weights: Weights): readonly Bar[] {
	const { gzipKb = Number.NaN, coldMs = Number.NaN } = weights.get(session) ?? {};
	const most = 4.5 * (weights.get(durable)?.coldMs ?? Number.NaN);
	return [
		{ what: 'the Worker, packed', value: gzipKb, unit: 'KB', most: 380 },
		{ what: 'the Worker, cold start', value: coldMs, unit: 'ms', most },
	];
}
