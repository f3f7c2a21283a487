import * as v from 'valibot';
import { RunletError } from '../base/errors.ts';
import { define } from '../tool/define.ts';
import type { Task, TaskList, Tool, ToolContext } from '../tool/index.ts';
import {
	createUnknownId,
	keepTaskList,
	mostLists,
	mostTasks,
	readListIds,
	readTaskList,
	readTaskLists,
	taskList,
	taskNote,
	taskText,
} from '../tool/tasks.ts';
import { changeOnce } from './files.ts';

const listId = v.pipe(v.string(), v.description('The id of the list'));
const tasks = v.pipe(v.array(taskText), v.maxLength(mostTasks), v.description('What is to be done, in order'));

/** The fields that all task list tools share. */
const shared = {
	sequential: true,
	retry: 'safe',
	isAvailable: ({ workspace, state }: Partial<ToolContext>) => workspace !== undefined || state !== undefined,
} as const;

export function createTaskListTool(): Tool {
	return define({
		...shared,
		passInput: true,
		name: 'create_task_list',
		description: 'Begin a list of tasks for work of several steps.',
		inputSchema: v.object({
			title: v.pipe(taskText, v.description('What the work is, in a few words')),
			tasks: v.optional(tasks),
		}),
		onRequest: ({ title }) => ['New task list', title],
		onResult: (_, list) => describe(list),
		fn: ({ title, tasks: texts = [] }, context) =>
			keepList(context, async (ids) => {
				if (ids.length >= mostLists)
					throw new RunletError('invalid_argument', `title: there are ${mostLists} lists already. Use one of them.`);
				return addTasks({ id: `list-${ids.length + 1}`, title, tasks: [] }, texts);
			}),
	});
}

export function addTasksTool(): Tool {
	return define({
		...shared,
		passInput: true,
		name: 'add_tasks',
		description: 'Add tasks to the end of a list.',
		inputSchema: v.object({ listId, tasks }),
		onRequest: ({ tasks: texts }) => ['Adding tasks', texts.join(', ')],
		onResult: (_, list) => describe(list),
		fn: ({ listId: id, tasks: texts }, context) =>
			keepList(context, async (ids) => addTasks(await readTaskList(context, ids, id), texts)),
	});
}

export function pushTaskTool(): Tool {
	return define({
		...shared,
		passInput: true,
		name: 'push_task',
		description: 'Put a task in front of a list: it comes next.',
		inputSchema: v.object({ listId, task: v.pipe(taskText, v.description('What is to be done next')) }),
		onRequest: ({ task: one }) => ['Next task', one],
		onResult: (_, list) => describe(list),
		fn: ({ listId: id, task: one }, context) =>
			keepList(context, async (ids) => {
				const list = addTasks(await readTaskList(context, ids, id), [one]);
				return { ...list, tasks: [...list.tasks.slice(-1), ...list.tasks.slice(0, -1)] };
			}),
	});
}

export function resolveTaskTool(): Tool {
	return define({
		...shared,
		passInput: true,
		name: 'resolve_task',
		description: 'Say how a task ended. It keeps its place in the list.',
		inputSchema: v.object({
			listId,
			taskId: v.pipe(v.string(), v.description('The id of the task')),
			outcome: v.pipe(v.picklist(['done', 'failed']), v.description('How it ended: done or failed')),
			note: v.optional(v.pipe(taskNote, v.description('What came of it, or why it failed'))),
		}),
		onRequest: ({ taskId, outcome }) => [`Task ${outcome}`, taskId],
		onResult: (_, list) => describe(list),
		fn: ({ listId: id, taskId, outcome, note }, context) =>
			keepList(context, async (ids) => {
				const list = await readTaskList(context, ids, id);
				if (!list.tasks.some((one) => one.id === taskId))
					throw createUnknownId(
						'taskId',
						taskId,
						list.tasks.map((one) => `${one.id} (${one.text})`),
					);
				const resolve = ({ id: own, text: what }: Task): Task => ({
					id: own,
					text: what,
					outcome,
					...(note && { note }),
				});
				return { ...list, tasks: list.tasks.map((one) => (one.id === taskId ? resolve(one) : one)) };
			}),
	});
}

export function showTasksTool(): Tool {
	return define({
		...shared,
		passInput: true,
		sequential: false,
		name: 'show_tasks',
		description: 'Show a list of tasks, or all lists.',
		inputSchema: v.object({ listId: v.optional(listId) }),
		onRequest: ({ listId: id = 'all' }) => ['Looking at tasks', id],
		onResult: (_, { lists }) => `${lists.length} ${lists.length === 1 ? 'list' : 'lists'}`,
		fn: async ({ listId: id }, context) => ({
			lists:
				id === undefined ? await readTaskLists(context) : [await readTaskList(context, await readListIds(context), id)],
		}),
	});
}

function describe(list: unknown): [string, string] | undefined {
	if (!v.is(taskList, list)) return undefined;
	const open = list.tasks.filter(({ outcome }) => outcome === undefined);
	return [list.title, `${list.tasks.length - open.length} of ${list.tasks.length} tasks resolved`];
}

/** Adds tasks, with ids that the list has never used before. */
function addTasks(list: TaskList, texts: readonly string[]): TaskList {
	if (list.tasks.length + texts.length > mostTasks)
		throw new RunletError('invalid_argument', `tasks: a list has at most ${mostTasks} tasks. Begin another list.`);
	const added = texts.map((one, at) => ({ id: `task-${list.tasks.length + at + 1}`, text: one }));
	return { ...list, tasks: [...list.tasks, ...added] };
}

/** Stores a list and shows it. In a workspace, a call that is repeated after a crash does not store the list again. */
async function keepList(context: ToolContext, make: (ids: readonly string[]) => Promise<TaskList>): Promise<TaskList> {
	const { workspace, emit } = context;
	const makeKept = async (): Promise<TaskList> => {
		const ids = await readListIds(context);
		const list = await make(ids);
		await keepTaskList(context, ids.includes(list.id) ? ids : [...ids, list.id], list);
		return list;
	};
	const kept = await (workspace === undefined ? makeKept() : changeOnce(workspace, makeKept));
	emit({ type: 'tasks', lists: [kept] });
	return kept;
}
