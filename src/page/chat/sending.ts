/** Sends a message or an answer. If it is refused, finds the error to show. */

import { ClientError, type MessageBody, type RunEvents } from '../../client/index.ts';
import type { SessionClient } from '../../client/sessions.ts';
import { createAnsweredError, findAnswered, isWaitingFor, type Question } from '../../client/waits.ts';
import type { Visit } from '../parts/live.ts';

/** Sends a message or an answer, and reads the run. If the page leaves the chat, only the reading ends. */
export function sendAndRead(place: AbortSignal, begin: (signal: AbortSignal) => RunEvents): RunEvents {
	const reading = new AbortController();
	const events = begin(reading.signal);
	const next = events.next.bind(events);
	let isFirst = true;
	return Object.assign(events, {
		next: async () => {
			const result = await next();
			if (isFirst && place.aborted) reading.abort(place.reason);
			else if (isFirst) place.addEventListener('abort', () => reading.abort(place.reason), { once: true });
			isFirst = false;
			return result;
		},
	});
}

/** Whether the server accepted the request, and only reading the run failed. */
export function hasArrived(error: unknown, place: AbortSignal): boolean {
	return error === place.reason || (error instanceof ClientError && error.code === 'connection_lost');
}

/** Sends a message. If `question` is open, the message answers this question and no other. */
export function sendOrAnswer(
	client: SessionClient,
	{ id, signal }: Visit,
	message: MessageBody,
	question: Question | undefined,
): RunEvents {
	return sendAndRead(signal, (reading) => {
		if (question === undefined) return client.sendMessage(id, message, { signal: reading });
		return client.answerQuestion(id, { ...message, callId: findAnswered(question) }, { signal: reading });
	});
}

/**
 * Returns the error to show if the server refused a message or an answer because the session had changed. `call` is the
 * call that the person answered.
 */
export async function readRefusal(
	client: SessionClient,
	{ id, signal }: Visit,
	error: unknown,
	call: string | undefined,
): Promise<ClientError | undefined> {
	if (!(error instanceof ClientError) || error.code !== 'conflict') return undefined;
	if (call === undefined) return error;
	const session = await client.getSession(id, { signal }).catch(() => undefined);
	return session === undefined || isWaitingFor(session, call) ? undefined : createAnsweredError();
}
