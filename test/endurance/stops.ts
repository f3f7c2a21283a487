import { setTimeout as pause } from 'node:timers/promises';
import { checkCharges } from './charges.ts';
import { read } from './reader.ts';
import { oneReply } from './script.ts';
import type { Sent } from './settled.ts';
import { type Figures, type Options, onStage } from './stage.ts';

/** The number of concurrent runs. */
const atOnce = 10;

/** Cancels answers while they stream. Their charges match the model's bill, with and without a budget. */
export async function stops({ count = 100, seed }: Options): Promise<Figures> {
	const world = { script: oneReply(20_000), pieceLength: 20, paceMs: 50, waitsForReader: true, toolMs: 50, seed };
	const figures: Record<string, number | string> = {};
	for (const [name, budget] of [
		['with a budget', '2000000'],
		['without one', 'none'],
	] as const) {
		const variables = { SESSION_BUDGET_TOKENS: budget, DAY_BUDGET_TOKENS: budget };
		await onStage({ ...world, variables }, async (stage) => {
			const { client, outside, random } = stage;
			const sent: Sent[] = [];
			const worker = async (_: unknown, n: number): Promise<void> => {
				for (let round = n; round < count; round += atOnce) {
					const tag = `stop-${round}`;
					const { session, response: first } = await client.stream(tag);
					const reading = read(client, session, { first, pace: async () => outside.upstream.read(tag) });
					await pause(random(1_000, 6_000));
					await client.cancel(session);
					await reading;
					sent.push({ tag, session });
				}
			};
			await Promise.all(Array.from({ length: Math.min(atOnce, count) }, worker));
			for (const [label, figure] of Object.entries(await checkCharges(stage, sent)))
				figures[`${name}: ${label}`] = figure;
			figures.seed = stage.seed;
		});
	}
	return { stops: count, ...figures };
}
