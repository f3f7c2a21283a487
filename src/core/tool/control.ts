const control: unique symbol = Symbol.for('runlet.control');

/** What a tool returns to put a question to the person; made by `askUser`. */
export interface AskUser {
	readonly [control]: 'ask_user';
	readonly question: string;
	readonly options?: Readonly<Record<string, unknown>>;
}

/** What a tool returns to stop the run; made by `halt`. */
export interface Halt {
	readonly [control]: 'halt';
	readonly reason: string;
	readonly result: unknown;
}

/**
 * Returned by a tool to ask the person: the run stops as `awaiting_user` and carries the question; the answer becomes
 * this call's result.
 *
 * @param options free data for whoever shows the question, such as the choices to offer.
 */
export function askUser(question: string, options?: Readonly<Record<string, unknown>>): AskUser {
	return options === undefined ? { [control]: 'ask_user', question } : { [control]: 'ask_user', question, options };
}

/**
 * Returned by a tool to stop the run: it ends as `halted` with `haltedReason: reason`, and `result` is kept in the
 * history as the call's result.
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

import { isRecord } from '../ground/json.ts';
