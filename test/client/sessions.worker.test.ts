import { SELF } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { type Client, type ClientOptions, createClient, type RunEvent } from '../../src/client/index.ts';
import { restart } from '../client.ts';
import { play } from '../script.ts';

const ask: typeof fetch = (input, init) => SELF.fetch(new Request(input, init));
const create = (options: ClientOptions = {}) =>
	createClient({ baseUrl: 'http://localhost', retryDelayMs: 0, fetch: ask, ...options });

/** A fetch whose streams break off after these numbers of bytes. The last number counts for all later streams. */
function cut(...lengths: readonly number[]): typeof fetch {
	let streams = 0;
	return async (input, init) => {
		const response = await ask(input, init);
		if (response.body === null || !/event-stream|ndjson/.test(response.headers.get('content-type') ?? ''))
			return response;
		let left = lengths[Math.min(streams++, lengths.length - 1)] ?? 0;
		const reader = response.body.getReader();
		const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
			if (left <= 0) return controller.error(new Error('The network is gone.'));
			const { done, value = new Uint8Array() } = await reader.read();
			if (done) return controller.close();
			controller.enqueue(value.subarray(0, left));
			left -= value.length;
		};
		const body = new ReadableStream({ pull, cancel: () => reader.cancel() }, { highWaterMark: 0 });
		return new Response(body, response);
	};
}

/** Joins neighbouring pieces of a text into one event, because a stream that was cut may have more pieces. */
function join(events: readonly RunEvent[]): RunEvent[] {
	const joined: RunEvent[] = [];
	for (const event of events) {
		const before = joined.at(-1);
		if (event.type === 'text' && before?.type === 'text')
			joined[joined.length - 1] = { ...event, text: before.text + event.text };
		else joined.push(event);
	}
	return joined;
}

const readText = (events: readonly RunEvent[]) =>
	events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('');

const call = (name: string, input: object = {}) => ({ text: 'So.', toolCalls: [{ id: 'c', name, input }] });

test('a client creates a session, sends a message and reads the typed events of the run', async () => {
	play(call('echo', { text: 'hi' }), 'It said hi.');
	const runlet = create();
	const session = await runlet.createSession({ agent: 'scripted' });
	const types: string[] = [];
	for await (const event of runlet.sendMessage(session.id, 'Go')) {
		types.push(event.type);
		if (event.type === 'tool_result') expect(event.output).toBe('hi');
		if (event.type === 'done') expect(event.text).toBe('It said hi.');
	}
	expect(types[0]).toBe('run.started');
	expect(types.at(-1)).toBe('done');
	expect((await runlet.getSession(session.id)).status).toBe('completed');
	expect((await runlet.listMessages(session.id)).map(({ role }) => role)).toEqual([
		'user',
		'assistant',
		'tool',
		'assistant',
	]);
	expect((await runlet.listAgents()).map(({ name }) => name)).toContain('scripted');
});

test('follows a session that is created with a message', async () => {
	play('At once.');
	const runlet = create();
	const { id, runId } = await runlet.createSession({ agent: 'scripted', text: 'Go' });
	const events = await Array.fromAsync(runlet.followRun(id));
	expect(events[0]).toEqual({ type: 'run.started', runId, attempt: 1 });
	expect(readText(events)).toBe('At once.');
});

test('a stream that is cut at any byte loses no event and repeats no event', async () => {
	const said = 'añ😀 first.';
	const turns = [{ text: said, toolCalls: [{ id: 'c', name: 'noisy', input: { times: 2 } }] }, 'The end. 🎈'];
	const id = async () => (await create().createSession({ agent: 'scripted' })).id;
	play(...turns);
	const plain = (events: readonly RunEvent[]) =>
		join(events).map((event) => ('runId' in event ? { ...event, runId: '' } : event));
	const strip = (events: readonly RunEvent[]) =>
		JSON.stringify(plain(events), (key, value) => (key === 'latencyMs' || key === 'budget' ? undefined : value));
	const whole = strip(await Array.fromAsync(create().sendMessage(await id(), 'Go')));
	for (let first = 0; first < 1_500; first += 61) {
		play(...turns);
		const runlet = create({ fetch: cut(first, 190, 1_000_000), streamRetries: 2 });
		expect(strip(await Array.fromAsync(runlet.sendMessage(await id(), 'Go'))), `cut after ${first}`).toBe(whole);
	}
});

