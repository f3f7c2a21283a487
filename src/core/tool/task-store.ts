import * as v from 'valibot';
import { check } from '../ground/check.ts';
import { RunletError } from '../ground/errors.ts';
import type { StateStore } from './state.ts';
import { type TaskList, taskList } from './task-list.ts';
import type { ToolContext } from './tool.ts';

/** Where task lists are kept: in the workspace, else in the state. */
type TaskStore = Pick<ToolContext, 'workspace'> & { readonly state: Pick<StateStore, 'get'> };

/** Reads all task lists, in the order in which they were made. */
export async function readTaskLists(store: TaskStore): Promise<readonly TaskList[]> {
	const ids = await readListIds(store);
	return Promise.all(ids.map((id) => readTaskList(store, ids, id)));
}

/** Reads the ids of all task lists, in the order in which they were made. */
export async function readListIds(store: TaskStore): Promise<readonly string[]> {
	return v.parse(v.optional(ids, []), await readKept(store, idsKey));
}

/** Reads a task list. Throws `invalid_argument`, which names the known ones, if there is none of this id. */
export async function readTaskList(store: TaskStore, ids: readonly string[], id: string): Promise<TaskList> {
	if (!ids.includes(id)) throw createUnknownId('listId', id, ids);
	return v.parse(taskList, await readKept(store, toKey(id)));
}

/** Keeps a list that is new or changed, and the ids of all lists. In a workspace both are one step. */
export async function keepTaskList(
	{ workspace, state }: Pick<ToolContext, 'workspace' | 'state'>,
	ids: readonly string[],
	list: TaskList,
): Promise<void> {
	if (workspace !== undefined) {
		const notes = [
			{ type: 'note', key: idsKey, value: ids },
			{ type: 'note', key: toKey(list.id), value: list },
		] as const;
		await workspace.change(notes, list);
		return;
	}
	await state.set(idsKey, ids);
	await state.set(toKey(list.id), list);
}

/** Throws `invalid_request` if a key belongs to the task lists and its value is not a task list. Ignores other keys. */
export function assertTasks(key: string, value: unknown): void {
	if (key === idsKey) check(ids, value, key);
	else if (key.startsWith(`${idsKey}/`)) check(taskList, value, key);
}

/** The error for an id of a list or a task that is not there. */
export function createUnknownId(field: string, id: string, known: readonly string[]): RunletError {
	const remedy = known.length === 0 ? 'There is none: make one first.' : `Known: ${known.slice(0, 20).join(', ')}.`;
	return new RunletError('invalid_argument', `${field}: there is no ${id.slice(0, 100)}. ${remedy}`, { field });
}

const idsKey = 'runlet.tasks';
const ids = v.array(v.string());

function toKey(id: string): string {
	return `${idsKey}/${id}`;
}

async function readKept({ workspace, state }: TaskStore, key: string): Promise<unknown> {
	return workspace === undefined ? state.get(key) : workspace.readNote(key);
}
