/** Shows changes to a chat's session from elsewhere: another window, the terminal, a webhook or a schedule. */

import { findRunEnd, type LoadedSession } from '../../client/history.ts';
import { ClientError, type RunEvent, type Session } from '../../client/index.ts';
import type { SessionClient } from '../../client/sessions.ts';
import type { Message } from '../../client/types.ts';
import { createRefresh, type Visit } from '../parts/live.ts';
import { pageLength } from './earlier.ts';
import type { Transcript } from './transcript.ts';
import type { WaitingList } from './waiting.ts';

interface Options {
	readonly client: SessionClient;
	readonly transcript: Transcript;
	readonly waiting: WaitingList;
	readonly isRunning: () => boolean;
	/** Called with the ids of the calls that still wait for a person. */
	readonly onWaitingCalls: (ids: ReadonlySet<string>) => void;
	/** Follows the newest run of the session if it is running. All stored messages are already shown. */
	readonly goOn: (loaded: LoadedSession, signal: AbortSignal) => void;
	/** Reloads the whole chat. */
	readonly showAnew: () => void;
}

type Run = NonNullable<Session['run']>;

export function createElsewhere({ client, transcript, waiting, isRunning, onWaitingCalls, goOn, showAnew }: Options) {
	/** The newest run on the page, with the status that the page shows for it. */
	let shown: Run | undefined;
	let visit: Visit | undefined;

	/** Whether the newest run is shown completely. False for a running run, because this window does not follow it. */
	const isShown = ({ run }: Session): boolean =>
		run?.id === shown?.id && run?.status === shown?.status && run?.status !== 'running';

	async function read({ id, signal }: Visit): Promise<void> {
		if (isRunning()) return void (await waiting.refresh());
		const session = await client.getSession(id, { signal });
		if (isRunning()) return;
		if (isShown(session)) {
			onWaitingCalls(new Set((session.toolCalls ?? []).map((call) => call.id)));
			if (session.waiting !== undefined || !waiting.isEmpty) await waiting.refresh();
			return;
		}
		const loaded = await client.loadSession(id, { newest: pageLength, withEnded: true, signal });
		// In the meantime, the person has possibly continued in this window.
		if (isRunning() || isShown(loaded.session)) return;
		const newer = findNewer(loaded, shown?.id);
		if (newer === undefined) return showAnew();
		transcript.addLater(newer, findRunEnd(loaded));
		goOn(loaded, signal);
	}

	const refresh = createRefresh(async () => {
		if (visit === undefined) return;
		const { signal } = visit;
		await read(visit).catch((error: unknown) => {
			if (error instanceof ClientError && error.status === 404 && !signal.aborted) showAnew();
		});
	});

	return {
		show(run: Run | undefined): void {
			shown = run;
		},
		apply(event: RunEvent): void {
			if (event.type === 'run.started') shown = { id: event.runId, status: 'running' };
			const status = findEnd(event);
			if (shown !== undefined && status !== undefined) shown = { ...shown, status };
		},
		/** Shows new messages and runs. If the session cannot be read, the chat stays unchanged. */
		look(next: Visit): void {
			visit = next;
			void refresh();
		},
	};
}

/** Returns the messages after a shown run. Undefined if the run is no longer part of the conversation. */
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
