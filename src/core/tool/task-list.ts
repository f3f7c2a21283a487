import * as v from 'valibot';

/** The most lists that are kept or shown together, and the most tasks of a list. */
export const mostLists = 50;
export const mostTasks = 200;

const id = v.pipe(v.string(), v.minLength(1), v.maxLength(100));

/** The title of a list, or what a task is about. */
export const taskText = v.pipe(v.string(), v.minLength(1), v.maxLength(500));

/** What came of a task, or why it failed. */
export const taskNote = v.pipe(v.string(), v.maxLength(1_000));

const task = v.object({
	id,
	text: taskText,
	outcome: v.optional(v.picklist(['done', 'failed'])),
	note: v.optional(taskNote),
});

export const taskList = v.object({ id, title: taskText, tasks: v.pipe(v.array(task), v.maxLength(mostTasks)) });

/** Lists that changed, each of them whole, as a tool shows them. */
export const tasksShown = v.object({
	type: v.literal('tasks'),
	lists: v.pipe(v.array(taskList), v.maxLength(mostLists)),
});

/** A task is open until it has an outcome. */
export interface Task {
	readonly id: string;
	readonly text: string;
	readonly outcome?: 'done' | 'failed';
	/** What came of it, or why it failed. */
	readonly note?: string;
}

/** A list of tasks in their order. */
export interface TaskList {
	readonly id: string;
	readonly title: string;
	readonly tasks: readonly Task[];
}

/** Lists of tasks that changed, each of them whole. A list replaces the one that was shown before under the same id. */
export interface TasksShown {
	readonly type: 'tasks';
	readonly lists: readonly TaskList[];
}
