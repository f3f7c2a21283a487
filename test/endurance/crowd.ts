import { checkReading } from './history.ts';
import { read } from './reader.ts';
import { threeTools } from './script.ts';
import { type Figures, type Options, onStage, type Stage } from './stage.ts';

/** Sessions that all begin at once, each with three tools and a reader. None fails. */
export function crowd({ count = 1_000, seed }: Options): Promise<Figures> {
	const world = { script: threeTools(200), pieceLength: 20, paceMs: 0, toolMs: 0, seed };
	return onStage(world, async (stage) => {
		const begun = performance.now();
		const starts = await Promise.all(Array.from({ length: count }, (_, n) => run(stage, `run-${n}`)));
		const total = performance.now() - begun;
		stage.outside.effects.check();
		starts.sort((a, b) => a - b);
		const quantile = (share: number) => seconds(starts[Math.ceil(share * count) - 1] ?? Number.NaN);
		return {
			seed: stage.seed,
			'sessions at once': count,
			failures: 0,
			'all, seconds': seconds(total),
			'to the first event, median, seconds': quantile(0.5),
			'to the first event, 99th percentile, seconds': quantile(0.99),
		};
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

function seconds(ms: number): string {
	return (ms / 1_000).toFixed(2);
}
