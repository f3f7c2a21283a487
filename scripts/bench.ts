/** `npm run bench`: measures the costs of Runlet and of hand-written loops in one run. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { parseOptions } from '../src/command/options.ts';
import { listCostBars, startCosts, toCostTable } from './bench/costs.ts';
import { listFlowBars, measureFlow, toFlowTable } from './bench/flow.ts';
import { listGrowthBars, measureGrowths, toGrowthTable } from './bench/growth.ts';
import { listMemoryBars, measureMemory, toMemoryTable } from './bench/memory.ts';
import { assertMeasurable } from './bench/process.ts';
import { listReaderBars, measureReaders, toReaderTable } from './bench/readers.ts';
import { listScaleBars, measureScale, toScaleTable } from './bench/scale.ts';
import { onStage, type Stage } from './bench/stage.ts';
import { type Bar, toBarTable } from './bench/table.ts';
import { listTraceBars, measureTraces, toTraceTable } from './bench/traces.ts';
import { listTurnBars, measureTurns, toTurnTable } from './bench/turns.ts';
import { listWeightBars, measureWeights, toWeightTable } from './bench/weight.ts';

const usage = `npm run bench: measures what Runlet costs in workerd beside a loop by hand, plain and in a Durable Object
  npm run bench -- PART …   only these parts
    turns       CPU of a delta and of a run, runs a second, the first delta, delays
    costs       what 1,000 turns of ten seconds cost at Cloudflare, by the item
    growth      CPU of a turn on 10,000 messages beside one on 10
    duration    what a turn costs while its object waits for the model, awake and parked; computed
    traces      CPU of a turn with and without an export of traces
    flow        CPU of a call that sends something, with and without the rule for such calls
    readers     CPU and delay of a delta that 3,000 clients read
    scale       CPU of lists of a million sessions, and of the ledger, beside an object that counts
    memory      of a live session, and after a reply of 5 MB
    weight      the packed size of the Worker, and its cold start
    providers   what a delta costs from a provider's bytes, through the SDK and the adapter
    skills      what 10,000 skills cost a turn and a search
    context     what 50 sessions cost at three providers, by their rules of caches and prices, before and after
    page        tasks of the page's main thread while 10,000 deltas come, and long histories and answers open
  --rounds NUMBER           how often each figure of turns is measured; the median counts (3)
  --help                    this text`;

/** Prepares a part. Returns a function that prints its table and returns its bars. */
type Part = (stage: Stage, rounds: number) => Promise<() => Promise<readonly Bar[]>>;

/** Makes a part that needs no preparation. */
const createPart =
	<T>(
		measure: (stage: Stage, rounds: number) => Promise<T>,
		toTables: (measured: T) => string,
		listBars: (measured: T) => readonly Bar[],
	): Part =>
	async (stage, rounds) =>
	async () => {
		const measured = await measure(stage, rounds);
		console.log(`\n${toTables(measured)}`);
		return listBars(measured);
	};

const staged: Readonly<Record<string, Part>> = {
	weight: createPart(measureWeights, toWeightTable, listWeightBars),
	turns: createPart(measureTurns, toTurnTable, listTurnBars),
	growth: createPart(measureGrowths, toGrowthTable, listGrowthBars),
	traces: createPart(measureTraces, toTraceTable, listTraceBars),
	flow: createPart(measureFlow, toFlowTable, listFlowBars),
	readers: createPart(measureReaders, toReaderTable, listReaderBars),
	scale: createPart(measureScale, toScaleTable, listScaleBars),
	memory: createPart(measureMemory, toMemoryTable, listMemoryBars),
	// The second half of `costs` runs a minute after the first half. The other parts run in between.
	costs: async (stage) => {
		const finish = await startCosts(stage);
		return async () => {
			const costs = await finish();
			console.log(`\n${toCostTable(costs)}`);
			return listCostBars(costs);
		};
	},
};
/**
 * Parts that each run in a process of their own (Node, Miniflare or Chromium), so that no part warms up another.
 */
const alone = ['duration', 'providers', 'skills', 'context', 'page'];

async function runStaged(parts: readonly string[], rounds: number): Promise<void> {
	assertMeasurable();
	const bars = await onStage(async (stage) => {
		const finishing: (() => Promise<readonly Bar[]>)[] = [];
		for (const [name, prepare] of Object.entries(staged))
			if (parts.includes(name)) finishing.push(await prepare(stage, rounds));
		const bars: Bar[] = [];
		for (const finish of finishing) bars.push(...(await finish()));
		return bars;
	});
	console.log(`\n${toBarTable(bars)}`);
}

function runAlone(part: string): void {
	console.log(`\n${part}`);
	const { status } = spawnSync(process.execPath, [join(import.meta.dirname, 'bench', `${part}.ts`)], {
		stdio: 'inherit',
	});
	if (status !== 0) process.exitCode = status ?? 1;
}

function readOptions() {
	const { values, positionals } = parseOptions('npm run bench -- --help', {
		args: process.argv.slice(2),
		allowPositionals: true,
		options: { help: { type: 'boolean', short: 'h' }, rounds: { type: 'string', default: '3' } },
	});
	const known = [...Object.keys(staged), ...alone];
	const unknown = positionals.find((part) => !known.includes(part));
	if (unknown !== undefined) throw new TypeError(`"${unknown}" is no part. There are ${known.join(', ')}.`);
	if (!/^[1-9]\d*$/.test(values.rounds)) throw new TypeError('--rounds: must be a number from 1 on.');
	return { help: values.help, rounds: Number(values.rounds), parts: positionals.length > 0 ? positionals : known };
}

try {
	const { help, rounds, parts } = readOptions();
	if (help) console.log(usage);
	else {
		const wanted = parts.filter((part) => part in staged);
		if (wanted.length > 0) await runStaged(wanted, rounds);
		for (const part of parts) if (alone.includes(part)) runAlone(part);
	}
} catch (error) {
	console.error(error instanceof Error ? error.message : error);
	process.exitCode = 1;
}
