/** A message runs again in a branch, in which no call runs (docs/sessions.md, "Rerun"). */
import { SELF } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { createClient } from '../../../src/client/index.ts';
import { allEvents, createSession, readHistory, readState, request, restart, send } from '../../client.ts';
import { createKeys } from '../../credentials.ts';
import { effects } from '../../effects.ts';
import { play } from '../../script.ts';
import worker from '../../worker.ts';

const call = (id: string, name: string, input: unknown = {}) => ({ id, name, input });
const readRun = async (id: string): Promise<string> => ((await readState(id)).run as { id: string }).id;
const rerun = (id: string, body: object) => request(`/v1/sessions/${id}/rerun`, body);

/** Runs a message again, and returns the branch when its run has ended. */
async function branch(id: string, body: object): Promise<string> {
	const answer = await rerun(id, body);
	expect(answer.status).toBe(202);
	const { id: other } = await answer.json<{ id: string }>();
	await expect.poll(async () => (await readState(other)).status).not.toBe('running');
	return other;
}

/** The results of the current messages. */
async function readResults(id: string): Promise<(readonly [content: unknown, isError: boolean])[]> {
	const messages = await readHistory(id);
	return messages.flatMap((message) =>
		message.role === 'tool' && !('isReplaced' in message) ? [[message.content, message.isError === true] as const] : [],
	);
}

test('a call gets the recorded result of an equal call, and does not run', async () => {
	const id = await createSession();
	const key = crypto.randomUUID();
	play(
		{ toolCalls: [call('a', 'once', { key, hangs: false })] },
		{ toolCalls: [call('b', 'echo', { text: 'x' })] },
		'Done.',
	);
	await allEvents(await send(id, 'Do it.'));
	const run = await readRun(id);
	const { requests } = play(
		{ toolCalls: [call('z', 'once', { hangs: false, key }), call('y', 'echo', { text: 'x' })] },
		'Done better.',
	);
	const other = await branch(id, { run, prompt: 'Be quick.' });
	expect(requests[0]?.system).toBe('Be quick.');
	expect(requests[0]?.messages.map(({ role }) => role)).toEqual(['user']);
	expect(await readResults(other)).toEqual([
		[`did ${key}`, false],
		['x', false],
	]);
	expect(effects.began.get(key)).toBe(1);
	expect(await readState(other)).toMatchObject({ status: 'completed', rerunOf: { sessionId: id, runId: run } });
	expect((await readHistory(id)).at(-1)?.content).toBe('Done.');
});

test('a call without a recorded result gets an error, and does not run', async () => {
	const id = await createSession();
	const key = crypto.randomUUID();
	play({ toolCalls: [call('a', 'once', { key, hangs: false })] }, 'Done.');
	await allEvents(await send(id, 'Do it.'));
	play(
		{
			toolCalls: [
				call('1', 'once', { key, hangs: false }),
				call('2', 'once', { key, hangs: false }),
				call('3', 'once', { key: `${key}2`, hangs: false }),
				call('4', 'pay', { amount: 3 }),
				call('5', 'by_hand'),
				call('6', 'ask', { question: 'Which?' }),
			],
		},
		'Done.',
	);
	const other = await branch(id, { run: await readRun(id) });
	const results = await readResults(other);
	expect(results[0]).toEqual([`did ${key}`, false]);
	expect(results.slice(1)).toHaveLength(5);
	for (const result of results.slice(1))
		expect(result).toEqual([expect.stringContaining('no answer to this call'), true]);
	expect([effects.began.get(key), effects.began.get(`${key}2`)]).toEqual([1, undefined]);
	expect((await readState(other)).status).toBe('completed');
});

