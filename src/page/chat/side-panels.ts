/** The panels beside a conversation: its task lists, its files and its cost. */

import type { SessionClient } from '../../client/sessions.ts';
import type { RunEvent } from '../../client/types.ts';
import { find } from '../parts/element.ts';
import { createMoneyView, type MoneyClient } from './money.ts';
import { createTaskLists } from './task-lists.ts';
import { type CallView, createCallTimes } from './tool-call.ts';
import { createWorkspaceView, type FileClient } from './workspace.ts';

/** Shows the panels of the open session. A panel that cannot be read does not stop the chat. */
export function createSidePanels(
	client: Pick<SessionClient, 'listTasks' | 'listEarlier'> & FileClient & MoneyClient,
	calls: ReadonlyMap<string, CallView>,
) {
	const tasks = createTaskLists(find('#tasks', HTMLDetailsElement));
	const files = createWorkspaceView(find('#workspace', HTMLDetailsElement), client);
	const times = createCallTimes(client, calls);
	const money = createMoneyView(find('#money', HTMLDetailsElement), client);
	/** The lists that events have shown. They are newer than a list that is read. */
	const shown = new Set<string>();
	return {
		clear() {
			shown.clear();
			tasks.clear();
			files.clear();
			money.clear();
		},
		/** Starts the empty panels of a new session. */
		use(id: string, signal: AbortSignal) {
			files.use(id, signal);
			money.use(id, signal);
			times.use(id, signal);
		},
		/** Shows the panels of a session. */
		async open(id: string, signal: AbortSignal) {
			this.use(id, signal);
			void files.refresh();
			void money.refresh();
			const lists = await client.listTasks(id, { signal }).catch(() => []);
			if (!signal.aborted) tasks.show(lists.filter((list) => !shown.has(list.id)));
		},
		/** Reads again after a run. */
		settle(): void {
			void money.refresh();
			times.refresh();
		},
		/** Applies an event of a run. */
		apply(event: RunEvent) {
			if (event.type === 'tasks') {
				tasks.show(event.lists);
				for (const { id } of event.lists) shown.add(id);
			}
			if (event.type === 'step') money.setTurn(event);
			const mayHaveFiles = event.type === 'run.started' || (event.type === 'step' && event.toolResults.length > 0);
			if (mayHaveFiles) void files.refresh();
		},
	};
}