test('reports a crash of the server during a turn, and reads the run to its end', async () => {
	let asked = 0;
	const begun = Promise.withResolvers<void>();
	play(async (_, onDelta) => {
		asked++;
		onDelta({ type: 'text', text: 'The answ' });
		begun.resolve();
		return new Promise(() => {});
	}, 'The answer.');
	const runlet = create({ streamRetries: 30 });
	const { id } = await runlet.createSession({ agent: 'scripted' });
	const events: RunEvent[] = [];
	for await (const event of runlet.sendMessage(id, 'Go')) {
		events.push(event);
		if (event.type === 'text' && event.text === 'The answ') await restart(id);
	}
	expect(asked).toBe(1);
	const types = events.map(({ type }) => type);
	expect(types).toContain('turn.restarted');
	expect(types.filter((type) => type === 'done')).toHaveLength(1);
	expect(readText(events.slice(types.indexOf('turn.restarted')))).toBe('The answer.');
});

test('a message whose answer is lost is sent again, but starts only one run', async () => {
	const { requests } = play('Once.', 'Twice.');
	let isLost = true;
	const runlet = create({
		fetch: async (input, init) => {
			const response = await ask(input, init);
			if (!isLost || !String(input).endsWith('/messages')) return response;
			isLost = false;
			await response.body?.cancel();
			throw new TypeError('The network is gone.');
		},
	});
	const { id } = await runlet.createSession({ agent: 'scripted' });
	expect(readText(await Array.fromAsync(runlet.sendMessage(id, 'Go')))).toBe('Once.');
	expect(requests).toHaveLength(1);
	expect((await runlet.listMessages(id)).filter(({ role }) => role === 'user')).toHaveLength(1);
});

test('a client answers the question of a tool', async () => {
	play(call('ask', { question: 'When?' }), 'Then on Friday.');
	const runlet = create();
	const { id } = await runlet.createSession({ agent: 'scripted' });
	const asked = await Array.fromAsync(runlet.sendMessage(id, 'Go'));
	expect(asked.at(-1)).toMatchObject({ type: 'awaiting', question: { callId: 'c', question: 'When?' } });
	expect(readText(await Array.fromAsync(runlet.answerQuestion(id, 'On Friday.')))).toBe('Then on Friday.');
});

test.for([
	['the result of a client’s own tool', 'by_hand', {}, { id: 'c', output: { paid: true } }, { paid: true }],
	['an approval', 'pay', { amount: 5 }, { id: 'c', approve: true }, 'paid 5'],
] as const)('%s lets the run go on', async ([, name, input, answer, output]) => {
	play(call(name, input), 'It is done.');
	const runlet = create();
	const { id } = await runlet.createSession({ agent: 'scripted' });
	const waiting = await Array.fromAsync(runlet.sendMessage(id, 'Go'));
	expect(waiting.at(-1)).toMatchObject({ type: 'awaiting', toolCalls: [{ id: 'c', name }] });
	expect(readText(await Array.fromAsync(runlet.submitResults(id, [answer])))).toBe('It is done.');
	expect(await runlet.listMessages(id)).toContainEqual(expect.objectContaining({ role: 'tool', content: output }));
});

