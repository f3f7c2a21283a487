import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Plan } from './plan.ts';
import { startProcessorClock } from './process.ts';
import type { Stage } from './stage.ts';
import { type Conversation, session } from './subjects.ts';
import { type Bar, readMedian, toFigure, toTable } from './table.ts';

const reply: Plan = { tools: 0, deltas: 4, perWrite: 4, paceMs: 0, padding: 0 };
/** What a message asks for, and how many turns of the model that are. */
const plans = {
	'a reply': { plan: reply, turns: 1 },
	'a run with three turns of a tool': { plan: { ...reply, tools: 3 }, turns: 4 },
} as const;
type Name = keyof typeof plans;
const names: readonly Name[] = ['a reply', 'a run with three turns of a tool'];

/** How many messages a figure is measured with, one after the other in one session. */
const messages = 20;
/** How many pairs of figures each round measures. */
const pairs = 6;

/** CPU milliseconds of a turn of the model, without and with an export. The difference is the median of many pairs. */
export interface TraceCost {
	readonly without: number;
	readonly with: number;
	readonly difference: number;
}
export type TraceCosts = Readonly<Record<Name, TraceCost>>;

/** Measures sessions of one isolate in turns: one of a Worker without `traces`, and one that exports to a collector. */
export async function measureTraces({ start }: Stage, rounds: number): Promise<TraceCosts> {
	const collector = await startCollector();
	try {
		return await measureBeside(collector, start, rounds);
	} finally {
		collector.close();
	}
}

async function measureBeside(collector: Collector, start: Stage['start'], rounds: number): Promise<TraceCosts> {
	const bind = (modelUrl: string) => {
		const { texts, objects } = session.bind(modelUrl);
		return {
			texts: { ...texts, COLLECTOR_URL: collector.url },
			objects: { ...objects, TRACED_SESSIONS: 'TracedSession' },
		};
	};
	const server = await start({ entry: 'scripts/bench/workers/traced.ts', bind });
	const measurePlan = async ({ plan, turns }: (typeof plans)[Name]): Promise<TraceCost> => {
		const measure = async (talk: Conversation, exported: number) => {
			const all = collector.wait(exported);
			const readClock = startProcessorClock(server.pid, 'main');
			for (let n = 0; n < messages; n++) await talk(plan);
			await all;
			return readClock() / 1_000 / messages / turns;
		};
		const measured: (readonly [number, number])[] = [];
		// The first round compiles the code, and is not counted.
		for (let round = 0; round <= rounds; round++)
			for (let pair = 0; pair < pairs; pair++) {
				const [plain, traced] = [await session.begin(server.url), await session.begin(`${server.url}/traced`)];
				// A session begins with other writes than it goes on with.
				await plain(reply);
				const begun = collector.wait(1);
				await traced(reply);
				await begun;
				const figures = [await measure(plain, 0), await measure(traced, messages)] as const;
				if (round > 0) measured.push(figures);
			}
		return {
			without: readMedian(measured.map(([without]) => without)),
			with: readMedian(measured.map(([, traced]) => traced)),
			difference: readMedian(measured.map(([without, traced]) => traced - without)),
		};
	};
	const costs = {
		'a reply': await measurePlan(plans['a reply']),
		'a run with three turns of a tool': await measurePlan(plans['a run with three turns of a tool']),
	};
	await server.close();
	return costs;
}

interface Collector {
	readonly url: string;
	/** Resolves when the collector has got so many further traces. */
	readonly wait: (traces: number) => Promise<void>;
	readonly close: () => void;
}

/** Starts a collector on 127.0.0.1 that answers at once. */
async function startCollector(): Promise<Collector> {
	let missing = 0;
	let done = () => {};
	const server = createServer({ keepAliveTimeout: 120_000 }, async (request, response) => {
		const body = await text(request);
		response.end('{}');
		missing -= body.split('"name":"invoke_agent').length - 1;
		if (missing <= 0) done();
	}).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	return {
		url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : undefined}/v1/traces`,
		wait: (traces) => {
			const { promise, resolve } = Promise.withResolvers<void>();
			missing = traces;
			done = resolve;
			if (traces === 0) resolve();
			return promise;
		},
		close: () => {
			server.closeAllConnections();
			server.close();
		},
	};
}

export function toTraceTable(costs: TraceCosts): string {
	const toRow = (name: Name) => {
		const { without, with: traced, difference } = costs[name];
		return [name, toFigure(without), toFigure(traced), difference.toFixed(3)];
	};
	return toTable([['CPU ms of a turn', 'without traces', 'with traces', 'difference'], ...names.map(toRow)]);
}

export function listTraceBars(costs: TraceCosts): readonly Bar[] {
	return names.map((name) => ({
		what: `the export of a turn: ${name}`,
		value: costs[name].difference,
		unit: 'ms',
		most: 0.3,
	}));
}
