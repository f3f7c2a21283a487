import { beforeAll, describe, expect, test } from 'vitest';
import type { ScriptedTurn } from '../../../src/core/providers/index.ts';
import { allEvents, follow, readHistory, readState, request, restart } from '../../client.ts';
import { createKeys } from '../../credentials.ts';
import { play } from '../../script.ts';
import worker from '../../worker.ts';

interface Chunk {
	readonly type: string;
	readonly [field: string]: unknown;
}

interface UiMessage {
	readonly id: string;
	readonly role: string;
	readonly parts: readonly Chunk[];
}

const said = (id: string, text: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] });
const post = (agent: string, id: string, messages: readonly object[], more: object = {}) =>
	request(`/v1/ui/${agent}`, { id, messages, trigger: 'submit-message', ...more });
const again = (agent: string, id: string, message: object, messageId?: string) =>
	post(agent, id, [message], { trigger: 'regenerate-message', messageId });
const readSession = (response: Response): string => response.headers.get('runlet-session') ?? '';
const listed = async (agent: string, id: string): Promise<readonly UiMessage[]> =>
	(await (await request(`/v1/ui/${agent}/${id}/messages`)).json<{ messages: UiMessage[] }>()).messages;
const readTexts = (messages: readonly UiMessage[]) =>
	messages.map(({ parts }) => parts.flatMap(({ type, text }) => (type === 'text' ? [text] : [])).join(''));

async function readChunks(response: Response): Promise<Chunk[]> {
	const lines = (await response.text()).split('\n\n').filter((block) => block.startsWith('data: {'));
	return lines.map((line) => JSON.parse(line.slice(6)));
}

async function readText(response: Response): Promise<string> {
	return (await readChunks(response)).map(({ delta }) => delta ?? '').join('');
}

const echo = { id: 'e1', name: 'echo', input: { text: 'x' } };

function gated(text: string) {
	const { promise, resolve } = Promise.withResolvers<void>();
	const turn: ScriptedTurn = async () => {
		await promise;
		return text;
	};
	return { turn, open: resolve };
}

test('a provider’s tools and sources are in the stream, the resumed stream and the stored message', async () => {
	const call = { id: 's1', name: 'web_search', input: { query: 'rain' }, output: [{ title: 'Rain' }] };
	const source = { id: 'p1', url: 'https://rain.example/', title: 'Rain', quote: 'It rains.' };
	const { turn, open } = gated('And it pours.');
	play({ text: 'It rains.', providerCalls: [call], sources: [source], toolCalls: [echo] }, turn);
	const first = await post('scripted', 'provided', [said('m1', 'Does it rain?')]);
	const resumed = await request('/v1/ui/scripted/provided/stream');
	open();
	const tool = { toolCallId: 's1', providerExecuted: true };
	const { url, title, quote } = source;
	const sourcePart = { type: 'source-url', sourceId: 'p1', url, title, providerMetadata: { runlet: { quote } } };
	for (const response of [first, resumed]) {
		const chunks = await readChunks(response);
		expect(chunks.filter(({ providerExecuted }) => providerExecuted)).toEqual([
			{ type: 'tool-input-start', toolName: 'web_search', ...tool },
			{ type: 'tool-input-available', toolName: 'web_search', input: call.input, ...tool },
			{ type: 'tool-output-available', output: call.output, ...tool },
		]);
		expect(chunks).toContainEqual(sourcePart);
	}
	const answer = (await listed('scripted', 'provided'))[1];
	expect(answer?.parts.slice(1, 4)).toEqual([
		{ type: 'tool-web_search', ...tool, state: 'output-available', input: call.input, output: call.output },
		{ type: 'text', text: 'It rains.', state: 'done' },
		sourcePart,
	]);

	// Some pages post the whole answer with the next message, or alone. Such a post answers no call.
	const { requests } = play('Yes.');
	const posted = await post('scripted', 'provided', [{ ...answer, role: 'assistant' }]);
	expect(posted.status).toBe(200);
	await posted.text();
	expect(requests).toEqual([]);
});

