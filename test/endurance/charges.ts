import { setTimeout as pause } from 'node:timers/promises';
import * as v from 'valibot';
import type { Sent } from './settled.ts';
import type { Figures, Stage } from './stage.ts';

const session = v.looseObject({ budget: v.object({ spent: v.object({ tokens: v.number() }) }) });
const usage = v.object({
	usage: v.array(
		v.looseObject({ spent: v.object({ tokens: v.number() }), reserved: v.object({ tokens: v.number() }) }),
	),
});

/** The longest time from the end of the last run until no reservation is left, in milliseconds. */
const patienceMs = 60_000;

/** Sums the charges of sessions, in tokens. */
export async function sumCharges(client: Stage['client'], sent: readonly Sent[]): Promise<number> {
	let charged = 0;
	for (const one of sent) charged += v.parse(session, await client.state(one.session)).budget.spent.tokens;
	return charged;
}

/**
 * Compares the charges of sessions with the model's bill: their sum is 1.0 to 1.25 times the bill. Within a minute the
 * ledger has the same sum, and no reservation.
 */
export async function checkCharges({ client, outside }: Stage, sent: readonly Sent[]): Promise<Figures> {
	const billed = outside.upstream.spent();
	const charged = await sumCharges(client, sent);
	const share = charged / billed;
	const until = performance.now() + patienceMs;
	for (;;) {
		const days = v.parse(usage, await client.usage()).usage;
		const reserved = days.reduce((sum, day) => sum + day.reserved.tokens, 0);
		const spent = days.reduce((sum, day) => sum + day.spent.tokens, 0);
		if (reserved === 0 && spent === charged) break;
		if (performance.now() > until)
			throw new Error(
				`${reserved} tokens are set aside; the ledger has ${spent} of ${charged}, a minute after the last run`,
			);
		await pause(500);
	}
	if (share < 1 || share > 1.25)
		throw new Error(`${charged} tokens were charged, ${billed} billed: ${share.toFixed(3)}`);
	return { 'billed, tokens': billed, charged: `${charged}, ${share.toFixed(3)} of it` };
}
