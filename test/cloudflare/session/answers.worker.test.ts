import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import {
	allEvents,
	createSession,
	follow,
	readHistory,
	readObject,
	readState,
	readText,
	request,
	restart,
	send,
} from '../../client.ts';
import { play } from '../../script.ts';

const call = (id: string, name = 'by_hand', input: unknown = {}) => ({ id, name, input });
const stream = { accept: 'text/event-stream' };
const post = (id: string, operation: string, body: unknown = {}, headers = {}) =>
	request(`/v1/sessions/${id}/${operation}`, body, headers);
const submit = (id: string, results: unknown, headers = {}) => post(id, 'tool-results', results, headers);
const openIds = async (id: string): Promise<unknown> =>
	(await (await request(`/v1/sessions/${id}`)).json<{ toolCalls?: { id: string }[] }>()).toolCalls?.map(
		(one) => one.id,
	);

/** A session that waits for the results of these calls. */
async function waiting(...ids: string[]): Promise<string> {
	const id = await createSession();
	play({ toolCalls: ids.map((one) => call(one)) });
	await allEvents(await send(id, 'go'));
	return id;
}

describe('results of open calls', () => {
	test('continue the run when the last result arrives, and the model reads them', async () => {
		const id = await waiting('a');
		const { requests } = play('It is done.');
		const events = await allEvents(await submit(id, [{ id: 'a', output: { refunded: 5 } }], stream));
		expect(events[0]).toMatchObject({ type: 'run.started' });
		expect(readText(events)).toBe('It is done.');
		expect(requests[0]?.messages.at(-1)).toMatchObject({ role: 'tool', toolCallId: 'a', content: { refunded: 5 } });
		expect(await readState(id)).toMatchObject({ status: 'completed' });
	});

	test('reach the model as errors if they have isError', async () => {
		const id = await waiting('a');
		const { requests } = play('I see.');
		const answer = await submit(id, [{ id: 'a', output: 'no such order', isError: true }]);
		expect(await answer.json()).toMatchObject({ status: 'completed', text: 'I see.' });
		expect(requests[0]?.messages.at(-1)).toMatchObject({ content: 'no such order', isError: true });
	});

	test('wait for the other results, even across a restart, and are sent in the order of the calls', async () => {
		const id = await waiting('a', 'b', 'c');
		const some = await submit(id, [{ id: 'c', output: 3 }]);
		expect(some.status).toBe(200);
		expect(await some.json()).toMatchObject({ status: 'awaiting_tools', toolCalls: [{ id: 'a' }, { id: 'b' }] });
		await restart(id);
		expect(await openIds(id)).toEqual(['a', 'b']);
		await submit(id, [{ id: 'a', output: 1 }]);
		const { requests } = play('All three.');
		expect(readText(await allEvents(await submit(id, [{ id: 'b', output: 2 }], stream)))).toBe('All three.');
		const sent = requests[0]?.messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
		expect(sent).toEqual([1, 2, 3]);
	});

	test('are refused with 409 for an answered call, which keeps its first answer', async () => {
		const id = await waiting('a', 'b');
		await submit(id, [{ id: 'a', output: 'first' }]);
		const second = await submit(id, [{ id: 'a', output: 'second' }]);
		expect(second.status).toBe(409);
		expect(await second.json()).toMatchObject({ error: { code: 'conflict', message: expect.stringContaining('"a"') } });
		expect((await readHistory(id)).filter(({ role }) => role === 'tool')).toMatchObject([{ content: 'first' }]);
	});

	test('are accepted only once for a call, even if two arrive simultaneously', async () => {
		const id = await waiting('a');
		play('Once.');
		const both = await Promise.all([1, 2].map((output) => submit(id, [{ id: 'a', output }])));
		expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
	});

	test.each([
		['an id that no open call has', [{ id: 'z', output: 1 }], /id: no call "z".*a, b/],
		[
			'two results for one call',
			[
				{ id: 'a', output: 1 },
				{ id: 'a', output: 2 },
			],
			/id: "a" is answered twice/,
		],
		[
			'a valid result and an invalid result',
			[
				{ id: 'a', output: 1 },
				{ id: 'z', output: 1 },
			],
			/id: no call "z"/,
		],
		[
			'a result that is nested too deep',
			[{ id: 'a', output: JSON.parse('['.repeat(5_000) + ']'.repeat(5_000)) }],
			/nested/,
		],
		['an object instead of a list', { id: 'a', output: 1 }, /body: must be a list/],
		['an empty list', [], /must hold a result/],
		['no output', [{ id: 'a' }], /0\.output: missing/],
		['an unknown field', [{ id: 'a', output: 1, now: true }], /0\.now: no such field/],
		['an output beside `approve`', [{ id: 'a', output: 1, approve: true }], /0\.output: no such field/],
		['`approve` for a call that waits for its result', [{ id: 'a', approve: true }], /waits for a result/],
	])('with %s are refused with the reason, and nothing changes', async (_, results, message) => {
		const id = await waiting('a', 'b');
		const before = await readHistory(id);
		const refused = await submit(id, results);
		expect(refused.status).toBe(400);
		const { error } = await refused.json<{ error: { message: string } }>();
		expect(error.message).toMatch(message);
		expect(await readHistory(id)).toEqual(before);
		expect(await readState(id)).toMatchObject({ status: 'awaiting_tools', toolCalls: [{ id: 'a' }, { id: 'b' }] });
	});

	test('begin a run, and a late reader gets all its events', async () => {
		const id = await waiting('a');
		play('Thanks.');
		const live = await allEvents(await submit(id, [{ id: 'a', output: 1 }], stream));
		const later = await allEvents(await follow(id));
		expect(readText(later)).toBe('Thanks.');
		expect(later.map(({ type }) => type)).toEqual(live.map(({ type }) => type));
		await restart(id);
		expect((await allEvents(await follow(id))).map(({ type }) => type)).toEqual(live.map(({ type }) => type));
	});
});

