import { isRecord } from '../ground/json.ts';

const control: unique symbol = Symbol.for('runlet.control');

/** A question to the person. A tool makes it with `askUser`. */
export interface AskUser {
	readonly [control]: 'ask_user';
	readonly question: string;
	readonly options?: Readonly<Record<string, unknown>>;
	/** What the tool needs when the answer comes. Nobody is shown it. */
	readonly resume?: unknown;
}

/** The end of a run. A tool makes it with `halt`. */
export interface Halt {
	readonly [control]: 'halt';
	readonly reason: string;
	readonly result: unknown;
}

/**
 * A tool returns this to ask the person. The run stops as `awaiting_user` with the question. The answer becomes the
 * result of this call, or goes to the tool's `onAnswer`.
 *
 * @param options free data for the program that shows the question, such as the choices to offer
 * @param resume JSON that the tool's `onAnswer` gets with the answer. It is stored, and shown to nobody.
 */
export function askUser(question: string, options?: Readonly<Record<string, unknown>>, resume?: unknown): AskUser {
	return {
		[control]: 'ask_user',
		question,
		...(options !== undefined && { options }),
		...(resume !== undefined && { resume }),
	};
}

/**
 * A tool returns this to stop the run. The run ends as `halted` with `haltedReason: reason`. The history keeps `result`
 * as the result of this call.
 */
export function halt(reason: string, result?: unknown): Halt {
	return { [control]: 'halt', reason, result: result ?? null };
}

export function isAskUser(value: unknown): value is AskUser {
	return isRecord(value) && control in value && value[control] === 'ask_user';
}

export function isHalt(value: unknown): value is Halt {
	return isRecord(value) && control in value && value[control] === 'halt';
}
