import { env } from 'cloudflare:test';
import { beforeAll, describe, expect, test } from 'vitest';
import {
	allEvents,
	createSession,
	follow,
	readEvents,
	readHistory,
	readState,
	readText,
	request,
	restart,
	send,
	type WireMessage,
} from '../../client.ts';
import { play } from '../../script.ts';

const call = (id: string, name: string, input: unknown = {}) => ({ id, name, input });
const read = (id: string, name = 'bringing') => ({ toolCalls: [call(id, 'read_skill', { name })] });
const calls = (...toolCalls: ReturnType<typeof call>[]) => ({ toolCalls });
type Requests = ReturnType<typeof play>['requests'];
const brought = ['bundled', 'pay', 'by_hand', 'unsafe', 'slow', 'ask'];
const extra = (requests: Requests) =>
	requests.map(({ tools = [] }) => tools.map(({ name }) => name).filter((name) => [...brought, 'last'].includes(name)));
const results = (messages: readonly WireMessage[]) =>
	Object.fromEntries(
		messages.flatMap(({ role, toolCallId = '', content }) => (role === 'tool' ? [[toolCallId, content]] : [])),
	);
const run = async (id: string, text = 'go') => allEvents(await send(id, text));

/** A session of `equipped` whose model has read the skill. */
async function equipped(agent = 'equipped'): Promise<string> {
	const id = await createSession(agent);
	play(read('r'), 'Read.');
	await run(id, 'read it');
	return id;
}

beforeAll(async () => {
	const skills = [{ name: 'published', description: 'Published.', 'allowed-tools': 'last Read', hash: 'p1' }];
	await env.SKILLS.put('skill:index', JSON.stringify({ version: 1, skills }));
	await env.SKILLS.put('skill:body:p1', JSON.stringify({ body: 'Text.', files: { 'references/a.md': 'A.' } }));
});

describe('the tools of a loaded skill', () => {
	test('are callable from the next turn on, in later runs, and after a restart', async () => {
		const id = await createSession('equipped');
		const first = play(read('r'), calls(call('a', 'bundled')), 'Done.');
		expect(readText(await run(id))).toBe('Done.');
		expect(extra(first.requests)).toEqual([[], brought, brought]);
		await restart(id);
		const second = play(calls(call('b', 'bundled')), 'Again.');
		expect(readText(await run(id))).toBe('Again.');
		expect(extra(second.requests)[0]).toEqual(brought);
		expect(results(await readHistory(id))).toMatchObject({ a: 'from the skill', b: 'from the skill' });
	});

	test('run again after a crash if they are safe, and otherwise their outcome is unknown', async () => {
		const id = await equipped();
		const { requests } = play(
			calls(call('u', 'unsafe'), call('s', 'slow'), call('l', 'bundled')),
			'I will look first.',
		);
		for await (const { type } of readEvents(await send(id, 'go'))) if (type === 'tool_result') break;
		await restart(id);
		expect(readText(await allEvents(await follow(id)))).toBe('I will look first.');
		expect(results(await readHistory(id))).toMatchObject({
			u: expect.stringContaining('not known'),
			s: 'ended',
			l: 'from the skill',
		});
		expect(extra(requests)).toEqual([brought, brought]);
	});

	test('can wait for approval and for results, also across a restart', async () => {
		const id = await equipped();
		play(calls(call('p', 'pay', { amount: 3 }), call('h', 'by_hand')), 'Paid.');
		const asked = await run(id);
		expect(asked.at(-1)).toMatchObject({
			type: 'awaiting',
			data: { toolCalls: [{ id: 'p', kind: 'approval' }, { id: 'h' }] },
		});
		await restart(id);
		expect(await readState(id)).toMatchObject({ status: 'awaiting_tools' });
		const answers = [
			{ id: 'p', approve: true },
			{ id: 'h', output: 'by hand' },
		];
		const response = await request(`/v1/sessions/${id}/tool-results`, answers);
		expect(await response.json()).toMatchObject({ status: 'completed', text: 'Paid.' });
		expect(results(await readHistory(id))).toMatchObject({ p: 'paid 3', h: 'by hand' });
	});

	test('can ask the person a question, which is answered after a restart', async () => {
		const id = await equipped();
		play(calls(call('q', 'ask', { question: 'Which?' })), 'Thanks.');
		expect((await run(id)).at(-1)).toMatchObject({ type: 'awaiting', data: { question: { question: 'Which?' } } });
		await restart(id);
		expect(readText(await run(id, 'This.'))).toBe('Thanks.');
		expect(results(await readHistory(id))).toMatchObject({ q: 'This.' });
	});

	test('stay callable after a summary, which names the skill, also after a restart', async () => {
		const id = await equipped('equipped-compact');
		play('Well.');
		await run(id, 'y'.repeat(6_000));
		const { requests } = play('It was read.', calls(call('a', 'bundled')), 'Done.');
		expect(readText(await run(id, 'x'.repeat(5_000)))).toBe('Done.');
		expect(extra(requests).slice(1)).toEqual([brought, brought]);
		await restart(id);
		const after = play(calls(call('b', 'bundled')), 'Still.');
		expect(readText(await run(id))).toBe('Still.');
		expect(after.requests[0]?.messages[0]).toMatchObject({ summary: true, skills: ['bringing'] });
		expect(results(await readHistory(id))).toMatchObject({ a: 'from the skill', b: 'from the skill' });
	});

	test('are missing after a truncation removed the skill, until the skill is read again', async () => {
		const id = await equipped('equipped-truncate');
		play('Well.', 'Well.');
		await run(id, 'y'.repeat(7_000));
		await run(id, 'x'.repeat(7_000));
		await restart(id);
		const { requests } = play(
			calls(call('e', 'echo', { text: 'x' })),
			calls(call('a', 'bundled')),
			read('again'),
			'Done.',
		);
		await run(id);
		expect(extra(requests).slice(1)).toEqual([[], [], brought]);
		expect(results(await readHistory(id)).a).toMatch(/There is no tool named bundled/);
	});
});

describe('a published skill', () => {
	test('adds the agent’s skill tools that it names', async () => {
		const id = await createSession('publishing');
		const { requests } = play(read('r', 'published'), calls(call('l', 'last', { text: 'now' })), 'Done.');
		await run(id);
		expect(extra(requests)).toEqual([[], ['last'], ['last']]);
		expect(results(await readHistory(id))).toEqual({
			r: 'Text.\n\nTools that you can call from your next turn on: last.',
			l: 'now',
		});
	});

	test('has files that are read by path, like a skill of the agent', async () => {
		const id = await createSession('publishing');
		const file = (id: string, name: string, path: string) => call(id, 'read_skill_file', { name, path });
		const tries = [file('a', 'published', 'references/a.md'), file('b', 'bringing', 'references/how.md')];
		play(calls(...tries, file('c', 'published', '../../references/a.md')), 'Done.');
		await run(id);
		expect(results(await readHistory(id))).toEqual({
			a: 'A.',
			b: 'So.',
			c: 'The skill published has no file "../../references/a.md". Its files: references/a.md.',
		});
	});
});
