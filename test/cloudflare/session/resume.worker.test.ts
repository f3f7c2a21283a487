import { env, evictDurableObject } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { allEvents, createSession, follow, readEvents, readText, request, send, type WireEvent } from '../../client.ts';
import { play } from '../../script.ts';

const call = (id: string, name: string, input: unknown) => ({ id, name, input });

/** Joins neighbouring pieces of a text. Then the events of two readers are equal for any disconnects. */
function joined(events: readonly WireEvent[]): unknown[] {
	const out: { type: string; data: Record<string, unknown> }[] = [];
	for (const { type, data } of events) {
		const before = out.at(-1);
		const field = type === 'tool_use_input' ? 'partialInputJson' : 'text';
		const pieces =
			['text', 'reasoning', 'tool_use_input'].includes(type) && before?.type === type && before.data.id === data.id;
		if (pieces) before.data = { ...data, [field]: `${before.data[field]}${data[field]}` };
		else out.push({ type, data });
	}
	return out;
}

/** The pieces of each call's input as one event. */
function joinedInputs(events: readonly WireEvent[]): WireEvent[] {
	const inputs = new Map<unknown, WireEvent>();
	for (const event of events.filter(({ type }) => type === 'tool_use_input')) {
		const before = inputs.get(event.data.id);
		const partialInputJson = `${before?.data.partialInputJson ?? ''}${event.data.partialInputJson}`;
		inputs.set(event.data.id, { ...event, data: { ...event.data, partialInputJson } });
	}
	return [...inputs.values()];
}

const script = [
	{
		reasoning: 'Hm, let me think.',
		text: 'First I will look. 🎈',
		toolCalls: [call('a', 'noisy', { times: 3 }), call('a', 'echo', { text: 'twice' }), call('c', 'nothing', {})],
		deltas: [
			...['Hm, ', 'let me ', 'think.'].map((text) => ({ type: 'reasoning', text })),
			...['First ', 'I will', ' look. ', '🎈'].map((text) => ({ type: 'text', text })),
			{ type: 'tool_use_start', id: 'a', name: 'noisy' },
			...['{"ti', 'mes":', '3}'].map((partialInputJson) => ({ type: 'tool_use_input', id: 'a', partialInputJson })),
			{ type: 'tool_use_end', id: 'a' },
			{ type: 'tool_use_start', id: 'a', name: 'echo' },
			...['{"text":', '"twice"}'].map((partialInputJson) => ({ type: 'tool_use_input', id: 'a', partialInputJson })),
			{ type: 'tool_use_end', id: 'a' },
			{ type: 'tool_use_start', id: 'c', name: 'nothing' },
			{ type: 'tool_use_input', id: 'c', partialInputJson: '{}' },
			{ type: 'tool_use_end', id: 'c' },
			{ type: 'stop', reason: 'tool_use' },
		],
	},
	{
		text: 'Once more.',
		toolCalls: [call('b', 'noisy', { times: 1 })],
	},
];

test('a returning reader gets exactly the missed events, from any position', async () => {
	const end = Promise.withResolvers<void>();
	play(...script, { text: '', toolCalls: [call('d', 'echo', { text: 'more' })] }, async () => {
		await end.promise;
		return 'The end.';
	});
	const id = await createSession();
	const reader = readEvents(await send(id, 'go'));
	const seen: WireEvent[] = [];
	for await (const event of reader) {
		seen.push(event);
		if (event.type === 'tool_result' && event.data.id === 'd') break;
	}
	expect(seen.length).toBeGreaterThan(15);
	const cut = await Promise.all(seen.map(({ id: last }) => follow(id, last)));
	const other = await follow(id);
	end.resolve();
	const whole = joined(await allEvents(other));
	for (const [index, response] of cut.entries()) {
		const rest = await allEvents(response);
		expect(joined([...seen.slice(0, index + 1), ...rest]), `cut behind ${seen[index]?.id}`).toEqual(whole);
	}
});

test('a returning reader gets exactly the missed events from the store after a restart', async () => {
	const id = await createSession();
	play(...script, { text: 'That is all.', deltas: ['That ', 'is ', 'all.'].map((text) => ({ type: 'text', text })) });
	const whole = await allEvents(await send(id, 'go'));
	await evictDurableObject(env.SESSIONS.get(env.SESSIONS.idFromString(id)));
	for (const [index, { id: seen }] of whole.entries()) {
		const rest = await allEvents(await follow(id, seen));
		expect(readText([...whole.slice(0, index + 1), ...rest])).toBe(readText(whole));
		const kinds = (events: readonly WireEvent[]) =>
			joined(events)
				.map((event) => JSON.stringify(event))
				.sort();
		expect(kinds([...whole.slice(0, index + 1), ...rest]), `cut behind ${seen}`).toEqual(kinds(whole));
	}
});

test('a reader that returns during a run gets the missed events, then the rest', async () => {
	const middle = Promise.withResolvers<void>();
	const end = Promise.withResolvers<void>();
	play(async (_, onDelta) => {
		for (const text of ['one ', 'two ']) await onDelta({ type: 'text', text });
		await middle.promise;
		for (const text of ['three ', 'four ']) await onDelta({ type: 'text', text });
		await end.promise;
		await onDelta({ type: 'text', text: 'five' });
		return { text: 'one two three four five' };
	});
	const id = await createSession();
	const first = readEvents(await send(id, 'go'));
	await first.next();
	const { value: seen } = await first.next();
	await first.return();
	middle.resolve();
	const second = readEvents(await follow(id, seen?.id));
	const { value: missed } = await second.next();
	end.resolve();
	expect(`${seen?.data.text}${missed?.data.text}${readText(await Array.fromAsync(second))}`).toBe(
		'one two three four five',
	);
});

