import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import type { Plan } from './plan.ts';
import { startProcessorClock } from './process.ts';
import type { Stage } from './stage.ts';
import { session } from './subjects.ts';
import { type Bar, readMedian, toFigure, toTable } from './table.ts';

const reply: Plan = { tools: 0, deltas: 4, perWrite: 4, paceMs: 0, padding: 0 };
/** What a message asks for, and how many turns of the model that are. */
const plans = {
	'a reply': { plan: reply, turns: 1 },
	'a run with three turns of a tool': { plan: { ...reply, tools: 3 }, turns: 4 },
} as const;
type Name = keyof typeof plans;
const names: readonly Name[] = ['a reply', 'a run with three turns of a tool'];

/** How many sessions a figure is measured with, and how many messages each of them gets, one after the other. */
const [sessions, messages] = [8, 20];
/** The alarm of a session comes within this time of its first run, in milliseconds. It exports the traces. */
const alarmMs = 13_000;

/**
 * CPU milliseconds for a turn of the model: of the turn itself, and of its share in the alarm of its session, without and with
 * an export. The difference is the median of the pairs.
 */
export interface TraceCost {
	readonly turn: number;
	readonly without: number;
	readonly with: number;
	readonly difference: number;
}
export type TraceCosts = Readonly<Record<Name, TraceCost>>;

/** Measures two servers side by side: the sessions of one are not exported, and those of the other go to a collector. */
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
	const subject = { entry: 'scripts/bench/workers/traced.ts', bind };
	const servers = [await start(subject), await start(subject)] as const;
	const [plain, traced] = servers;
	const talkToBoth = async (plan: Plan) => {
		for (let n = 0; n < sessions; n++) {
			const talks = [await session.begin(plain.url), await session.begin(`${traced.url}/traced`)];
			for (let message = 0; message < messages; message++) for (const talk of talks) await talk(plan);
		}
	};
	const measure = async ({ plan, turns }: (typeof plans)[Name]) => {
		const all = collector.wait(sessions * messages);
		const start = () => servers.map(({ pid }) => startProcessorClock(pid, 'main'));
		const read = (clocks: ReturnType<typeof start>) =>
			clocks.map((readClock) => readClock() / 1_000 / sessions / messages / turns);
		const talking = start();
		await talkToBoth(plan);
		const [turn = 0] = read(talking);
		const waking = start();
		await Promise.all([all, setTimeout(alarmMs)]);
		const [without = 0, cost = 0] = read(waking);
		return { turn, without, with: cost, difference: cost - without };
	};
	const measurePlan = async (name: Name): Promise<TraceCost> => {
		const measured: TraceCost[] = [];
		for (let round = 0; round < rounds; round++) measured.push(await measure(plans[name]));
		const readMedianOf = (field: keyof TraceCost) => readMedian(measured.map((cost) => cost[field]));
		return {
			turn: readMedianOf('turn'),
			without: readMedianOf('without'),
			with: readMedianOf('with'),
			difference: readMedianOf('difference'),
		};
	};
	// Until their code is compiled, two servers with the same work differ.
	for (const name of names) await measure(plans[name]);
	const costs = {
		'a reply': await measurePlan('a reply'),
		'a run with three turns of a tool': await measurePlan('a run with three turns of a tool'),
	};
	for (const server of servers) await server.close();
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
		const { turn, without, with: traced, difference } = costs[name];
		return [name, toFigure(turn), without.toFixed(3), traced.toFixed(3), difference.toFixed(3)];
	};
	return toTable([
		['CPU ms for a turn', 'the turn', 'its share of the alarm', 'the same with traces', 'difference'],
		...names.map(toRow),
	]);
}

export function listTraceBars(costs: TraceCosts): readonly Bar[] {
	return names.map((name) => ({
		what: `the export of a turn: ${name}`,
		value: costs[name].difference,
		unit: 'ms',
		most: 0.3,
	}));
}
