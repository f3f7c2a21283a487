import { raceAbort, sleep } from '../../core/chat/signal.ts';
import { RunletError } from '../../core/ground/errors.ts';
import { type RpcResult, takeValue } from '../objects/result.ts';

/** The first and the longest pause before a session that cannot be reached is asked again, in milliseconds. */
const [firstPauseMs, longestPauseMs] = [250, 5_000];

/** Makes a call of another session until there is an answer that a later try would not change. */
export async function insist<T>(signal: AbortSignal, call: () => Promise<RpcResult<T>>): Promise<T> {
	for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
		try {
			return takeValue(await raceAbort(call(), signal));
		} catch (error) {
			signal.throwIfAborted();
			if (isFinal(error)) throw error;
			await sleep(pause * (0.5 + Math.random() / 2), signal);
		}
	}
}

/** Whether another session has refused a call, so that a later try would be refused, too. */
export function isFinal(error: unknown): boolean {
	return error instanceof RunletError && !['overloaded', 'storage_unavailable'].includes(error.code);
}
