/** The panels beside a conversation: its task lists, its files and its cost. */

import { say } from '../../client/say.ts';
import type { SessionClient } from '../../client/sessions.ts';
import type { Message, RunEvent } from '../../client/types.ts';
import type { Visit } from '../parts/live.ts';
import type { Pane } from './pane.ts';
import type { Surroundings } from './surroundings.ts';
import { createTaskLists } from './task-lists.ts';
import { type CallView, showCallFacts } from './tool-call.ts';
import { createWorkspaceView } from './workspace.ts';

/** The number of messages that are read after a run, to find how long its calls took. */
const newest = 50;

/** Shows the panels beside the open session. If a panel cannot be read, the chat still works. */
export function createSidePanels(
	client: SessionClient,
	calls: ReadonlyMap<string, CallView>,
	pane: Pane,
	{ createMoney, createFileView }: Pick<Surroundings, 'createMoney' | 'createFileView'>,
) {
	let visit: Visit | undefined;
	const tasks = createTaskLists(pane.add('tasks', say('Tasks')));
	const files = createWorkspaceView(pane.add('workspace', say('Files')), client, () => visit, createFileView);
	const money = createMoney?.(pane.add('money', say('Cost')), client, () => visit);
	/** The task lists that events have brought. They are newer than task lists from a request. */
	const shown = new Set<string>();

	async function readCallFacts({ id, signal }: Visit): Promise<void> {
		const { messages } = await client.listEarlier(id, { limit: newest, signal });
		if (!signal.aborted) showCallFacts(calls, messages);
	}

	return {
		clear(): void {
			visit = undefined;
			shown.clear();
			for (const panel of [tasks, files, money]) panel?.clear();
		},
		/** Shows empty panels for a new session. */
		use(next: Visit): void {
			visit = next;
		},
		async open({ id, signal }: Visit): Promise<void> {
			visit = { id, signal };
			void files.refresh();
			void money?.refresh();
			const lists = await client.listTasks(id, { signal }).catch(() => []);
			if (!signal.aborted) tasks.show(lists.filter((list) => !shown.has(list.id)));
		},
		/** Shows the cost and the context of the replies among these messages. */
		showContext: (messages: readonly Message[]) => money?.showContext(messages),
		/** Reads the panels again after a run. */
		settle(): void {
			void money?.refresh();
			if (visit !== undefined && calls.size > 0) readCallFacts(visit).catch(() => {});
		},
		apply(event: RunEvent): void {
			if (event.type === 'tasks') {
				tasks.show(event.lists);
				for (const { id } of event.lists) shown.add(id);
			}
			if (event.type === 'step') money?.addTurn(event);
			const mayHaveFiles = event.type === 'run.started' || (event.type === 'step' && event.toolResults.length > 0);
			if (mayHaveFiles) void files.refresh();
		},
	};
}
