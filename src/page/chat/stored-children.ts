/** The stored runs of child sessions, within the calls that they worked for. A person opens a call to read them. */

import { toEvents } from '../../client/history.ts';
import type { SessionClient } from '../../client/sessions.ts';
import type { Session } from '../../client/types.ts';
import { toSessionAddress } from '../parts/address.ts';
import { link } from '../parts/element.ts';
import { createFailure } from '../parts/failure.ts';
import { pageLength } from './earlier.ts';
import { createRunView } from './run-view.ts';
import type { CallView } from './tool-call.ts';

type Child = NonNullable<Session['children']>[number];

/** Reads a child only when its call is opened, because a session can have many. */
export function offerChildren(
	client: Pick<SessionClient, 'listEarlier'>,
	children: readonly Child[],
	{ calls, signal }: { readonly calls: ReadonlyMap<string, CallView>; readonly signal: AbortSignal },
): void {
	for (const { callId, id, agent } of children) {
		const call = calls.get(callId);
		call?.root.addEventListener('toggle', () => show(call, id, agent), { once: true });
	}

	function show(call: CallView, id: string, agent: string): void {
		const place = call.nest(link('', toSessionAddress(id), agent), id);
		const label = place.firstElementChild ?? '';
		const read = async (): Promise<void> => {
			const { messages } = await client.listEarlier(id, { limit: pageLength, signal });
			if (signal.aborted) return;
			const view = createRunView(place);
			for (const message of messages) for (const event of toEvents(message)) view.apply(event);
			view.end();
		};
		const again = (): void => {
			place.replaceChildren(label);
			read().catch((error: unknown) => {
				if (!signal.aborted) place.append(createFailure(error, again));
			});
		};
		again();
	}
}
