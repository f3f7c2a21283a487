import type { Plan } from './plan.ts';
import { startProcessorClock } from './process.ts';
import type { Stage } from './stage.ts';
import { beginSession, type Conversation, session } from './subjects.ts';
import { type Bar, readMedian, toFigure, toTable } from './table.ts';

const calls = 8;
const plan: Plan = { tools: calls, deltas: 4, perWrite: 4, paceMs: 0, padding: 0 };
/** How many sessions of each agent a round measures, and how many messages each of them gets. */
const [sessions, messages] = [4, 10];

/** CPU milliseconds of a turn with a call that sends something, with the rule and without. */
export interface FlowCost {
	readonly ruled: number;
	readonly free: number;
	/** The median of the pairs. */
	readonly difference: number;
}

/** Measures two agents in one workerd, whose sessions take turns. The rule reads the history, and lets each call run. */
export async function measureFlow({ start }: Stage, rounds: number): Promise<FlowCost> {
	const server = await start({ ...session, entry: 'scripts/bench/workers/flow.ts' });
	const measure = async (talk: Conversation) => {
		const readClock = startProcessorClock(server.pid, 'main');
		await talk(plan);
		return readClock() / 1_000 / (calls + 1);
	};
	const pairs: { readonly ruled: number; readonly free: number }[] = [];
	// The first round compiles the code, and is not counted.
	for (let round = 0; round <= rounds; round++) {
		for (let n = 0; n < sessions; n++) {
			const talks = { ruled: await beginSession('ruled')(server.url), free: await beginSession('free')(server.url) };
			for (let message = 0; message < messages; message++) {
				const first = message % 2 === 0 ? 'ruled' : 'free';
				const one = await measure(talks[first]);
				const other = await measure(talks[first === 'ruled' ? 'free' : 'ruled']);
				if (round > 0) pairs.push(first === 'ruled' ? { ruled: one, free: other } : { ruled: other, free: one });
			}
		}
	}
	await server.close();
	return {
		ruled: readMedian(pairs.map(({ ruled }) => ruled)),
		free: readMedian(pairs.map(({ free }) => free)),
		difference: readMedian(pairs.map(({ ruled, free }) => ruled - free)),
	};
}

export function toFlowTable({ ruled, free, difference }: FlowCost): string {
	return toTable([
		['CPU ms of a turn that sends', 'with the rule', 'without', 'difference', 'ratio'],
		[
			'a run with eight turns of a tool',
			toFigure(ruled),
			toFigure(free),
			difference.toFixed(3),
			(ruled / free).toFixed(2),
		],
	]);
}

export function listFlowBars({ difference }: FlowCost): readonly Bar[] {
	return [{ what: 'the rule before a call that sends something', value: difference, unit: 'ms', most: 0.1 }];
}
