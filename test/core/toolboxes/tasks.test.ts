import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { type TaskList, tool, toolbox, type Workspace, workspace } from '../../../src/core/index.ts';
import { calling, finish, results } from '../chat/support.ts';
import { snapshot } from '../workspace/contract.ts';
import { callOn, correct } from './support.ts';

const box = toolbox.withTask();
const begin = { title: 'Release', tasks: ['build', 'test'] };

describe('task lists', () => {
	test('can be created, can grow at both ends, and keep a resolved task in its place', async () => {
		const { call } = callOn(box);
		expect(await call('create_task_list', begin)).toEqual({
			id: 'list-1',
			title: 'Release',
			tasks: [
				{ id: 'task-1', text: 'build' },
				{ id: 'task-2', text: 'test' },
			],
		});
		await call('add_tasks', { listId: 'list-1', tasks: ['ship'] });
		await call('push_task', { listId: 'list-1', task: 'plan' });
		await call('resolve_task', { listId: 'list-1', taskId: 'task-1', outcome: 'failed', note: 'no compiler' });
		expect(await call('resolve_task', { listId: 'list-1', taskId: 'task-2', outcome: 'done' })).toEqual({
			id: 'list-1',
			title: 'Release',
			tasks: [
				{ id: 'task-4', text: 'plan' },
				{ id: 'task-1', text: 'build', outcome: 'failed', note: 'no compiler' },
				{ id: 'task-2', text: 'test', outcome: 'done' },
				{ id: 'task-3', text: 'ship' },
			],
		});
	});

	test('can be shown one at a time or all together', async () => {
		const { call } = callOn(box);
		expect(await call('show_tasks', {})).toEqual({ lists: [] });
		const first = await call('create_task_list', begin);
		const second = await call('create_task_list', { title: 'Empty' });
		expect(second).toEqual({ id: 'list-2', title: 'Empty', tasks: [] });
		expect(await call('show_tasks', {})).toEqual({ lists: [first, second] });
		expect(await call('show_tasks', { listId: 'list-2' })).toEqual({ lists: [second] });
	});

	test('are neither files nor steps that undo_changes can undo', async () => {
		const { call, fail, files } = callOn(toolbox.withFiles(box));
		await call('create_task_list', begin);
		expect(await snapshot(files)).toEqual({});
		expect(await fail('undo_changes', {})).toContain('nothing to undo');
	});

	test('are kept between runs in the workspace, or in the state if there is no workspace', async () => {
		const state = tool.inMemoryState();
		for (const context of [
			{ workspace: workspace.inMemory() },
			{ state },
			{ workspace: workspace.inMemory(), state },
		]) {
			await finish([calling({ id: 'c', name: 'create_task_list', input: { title: 'Kept' } }), 'done'], {
				tools: box,
				context,
			});
			const shown = await finish([calling({ id: 'c', name: 'show_tasks', input: {} }), 'done'], {
				tools: box,
				context,
			});
			expect(results(shown.result.messages)).toEqual([['c', { lists: [{ id: 'list-1', title: 'Kept', tasks: [] }] }]]);
		}
	});

	test('are kept for a single run if there is neither a workspace nor a state', async () => {
		const { result } = await finish(
			[
				calling({ id: 'a', name: 'create_task_list', input: { title: 'Here' } }),
				calling({ id: 'b', name: 'show_tasks', input: {} }),
				'done',
			],
			{ tools: box },
		);
		expect(results(result.messages)[1]).toEqual(['b', { lists: [{ id: 'list-1', title: 'Here', tasks: [] }] }]);
	});

	test('are created once even if the call runs again after a crash', async () => {
		const files = workspace.inMemory();
		const own = files.forCall('c');
		const again: Workspace = { ...files, forCall: () => own };
		const shown: unknown[] = [];
		const context = { workspace: again, emit: (said: unknown) => shown.push(said) };
		const first = await toolbox.perform('create_task_list', begin, box, context);
		expect(await toolbox.perform('create_task_list', begin, box, context)).toEqual(first);
		const lists = shown.filter((said) => typeof said === 'object' && said !== null && 'type' in said);
		expect(lists).toEqual(Array(2).fill({ type: 'tasks', lists: [first.ok && first.value] }));
		expect(await toolbox.perform('show_tasks', {}, box, { workspace: files })).toMatchObject({
			value: { lists: [{ id: 'list-1' }] },
		});
	});

	test('are limited in number, and each list has a limited number of tasks', async () => {
		const { call, fail } = callOn(box);
		await call('create_task_list', { title: 'Long', tasks: Array.from({ length: 200 }, (_, n) => `${n}`) });
		expect(await fail('push_task', { listId: 'list-1', task: 'more' })).toMatch(/at most 200 tasks/);
		for (let n = 2; n <= 50; n++) await call('create_task_list', { title: 'x' });
		expect(await fail('create_task_list', { title: 'x' })).toMatch(/50 lists/);
	});

	test('the error for an unknown list or task names the known ids', async () => {
		const files = workspace.inMemory();
		await correct(box, files, 'create_task_list', begin);
		const resolved = await correct(
			box,
			files,
			'resolve_task',
			{ listId: 'Release', taskId: 'build', outcome: 'done' },
			{ listId: 'list-1', taskId: 'build', outcome: 'done' },
			{ listId: 'list-1', taskId: 'task-1', outcome: 'finished' },
			{ listId: 'list-1', taskId: 'task-1', outcome: 'done' },
		);
		expect(resolved.map(({ output, isError }) => isError && output)).toEqual([
			'listId: there is no Release. Known: list-1.',
			'taskId: there is no build. Known: task-1 (build), task-2 (test).',
			expect.stringContaining('outcome'),
			false,
		]);
	});

	test('show a note of each call and a note of its result', async () => {
		const { events } = await finish(
			[
				calling({ id: 'a', name: 'create_task_list', input: begin }),
				calling({ id: 'b', name: 'resolve_task', input: { listId: 'list-1', taskId: 'task-1', outcome: 'done' } }),
				'done',
			],
			{ tools: box },
		);
		expect(events.flatMap((event) => (event.type === 'note' ? [`${event.label}: ${event.detail}`] : []))).toEqual([
			'New task list: Release',
			'Release: 0 of 2 tasks resolved',
			'Task done: task-1',
			'Release: 1 of 2 tasks resolved',
		]);
	});

	test('send an event with the whole list for each change, before the result of the call', async () => {
		const { events } = await finish(
			[
				calling({ id: 'a', name: 'create_task_list', input: begin }),
				calling(
					{
						id: 'b',
						name: 'resolve_task',
						input: { listId: 'list-1', taskId: 'task-1', outcome: 'done', note: 'quick' },
					},
					{ id: 'c', name: 'resolve_task', input: { listId: 'list-1', taskId: 'none', outcome: 'done' } },
					{ id: 'd', name: 'show_tasks', input: {} },
				),
				'done',
			],
			{ tools: box },
		);
		const told = events.flatMap<unknown>((event) => {
			if (event.type === 'tool_result') return [event.id];
			return event.type === 'tasks' ? [{ [event.id]: event.lists }] : [];
		});
		const build = { id: 'task-1', text: 'build' };
		const list = (first: object) => [
			{ id: 'list-1', title: 'Release', tasks: [first, { id: 'task-2', text: 'test' }] },
		];
		expect(told.filter((one) => one !== 'd' && one !== 'c')).toEqual([
			{ a: list(build) },
			'a',
			{ b: list({ ...build, outcome: 'done', note: 'quick' }) },
			'b',
		]);
		expect(told.filter((one) => one === 'd' || one === 'c')).toHaveLength(2);
	});

	test('can be sent by a custom tool through emit, but an invalid list is dropped', async () => {
		const list: TaskList = { id: 'mine', title: 'Steps', tasks: [{ id: '1', text: 'one', outcome: 'done' }] };
		const own = tool.define({
			name: 'own',
			description: 'Shows its steps.',
			inputSchema: v.object({}),
			passInput: true,
			fn: (_, { emit }) => {
				emit({ type: 'tasks', lists: [list] });
				emit({ type: 'tasks', lists: [{ ...list, title: 'x'.repeat(501) }] });
				return 'fine';
			},
		});
		const { events, result } = await finish([calling({ id: 'a', name: 'own', input: {} }), 'done'], { tools: [own] });
		expect(events.filter(({ type }) => type === 'tasks')).toEqual([{ type: 'tasks', id: 'a', lists: [list] }]);
		expect(results(result.messages)).toEqual([['a', 'fine']]);
	});

	test('are offered only with a workspace or a state', () => {
		expect(Object.keys(box)).toEqual(['create_task_list', 'add_tasks', 'push_task', 'resolve_task', 'show_tasks']);
		expect(toolbox.withTask({}, {})).toEqual({});
		expect(Object.keys(toolbox.withTask({}, { state: tool.inMemoryState() }))).toHaveLength(5);
	});
});