describe('a post', () => {
	test('streams with the headers of the AI SDK, until the end mark', async () => {
		play('Hello.');
		const response = await post('scripted', 'headers', [said('m1', 'Hi')]);
		expect(response.status).toBe(200);
		expect(Object.fromEntries(response.headers)).toMatchObject({
			'content-type': 'text/event-stream',
			'cache-control': 'no-cache',
			'x-vercel-ai-ui-message-stream': 'v1',
			'x-accel-buffering': 'no',
			'runlet-session': expect.stringMatching(/^[0-9a-f]{64}$/),
		});
		expect((await response.text()).endsWith('\n\ndata: [DONE]\n\n')).toBe(true);
	});

	test.each([
		['no messages', { id: 'bad', messages: [] }, 400, 'messages: must hold a message'],
		['no id', { messages: [said('m1', 'Hi')] }, 400, 'id: missing'],
		['an unknown trigger', { id: 'bad', messages: [said('m1', 'Hi')], trigger: 'else' }, 400, /^trigger: /],
		['an empty message', { id: 'bad', messages: [said('m1', ' ')] }, 400, /neither text nor files/],
		['a system message', { id: 'bad', messages: [{ role: 'system', parts: [] }] }, 400, /^role: /],
		[
			'an assistant message as the last message',
			{ id: 'bad', messages: [{ role: 'assistant', parts: [] }], trigger: 'regenerate-message' },
			400,
			/^messages: the last one must be/,
		],
		[
			'a file at a private address',
			{
				id: 'bad',
				messages: [{ role: 'user', parts: [{ type: 'file', mediaType: 'image/png', url: 'http://127.0.0.1/a.png' }] }],
			},
			400,
			/contentUrl/,
		],
		['an unknown agent', undefined, 404, /no agent named "nobody"/],
	])('with %s is refused with a plain-text error', async (_, body, status, words) => {
		const path = body === undefined ? '/v1/ui/nobody' : '/v1/ui/scripted';
		const response = await request(path, body ?? { id: 'bad', messages: [said('m1', 'Hi')] });
		expect(response.status).toBe(status);
		expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
		expect(await response.text()).toMatch(words);
	});

	test('that repeats a waiting message gets the answer of the message’s only run', async () => {
		const { turn, open } = gated('one');
		const { requests } = play(turn, 'two', 'never');
		const first = await post('scripted', 'queue', [said('m1', 'First')]);
		const second = await post('scripted', 'queue', [said('m2', 'Second')]);
		const retried = await post('scripted', 'queue', [said('m2', 'Second')]);
		open();
		expect(await readText(first)).toBe('one');
		expect(await readText(second)).toBe('two');
		expect(await readText(retried)).toBe('two');
		expect(requests).toHaveLength(2);
	});

	test('that repeats an answered message gets the stored answer', async () => {
		const { requests } = play('one', 'never');
		for (let time = 1; time <= 2; time++)
			expect(await readText(await post('scripted', 'known', [said('m1', 'First')]))).toBe('one');
		expect(requests).toHaveLength(1);
	});

	test('of a message without an id always adds a new message', async () => {
		play('one', 'two');
		await readText(await post('scripted', 'nameless', [said('', 'First')]));
		expect(await readText(await post('scripted', 'nameless', [said('', 'Second')]))).toBe('two');
		expect(readTexts(await listed('scripted', 'nameless'))).toEqual(['First', 'one', 'Second', 'two']);
	});

	test('with an Idempotency-Key takes effect once', async () => {
		const { requests } = play('one', 'two', 'never');
		await readText(await post('scripted', 'keyed', [said('m1', 'First')]));
		const body = { id: 'keyed', messages: [said('m1', 'First')], trigger: 'regenerate-message' };
		const once = () => request('/v1/ui/scripted', body, { 'idempotency-key': 'k1' });
		expect(await readText(await once())).toBe('two');
		expect(await readText(await once())).toBe('two');
		expect(requests).toHaveLength(2);
	});

	test('starts no second run if another post regenerates the same answer at the same time', async () => {
		const { turn, open } = gated('two');
		const { requests } = play('one', turn, 'never');
		await readText(await post('scripted', 'both', [said('m1', 'First')]));
		const both = await Promise.all([
			again('scripted', 'both', said('m1', 'First')),
			again('scripted', 'both', said('m1', 'First')),
		]);
		open();
		expect(await Promise.all(both.map(readText))).toEqual(['two', 'two']);
		expect(requests).toHaveLength(2);
	});

	test('that regenerates an already replaced answer gets its replacement', async () => {
		const { requests } = play('one', 'two', 'never');
		const [start] = await readChunks(await post('scripted', 'retry', [said('m1', 'First')]));
		const messageId = String(start?.messageId);
		expect(await readText(await again('scripted', 'retry', said('m1', 'First'), messageId))).toBe('two');
		expect(await readText(await again('scripted', 'retry', said('m1', 'First'), messageId))).toBe('two');
		expect(requests).toHaveLength(2);
	});

	test('that regenerates during an answer cancels the answer and the waiting messages', async () => {
		const { requests } = play(() => new Promise(() => {}), 'again');
		const first = await post('scripted', 'instead', [said('m1', 'First')]);
		const waits = await post('scripted', 'instead', [said('m2', 'Second')]);
		expect(await readText(await again('scripted', 'instead', said('m1', 'First')))).toBe('again');
		for (const dropped of [first, waits]) expect((await readChunks(dropped)).at(-1)).toEqual({ type: 'abort' });
		expect(requests).toHaveLength(2);
		expect(readTexts(await listed('scripted', 'instead'))).toEqual(['First', 'again']);
	});

	test('that regenerates or edits a waiting message starts no second run', async () => {
		const { turn, open } = gated('one');
		const { requests } = play(turn, 'two', 'never');
		const first = await post('scripted', 'waiting', [said('m1', 'First')]);
		const second = await post('scripted', 'waiting', [said('m2', 'Second')]);
		const repeated = await again('scripted', 'waiting', said('m2', 'Second'));
		const edited = await post('scripted', 'waiting', [said('m2', 'Edited')], { messageId: 'm2' });
		open();
		expect(await readText(first)).toBe('one');
		for (const answer of [second, repeated, edited]) expect(await readText(answer)).toBe('two');
		expect(requests).toHaveLength(2);
		expect(requests[1]?.messages.at(-1)?.content).toBe('Edited');
		expect(readTexts(await listed('scripted', 'waiting'))).toEqual(['First', 'one', 'Edited', 'two']);
	});

	test('of a dropped message gets no answer, and a retry with its Idempotency-Key starts no run', async () => {
		const { requests } = play(
			{ toolCalls: [{ id: 'c1', name: 'by_hand', input: {} }] },
			() => new Promise(() => {}),
			'never',
		);
		await readText(await post('scripted', 'dropped', [said('m1', 'First')]));
		const parts = [{ type: 'tool-by_hand', toolCallId: 'c1', state: 'output-available', output: 'did it' }];
		await post('scripted', 'dropped', [{ role: 'assistant', parts }]);
		const body = { id: 'dropped', messages: [said('m2', 'Second')], trigger: 'submit-message' };
		const once = () => request('/v1/ui/scripted', body, { 'idempotency-key': 'k1' });
		const waits = await once();
		await request('/v1/ui/scripted/dropped/stream', undefined, {}, 'DELETE');
		const [start, ...more] = await readChunks(waits);
		expect(start?.messageId).toBeUndefined();
		expect(more.map(({ type }) => type)).toEqual(['message-metadata', 'abort']);
		const retried = await once();
		expect(retried.status).toBe(200);
		expect(await readText(retried)).toBe('');
		expect(requests).toHaveLength(2);
	});

	test('of a message whose run failed starts another run', async () => {
		play(new Error('broken'), new Error('broken'), new Error('broken'), 'works');
		const failed = await readChunks(await post('scripted', 'fails', [said('m1', 'First')]));
		expect(failed.at(-1)).toMatchObject({ type: 'error' });
		play('works');
		expect(await readText(await post('scripted', 'fails', [said('m1', 'First')]))).toBe('works');
		expect(readTexts(await listed('scripted', 'fails'))).toEqual(['First', 'works']);
	});

	test('to a session that waits for an approval is refused', async () => {
		play({ toolCalls: [{ id: 'c1', name: 'pay', input: { amount: 1 } }] });
		await readChunks(await post('scripted', 'waits', [said('m1', 'Pay')]));
		const response = await post('scripted', 'waits', [said('m2', 'Well?')]);
		expect(response.status).toBe(409);
		expect(await response.text()).toMatch(/awaiting_tools/);
	});

	test('cannot give a result to a call that waits for approval, or approve a call that needs a result', async () => {
		play({
			toolCalls: [
				{ id: 'c1', name: 'pay', input: { amount: 1 } },
				{ id: 'c2', name: 'by_hand', input: {} },
			],
		});
		await readChunks(await post('scripted', 'crossed', [said('m1', 'Pay')]));
		const parts = [
			{ type: 'tool-pay', toolCallId: 'c1', state: 'output-available', output: 'paid' },
			{ type: 'tool-by_hand', toolCallId: 'c2', state: 'approval-responded', approval: { id: 'c2', approved: true } },
		];
		const response = await post('scripted', 'crossed', [{ role: 'assistant', parts }]);
		expect((await readChunks(response)).map(({ type }) => type)).toEqual(['start', 'finish']);
		expect(await readState(readSession(response))).toMatchObject({
			status: 'awaiting_tools',
			toolCalls: [{ id: 'c1' }, { id: 'c2' }],
		});
	});

	test('with some of the answers stores them, and the last answer continues the run', async () => {
		const { requests } = play(
			{
				toolCalls: [
					{ id: 'c1', name: 'pay', input: { amount: 1 } },
					{ id: 'c2', name: 'by_hand', input: {} },
				],
			},
			'Done.',
		);
		await readChunks(await post('scripted', 'partly', [said('m1', 'Pay')]));
		const byHand = { type: 'tool-by_hand', toolCallId: 'c2', state: 'output-available', output: 'did it' };
		const pay = {
			type: 'tool-pay',
			toolCallId: 'c1',
			state: 'approval-responded',
			approval: { id: 'c1', approved: true },
		};
		const first = await readChunks(await post('scripted', 'partly', [{ role: 'assistant', parts: [byHand] }]));
		expect(first.map(({ type }) => type)).toEqual(['start', 'finish']);
		expect(await readText(await post('scripted', 'partly', [{ role: 'assistant', parts: [byHand, pay] }]))).toBe(
			'Done.',
		);
		expect(requests[1]?.messages.slice(-2)).toMatchObject([{ content: 'paid 1' }, { content: 'did it' }]);
	});
});