test('a cancelled run ends its stream with the event `cancelled`', async () => {
	play(async (_, onDelta) => {
		onDelta({ type: 'text', text: 'A long' });
		return new Promise(() => {});
	});
	const runlet = create();
	const { id } = await runlet.createSession({ agent: 'scripted' });
	const events: RunEvent[] = [];
	for await (const event of runlet.sendMessage(id, 'Go')) {
		events.push(event);
		if (event.type === 'text') await runlet.cancelRun(id);
	}
	expect(events.at(-1)?.type).toBe('cancelled');
});

test('a reader resumes with the id of its last event', async () => {
	play('One two three.');
	const runlet = create();
	const { id } = await runlet.createSession({ agent: 'scripted' });
	const all: RunEvent[] = [];
	const events = runlet.sendMessage(id, 'Go');
	for await (const event of events) {
		all.push(event);
		if (event.type === 'text') break;
	}
	all.push(...(await Array.fromAsync(runlet.followRun(id, { lastEventId: events.lastEventId }))));
	expect(readText(all)).toBe('One two three.');
	expect(all.filter(({ type }) => type === 'run.started')).toHaveLength(1);
	expect(all.at(-1)?.type).toBe('done');
});

test('a session id of dots does not reach another route', async () => {
	const runlet = create();
	for (const id of ['.', '..']) {
		const nothing = { code: 'not_found', status: 404, message: `There is nothing at /v1/sessions/${id}.` };
		await expect(runlet.getSession(id)).rejects.toMatchObject(nothing);
		await expect(runlet.deleteSession(id)).rejects.toMatchObject(nothing);
		await expect(runlet.cancelRun(id)).rejects.toMatchObject({ code: 'not_found', status: 404 });
	}
});

test('a session that is loaded and followed shows each message once', async () => {
	play('First.', call('ask', { question: 'When?' }), 'Then on Friday.');
	const runlet = create();
	const { id } = await runlet.createSession({ agent: 'scripted' });
	for (const text of ['One', 'Two']) await Array.fromAsync(runlet.sendMessage(id, text));
	const shown = async () => {
		const { messages } = await runlet.loadSession(id);
		return [...messages.map(({ content }) => content), readText(await Array.fromAsync(runlet.followRun(id)))];
	};
	expect(await shown()).toEqual(['One', 'First.', 'Two', 'So.']);
	const newest = await runlet.loadSession(id, { newest: 1 });
	expect(newest.messages.map(({ content }) => content)).toEqual(['First.', 'Two']);
	const earlier = await runlet.listEarlier(id, { before: newest.cursor });
	expect(earlier.messages.map(({ content }) => content)).toEqual(['One']);
	expect(earlier.cursor).toBeUndefined();
	await Array.fromAsync(runlet.sendMessage(id, 'On Friday.'));
	expect((await shown()).at(-1)).toBe('Then on Friday.');
});

test('a long run is loaded from one of its turns on, in as few requests as a short one', async () => {
	const turns = Array.from({ length: 8 }, (_, n) => ({ ...call('echo', { text: `${n}` }), text: `T${n}.` }));
	play('First.', ...turns, 'Over.');
	let requests = 0;
	const runlet = create({
		fetch: (input, init) => {
			requests++;
			return ask(input, init);
		},
	});
	const { id } = await runlet.createSession({ agent: 'scripted' });
	for (const text of ['One', 'Two']) await Array.fromAsync(runlet.sendMessage(id, text));
	requests = 0;
	const { messages, from, cursor } = await runlet.loadSession(id, { newest: 2 });
	const rest = readText(await Array.fromAsync(runlet.followRun(id, { from })));
	expect(rest).toMatch(/^T\d\.(T\d\.)*Over\.$/);
	expect(requests).toBe(5);
	const shown = [...messages];
	for (let before = cursor; before !== undefined; ) {
		const page = await runlet.listEarlier(id, { before, limit: 5 });
		shown.unshift(...page.messages);
		before = page.cursor;
	}
	const texts = shown.filter(({ role }) => role !== 'tool').map(({ content }) => content);
	expect([...texts, rest].join('')).toBe(`OneFirst.Two${turns.map(({ text }) => text).join('')}Over.`);
});

