import * as v from 'valibot';
import { check } from '../base/check.ts';
import { RunletError } from '../base/errors.ts';
import type { Workspace } from '../workspace/index.ts';
import type { StateStore, ToolState } from './state.ts';

/** The maximum number of lists, and of tasks in a list. */
export const mostLists = 50;
export const mostTasks = 200;

const id = v.pipe(v.string(), v.minLength(1), v.maxLength(100));

/** The title of a list, or the text of a task. */
export const taskText = v.pipe(v.string(), v.minLength(1), v.maxLength(500));

/** The result of a task, or the reason why the task failed. */
export const taskNote = v.pipe(v.string(), v.maxLength(1_000));

const task = v.object({
	id,
	text: taskText,
	outcome: v.optional(v.picklist(['done', 'failed'])),
	note: v.optional(taskNote),
});

export const taskList = v.object({ id, title: taskText, tasks: v.pipe(v.array(task), v.maxLength(mostTasks)) });

/** The changed task lists that a tool shows. Each list is complete. */
export const tasksShown = v.object({
	type: v.literal('tasks'),
	lists: v.pipe(v.array(taskList), v.maxLength(mostLists)),
});

/** A task is open until it has an outcome. */
export interface Task {
	readonly id: string;
	readonly text: string;
	readonly outcome?: 'done' | 'failed';
	/** The result, or the reason why the task failed. */
	readonly note?: string;
}

/** A list of tasks in their order. */
export interface TaskList {
	readonly id: string;
	readonly title: string;
	readonly tasks: readonly Task[];
}

/** The changed task lists. Each list is complete, and replaces the earlier list with the same id. */
export interface TasksShown {
	readonly type: 'tasks';
	readonly lists: readonly TaskList[];
}

/** The store of task lists: the workspace if there is a workspace, else the state. */
interface TaskStore {
	readonly workspace?: Workspace;
	readonly state: Pick<StateStore, 'get'>;
}

/** Reads all task lists, in the order in which they were made. */
export async function readTaskLists(store: TaskStore): Promise<readonly TaskList[]> {
	const ids = await readListIds(store);
	return Promise.all(ids.map((id) => readTaskList(store, ids, id)));
}

/** Reads the ids of all task lists, in the order in which they were made. */
export async function readListIds(store: TaskStore): Promise<readonly string[]> {
	return v.parse(v.optional(ids, []), await readKept(store, idsKey));
}

/** Reads a task list. For an unknown id, throws `invalid_argument`, which lists the known ids. */
export async function readTaskList(store: TaskStore, ids: readonly string[], id: string): Promise<TaskList> {
	if (!ids.includes(id)) throw createUnknownId('listId', id, ids);
	return v.parse(taskList, await readKept(store, toKey(id)));
}

/** Stores a new or changed list and the ids of all lists. In a workspace, both are written in one step. */
export async function keepTaskList(
	{ workspace, state }: TaskStore & { readonly state: ToolState },
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

/** Throws `invalid_request` if the value under a task list key is not a task list. Ignores all other keys. */
export function assertTasks(key: string, value: unknown): void {
	if (key === idsKey) check(ids, value, key);
	else if (key.startsWith(`${idsKey}/`)) check(taskList, value, key);
}

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