describe('a reloaded page', () => {
	const pay = { id: 'c1', name: 'pay', input: { amount: 1 } };
	const byHand = { id: 'c2', name: 'by_hand', input: {} };
	const paying = (approved: boolean) => ({
		type: 'tool-pay',
		toolCallId: 'c1',
		state: 'approval-responded',
		approval: { id: 'c1', approved },
	});
	const done = { type: 'tool-by_hand', toolCallId: 'c2', state: 'output-available', output: 'did it' };
	const failed = { type: 'tool-by_hand', toolCallId: 'c2', state: 'output-error', errorText: 'no hands' };
	const asksPay = { state: 'approval-requested', approval: { id: 'c1' } };

	test.each([
		['a result', done, [asksPay, { state: 'output-available', output: 'did it' }]],
		['an error', failed, [asksPay, { state: 'output-error', errorText: 'no hands' }]],
		[
			'an approval',
			paying(true),
			[{ state: 'approval-responded', approval: { id: 'c1', approved: true } }, { state: 'input-available' }],
		],
		[
			'a refusal',
			paying(false),
			[{ state: 'output-denied', approval: { id: 'c1', approved: false } }, { state: 'input-available' }],
		],
	])('shows %s for one call, and can answer the call that is still open', async (name, first, parts) => {
		play({ toolCalls: [pay, byHand] }, 'Done.');
		const chat = `answered-${name.replace(' ', '-')}`;
		const begun = await post('scripted', chat, [said('m1', 'Pay')]);
		await readChunks(begun);
		await readChunks(await post('scripted', chat, [{ role: 'assistant', parts: [first] }]));
		await restart(readSession(begun));
		const message = (await listed('scripted', chat)).at(-1);
		const calls = message?.parts.filter(({ toolCallId }) => toolCallId !== undefined);
		expect(calls).toMatchObject(parts);
		const other = first.toolCallId === 'c1' ? done : paying(true);
		const left = calls?.map((part) => (part.toolCallId === other.toolCallId ? other : part)) ?? [];
		expect(await readText(await post('scripted', chat, [{ role: 'assistant', parts: left }]))).toBe('Done.');
	});

	test('shows waiting messages last and in order, and later shows each message once, before its answer', async () => {
		const { turn, open } = gated('two');
		play('one', turn, 'three', 'four');
		await readText(await post('scripted', 'queued', [said('m1', 'First')]));
		const answers = [];
		for (const [id, text] of [
			['m2', 'Second'],
			['m3', 'Third'],
			['m4', 'Fourth'],
		] as const)
			answers.push(await post('scripted', 'queued', [said(id, text)]));
		const waiting = await listed('scripted', 'queued');
		expect(readTexts(waiting)).toEqual(['First', 'one', 'Second', 'Third', 'Fourth']);
		expect(waiting.flatMap(({ id, role }) => (role === 'user' ? [id] : []))).toEqual(['m1', 'm2', 'm3', 'm4']);
		open();
		expect(await Promise.all(answers.map(readText))).toEqual(['two', 'three', 'four']);
		const all = ['First', 'one', 'Second', 'two', 'Third', 'three', 'Fourth', 'four'];
		expect(readTexts(await listed('scripted', 'queued'))).toEqual(all);
	});

	test('shows open calls after a message that waits for them, and can answer the calls', async () => {
		const { promise: held, resolve: open } = Promise.withResolvers<void>();
		const asks: ScriptedTurn = async () => {
			await held;
			return { toolCalls: [byHand] };
		};
		play(asks, 'Done.', 'two');
		const first = await post('scripted', 'behind-calls', [said('m1', 'First')]);
		const second = await post('scripted', 'behind-calls', [said('m2', 'Second')]);
		open();
		await readChunks(first);
		const messages = await listed('scripted', 'behind-calls');
		expect(messages.map(({ role }) => role)).toEqual(['user', 'user', 'assistant']);
		expect(readTexts(messages)).toEqual(['First', 'Second', '']);
		const parts = messages.at(-1)?.parts.map((part) => (part.toolCallId === 'c2' ? done : part));
		const posted = await post('scripted', 'behind-calls', [...messages.slice(0, -1), { role: 'assistant', parts }]);
		expect(await readText(posted)).toBe('Done.');
		expect(await readText(second)).toBe('two');
		expect(readTexts(await listed('scripted', 'behind-calls'))).toEqual(['First', 'Done.', 'Second', 'two']);
	});

	test('shows a waiting message of another client with a stable id', async () => {
		const { turn, open } = gated('one');
		const { requests } = play(turn, 'two', 'never');
		const { id } = await (await request('/v1/sessions', { agent: 'scripted' })).json<{ id: string }>();
		const first = await post('scripted', id, [said('m1', 'First')]);
		await request(`/v1/sessions/${id}/messages`, { text: 'From elsewhere' }, { prefer: 'respond-async' });
		const name = (await listed('scripted', id)).at(-1)?.id ?? '';
		const again = await post('scripted', id, [said(name, 'From elsewhere')]);
		open();
		await readText(first);
		expect(await readText(again)).toBe('two');
		expect((await listed('scripted', id)).map((message) => message.id)).toContain(name);
		expect(await readText(await post('scripted', id, [said(name, 'From elsewhere')]))).toBe('two');
		expect(requests).toHaveLength(2);
	});
});

