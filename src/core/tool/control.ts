import { isRecord } from '../ground/json.ts';

const control: unique symbol = Symbol.for('runlet.control');

/** A question to the person. A tool makes it with `askUser`. */
export interface AskUser {
	readonly [control]: 'ask_user';
	readonly question: string;
	readonly options?: Readonly<Record<string, unknown>>;
}

/** The end of a run. A tool makes it with `halt`. */
export interface Halt {
	readonly [control]: 'halt';
	readonly reason: string;
	readonly result: unknown;
}

/**
 * A tool returns this to ask the person. The run stops as `awaiting_user` with the question. The answer becomes the
 * result of this call.
 *
 * @param options free data for the program that shows the question, such as the choices to offer
 */
export function askUser(question: string, options?: Readonly<Record<string, unknown>>): AskUser {
	return options === undefined ? { [control]: 'ask_user', question } : { [control]: 'ask_user', question, options };
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
