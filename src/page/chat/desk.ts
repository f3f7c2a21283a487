/** What a chat works on, beside its conversation: its task lists and its files. */

import type { SessionClient } from '../../client/sessions.ts';
import type { RunEvent } from '../../client/types.ts';
import { find } from '../parts/element.ts';
import { createCallTimes } from './call-times.ts';
import { createMoneyView, type MoneyClient } from './money.ts';
import { createTaskLists } from './task-lists.ts';
import type { CallView } from './tool-call.ts';
import { createWorkspaceView, type FileClient } from './workspace.ts';

/** Keeps the desk as the session has it. It is an aid: where it cannot be read, the chat goes on without it. */
export function createDesk(
	client: Pick<SessionClient, 'listTasks' | 'listEarlier'> & FileClient & MoneyClient,
	calls: ReadonlyMap<string, CallView>,
) {
	const tasks = createTaskLists(find('#tasks', HTMLDetailsElement));
	const files = createWorkspaceView(find('#workspace', HTMLDetailsElement), client);
	const times = createCallTimes(client, calls);
	const money = createMoneyView(find('#money', HTMLDetailsElement), client);
	/** The lists that events have shown. They are newer than what is read meanwhile. */
	const told = new Set<string>();
	return {
		clear() {
			told.clear();
			tasks.clear();
			files.clear();
			money.clear();
		},
		/** Shows the desk of a new session, which has nothing on it yet. */
		use(id: string, signal: AbortSignal) {
			files.use(id, signal);
			money.use(id, signal);
			times.use(id, signal);
		},
		/** Shows the desk of a session. */
		async open(id: string, signal: AbortSignal) {
			this.use(id, signal);
			void files.refresh();
			void money.refresh();
			const lists = await client.listTasks(id, { signal }).catch(() => []);
			if (!signal.aborted) tasks.show(lists.filter((list) => !told.has(list.id)));
		},
		/** The run that was played is over. */
		settle(): void {
			void money.refresh();
			times.refresh();
		},
		/** Takes the events of its runs. */
		apply(event: RunEvent) {
			if (event.type === 'tasks') {
				tasks.show(event.lists);
				for (const { id } of event.lists) told.add(id);
			}
			if (event.type === 'step') money.setTurn(event);
			const mayHaveFiles = event.type === 'run.started' || (event.type === 'step' && event.toolResults.length > 0);
			if (mayHaveFiles) void files.refresh();
		},
	};
}
