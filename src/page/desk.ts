/** What a chat works on, beside its conversation: its task lists. */

import type { SessionClient } from '../client/sessions.ts';
import type { RunEvent } from '../client/types.ts';
import { find } from './element.ts';
import { createTaskLists } from './task-lists.ts';

/** Keeps the desk as the session has it. It is an aid: where it cannot be read, the chat goes on without it. */
export function createDesk(client: Pick<SessionClient, 'listTasks'>) {
	const tasks = createTaskLists(find('#tasks', HTMLDetailsElement));
	return {
		clear() {
			tasks.clear();
		},
		/** Shows the desk of a session. */
		async open(id: string, signal: AbortSignal) {
			const lists = await client.listTasks(id, { signal }).catch(() => []);
			if (!signal.aborted) tasks.show(lists);
		},
		/** Takes the events of its runs. */
		apply(event: RunEvent) {
			if (event.type === 'tasks') tasks.show(event.lists);
		},
	};
}
