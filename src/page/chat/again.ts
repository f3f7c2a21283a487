/** Sends a message of the conversation again, with the same or a new text. */

import { ClientError } from '../../client/error.ts';
import { say } from '../../client/say.ts';
import type { SessionClient } from '../../client/sessions.ts';
import type { Message } from '../../client/types.ts';

/** A message by its id, or the message that began a run, or the last answer of a run. */
export type Spot =
	| { readonly id: string }
	| { readonly begun: string }
	/** The id of a run. */
	| { readonly ended: string };

/** A message to send again. Without a place, the newest one. */
export interface Again {
	readonly at?: Exclude<Spot, { readonly ended: string }>;
	/** The new text. Missing to send the same text. */
	readonly text?: string;
}

/** The number of messages in a page. The message is usually in the first one. */
const pageLength = 100;

/** Sends a message again. Does not read the events of the new run. */
export async function askAgain(
	client: SessionClient,
	sessionId: string,
	{ at, text }: Again,
	signal: AbortSignal,
): Promise<void> {
	const replaces = await findId(client, sessionId, at, signal);
	await client.leaveMessage(sessionId, { replaces, text }, { signal });
}

/** Reads backwards from the newest message. Without a place, finds the newest message of a person. */
export async function findId(
	client: SessionClient,
	sessionId: string,
	at: Spot | undefined,
	signal: AbortSignal,
): Promise<string> {
	if (at !== undefined && 'id' in at) return at.id;
	let found: Message | undefined;
	for (let before: string | undefined; ; ) {
		const { messages, cursor } = await client.listEarlier(sessionId, { before, limit: pageLength, signal });
		if (at === undefined) found = messages.findLast(isInput);
		else if ('ended' in at) found = messages.findLast(({ role, runId }) => role === 'assistant' && runId === at.ended);
		// Other messages can have steered the run, so look for the first one.
		else found = messages.find((message) => isInput(message) && message.runId === at.begun) ?? found;
		const mayBeEarlier = at !== undefined && 'begun' in at && messages[0]?.runId === at.begun;
		if (found !== undefined && !(mayBeEarlier && cursor !== undefined)) return found.id;
		if (cursor === undefined)
			throw new ClientError('no_message', say('This message is no longer in the conversation.'), { status: 404 });
		before = cursor;
	}
}

function isInput({ role, isInput }: Message): boolean {
	return role === 'user' && isInput === true;
}

export function createBusyError(): ClientError {
	const words = say('The agent still answers. Stop it, or wait for its end, and send this again.');
	return new ClientError('conflict', words, { status: 409 });
}