describe('replaced messages', () => {
	test('are kept, marked and charged, and their runs can still be read', async () => {
		play('one', 'two');
		const first = await post('scripted', 'kept', [said('m1', 'First')]);
		const id = readSession(first);
		await readText(first);
		const { spent } = (await readState(id)).budget;
		const before = await allEvents(await follow(id));
		await readText(await again('scripted', 'kept', said('m1', 'First')));
		expect((await readState(id)).budget.spent.tokens).toBeGreaterThan(spent.tokens);
		expect(await readHistory(id)).toMatchObject([
			{ content: 'First', isReplaced: true },
			{ content: 'one', isReplaced: true },
			{ content: 'First' },
			{ content: 'two' },
		]);
		expect((await allEvents(await follow(id, before[0]?.id))).map(({ data }) => data)).toEqual(
			before.slice(1).map(({ data }) => data),
		);
	});

	test('are not sent to a model, even after a restart', async () => {
		play('one', 'two');
		const first = await post('scripted', 'restarted', [said('m1', 'First')]);
		await readText(first);
		await readText(await post('scripted', 'restarted', [said('m1', 'Other')]));
		await restart(readSession(first));
		const { requests } = play('three');
		await readText(await post('scripted', 'restarted', [said('m2', 'Second')]));
		expect(requests[0]?.messages.map(({ content }) => content)).toEqual(['Other', 'two', 'Second']);
	});

	test('invalidate a summary that contains them', async () => {
		const words = (n: number) => `Fact ${n}: ${'word '.repeat(300)}`;
		for (const n of [1, 2]) {
			play(`Noted ${n}.`);
			await readText(await post('full-asking', 'summary', [said(`m${n}`, words(n))]));
		}
		play('Fact 1 in short.', 'Noted 3.');
		const third = await post('full-asking', 'summary', [said('m3', words(3))]);
		expect(await readText(third)).toBe('Noted 3.');
		const kept = play('Noted 4.');
		await readText(await post('full-asking', 'summary', [said('m3', 'Short')]));
		expect(kept.requests[0]?.messages.map(({ role }) => role)).toContain('system');
		play('Noted 3 again.');
		await readText(await post('full-asking', 'summary', [said('m3', words(3))]));
		play('Fact 2 in short, too.', 'Noted 4.');
		await readText(await post('full-asking', 'summary', [said('m4', words(4))]));
		const { requests: shorter } = play('Noted.');
		await readText(await post('full-asking', 'summary', [said('m2', 'Instead of 2')]));
		expect(shorter[0]?.messages.map(({ role }) => role)).toEqual(['system', 'user']);
		expect(shorter[0]?.messages[0]?.content).toContain('Fact 1 in short.');
		const { requests } = play('Only that.', 'And that.');
		await readText(await post('full-asking', 'summary', [said('m1', 'Anew')]));
		expect(requests[0]?.messages.map(({ content }) => content)).toEqual(['Anew']);
		await restart(readSession(third));
		await readText(await post('full-asking', 'summary', [said('m2', 'More')]));
		expect(requests[1]?.messages.map(({ content }) => content)).toEqual(['Anew', 'Only that.', 'More']);
		expect(readTexts(await listed('full-asking', 'summary'))).toEqual(['Anew', 'Only that.', 'More', 'And that.']);
	});

	test('can include the answer to a question, which is then open again', async () => {
		play({ toolCalls: [{ id: 'c1', name: 'ask', input: { question: 'Which day?' } }] }, 'Friday.', 'Saturday.');
		await readText(await post('scripted', 'asked', [said('m1', 'Book')]));
		await readText(await post('scripted', 'asked', [said('m2', 'Friday')]));
		const { requests } = play('Saturday.', 'Saturday again.');
		await readText(await post('scripted', 'asked', [said('m2', 'Saturday')]));
		await readText(await again('scripted', 'asked', said('m2', 'Saturday')));
		for (const { messages } of requests)
			expect(messages.map(({ role, content }) => [role, content])).toEqual([
				['user', 'Book'],
				['assistant', ''],
				['tool', 'Saturday'],
			]);
		expect(readTexts(await listed('scripted', 'asked'))).toEqual(['Book', 'Which day?', 'Saturday', 'Saturday again.']);
	});

	test('can include a long answer to a question, and a retry keeps the whole answer', async () => {
		const long = `Friday ${'x'.repeat(300_000)}`;
		const ask = { toolCalls: [{ id: 'c1', name: 'ask', input: { question: 'Which day?' } }] };
		const { requests } = play(ask, 'Friday.', 'Friday again.');
		await readText(await post('scripted', 'long', [said('m1', 'Book')]));
		for (let time = 1; time <= 2; time++)
			expect(await readText(await post('scripted', 'long', [said('m2', long)]))).toBe('Friday.');
		expect(requests).toHaveLength(2);
		await readText(await again('scripted', 'long', said('m2', long)));
		expect(readTexts(await listed('scripted', 'long'))).toEqual(['Book', 'Which day?', long, 'Friday again.']);
	});

	test('can include an answer that a summary covers, and the summary is removed too', async () => {
		const words = (n: number) => `Fact ${n}: ${'word '.repeat(500)}`;
		play({ toolCalls: [{ id: 'c1', name: 'ask', input: { question: 'Which day?' } }] }, new Error('broken'));
		await readText(await post('full-asking', 'behind', [said('m1', words(1))]));
		await readText(await post('full-asking', 'behind', [said('m2', 'Friday')]));
		play('They said Friday.', 'Noted.');
		await readText(await post('full-asking', 'behind', [said('m3', words(3))]));
		const { requests } = play('Saturday.');
		await readText(await post('full-asking', 'behind', [said('m2', 'Saturday')]));
		expect(requests[0]?.messages.map(({ role, content }) => [role, content])).toEqual([
			['user', words(1)],
			['assistant', ''],
			['tool', 'Saturday'],
		]);
	});

	test('keep the id under which a page knows them', async () => {
		play('one', 'two', 'three');
		const { id } = await (await request('/v1/sessions', { agent: 'scripted' })).json<{ id: string }>();
		await (await request(`/v1/sessions/${id}/messages`, { text: 'From elsewhere' })).text();
		const name = (await listed('scripted', id))[0]?.id ?? '';
		await readText(await again('scripted', id, said(name, 'From elsewhere')));
		expect(await readText(await post('scripted', id, [said(name, 'Edited')], { messageId: name }))).toBe('three');
		expect(readTexts(await listed('scripted', id))).toEqual(['Edited', 'three']);
	});
});

