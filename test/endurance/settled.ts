import { setTimeout as pause } from 'node:timers/promises';
import { checkHistory } from './history.ts';
import { read } from './reader.ts';
import type { Stage } from './stage.ts';
import type { Transcript } from './transcript.ts';

/** An acknowledged message. */
export interface Sent {
	readonly tag: string;
	readonly session: string;
}

export interface Outcomes {
	completed: number;
	/** The number of runs that ended after their last attempt. */
	interrupted: number;
	/** The number of runs that ended because the budget was spent. */
	refused: number;
}

/** How long a run may take to end after the last kill, in milliseconds. */
const patienceMs = 60_000;
/** Attempts without progress before a run may give up. */
const attempts = 3;

/** Waits without requests to the sessions until each reports its stored end, or the time is over. Returns the milliseconds. */
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
 * Reads each session once. Throws if a run ended in an unexpected way, a history is malformed, or a tool had an
 * effect twice.
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

/** Throws if a run gave up before its last attempt. Takes a transcript of the finished run. */
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
