import { setTimeout as pause } from 'node:timers/promises';
import { checkHistory } from './history.ts';
import { read } from './reader.ts';
import type { Stage } from './stage.ts';
import type { Transcript } from './transcript.ts';

/** A message that was acknowledged. */
export interface Sent {
	readonly tag: string;
	readonly session: string;
}

export interface Outcomes {
	completed: number;
	/** Ended because their attempts ran out. */
	interrupted: number;
	/** Ended because their budget did. */
	refused: number;
}

/** How long a run may take to end after the last kill, in milliseconds. */
const patienceMs = 60_000;
/** Attempts without progress before a run may give up. */
const attempts = 3;

/**
 * Lets every run end by itself: nobody asks for those sessions until each has told that it stored its end, or their time is
 * over. Gives the milliseconds that it took.
 */
export async function untilQuiet({ outside }: Stage, sent: readonly Sent[]): Promise<number> {
	const begun = performance.now();
	const patience = new AbortController();
	await Promise.race([
		Promise.all(sent.map(({ session }) => outside.ended(session))),
		pause(patienceMs, undefined, { signal: patience.signal }).catch(() => {}),
	]);
	patience.abort();
	return performance.now() - begun;
}

/**
 * Looks at each session once. Throws where a run has not ended as it may, where a history is not well formed, or where
 * a tool had an effect twice.
 */
export async function outcomes(stage: Stage, sent: readonly Sent[]): Promise<Outcomes> {
	const found: Outcomes = { completed: 0, interrupted: 0, refused: 0 };
	const wrong: string[] = [];
	for (const one of sent) {
		try {
			found[await outcome(stage, one)]++;
		} catch (error) {
			wrong.push(error instanceof Error ? error.message : String(error));
		}
	}
	if (wrong.length > 0) throw new Error(`${wrong.length} of ${sent.length} runs: ${wrong.slice(0, 5).join('; ')}`);
	stage.outside.effects.check();
	return found;
}

/** Throws where a run was given up before its attempts were used. Takes what was read when it was over. */
export function checkAttempts(tag: string, { attempt, end }: Transcript): void {
	if (end?.code === 'interrupted' && attempt < attempts)
		throw new Error(`${tag}: interrupted, though it was attempted ${attempt} times only`);
}

async function outcome({ client, outside }: Stage, { tag, session }: Sent): Promise<keyof Outcomes> {
	const { status, error } = await client.state(session);
	const messages = await client.history(session);
	checkHistory(tag, messages, outside.upstream.asks, status === 'completed');
	if (status === 'error' && error?.code === 'budget_exceeded') return 'refused';
	if (status === 'error' && error?.code === 'interrupted') {
		const { transcript } = await read(client, session);
		checkAttempts(tag, transcript);
		return 'interrupted';
	}
	if (status !== 'completed') throw new Error(`${tag}: the run is ${status} (${error?.message ?? 'no error'})`);
	for (const { toolCallId = '', isError } of messages) {
		const tool = toolCallId.split('.').at(-1) ?? '';
		if (tool !== '' && isError !== true && outside.effects.count(tool, toolCallId) === 0)
			throw new Error(`${tag}: ${toolCallId} has a result, but had no effect`);
	}
	return 'completed';
}
