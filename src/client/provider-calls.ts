/** Follows the tools that the provider of the model runs itself, for the page and the terminal. */

import type { ProviderCall } from './types.ts';

export interface ProviderCalls<T> {
	/** Returns what was made for a call. An event with the same id is about the same call until that has its result. */
	take(call: ProviderCall): T;
	/** The turn is over. A call without a result may get it in a later turn; some providers count their ids anew in each. */
	endTurn(): void;
	/** Forgets the calls that the turn began. */
	dropTurn(): void;
}

/** `create` makes something for a new call. */
export function createProviderCalls<T>(create: (call: ProviderCall) => T): ProviderCalls<T> {
	const calls = new Map<string, { readonly made: T; isOver: boolean; isNew: boolean }>();
	return {
		take(call) {
			const known = calls.get(call.id) ?? { made: create(call), isOver: false, isNew: true };
			known.isOver ||= hasEnded(call);
			calls.set(call.id, known);
			return known.made;
		},
		endTurn() {
			for (const [id, call] of calls) {
				if (call.isOver) calls.delete(id);
				call.isNew = false;
			}
		},
		dropTurn() {
			for (const [id, { isNew }] of calls) if (isNew) calls.delete(id);
		},
	};
}

/** Whether a call has its result. */
export function hasEnded({ output, isError }: ProviderCall): boolean {
	return output !== undefined || isError === true;
}