test('runs no tool of an agent in manual mode, and waits for results from the client', async () => {
	const id = await createSession('by-hand');
	play({ toolCalls: [call('a', 'echo', { text: 'hi' }), call('b', 'nothing')] });
	const events = await allEvents(await send(id, 'go'));
	expect(events.some(({ type }) => type === 'tool_result')).toBe(false);
	expect(await openIds(id)).toEqual(['a', 'b']);
	play('Thank you.');
	const results = ['a', 'b'].map((one) => ({ id: one, output: 1 }));
	expect(readText(await allEvents(await submit(id, results, stream)))).toBe('Thank you.');
	await restart(id);
	expect(await readState(id)).toMatchObject({ status: 'completed' });
});

describe('an answer to a question', () => {
	test('becomes the result of the call', async () => {
		const id = await createSession();
		play({ toolCalls: [call('q', 'ask', { question: 'Which one?' })] });
		await allEvents(await send(id, 'go'));
		const { requests } = play('Red it is.');
		expect(readText(await allEvents(await post(id, 'answer', { text: 'red' }, stream)))).toBe('Red it is.');
		expect(requests[0]?.messages.at(-1)).toMatchObject({ role: 'tool', toolCallId: 'q', content: 'red' });
	});
});

test('shows the model an image in an answer', async () => {
	const id = await createSession();
	play({ toolCalls: [call('q', 'ask', { question: 'What is it?' })] });
	await allEvents(await send(id, 'go'));
	const { requests } = play('A cat.');
	const parts = [{ kind: 'image', url: 'https://example.com/cat.png' }];
	await allEvents(await post(id, 'answer', { parts }, stream));
	expect(requests[0]?.messages.at(-1)).toMatchObject({ role: 'tool', parts });
});

describe('continue', () => {
	test('continues a failed run without a new message', async () => {
		const id = await createSession();
		play(Object.assign(new Error('no such key'), { status: 401 }));
		await allEvents(await send(id, 'go'));
		const { requests } = play('Now it works.');
		expect(readText(await allEvents(await post(id, 'continue', {}, stream)))).toBe('Now it works.');
		expect(requests[0]?.messages.map(({ role }) => role)).toEqual(['user']);
		expect((await readHistory(id)).map(({ role }) => role)).toEqual(['user', 'assistant']);
	});
});

