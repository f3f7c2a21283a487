/** What a session itself says of what waits there: all of it, and as it stands by now. */

import { type Approval, type Client, ClientError } from '../../client/index.ts';
import { findAnswered, isWaitingFor } from '../../client/waits.ts';

/** Reads what waits in the place of an entry whose answer was refused. Nothing where the entry itself still waits. */
export async function readNow(
	{ client, signal }: { readonly client: Pick<Client, 'getSession'>; readonly signal: AbortSignal },
	approval: Approval,
	error: unknown,
): Promise<readonly Approval[] | undefined> {
	if (!(error instanceof ClientError) || error.code !== 'conflict') return undefined;
	const { sessionId, agent, title, callId, question: words = '', options } = approval;
	const session = await client.getSession(sessionId, { signal }).catch(() => undefined);
	const answered = findAnswered({ callId, question: words, options });
	if (session === undefined || isWaitingFor(session, answered)) return undefined;
	const { toolCalls = [], question } = session;
	const about = { sessionId, agent, title, since: new Date().toISOString() };
	const calls = toolCalls.map(
		({ id, name, input, kind }): Approval => ({ ...about, callId: id, tool: name, input, kind: kind ?? 'result' }),
	);
	return question === undefined ? calls : [...calls, { ...about, ...question, kind: 'question' }];
}

/**
 * Gives an entry with all of its arguments, or of its question: the list has the beginning of long ones only. Nothing where
 * the call waits no more.
 */
export async function readWhole(
	{ client, signal }: { readonly client: Pick<Client, 'getSession'>; readonly signal: AbortSignal },
	approval: Approval,
): Promise<Approval | undefined> {
	const { inputStart, isCut, ...entry } = approval;
	if (inputStart === undefined && isCut === undefined) return approval;
	const { toolCalls = [], question } = (await client.getSession(entry.sessionId, { signal }).catch(passGone)) ?? {};
	if (isCut) return question?.callId === entry.callId ? { ...entry, ...question } : undefined;
	const call = toolCalls.find(({ id }) => id === entry.callId);
	return call && { ...entry, input: call.input };
}

function passGone(error: unknown): undefined {
	if (!(error instanceof ClientError) || error.code !== 'not_found') throw error;
}