test('a client queues messages during a run, lists and removes them, and loads the messages that steered the run', async () => {
	const gate = Promise.withResolvers<void>();
	play(async () => {
		await gate.promise;
		return call('echo', { text: 'hi' });
	}, 'Bonjour.');
	const runlet = create();
	const { id } = await runlet.createSession({ agent: 'scripted', text: 'Go' });
	const { runId } = await runlet.leaveMessage(id, 'And then?');
	await runlet.leaveMessage(id, { text: 'In French', whenBusy: 'steer' });
	expect(await runlet.listWaiting(id)).toMatchObject([{ id: runId, content: 'And then?' }, { steers: true }]);
	await runlet.removeWaiting(id, runId);
	await expect(runlet.removeWaiting(id, runId)).rejects.toMatchObject({ code: 'not_found' });
	gate.resolve();
	expect(readText(await Array.fromAsync(runlet.followRun(id)))).toBe('So.Bonjour.');
	const { messages, steered } = await runlet.loadSession(id);
	expect(messages.map(({ content }) => content)).toEqual(['Go', 'In French']);
	expect([...steered]).toEqual([[messages[1]?.id, 1]]);
});

test('a client renames a session, and a change that is empty or has an empty title is refused', async () => {
	const runlet = create();
	play('Hi.');
	const { id } = await runlet.createSession({ agent: 'scripted', text: 'Hello' });
	await Array.fromAsync(runlet.followRun(id));
	await runlet.changeSession(id, { title: 'Greetings' });
	const findTitle = async () => (await runlet.listSessions({ limit: 5 })).sessions.find((one) => one.id === id)?.title;
	await expect.poll(findTitle).toBe('Greetings');
	await expect(runlet.changeSession(id, { title: '' })).rejects.toMatchObject({ status: 400 });
	await expect(runlet.changeSession(id, {})).rejects.toMatchObject({ status: 400 });
	expect(await findTitle()).toBe('Greetings');
});

test('continues a failed run', async () => {
	play(() => Promise.reject(new Error('broken')), 'Now it works.');
	const runlet = create();
	const { id } = await runlet.createSession({ agent: 'scripted' });
	expect((await Array.fromAsync(runlet.sendMessage(id, 'Go'))).at(-1)?.type).toBe('error');
	expect(readText(await Array.fromAsync(runlet.continueRun(id)))).toBe('Now it works.');
});

test('an operation that fails on the server throws the server’s error', async () => {
	const runlet = create();
	const { id } = await runlet.createSession({ agent: 'scripted' });
	await expect(runlet.answerQuestion(id, 'Hm').next()).rejects.toMatchObject({ code: 'conflict', status: 409 });
	await expect(runlet.getSession('gone')).rejects.toMatchObject({ code: 'not_found', status: 404 });
});

test('reads the current task lists, and their changes as events', async () => {
	play(call('create_task_list', { title: 'Release', tasks: ['build'] }), 'Begun.');
	const runlet = create();
	const { id } = await runlet.createSession({ agent: 'planner' });
	expect(await runlet.listTasks(id)).toEqual([]);
	const shown = await Array.fromAsync(runlet.sendMessage(id, 'Go'));
	const lists = await runlet.listTasks(id);
	expect(lists).toMatchObject([{ title: 'Release', tasks: [{ text: 'build' }] }]);
	expect(shown.flatMap((event) => (event.type === 'tasks' ? [event.lists] : []))).toEqual([lists]);
});