describe('the operations of a status', () => {
	const bodies: Readonly<Record<string, unknown>> = {
		messages: { text: 'hello', whenBusy: 'reject' },
		answer: { text: 'hello' },
		'tool-results': [{ id: 'a', output: 1 }],
		continue: {},
		step: {},
	};
	const sessions = {
		idle: [createSession, ['messages']],
		completed: [
			async () => {
				const id = await createSession();
				play('done');
				await allEvents(await send(id, 'go'));
				return id;
			},
			['messages'],
		],
		running: [
			async () => {
				const id = await createSession();
				play(() => new Promise(() => {}));
				await post(id, 'messages', { text: 'go' }, { prefer: 'respond-async' });
				return id;
			},
			[],
		],
		awaiting_user: [
			async () => {
				const id = await createSession();
				play({ toolCalls: [call('a', 'ask', { question: 'Which?' })] });
				await allEvents(await send(id, 'go'));
				return id;
			},
			['messages', 'answer'],
		],
		awaiting_tools: [() => waiting('a'), ['tool-results']],
		error: [
			async () => {
				const id = await createSession();
				play(Object.assign(new Error('no'), { status: 401 }));
				await allEvents(await send(id, 'go'));
				return id;
			},
			['messages', 'continue', 'step'],
		],
	} as const;
	const rows = Object.entries(sessions).flatMap(([status, [make, allowed]]) =>
		Object.keys(bodies).map(
			(operation) => [status, operation, allowed.some((name) => name === operation), allowed, make] as const,
		),
	);

	test.each(rows)('in the status %s, %s is allowed: %s', async (status, operation, isAllowed, allowed, make) => {
		const id = await make();
		const before = { state: await readState(id), history: await readHistory(id) };
		expect(before.state.status).toBe(status);
		if (isAllowed) play('fine');
		const response = await post(id, operation, bodies[operation], { prefer: 'respond-async' });
		if (isAllowed) {
			expect(response.status).toBe(202);
			await allEvents(await follow(id));
			expect(await readState(id)).toMatchObject({ status: 'completed' });
		} else {
			expect(response.status).toBe(409);
			const { error } = await response.json<{ error: { code: string; message: string } }>();
			const possible = [...allowed, 'cancel'].map((name) => `POST ${name}`).join(', ');
			const message = `The session is ${status}: POST ${operation} is not possible now. Possible: ${possible}.`;
			expect(error).toMatchObject({ code: 'conflict', message: expect.stringContaining(message) });
			expect({ state: await readState(id), history: await readHistory(id) }).toEqual(before);
		}
		await post(id, 'cancel');
	});
});

