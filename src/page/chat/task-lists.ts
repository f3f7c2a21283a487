/** The task lists of a chat. Each task is a line, which is updated in place. */

import { say } from '../../client/say.ts';
import type { TaskList } from '../../client/types.ts';
import { describeTasks } from '../../client/words.ts';
import { element, withoutTurns } from '../parts/element.ts';
import type { PaneTab } from '../parts/pane-tab.ts';

type Task = TaskList['tasks'][number];

const words = { done: 'Done: ', failed: 'Failed: ', next: 'Next: ', open: 'Open: ' };

/** Shows task lists in a tab. When the first open task appears, the tab opens by itself. */
export function createTaskLists(tab: PaneTab) {
	const body = element('div', 'lists');
	tab.panel.append(body);
	const views = new Map<string, ReturnType<typeof createListView>>();

	return {
		clear() {
			tab.isShown = false;
			views.clear();
			body.replaceChildren();
		},
		/** Shows task lists. A list that is already shown is updated in place. */
		show(lists: readonly TaskList[]) {
			for (const list of lists) {
				const known = views.get(list.id);
				const view = known ?? createListView();
				views.set(list.id, view);
				if (known === undefined) body.append(view.root);
				view.update(list);
				tab.brief.textContent = withoutTurns(`${describeTasks(list)} · ${list.title}`);
			}
			if (lists.length === 0 || tab.isShown) return;
			tab.isShown = true;
			if (lists.some(({ tasks }) => tasks.some(({ outcome }) => outcome === undefined))) tab.suggest();
		},
	};
}

function createListView() {
	const title = element('h3');
	const items = element('ul', 'tasks');
	const lines = new Map<string, ReturnType<typeof createLine>>();
	return {
		root: element('section', '', title, items),
		update(list: TaskList) {
			title.textContent = withoutTurns(list.title);
			const next = list.tasks.find(({ outcome }) => outcome === undefined);
			for (const [at, task] of list.tasks.entries()) {
				const line = lines.get(task.id) ?? createLine();
				lines.set(task.id, line);
				line.update(task, task === next);
				if (items.children[at] !== line.root) items.insertBefore(line.root, items.children[at] ?? null);
			}
			for (const [id, { root }] of lines) {
				if (list.tasks.some((task) => task.id === id)) continue;
				root.remove();
				lines.delete(id);
			}
		},
	};
}

function createLine() {
	const state = element('span', 'visually-hidden');
	const text = element('span', 'task-text');
	const note = element('span', 'task-note');
	const root = element('li', 'task', state, text, note);
	return {
		root,
		update(task: Task, isNext: boolean) {
			const outcome = task.outcome ?? (isNext ? 'next' : 'open');
			root.dataset.outcome = outcome;
			state.textContent = say(words[outcome]);
			text.textContent = withoutTurns(task.text);
			note.textContent = withoutTurns(task.note ? ` ${task.note}` : '');
		},
	};
}
