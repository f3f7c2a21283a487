import { setTimeout as pause } from 'node:timers/promises';
import { sumCharges } from './charges.ts';
import { threeTools } from './script.ts';
import { outcomes, untilQuiet } from './settled.ts';
import { type Figures, type Options, onStage } from './stage.ts';

/** The budget, as a share of the cost of all runs. */
const allowed = 0.5;
/** The approximate cost of a run, in tokens of the upstream. */
const runTokens = 1_800;

/**
 * Starts many runs at once on one day budget, and kills the server meanwhile. The model's bill includes aborted
 * calls, and never exceeds the budget. Runs over the budget end with `budget_exceeded`.
 */
export function budget(
	{ count = 50, kills = 10, seed }: Options,
	variables: Readonly<Record<string, string>> = {},
): Promise<Figures> {
	const cap = Math.round(count * runTokens * allowed);
	const world = { script: threeTools(400), pieceLength: 20, paceMs: 20, toolMs: 50, seed };
	return onStage({ ...world, variables: { DAY_BUDGET_TOKENS: String(cap), ...variables } }, async (stage) => {
		const { client, server, random, outside } = stage;
		const runs = Array.from({ length: count }, async (_, n) => {
			const tag = `run-${n}`;
			return { tag, session: await client.begin(tag, { agent: 'thrifty' }) };
		});
		for (let n = 0; n < kills; n++) {
			await pause(random(200, 4_000));
			await server.restart();
		}
		const sent = await Promise.all(runs);
		await untilQuiet(stage, sent);
		let found = await outcomes(stage, sent);
		// Kills may end runs before they spend the whole budget. Then further runs spend the rest, one after the other.
		while (found.refused === 0 && sent.length < 3 * count) {
			const tag = `run-${sent.length}`;
			sent.push({ tag, session: await client.begin(tag, { agent: 'thrifty' }) });
			await untilQuiet(stage, sent);
			found = await outcomes(stage, sent);
		}
		const spent = outside.upstream.spent();
		if (spent > cap) throw new Error(`${spent} tokens were spent of ${cap}`);
		const { completed, refused, interrupted } = found;
		// Runlet refuses a run because of the charges, not because of the bill. The charge of an aborted call is an
		// estimate.
		const charged = await sumCharges(stage.client, sent);
		if (refused === 0 || charged < cap / 2)
			throw new Error(`${refused} runs were refused at ${charged} of ${cap} tokens`);
		return {
			seed: stage.seed,
			'runs at once': count,
			'runs after them': sent.length - count,
			kills,
			'budget, tokens': cap,
			'billed, tokens': spent,
			'charged, tokens': charged,
			completed,
			'refused as budget_exceeded': refused,
			'out of attempts': interrupted,
		};
	});
}