test('a reader that returns before the first token gets everything once', async () => {
	const open = Promise.withResolvers<void>();
	play(async () => {
		await open.promise;
		return 'at last';
	});
	const id = await createSession();
	const first = readEvents(await send(id, 'go'));
	const { value: started } = await first.next();
	await first.return();
	const second = await follow(id, started?.id);
	open.resolve();
	const events = await allEvents(second);
	expect(readText(events)).toBe('at last');
	expect(events.filter(({ type }) => type === 'run.started')).toHaveLength(0);
});

test('a returning reader gets the shown text of a cancelled turn', async () => {
	play(async (_, onDelta) => {
		await onDelta({ type: 'reasoning', text: 'Hm.' });
		for (const text of ['Once ', 'upon ', 'a time']) await onDelta({ type: 'text', text });
		await new Promise(() => {});
		return undefined;
	});
	const id = await createSession();
	const seen: WireEvent[] = [];
	for await (const event of readEvents(await send(id, 'go'))) {
		seen.push(event);
		if (event.type === 'text') break;
	}
	await (await request(`/v1/sessions/${id}/cancel`, {})).text();
	const rest = await allEvents(await follow(id, seen.at(-1)?.id));
	expect(readText([...seen, ...rest])).toBe('Once upon a time');
	expect((await allEvents(await follow(id))).map(({ type }) => type)).toEqual([
		'run.started',
		'reasoning',
		'text',
		'cancelled',
	]);
});

test('a reader can resume within a tool input, for any JSON format and for simultaneous calls', async () => {
	const id = await createSession();
	const piece = (call: string, partialInputJson: string) => ({ type: 'tool_use_input', id: call, partialInputJson });
	play(
		{
			toolCalls: [call('a', 'echo', { text: 'one' }), call('b', 'echo', { text: 'two' })],
			deltas: [
				{ type: 'tool_use_start', id: 'a', name: 'echo' },
				piece('a', '{ "text" '),
				{ type: 'tool_use_start', id: 'b', name: 'echo' },
				piece('b', '{ "te'),
				piece('a', ': "one" }'),
				piece('b', 'xt": "two" }'),
				{ type: 'tool_use_end', id: 'a' },
				{ type: 'tool_use_end', id: 'b' },
			],
		},
		'Done.',
	);
	const whole = await allEvents(await send(id, 'go'));
	const inputs = (events: readonly WireEvent[]) =>
		events
			.flatMap(({ type, data }) => (type === 'tool_use_input' ? [`${data.id}${data.partialInputJson}`] : []))
			.join('');
	for (const [index, { id: seen }] of whole.entries()) {
		const rest = await allEvents(await follow(id, seen));
		expect(joined([...whole.slice(0, index + 1), ...rest]), `cut behind ${seen}`).toEqual(joined(whole));
	}
	expect(inputs(await allEvents(await follow(id)))).toBe(inputs(joinedInputs(whole)));
});

test('a run that began with an answer is replayed unchanged', async () => {
	const id = await createSession();
	play({ toolCalls: [call('q', 'ask', { question: 'Which?' }), call('e', 'echo', { text: 'x' })] });
	await allEvents(await send(id, 'go'));
	play({ text: 'Hello World.', deltas: ['Hello ', 'World.'].map((text) => ({ type: 'text', text })) });
	const whole = await allEvents(await send(id, 'the red one'));
	for (const [index, { id: seen }] of whole.entries()) {
		const rest = await allEvents(await follow(id, seen));
		expect(joined([...whole.slice(0, index + 1), ...rest]), `cut behind ${seen}`).toEqual(joined(whole));
	}
});

test('a reader gets 204 if there is no run, or if it already has the last event', async () => {
	const id = await createSession();
	expect((await follow(id)).status).toBe(204);
	play('done');
	const last = (await allEvents(await send(id, 'go'))).at(-1);
	expect((await follow(id, last?.id)).status).toBe(204);
});

test('a reader that has seen the end of a run continues with the next run', async () => {
	const id = await createSession();
	play('one', 'two');
	const first = await allEvents(await send(id, 'go'));
	await allEvents(await send(id, 'go on'));
	expect(readText(await allEvents(await follow(id, first.at(-1)?.id)))).toBe('two');
	expect(readText(await allEvents(await follow(id, first[0]?.id)))).toBe('one');
});

test('refuses an invalid Last-Event-ID', async () => {
	const id = await createSession();
	play('done');
	await allEvents(await send(id, 'go'));
	for (const wrong of ['x', '1.2', '7.end', '-1.0.0.0.0.0.0.0.0.0', '1.0.0.0.0.0.0.0.0.1e3', '0.end']) {
		const response = await follow(id, wrong);
		expect(response.status, wrong).toBe(400);
		expect(await response.json()).toMatchObject({
			error: { code: 'invalid_request', data: { field: 'Last-Event-ID' } },
		});
	}
});

test('a reader that does not read delays neither the model nor other readers', async () => {
	const size = 5_000;
	const piece = 'x'.repeat(1_000);
	play({ text: piece.repeat(size), deltas: Array.from({ length: size }, () => ({ type: 'text', text: piece })) });
	const id = await createSession();
	const stalled = await send(id, 'go');
	const quick = await allEvents(await follow(id));
	expect(readText(quick).length).toBe(size * piece.length);
	expect(quick.at(-1)?.type).toBe('done');
	const late = await allEvents(stalled);
	expect(readText(late).length).toBe(size * piece.length);
	expect(late.length).toBeLessThan(size);
});
