import { expect, test } from 'vitest';
import {
	allEvents,
	createSession,
	follow,
	readEvents,
	readNextAlarm,
	readState,
	readText,
	request,
	send,
} from '../../client.ts';
import { play } from '../../script.ts';

const call = (id: string, name: string, input: unknown) => ({ id, name, input });
test('streams a run as server-sent events with ids, and the last event ends the run', async () => {
	play({ text: 'Let me see.', toolCalls: [call('a', 'echo', { text: 'hi' })] }, 'Done.');
	const response = await send(await createSession(), 'go');
	expect(response.headers.get('content-type')).toBe('text/event-stream');
	const events = await allEvents(response);
	expect(events.map(({ type }) => type)).toEqual([
		'run.started',
		...['text', 'tool_use_start', 'tool_use_input', 'tool_use_end', 'stop', 'tool_result', 'step'],
		...['text', 'stop', 'step', 'done'],
	]);
	expect(events.every(({ id, type, data }) => id !== undefined && data.type === type)).toBe(true);
	expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
});

test('streams the first event before the last event exists', async () => {
	const last = Promise.withResolvers<void>();
	play(async (_, onDelta) => {
		await onDelta({ type: 'text', text: 'first' });
		await last.promise;
		await onDelta({ type: 'text', text: ' last' });
		return { text: 'first last' };
	});
	const events = readEvents(await send(await createSession(), 'go'));
	await events.next();
	expect((await events.next()).value).toMatchObject({ type: 'text', data: { text: 'first' } });
	last.resolve();
	expect(readText(await Array.fromAsync(events))).toBe(' last');
});

test('a run continues without its reader', async () => {
	const gone = Promise.withResolvers<void>();
	play(async (_, onDelta) => {
		await onDelta({ type: 'text', text: 'before' });
		await gone.promise;
		await onDelta({ type: 'text', text: ', after' });
		return { text: 'before, after' };
	});
	const id = await createSession();
	const reader = readEvents(await send(id, 'go'));
	await reader.next();
	await reader.return();
	gone.resolve();
	const events = await allEvents(await follow(id));
	expect(readText(events)).toBe('before, after');
	expect(events.at(-1)?.type).toBe('done');
});

test('cancel stops a run and its call to the model at once', async () => {
	const started = Promise.withResolvers<void>();
	let aborted = false;
	play(({ options }) => {
		options?.signal?.addEventListener('abort', () => {
			aborted = true;
		});
		started.resolve();
		return new Promise(() => {});
	});
	const id = await createSession();
	const response = await send(id, 'go');
	await started.promise;
	const cancelled = await request(`/v1/sessions/${id}/cancel`, {});
	expect(await cancelled.json()).toMatchObject({ status: 'idle', run: { status: 'cancelled' } });
	expect(aborted).toBe(true);
	expect((await allEvents(response)).map(({ type }) => type)).toEqual(['run.started', 'cancelled']);
	play('again');
	expect(readText(await allEvents(await send(id, 'and now?')))).toBe('again');
});

test('cancel does nothing without a run', async () => {
	const id = await createSession();
	expect(await (await request(`/v1/sessions/${id}/cancel`, {})).json()).toMatchObject({ status: 'idle' });
});

test('several readers can follow one run', async () => {
	const open = Promise.withResolvers<void>();
	play(async () => {
		await open.promise;
		return 'to everybody';
	});
	const id = await createSession();
	const responses = [await send(id, 'go'), await follow(id), await follow(id)];
	open.resolve();
	const readers = await Promise.all(responses.map(allEvents));
	expect(readers[1]).toEqual(readers[0]);
	expect(readers[2]).toEqual(readers[0]);
});

test('a reader that comes after the end of a run gets the same events', async () => {
	play({ text: 'Hello', toolCalls: [call('a', 'noisy', { times: 2 })] }, 'World');
	const id = await createSession();
	const live = await allEvents(await send(id, 'go'));
	const late = await allEvents(await follow(id));
	expect(late).toEqual(live);
});

test('refuses a message with `whenBusy: reject` during a run, and changes nothing', async () => {
	const open = Promise.withResolvers<void>();
	play(async () => {
		await open.promise;
		return 'done';
	});
	const id = await createSession();
	const response = await send(id, 'first');
	const refused = await request(`/v1/sessions/${id}/messages`, { text: 'second', whenBusy: 'reject' });
	expect(refused.status).toBe(409);
	expect(await refused.json()).toMatchObject({ error: { code: 'conflict', data: { status: 'running' } } });
	open.resolve();
	await allEvents(response);
	const { messages } = await (await request(`/v1/sessions/${id}/messages`)).json<{ messages: unknown[] }>();
	expect(messages).toHaveLength(2);
});

test('answers a non-streaming request with the result of the run', async () => {
	play('All done.');
	const id = await createSession();
	const result = await (await request(`/v1/sessions/${id}/messages`, { text: 'go' })).json();
	expect(result).toMatchObject({ status: 'completed', text: 'All done.' });
	expect(await readState(id)).toMatchObject({ status: 'completed' });
});

