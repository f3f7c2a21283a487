/** Finds the system prompt and the tools of a turn in an export. A turn stores them only if they changed. */

import type { ExportedSession } from '../../client/types.ts';

type Setup = NonNullable<NonNullable<ExportedSession['messages'][number]['stored']>['setup']>;

interface SentSetup {
	readonly system?: string;
	readonly tools: NonNullable<Setup['tools']>;
}

/** `reply` is the id of the model's message. */
export function readSetup({ messages }: Pick<ExportedSession, 'messages'>, reply: string): SentSetup {
	const end = messages.findIndex(({ id }) => id === reply);
	const setups = messages.slice(0, end + 1).flatMap(({ stored }) => stored?.setup ?? []);
	return {
		system: setups.findLast(({ system }) => system !== undefined)?.system,
		tools: setups.findLast(({ tools }) => tools !== undefined)?.tools ?? [],
	};
}
