/** What happens in the session of a chat elsewhere: in another window, in the terminal, by a webhook or a schedule. */

import type { LoadedSession } from '../../client/history.ts';
import { ClientError, type RunEvent, type Session } from '../../client/index.ts';
import type { SessionClient } from '../../client/sessions.ts';
import type { Message } from '../../client/types.ts';
import { pageLength } from './earlier.ts';
import type { Transcript } from './transcript.ts';
import type { WaitingList } from './waiting.ts';

interface Options {
	readonly client: Pick<SessionClient, 'getSession' | 'loadSession'>;
	readonly transcript: Pick<Transcript, 'addLater'>;
	readonly waiting: WaitingList;
	readonly isRunning: () => boolean;
	/** Called with the calls that still wait for a person. */
	readonly onWaitingCalls: (ids: ReadonlySet<string>) => void;
	/** Follows the newest run of the session, whose earlier ones are shown. */
	readonly goOn: (loaded: LoadedSession, signal: AbortSignal) => void;
	/** Reloads the whole chat. */
	readonly showAnew: () => void;
}

type Run = NonNullable<Session['run']>;

/** A session, and the end of its being shown. */
interface Visit {
	readonly id: string;
	readonly signal: AbortSignal;
}

export function createElsewhere({ client, transcript, waiting, isRunning, onWaitingCalls, goOn, showAnew }: Options) {
	/** The newest run that is shown, and how far. */
	let shown: Run | undefined;
	let isLooking = false;
	/** The session to read after the current read, which may miss a change that was reported during it. */
	let due: Visit | undefined;

	/** A run that goes on and is not followed here is news, too. */
	const isShown = ({ run }: Session): boolean =>
		run?.id === shown?.id && run?.status === shown?.status && run?.status !== 'running';

	async function look(id: string, signal: AbortSignal): Promise<void> {
		const session = await client.getSession(id, { signal });
		if (isRunning()) return;
		if (isShown(session)) {
			onWaitingCalls(new Set((session.toolCalls ?? []).map((call) => call.id)));
			if (session.waiting !== undefined || !waiting.isEmpty) await waiting.refresh();
			return;
		}
		const loaded = await client.loadSession(id, { newest: pageLength, signal });
		// The person may have continued here.
		if (isRunning() || isShown(loaded.session)) return;
		const newer = findNewer(loaded, shown?.id);
		if (newer === undefined) return showAnew();
		transcript.addLater(newer);
		goOn(loaded, signal);
	}

	async function tryToLook(id: string, signal: AbortSignal): Promise<void> {
		try {
			if (isRunning()) await waiting.refresh();
			else await look(id, signal);
		} catch (error) {
			const isGone = error instanceof ClientError && error.status === 404;
			if (isGone && !signal.aborted) showAnew();
		}
	}

	return {
		/** The chat shows a session as it is. */
		show(run: Run | undefined): void {
			shown = run;
		},
		/** The chat shows an event. */
		apply(event: RunEvent): void {
			if (event.type === 'run.started') shown = { id: event.runId, status: 'running' };
			const status = findEnd(event);
			if (shown !== undefined && status !== undefined) shown = { ...shown, status };
		},
		/** Shows new messages and runs. If the session cannot be read, the chat stays unchanged. */
		async look(id: string, signal: AbortSignal): Promise<void> {
			due = { id, signal };
			if (isLooking) return;
			isLooking = true;
			for (let next: Visit | undefined = due; next !== undefined; next = due) {
				due = undefined;
				await tryToLook(next.id, next.signal);
			}
			isLooking = false;
		},
	};
}

/** Finds the messages behind a run that is shown. Nothing where it is not a part of the conversation any more. */
function findNewer({ session, messages, steered }: LoadedSession, shown: string | undefined): Message[] | undefined {
	if (session.run?.id === shown) return undefined;
	const last = messages.findLastIndex(({ runId }) => runId === shown);
	if (shown === undefined || last === -1) return undefined;
	return messages.slice(last + 1).filter(({ id }) => !steered.has(id));
}

function findEnd(event: RunEvent): Run['status'] | undefined {
	switch (event.type) {
		case 'done':
			return 'completed';
		case 'awaiting':
			return event.status;
		case 'halted':
		case 'cancelled':
		case 'error':
			return event.type;
	}
	return undefined;
}
