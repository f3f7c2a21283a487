import { isDelta, type RunEvent } from './event.ts';
import { type Message, userMessage } from './message.ts';
import type { ChatOptions } from './options.ts';
import type { ReplyDelta } from './reply.ts';
import { run, startRun } from './run.ts';

/** Asks an agent and resolves to its final text. The model does not stream. Rejects like `Run.result`. */
export function runLoop(options: ChatOptions, text: string): Promise<string> {
	return runLoopMessages(options, [userMessage(text)]);
}

/** Like `runLoop`, from a conversation. */
export async function runLoopMessages(options: ChatOptions, messages: readonly Message[]): Promise<string> {
	return (await startRun(options, messages, { stream: false }).result).text;
}

/** Asks an agent and resolves to its final text. `onDelta` gets each delta of every turn, and `turn.restarted`. */
export function runLoopStream(options: ChatOptions, text: string, onDelta?: OnStreamDelta): Promise<string> {
	return runLoopStreamMessages(options, [userMessage(text)], onDelta);
}

/**
 * Takes the deltas of a run, and `turn.restarted`: the turn is asked again, so drop its deltas. A function that takes
 * only deltas fits too.
 */
export type OnStreamDelta = {
	// A method, because its parameter may be narrower.
	take(delta: ReplyDelta | Restarted): void | Promise<void>;
}['take'];

type Restarted = Extract<RunEvent, { readonly type: 'turn.restarted' }>;

/** Like `runLoopStream`, from a conversation. The run waits for `onDelta`. An error there ends the run. */
export async function runLoopStreamMessages(
	options: ChatOptions,
	messages: readonly Message[],
	onDelta?: OnStreamDelta,
): Promise<string> {
	const { events, result } = run(options, messages);
	if (onDelta !== undefined) {
		for await (const event of events) {
			const taken = isDelta(event) || event.type === 'turn.restarted' ? onDelta(event) : undefined;
			if (taken !== undefined) await taken;
		}
	}
	return (await result).text;
}