test('a client copies a session completely or up to a message, and imports an exported session', async () => {
	play('One.', 'Two.');
	const runlet = create();
	const { id } = await runlet.createSession({ agent: 'scripted' });
	for (const text of ['First', 'Second']) for await (const _ of runlet.sendMessage(id, text));
	const history = await runlet.listMessages(id);
	expect(await runlet.listMessages(id, { from: history[1]?.id })).toEqual(history.slice(1));
	const copy = await runlet.forkSession(id);
	expect(copy.id).not.toBe(id);
	expect(await runlet.listMessages(copy.id)).toEqual(history);
	const short = await runlet.forkSession(id, { at: history[1]?.id });
	expect((await runlet.listMessages(short.id)).map(({ content }) => content)).toEqual(['First', 'One.']);
	const exported = await runlet.exportSession(id);
	expect(exported.messages.map(({ content }) => content)).toEqual(['First', 'One.', 'Second', 'Two.']);
	const [runId = ''] = exported.runs.map((run) => run.id);
	const names = async (query?: { run: string; content: boolean }) =>
		[...JSON.stringify(await runlet.getTrace(id, query)).matchAll(/"name":"((?:invoke_agent|chat) \w+)"/g)].map(
			([, name]) => name,
		);
	expect(await names()).toHaveLength(4);
	expect(await names({ run: runId, content: true })).toEqual(['invoke_agent scripted', 'chat scripted']);
	const imported = await runlet.importSession(exported);
	const outside = history.map((message) => (message.role === 'user' ? { ...message, labels: ['outside'] } : message));
	expect(await runlet.listMessages(imported.id)).toEqual(outside);
	await expect(runlet.forkSession(id, { at: '7' })).rejects.toMatchObject({ code: 'invalid_request' });
});

/** Creates a session with files of many bytes, so that its export has several parts. */
async function createLarge(runlet: Client, megabytes: number): Promise<string> {
	const { id } = await runlet.createSession({ agent: 'scripted' });
	const line = `${'x'.repeat(99)}\n`;
	for (let at = 0; at < megabytes; at += 4) await runlet.writeFile(id, `${at}.txt`, line.repeat(40_000));
	return id;
}

test('an export of lines goes on after cuts, without a line lost or doubled', async () => {
	const id = await createLarge(create(), 4);
	const [whole, parts] = await Promise.all(
		[create(), create({ fetch: cut(1_700_000, 1_700_000, 1_700_000, Infinity) })].map((client) =>
			Array.fromAsync(client.exportLines(id)),
		),
	);
	expect(parts?.length).toBeGreaterThan(3);
	expect(parts?.join('') === whole?.join('')).toBe(true);
	expect(whole?.join('')).not.toContain('{"cursor"');
});

test('an import of lines comes in parts, also if the answer to a part is lost', async () => {
	const runlet = create();
	const id = await createLarge(runlet, 20);
	const lines = new Blob(await Array.fromAsync(runlet.exportLines(id)));
	let answers = 0;
	const losing: typeof fetch = async (input, init) => {
		const response = await ask(input, init);
		answers += 1;
		if (answers === 1) throw new Error('The network is gone.');
		return response;
	};
	const stored: number[] = [];
	const copy = await create({ fetch: losing }).importLines(lines, { onProgress: (bytes) => stored.push(bytes) });
	expect(stored).toHaveLength(1);
	expect(stored[0]).toBeGreaterThan(15_000_000);
	for (const at of [0, 16])
		expect((await runlet.readFile(copy.id, `${at}.txt`)).size).toBe((await runlet.readFile(id, `${at}.txt`)).size);
});

test('a client adds, lists and cancels a schedule of a session', async () => {
	const runlet = create();
	const { id: session } = await runlet.createSession({ agent: 'woken' });
	const made = await runlet.putSchedule({ session, name: 'look', text: 'Look again.', cron: '0 9 * * *' });
	expect(made.nextAt).toMatch(/T09:00:00.000Z$/);
	expect(await runlet.listSchedules({ session })).toEqual([made]);
	expect((await runlet.listSchedules()).map(({ id }) => id)).toContain(made.id);
	await runlet.cancelSchedule(made.id);
	expect(await runlet.listSchedules({ session })).toEqual([]);
});
