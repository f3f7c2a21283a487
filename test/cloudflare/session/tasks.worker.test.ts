import { describe, expect, test } from 'vitest';
import { allEvents, createSession, follow, request, restart, send } from '../../client.ts';
import { play } from '../../script.ts';
import { forever, readTo } from './stage.ts';

const call = (id: string, name: string, input: unknown) => ({ id, name, input });
const create = call('a', 'create_task_list', { title: 'Release', tasks: ['build', 'test'] });
const resolve = call('b', 'resolve_task', { listId: 'list-1', taskId: 'task-1', outcome: 'done' });
const before = {
	id: 'list-1',
	title: 'Release',
	tasks: [
		{ id: 'task-1', text: 'build' },
		{ id: 'task-2', text: 'test' },
	],
};
const after = { ...before, tasks: [{ id: 'task-1', text: 'build', outcome: 'done' }, before.tasks[1]] };

const readLists = (events: readonly { type: string; data: object }[]) =>
	events.flatMap(({ type, data }) => (type === 'tasks' ? [data] : []));

describe('a run that changes task lists', () => {
	test('shows each change as an event, which returning readers get exactly once', async () => {
		const id = await createSession('planner');
		play({ toolCalls: [create] }, { toolCalls: [resolve] }, 'Begun.');
		const events = await allEvents(await send(id, 'go'));
		expect(readLists(events)).toEqual([
			{ type: 'tasks', id: 'a', lists: [before] },
			{ type: 'tasks', id: 'b', lists: [after] },
		]);
		expect(await (await request(`/v1/sessions/${id}/tasks`)).json()).toEqual({ lists: [after] });
		for (const isRestarted of [false, true]) {
			if (isRestarted) await restart(id);
			for (const [at, { id: seen }] of events.entries()) {
				expect(await allEvents(await follow(id, seen)), `behind ${seen}`).toEqual(events.slice(at + 1));
			}
		}
	});

	test('makes and shows each change once after a crash', async () => {
		const id = await createSession('planner');
		play({ toolCalls: [create] }, () => forever(), { toolCalls: [resolve, call('c', 'show_tasks', {})] }, 'Begun.');
		const seen = await readTo(await send(id, 'go'), { type: 'step' });
		await restart(id);
		const events = [...seen, ...(await allEvents(await follow(id, seen.at(-1)?.id)))];
		expect(readLists(events)).toEqual([
			{ type: 'tasks', id: 'a', lists: [before] },
			{ type: 'tasks', id: 'b', lists: [after] },
		]);
	});

	test('shows a list once after a crash between the change and the result', async () => {
		const id = await createSession('planner');
		play({ toolCalls: [call('s', 'stuck', {})] }, 'Over.');
		const seen = await readTo(await send(id, 'go'), { type: 'tasks' });
		await restart(id);
		const rest = await allEvents(await follow(id, seen.at(-1)?.id));
		expect(rest.map(({ type }) => type)).toEqual(['tool_result', 'step', 'text', 'stop', 'step', 'done']);
		expect(rest[0]?.data).toMatchObject({ id: 's', output: 'changed', isError: false });
		const whole = await allEvents(await follow(id));
		expect(readLists(whole)).toEqual(readLists(seen));
	});

	test('keeps a shown list if the run is cancelled before the result of the call', async () => {
		const id = await createSession('planner');
		play({ toolCalls: [call('s', 'stuck', {})] });
		const seen = await readTo(await send(id, 'go'), { type: 'tasks' });
		await request(`/v1/sessions/${id}/cancel`, {});
		for (const isRestarted of [false, true]) {
			if (isRestarted) await restart(id);
			const whole = await allEvents(await follow(id));
			expect(whole.at(-1)?.type).toBe('cancelled');
			expect(readLists(whole)).toEqual(readLists(seen));
		}
	});

	test('shows no list to an OpenAI client', async () => {
		play({ toolCalls: [create] }, 'Begun.');
		const body = { model: 'planner', stream: true, messages: [{ role: 'user', content: 'go' }] };
		const text = await (await request('/v1/chat/completions', body)).text();
		expect(text).toContain('Begun.');
		expect(text).not.toContain('Release');
	});

	test('shows data-tasks parts to a page of the AI SDK, also after a reload', async () => {
		play({ toolCalls: [create] }, { toolCalls: [resolve] }, 'Begun.');
		const chat = crypto.randomUUID();
		const parts = [{ type: 'text', text: 'go' }];
		const body = { id: chat, trigger: 'submit-message', messages: [{ id: 'm1', role: 'user', parts }] };
		const streamed = await (await request('/v1/ui/planner', body)).text();
		expect(streamed.match(/data: {"type":"data-tasks","id":"list-1"/g)).toHaveLength(2);
		const { messages } = await (await request(`/v1/ui/planner/${chat}/messages`)).json<{
			messages: { parts: { type: string }[] }[];
		}>();
		expect(messages.at(-1)?.parts.filter(({ type }) => type === 'data-tasks')).toEqual([
			{ type: 'data-tasks', id: 'list-1', data: after },
		]);
	});
});

describe('a copy of a session with task lists', () => {
	const begin = async () => {
		const id = await createSession('planner');
		play({ toolCalls: [create] }, { toolCalls: [resolve] }, 'Begun.');
		await allEvents(await send(id, 'go'));
		return id;
	};
	const readTasks = async (id: string) => (await request(`/v1/sessions/${id}/tasks`)).json();

	test('has the lists, both as a fork and as an import, and the model can change them', async () => {
		const id = await begin();
		const exported = await (await request(`/v1/sessions/${id}/export`)).json();
		const copies = [
			await request(`/v1/sessions/${id}/fork`, {}),
			await request('/v1/sessions/import', exported as object),
		];
		for (const response of copies) {
			const copy = await response.json<{ id: string }>();
			expect(await readTasks(copy.id)).toEqual({ lists: [after] });
			play(
				{ toolCalls: [call('c', 'resolve_task', { listId: 'list-1', taskId: 'task-2', outcome: 'failed' })] },
				'Over.',
			);
			await allEvents(await send(copy.id, 'go on'));
			expect(await readTasks(copy.id)).toMatchObject({ lists: [{ tasks: [{}, { outcome: 'failed' }] }] });
		}
		expect(await readTasks(id)).toEqual({ lists: [after] });
	});

	test('is not imported if a list is malformed', async () => {
		const id = await begin();
		const exported = await (await request(`/v1/sessions/${id}/export`)).json<Record<string, unknown>>();
		const bad = { ...exported, notes: [{ key: 'runlet.tasks', value: 5 }] };
		const refused = await request('/v1/sessions/import', bad);
		expect(refused.status).toBe(400);
		expect(await refused.json()).toMatchObject({
			error: { code: 'invalid_request', message: expect.stringContaining('runlet.tasks') },
		});
	});
});