describe('approval', () => {
	const paying = async (agent: string, ...calls: ReturnType<typeof call>[]): Promise<string> => {
		const id = await createSession(agent);
		play({ toolCalls: calls });
		await allEvents(await send(id, 'go'));
		return id;
	};
	const pay = (id: string, amount = 5) => call(id, 'pay', { amount });

	test('runs a call after a person approves it', async () => {
		const id = await paying('scripted', pay('a'));
		expect(await readState(id)).toMatchObject({
			status: 'awaiting_tools',
			toolCalls: [{ id: 'a', name: 'pay', input: { amount: 5 }, kind: 'approval' }],
		});
		const { requests } = play('Paid.');
		const events = await allEvents(await submit(id, [{ id: 'a', approve: true }], stream));
		expect(events.find(({ type }) => type === 'tool_result')?.data).toMatchObject({ id: 'a', output: 'paid 5' });
		expect(requests[0]?.messages.at(-1)).toMatchObject({ toolCallId: 'a', content: 'paid 5', isError: false });
	});

	test('does not run a denied call, and tells the model why', async () => {
		const id = await paying('scripted', pay('a'));
		const { requests } = play('I see.');
		expect(await (await submit(id, [{ id: 'a', approve: false, reason: 'Too much.' }])).json()).toMatchObject({
			text: 'I see.',
		});
		expect(requests[0]?.messages.at(-1)).toMatchObject({
			isError: true,
			content: expect.stringContaining('Too much.'),
		});
	});

	test('accepts an answer for each of several calls, also across a restart', async () => {
		const id = await paying('scripted', pay('a', 1), pay('b', 2), call('c'));
		expect(
			(await (await submit(id, [{ id: 'a', approve: true }])).json<{ toolCalls: unknown }>()).toolCalls,
		).toMatchObject([{ id: 'b', kind: 'approval' }, { id: 'c' }]);
		await restart(id);
		expect((await submit(id, [{ id: 'a', approve: true }])).status).toBe(409);
		await submit(id, [{ id: 'c', output: 'by hand' }]);
		const { requests } = play('All.');
		await (await submit(id, [{ id: 'b', approve: false }])).json();
		expect(requests[0]?.messages.slice(-3)).toMatchObject([
			{ toolCallId: 'a', content: 'paid 1' },
			{ toolCallId: 'b', isError: true },
			{ toolCallId: 'c', content: 'by hand' },
		]);
	});

	test('cannot be replaced by a result', async () => {
		const id = await paying('scripted', pay('a'));
		const refused = await submit(id, [{ id: 'a', output: 'paid 5' }]);
		expect(refused.status).toBe(400);
		expect(await readState(id)).toMatchObject({ status: 'awaiting_tools', toolCalls: [{ id: 'a' }] });
	});

	test('applies only to the shown arguments in the shown turn', async () => {
		const id = await paying('scripted', pay('a', 1), call('c'));
		await submit(id, [{ id: 'a', approve: true }]);
		await runInDurableObject(readObject(id), (_, { storage }) => {
			storage.sql.exec(`UPDATE message SET body = replace(body, '"amount":1', '"amount":900')`);
		});
		await restart(id);
		expect(await openIds(id)).toEqual(['a', 'c']);
		const next = await paying('scripted', pay('a', 1));
		play({ toolCalls: [pay('a', 1)] });
		const again = await allEvents(await submit(next, [{ id: 'a', approve: true }], stream));
		expect(again.at(-1)).toMatchObject({ type: 'awaiting', data: { toolCalls: [{ id: 'a_2', kind: 'approval' }] } });
	});

	test('that is sent twice approves one call, even if a later call has the same id', async () => {
		const id = await paying('scripted', pay('a', 1));
		play({ toolCalls: [pay('a', 900)] }, 'Paid.');
		await allEvents(await submit(id, [{ id: 'a', approve: true }], stream));
		expect(await openIds(id)).toEqual(['a_2']);
		const repeated = await submit(id, [{ id: 'a', approve: true }]);
		expect(repeated.status).toBe(409);
		expect(await repeated.json()).toMatchObject({ error: { message: expect.stringContaining('answered already') } });
		expect(await openIds(id)).toEqual(['a_2']);
	});

	test('is denied automatically after approvalMs, the run continues, and a later decision is refused', async () => {
		const asked = play({ toolCalls: [pay('a')] }, 'Then not.');
		const id = await createSession('hasty');
		const events = await allEvents(await send(id, 'go'));
		expect(events.at(-1)).toMatchObject({ type: 'awaiting', data: { status: 'awaiting_tools' } });
		await runDurableObjectAlarm(readObject(id));
		await expect.poll(() => readState(id)).toMatchObject({ status: 'completed' });
		expect(asked.requests.at(-1)?.messages.at(-1)).toMatchObject({
			role: 'tool',
			isError: true,
			content: 'A person did not allow this call: nobody decided in time.',
		});
		expect((await submit(id, [{ id: 'a', approve: true }])).status).toBe(409);
	});

	test('leaves a manual call open after an automatic denial', async () => {
		play({ toolCalls: [pay('a'), call('m', 'by_hand', {})] }, 'Then not.');
		const id = await createSession('hasty');
		await allEvents(await send(id, 'go'));
		await runDurableObjectAlarm(readObject(id));
		await expect
			.poll(() => readState(id))
			.toMatchObject({
				status: 'awaiting_tools',
				toolCalls: [{ id: 'm', name: 'by_hand' }],
			});
		expect((await submit(id, [{ id: 'm', output: 'Done.' }])).status).toBe(200);
		expect((await readHistory(id)).filter(({ role }) => role === 'tool')).toMatchObject([
			{ toolCallId: 'a', isError: true },
			{ toolCallId: 'm', content: 'Done.' },
		]);
	});
});

describe('step', () => {
	test('runs one turn with its tools, and the session then accepts another step or `continue`', async () => {
		const id = await createSession();
		play(Object.assign(new Error('no'), { status: 401 }));
		await allEvents(await send(id, 'go'));
		play({ toolCalls: [call('a', 'echo', { text: 'hi' })] });
		const first = await allEvents(await post(id, 'step', {}, stream));
		expect(first.find(({ type }) => type === 'tool_result')?.data).toMatchObject({ output: 'hi' });
		expect(first.at(-1)).toMatchObject({ type: 'awaiting', data: { status: 'awaiting_tools', toolCalls: [] } });
		expect(await readState(id)).toMatchObject({ status: 'awaiting_tools', toolCalls: [] });
		const refused = await post(id, 'messages', { text: 'hello' });
		expect(refused.status).toBe(409);
		expect(await refused.json()).toMatchObject({ error: { data: { allowed: ['continue', 'step', 'cancel'] } } });
		expect((await submit(id, [{ id: 'a', output: 1 }])).status).toBe(409);
		play({ toolCalls: [call('b', 'echo', { text: 'ho' })] });
		await allEvents(await post(id, 'step', {}, stream));
		play('The end.');
		expect(readText(await allEvents(await post(id, 'continue', {}, stream)))).toBe('The end.');
		expect(await readState(id)).toMatchObject({ status: 'completed' });
	});
});