test('a page follows a run through a crash, and a page that is loaded later shows nothing of the lost turn', async () => {
	play((_, onDelta) => {
		void onDelta({ type: 'text', text: 'Lost' });
		return new Promise(() => {});
	}, 'Found.');
	const first = await post('scripted', 'crash', [said('m1', 'Hi')]);
	const id = readSession(first);
	void first.body?.cancel();
	await restart(id);
	await request(`/v1/sessions/${id}`);
	const resumed = await request('/v1/ui/scripted/crash/stream');
	if (resumed.status === 200) expect(await readText(resumed)).toMatch(/Found\.$/);
	await expect.poll(() => readState(id)).toMatchObject({ status: 'completed' });
	expect(readTexts(await listed('scripted', 'crash'))).toEqual(['Hi', 'Found.']);
	expect((await request('/v1/ui/scripted/crash/stream')).status).toBe(204);
});

describe('access', () => {
	type Named = 'alice' | 'bob';
	let keys: Readonly<Record<Named, string>>;
	let bindings: Record<string, unknown>;
	beforeAll(async () => {
		({ keys, bindings } = await createKeys({ alice: ['run'], bob: ['run'] }));
	});
	const ask = (credential: string, path: string, body?: object, method = body === undefined ? 'GET' : 'POST') =>
		worker.request(
			`https://runlet.example.com${path}`,
			{
				method,
				headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
				...(body !== undefined && { body: JSON.stringify(body) }),
			},
			bindings,
		);
	const hello = (id: string) => ({ id, messages: [said('m1', 'Hi')], trigger: 'submit-message' });

	test('two owners with the same chat id have separate chats', async () => {
		play('for alice', 'for bob');
		const mine = await ask(keys.alice, '/v1/ui/scripted', hello('shared'));
		expect(await readText(mine)).toBe('for alice');
		expect(await (await ask(keys.bob, '/v1/ui/scripted/shared/messages')).json()).toEqual({ messages: [] });
		const other = await ask(keys.bob, '/v1/ui/scripted', hello('shared'));
		expect(await readText(other)).toBe('for bob');
		expect(readSession(other)).not.toBe(readSession(mine));
	});

	test('a page with a session token talks only in its session', async () => {
		play('Hello.');
		const { id, token } = await (await ask(keys.alice, '/v1/sessions', { agent: 'scripted' })).json<{
			id: string;
			token: string;
		}>();
		const said = await ask(token, '/v1/ui/scripted', hello(id));
		expect(await readText(said)).toBe('Hello.');
		expect(readSession(said)).toBe(id);
		const { messages } = await (await ask(token, `/v1/ui/scripted/${id}/messages`)).json<{ messages: UiMessage[] }>();
		expect(readTexts(messages)).toEqual(['Hi', 'Hello.']);
		expect((await ask(token, `/v1/ui/scripted/${id}/stream`)).status).toBe(204);
		expect((await ask(token, `/v1/ui/plain/${id}/messages`)).status).toBe(404);
		expect((await ask(token, '/v1/ui/scripted', hello('elsewhere'))).status).toBe(403);
		expect(
			(await ask(token, '/v1/ui/scripted', hello(id.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))))).status,
		).toBe(404);
	});

	test('another owner’s session is not found', async () => {
		play('Secret.');
		const said = await ask(keys.alice, '/v1/ui/scripted', hello('private'));
		const id = readSession(said);
		await readText(said);
		const unknown = 'f'.repeat(64);
		for (const [path, body, method] of [
			['/v1/ui/scripted', (session: string) => hello(session), 'POST'],
			[(session: string) => `/v1/ui/scripted/${session}/stream`, undefined, 'GET'],
			[(session: string) => `/v1/ui/scripted/${session}/stream`, undefined, 'DELETE'],
			[(session: string) => `/v1/ui/scripted/${session}/messages`, undefined, 'GET'],
		] as const) {
			const seen = async (session: string) => {
				const response = await ask(keys.bob, typeof path === 'string' ? path : path(session), body?.(session), method);
				return { status: response.status, body: await response.text() };
			};
			expect(await seen(id)).toEqual(await seen(unknown));
			expect((await seen(id)).body).not.toContain('Secret');
		}
	});
});