test('answers 202 to a request with `Prefer: respond-async`', async () => {
	const open = Promise.withResolvers<void>();
	play(async () => {
		await open.promise;
		return 'later';
	});
	const id = await createSession();
	const accepted = await request(`/v1/sessions/${id}/messages`, { text: 'go' }, { prefer: 'respond-async' });
	expect(accepted.status).toBe(202);
	const { runId } = await accepted.json<{ runId: string }>();
	expect(await readState(id)).toMatchObject({ status: 'running', run: { id: runId } });
	open.resolve();
	expect(readText(await allEvents(await follow(id)))).toBe('later');
});

test('creates a session with its first message in one request', async () => {
	play('Hello');
	const response = await request('/v1/sessions', { agent: 'scripted', text: 'hi' }, { accept: 'text/event-stream' });
	expect(response.status).toBe(201);
	expect(readText(await allEvents(response))).toBe('Hello');
	const location = response.headers.get('location') ?? '';
	expect(await (await request(location)).json()).toMatchObject({ agent: 'scripted', status: 'completed' });
});

test('a request that creates a session and waits for the run’s result gets the final status', async () => {
	play('Hello');
	const created = await request('/v1/sessions', { agent: 'scripted', text: 'hi' });
	expect(created.status).toBe(201);
	expect(await created.json()).toMatchObject({ status: 'completed', run: { status: 'completed' }, text: 'Hello' });
});

test('a failure of the model is in the error event, the error response and the status', async () => {
	const id = await createSession();
	play(Object.assign(new Error('no such key'), { status: 401 }));
	expect((await allEvents(await send(id, 'go'))).at(-1)).toMatchObject({ type: 'error', data: { code: 'auth' } });
	expect(await readState(id)).toMatchObject({ status: 'error', error: { code: 'auth' } });
	play(Object.assign(new Error('no such key'), { status: 401 }));
	const failed = await request(`/v1/sessions/${id}/messages`, { text: 'again' });
	expect(failed.status).toBe(401);
	expect(await failed.json()).toMatchObject({ error: { code: 'auth' } });
});

test('a question stops the run, and the next message answers it', async () => {
	const id = await createSession();
	play({ toolCalls: [call('q', 'ask', { question: 'Which one?' })] });
	expect((await allEvents(await send(id, 'go'))).at(-1)).toMatchObject({
		type: 'awaiting',
		data: { status: 'awaiting_user', question: { callId: 'q', question: 'Which one?' } },
	});
	expect(await readState(id)).toMatchObject({ status: 'awaiting_user', question: { question: 'Which one?' } });
	const { requests } = play('Thank you.');
	expect(readText(await allEvents(await send(id, 'The red one.')))).toBe('Thank you.');
	expect(requests[0]?.messages.at(-1)).toMatchObject({ role: 'tool', toolCallId: 'q', content: 'The red one.' });
});

test('a manual tool stops the run: messages are refused until a cancel', async () => {
	const id = await createSession();
	play({ toolCalls: [call('m', 'by_hand', {})] });
	expect((await allEvents(await send(id, 'go'))).at(-1)).toMatchObject({
		type: 'awaiting',
		data: { status: 'awaiting_tools', toolCalls: [{ id: 'm', name: 'by_hand' }] },
	});
	expect((await send(id, 'hello?')).status).toBe(409);
	await request(`/v1/sessions/${id}/cancel`, {});
	const { requests } = play('Fine.');
	expect(readText(await allEvents(await send(id, 'never mind')))).toBe('Fine.');
	expect(requests[0]?.messages.filter(({ role }) => role === 'tool')).toMatchObject([
		{ toolCallId: 'm', isError: true },
	]);
});

test('a halt ends the run and keeps the result', async () => {
	const id = await createSession();
	play({ toolCalls: [call('h', 'stop', {})] });
	expect((await allEvents(await send(id, 'go'))).at(-1)).toMatchObject({ type: 'halted', data: { reason: 'stopped' } });
	expect(await readState(id)).toMatchObject({ status: 'completed', run: { status: 'halted' } });
});

test('a run ends despite 150,000 notes of a tool and a very long question', async () => {
	const id = await createSession();
	const question = 'Which? '.repeat(500_000);
	play({ toolCalls: [call('n', 'noisy', { times: 150_000 }), call('q', 'ask', { question })] });
	expect((await allEvents(await send(id, 'go'))).at(-1)?.type).toBe('awaiting');
	expect(await readState(id)).toMatchObject({ status: 'awaiting_user' });
	play('Thank you.');
	expect(readText(await allEvents(await send(id, 'this one')))).toBe('Thank you.');
});

test('an idle session has no alarm after its reports are delivered', async () => {
	const id = await createSession();
	play('done');
	await allEvents(await send(id, 'go'));
	// Wait until its owner's ledger and list got their reports.
	await expect.poll(() => readNextAlarm(id)).toBeNull();
});