test('approvals, denials, results and answers of people are repeated', async () => {
	const id = await createSession();
	play({ toolCalls: [call('p', 'pay', { amount: 3 }), call('q', 'pay', { amount: 4 }), call('m', 'by_hand')] });
	await allEvents(await send(id, 'Pay.'));
	play({ toolCalls: [call('s', 'ask', { question: 'Which?' })] });
	const answers = [
		{ id: 'p', approve: true },
		{ id: 'q', approve: false, reason: 'Too much.' },
		{ id: 'm', output: 7 },
	];
	await request(`/v1/sessions/${id}/tool-results`, answers);
	play('Done.');
	await request(`/v1/sessions/${id}/answer`, { text: 'The blue one.' });
	const run = await readRun(id);
	play(
		{ toolCalls: [call('1', 'ask', { question: 'Which?' }), call('2', 'by_hand')] },
		{ toolCalls: [call('3', 'pay', { amount: 4 }), call('4', 'pay', { amount: 3 })] },
		'Done.',
	);
	const other = await branch(id, { run });
	expect(await readResults(other)).toEqual([
		['The blue one.', false],
		[7, false],
		[expect.stringContaining('Too much.'), true],
		['paid 3', false],
	]);
});

test('a later message of the session answers no call', async () => {
	const id = await createSession();
	play({ toolCalls: [call('a', 'echo', { text: 'x' })] }, 'First.');
	await allEvents(await send(id, 'One.'));
	const run = await readRun(id);
	play({ toolCalls: [call('b', 'echo', { text: 'y' })] }, 'Second.');
	await allEvents(await send(id, 'Two.'));
	play({ toolCalls: [call('1', 'echo', { text: 'y' }), call('2', 'echo', { text: 'x' })] }, 'Done.');
	expect(await readResults(await branch(id, { run }))).toEqual([
		[expect.stringContaining('no answer'), true],
		['x', false],
	]);
});

test('another model answers, also one that the agent does not offer', async () => {
	const id = await createSession();
	play('First.');
	await allEvents(await send(id, 'Hello.'));
	play('Second.');
	const run = await readRun(id);
	const other = await branch(id, { run, model: 'scripted-other' });
	const { messages } = await (await request(`/v1/sessions/${other}/messages?order=desc&limit=1`)).json<{
		messages: unknown[];
	}>();
	expect(messages).toMatchObject([{ content: 'Second.', turn: { model: 'scripted-other' } }]);
	expect((await send(id, 'Hello again.')).status).toBe(200);
	expect((await rerun(id, { run: 'run_none' })).status).toBe(404);
	expect((await rerun(id, {})).status).toBe(400);
});

test('no call runs in a branch later, neither in another message nor after a crash nor from outside', async () => {
	const id = await createSession();
	const key = crypto.randomUUID();
	play('Hello.');
	await allEvents(await send(id, 'Hello.'));
	play('Hello.');
	const other = await branch(id, { run: await readRun(id) });
	play({ toolCalls: [call('a', 'once', { key, hangs: false }), call('b', 'pay', { amount: 3 })] }, 'Done.');
	await allEvents(await send(other, 'Now do it.'));
	await restart(other);
	play({ toolCalls: [call('c', 'once', { key, hangs: false })] }, 'Done.');
	await allEvents(await send(other, 'Now.'));
	expect(effects.began.get(key)).toBeUndefined();
	expect((await readResults(other)).every(([, isError]) => isError)).toBe(true);
});

test('a recorded result is given once, also over a crash', async () => {
	const id = await createSession();
	const key = crypto.randomUUID();
	play({ toolCalls: [call('a', 'once', { key, hangs: false })] }, 'Done.');
	await allEvents(await send(id, 'Do it.'));
	play({ toolCalls: [call('1', 'once', { key, hangs: false })] }, () => new Promise(() => {}));
	const { id: other } = await (await rerun(id, { run: await readRun(id) })).json<{ id: string }>();
	await expect.poll(() => readResults(other)).toHaveLength(1);
	await restart(other);
	play({ toolCalls: [call('2', 'once', { key, hangs: false })] }, 'Done.');
	await expect.poll(async () => (await readState(other)).status).toBe('completed');
	expect(await readResults(other)).toEqual([
		[`did ${key}`, false],
		[expect.stringContaining('no answer'), true],
	]);
	expect(effects.began.get(key)).toBe(1);
});

