import { RunletError } from '../../base/errors.ts';
import { isRetryable } from '../../chat/model-error.ts';
import { sleep } from '../../chat/signal.ts';
import type { Adapter, ModelRequest, ReplyReader } from './adapter.ts';
import { type Caller, ProviderComplaint, toProviderError } from './failure.ts';
import type { ReplyBuilder } from './reply.ts';

/** A reply that the provider goes on with, whoever reads it. */
export interface Followed {
	readonly adapter: Adapter;
	readonly request: ModelRequest;
	readonly reader: ReplyReader;
	readonly reply: ReplyBuilder;
	readonly caller: Caller;
	/** Reads an answer without a stream. */
	readonly read: (response: Response) => Promise<void>;
	/** Called for each answer, which shows that the provider is at work. */
	readonly onActivity: () => void;
}

const shortestPauseMs = 500;
const longestPauseMs = 10_000;
/** How many requests may fail one after another. */
const mostFailures = 5;

/**
 * Asks for a reply in the background until it is finished, under its id. Does nothing for any other reply. Ends with the
 * caller's signal.
 */
export async function followReply(followed: Followed): Promise<void> {
	const { adapter, request, reader, reply, caller, read, onActivity } = followed;
	const { background } = adapter;
	let pause = shortestPauseMs;
	let failures = 0;
	for (let id = reader.pending?.(); id !== undefined && background !== undefined; id = reader.pending?.()) {
		if (reply.isFinished()) return;
		await sleep(pause, request.signal);
		pause = Math.min(pause * 1.5, longestPauseMs);
		try {
			const response = await background.get(id, request.signal);
			onActivity();
			await read(response);
			failures = 0;
		} catch (thrown) {
			const mayPass = reader.pending?.() !== undefined && isRetryable(toProviderError(thrown, caller));
			if (!mayPass || request.signal.aborted || ++failures === mostFailures) throw thrown;
		}
	}
}

/** Whether a reply was lost on its way, so that its provider may still have it. */
export function isLost(thrown: unknown): boolean {
	return !(thrown instanceof ProviderComplaint) && !(thrown instanceof RunletError && thrown.code !== 'interrupted');
}
