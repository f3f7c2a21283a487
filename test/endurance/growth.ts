import { oneReply } from './script.ts';
import { type Figures, type Options, onStage, type Stage } from './stage.ts';

const few = 10;
/** How many starts of runs are measured in each session. */
const starts = 100;
/** The longest start in the long session, as a multiple of the start in the short session. */
const most = 1.5;

/**
 * Measures the time from a message to the model's request, in a long and in a short session. The model gets the
 * same number of messages from both sessions, because the agent drops older messages.
 */
export function growth({ count = 10_000, seed }: Options): Promise<Figures> {
	const world = { script: oneReply(40), pieceLength: 40, paceMs: 0, toolMs: 0, seed };
	return onStage(world, async (stage) => {
		const short = await stage.client.begin('first of few', { agent: 'archivist' });
		const long = await stage.client.begin('first of many', { agent: 'archivist' });
		for (let messages = 2; messages < few; messages += 2) await readStart(stage, short, `few ${messages}`);
		for (let messages = 2; messages < count; messages += 2) await readStart(stage, long, `many ${messages}`);
		const times: Record<'short' | 'long', number[]> = { short: [], long: [] };
		for (let n = 0; n < starts; n++) {
			times.short.push(await readStart(stage, short, `measured, few ${n}`));
			times.long.push(await readStart(stage, long, `measured, many ${n}`));
		}
		const [shortMs, longMs] = [median(times.short), median(times.long)];
		const ratio = longMs / shortMs;
		if (ratio > most) throw new Error(`a turn starts in ${longMs.toFixed(2)} ms instead of ${shortMs.toFixed(2)} ms`);
		return {
			seed: stage.seed,
			'messages of the long session': count,
			[`start of a turn with some ${few + starts} messages, median, ms`]: shortMs.toFixed(2),
			'start of a turn in the long session, median, ms': longMs.toFixed(2),
			ratio: ratio.toFixed(2),
		};
	});
}

/** Milliseconds from a message to its request to the model. */
async function readStart({ server, outside }: Stage, session: string, text: string): Promise<number> {
	const begun = performance.now();
	const response = await fetch(`${server.url}/v1/sessions/${session}/messages`, {
		method: 'POST',
		headers: { 'content-type': 'application/json' },
		body: JSON.stringify({ text }),
	});
	if (!response.ok) throw new Error(`${text}: ${response.status} ${await response.text()}`);
	await response.body?.cancel();
	const asked = outside.upstream.asks.at(-1);
	if (asked?.tag !== text) throw new Error(`${text}: the model was asked ${asked?.tag}`);
	return asked.at - begun;
}

function median(values: readonly number[]): number {
	return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
