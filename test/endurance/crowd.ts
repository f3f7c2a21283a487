import { checkReading } from './history.ts';
import { read } from './reader.ts';
import { threeTools } from './script.ts';
import { type Figures, type Options, onStage, type Stage, type StageOptions } from './stage.ts';

/** Starts many sessions at once, each with three tools and a reader. No session fails. */
export async function crowd({ count = 1_000, seed }: Options): Promise<Figures> {
	const { starts, ...measured } = await gather({ count, seed });
	const quantile = (share: number) => seconds(starts[Math.ceil(share * count) - 1] ?? Number.NaN);
	return {
		seed: measured.seed,
		'sessions at once': count,
		failures: 0,
		'all, seconds': seconds(measured.total),
		'to the first event, median, seconds': quantile(0.5),
		'to the first event, 99th percentile, seconds': quantile(0.99),
	};
}

/** The most processor time that sessions under a day budget may take, as a multiple of the time without a budget. */
const mostDearer = 1.3;
/** How often the time with and the time without a budget are measured, by turns. */
const rounds = 3;

/**
 * Starts many sessions of one owner at once, with a day budget and without one. The budget costs little processor
 * time. The programme measures processor time, because other programs on the machine change the elapsed time.
 */
export async function leases({ count = 200, seed }: Options): Promise<Figures> {
	const capped: Gathering[] = [];
	const uncapped: Gathering[] = [];
	for (let round = 0; round < rounds; round++) {
		uncapped.push(await gather({ count, seed, variables: { DAY_BUDGET_TOKENS: 'none' } }));
		capped.push(await gather({ count, seed, variables: { DAY_BUDGET_TOKENS: '20000000' } }));
	}
	const [without, under] = [uncapped, capped].map((all) => ({
		cpu: median(all.map(({ cpu }) => cpu)),
		total: median(all.map(({ total }) => total)),
	}));
	const share = (under?.cpu ?? Number.NaN) / (without?.cpu ?? Number.NaN);
	if (!(share <= mostDearer)) throw new Error(`a cap takes ${share.toFixed(2)} times as much of the processor`);
	return {
		seed: capped[0]?.seed ?? Number.NaN,
		'sessions of one owner at once': count,
		'without a cap, seconds': seconds(without?.total ?? Number.NaN),
		'with a cap on the day, seconds': seconds(under?.total ?? Number.NaN),
		'processor without a cap, seconds': (without?.cpu ?? Number.NaN).toFixed(1),
		'processor with a cap': `${(under?.cpu ?? Number.NaN).toFixed(1)}, ${share.toFixed(2)} of it`,
	};
}

type Gathering = Awaited<ReturnType<typeof gather>>;

/** Starts sessions at once, reads each to its end, and measures. `starts` are the sorted times to the first events. */
function gather({ count, ...about }: Pick<StageOptions, 'seed' | 'variables'> & { readonly count: number }) {
	const world = { script: threeTools(200), pieceLength: 20, paceMs: 0, toolMs: 0, ...about };
	return onStage(world, async (stage) => {
		const begun = performance.now();
		const cpuBefore = stage.server.cpu();
		const starts = await Promise.all(Array.from({ length: count }, (_, n) => run(stage, `run-${n}`)));
		const total = performance.now() - begun;
		const cpu = stage.server.cpu() - cpuBefore;
		stage.outside.effects.check();
		return { seed: stage.seed, total, cpu, starts: starts.sort((a, b) => a - b) };
	});
}

/** Milliseconds to the first event. */
async function run({ client }: Stage, tag: string): Promise<number> {
	const begun = performance.now();
	let first: number | undefined;
	const { session, response } = await client.stream(tag);
	const { transcript } = await read(client, session, {
		first: response,
		pace: async () => {
			first ??= performance.now() - begun;
		},
	});
	if (transcript.end?.type !== 'done') throw new Error(`${tag}: ended as ${transcript.end?.type}`);
	checkReading(tag, transcript, await client.history(session));
	return first ?? Number.NaN;
}

function median(values: readonly number[]): number {
	return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function seconds(ms: number): string {
	return (ms / 1_000).toFixed(2);
}