test('staff make branches of their owner only; customers do not see them; they go with their person', async () => {
	const { keys, bindings } = await createKeys({
		server: { owner: 'reruns' },
		kim: { owner: 'reruns', user: 'kim', role: 'staff' },
		ada: { owner: 'reruns', user: 'ada', role: 'customer' },
		stranger: { owner: 'others' },
	});
	const ask = async (
		name: keyof typeof keys,
		path: string,
		body?: object,
		method = body === undefined ? 'GET' : 'POST',
	) =>
		worker.request(
			`https://runlet.example.com${path}`,
			{
				method,
				headers: { authorization: `Bearer ${keys[name]}`, 'content-type': 'application/json' },
				...(body && { body: JSON.stringify(body) }),
			},
			bindings,
		);
	play('Hello.');
	const made = await ask('ada', '/v1/sessions', { agent: 'scripted', text: 'Hello.' });
	const { id, runId: run } = await made.json<{ id: string; runId: string }>();
	expect((await ask('ada', `/v1/sessions/${id}/rerun`, { run })).status).toBe(403);
	expect((await ask('stranger', `/v1/sessions/${id}/rerun`, { run })).status).toBe(404);
	play('Hello there.');
	const answer = await ask('kim', `/v1/sessions/${id}/rerun`, { run });
	expect(answer.status).toBe(202);
	const { id: other } = await answer.json<{ id: string }>();
	const status = async () => (await (await ask('kim', `/v1/sessions/${other}`)).json<{ status: string }>()).status;
	await expect.poll(status).toBe('completed');
	const list = async (name: keyof typeof keys) =>
		(await (await ask(name, '/v1/sessions')).json<{ sessions: { id: string }[] }>()).sessions.map((one) => one.id);
	for (const name of ['ada', 'kim', 'server'] as const) expect(await list(name)).toEqual([id]);
	expect((await ask('ada', `/v1/sessions/${other}`)).status).toBe(404);
	const person = async () => (await ask('server', '/v1/users/ada')).text();
	await expect.poll(person).toContain(other);
	await ask('server', '/v1/users/ada', undefined, 'DELETE');
	for (const gone of [id, other]) expect((await ask('server', `/v1/sessions/${gone}`)).status).toBe(404);
});

test('runlet/client runs a message again', async () => {
	const id = await createSession();
	play('One.');
	await allEvents(await send(id, 'Hello.'));
	play('Two.');
	const client = createClient('http://localhost', { fetch: (input, init) => SELF.fetch(new Request(input, init)) });
	const made = await client.rerun(id, { run: await readRun(id), prompt: 'Count.' });
	const events = await Array.fromAsync(client.followRun(made.id));
	expect(events.at(-1)).toMatchObject({ type: 'done', text: 'Two.' });
	expect(made.rerunOf).toMatchObject({ sessionId: id });
});

test('a tool that a skill brings gets its recorded result, and does not run', async () => {
	const id = await createSession('equipped');
	const read = { toolCalls: [call('r', 'read_skill', { name: 'bringing' })] };
	play(read, { toolCalls: [call('b', 'bundled')] }, 'Done.');
	await allEvents(await send(id, 'Do it.'));
	const { requests } = play(
		read,
		{ toolCalls: [call('1', 'bundled')] },
		{ toolCalls: [call('2', 'bundled')] },
		'Done.',
	);
	const other = await branch(id, { run: await readRun(id) });
	expect(requests.at(-1)?.tools?.map(({ name }) => name)).toContain('bundled');
	expect((await readResults(other)).slice(-2)).toEqual([
		['from the skill', false],
		[expect.stringContaining('no answer'), true],
	]);
});
