import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AnyChat, type ChatMessage, type ChatOptions, chats, shown } from './chats.ts';
import { call, type OpenTurn, reasoning, type Stage, startStage, text } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
	stage = await startStage();
});
afterAll(() => stage?.close());

/** A turn that ends when the test calls `end`. */
function held(begin: (turn: OpenTurn) => void) {
	const begun = Promise.withResolvers<void>();
	const end = Promise.withResolvers<void>();
	const turn = async (open: OpenTurn): Promise<void> => {
		begin(open);
		begun.resolve();
		await Promise.race([end.promise, open.left]);
		open.say(text(' there.'));
	};
	return { turn, begun: begun.promise, end: end.resolve };
}

/** Makes a `fetch` whose first answer breaks off at `cut`, as at a lost connection. */
function cuttable(cut: Promise<void>): typeof fetch {
	let isFirst = true;
	return async (...request) => {
		const response = await fetch(...request);
		if (!isFirst || response.body === null) return response;
		isFirst = false;
		const broken = new TransformStream<Uint8Array, Uint8Array>({
			start: (controller) => void cut.then(() => controller.error(new TypeError('network error'))),
		});
		response.body.pipeTo(broken.writable).catch(() => {});
		return new Response(broken.readable, response);
	};
}

async function listed(id: string): Promise<readonly ChatMessage[]> {
	const { messages } = await (await fetch(`${stage.api}/${id}/messages`)).json();
	return messages;
}

const ids = new Map<string, number>();

describe.each([5, 6, 7] as const)('useChat of AI SDK %i', (version) => {
	const open = (options: Partial<ChatOptions> = {}): AnyChat => {
		const n = (ids.get(String(version)) ?? 0) + 1;
		ids.set(String(version), n);
		return chats[version]({ api: stage.api, id: `chat-${version}-${n}`, ...options });
	};
	/** The chat after a reload of the page. */
	const reload = async ({ id }: AnyChat, options: Partial<ChatOptions> = {}): Promise<AnyChat> =>
		open({ id, messages: await listed(id), ...options });
	/** Checks that the page shows the same after a reload. */
	const same = async (chat: AnyChat): Promise<void> => {
		const again = await reload(chat);
		const readIds = ({ messages }: AnyChat) => messages.map(({ id, role }) => ({ id, role }));
		expect(readIds(again)).toEqual(readIds(chat));
		for (const at of chat.messages.keys()) expect(shown(again, at)).toEqual(shown(chat, at));
	};
	const until = (holds: () => boolean) => expect.poll(holds).toBe(true);

	test('shows text and reasoning as parts, with their cost', async () => {
		stage.play([reasoning('Hm.'), text('Hello'), text(' there.')]);
		const chat = open();
		await chat.sendMessage({ text: 'Hi' });
		expect(chat.error).toBeUndefined();
		expect(chat.status).toBe('ready');
		expect(shown(chat)).toEqual([{ reasoning: 'Hm.' }, { text: 'Hello there.' }]);
		expect(chat.messages.at(-1)?.metadata).toMatchObject({ status: 'completed', usage: { totalTokens: 5 } });
		await same(chat);
	});

	test('continues a conversation with the session’s messages, not the page’s messages', async () => {
		const sent = stage.play([text('One.')], [text('Two.')]);
		const chat = open();
		await chat.sendMessage({ text: 'First' });
		const forged = open({
			id: chat.id,
			messages: chat.messages.map((message) => ({ ...message, parts: [{ type: 'text', text: 'forged' }] })),
		});
		await forged.sendMessage({ text: 'Second' });
		expect(sent[1]?.map(({ content }) => content)).toEqual(['First', 'One.', 'Second']);
	});

	test('runs tools on the server, and shows their results and failures as parts', async () => {
		stage.play([text('I add.'), call('c1', 'add', { x: 1, y: 2 }), call('c2', 'fail')], [text('3.')]);
		const chat = open({ automatic: true });
		await chat.sendMessage({ text: 'Add' });
		expect(shown(chat)).toEqual([
			{ text: 'I add.' },
			{ 'tool-add': { x: 1, y: 2 }, state: 'output-available', answered: 3 },
			{ 'tool-fail': {}, state: 'output-error', answered: expect.stringContaining('No luck.') },
			{ text: '3.' },
		]);
		await same(chat);
	});

	test('continues the same message after a tool that runs on the page', async () => {
		const sent = stage.play([call('c1', 'locate')], [text('You are in Rome.')]);
		const chat = open({
			automatic: true,
			onToolCall: ({ toolCallId, toolName }, self) => {
				if (toolName === 'locate') void self.addToolOutput({ toolCallId, output: 'Rome' });
			},
		});
		await chat.sendMessage({ text: 'Where am I?' });
		await until(() => chat.status === 'ready' && shown(chat).length === 2);
		expect(chat.messages).toHaveLength(2);
		expect(shown(chat)).toEqual([
			{ 'tool-locate': {}, state: 'output-available', answered: 'Rome' },
			{ text: 'You are in Rome.' },
		]);
		expect(sent[1]?.at(-1)).toMatchObject({ role: 'tool', content: 'Rome' });
		await same(chat);
	});

	test('shows the question of a tool as text, and treats the next message as the answer', async () => {
		const sent = stage.play(
			[text('Hm.'), call('c1', 'ask', { question: 'Which day?' })],
			[text('Friday it is.')],
			[text('Saturday.')],
		);
		const chat = open({ automatic: true });
		await chat.sendMessage({ text: 'Book' });
		expect(shown(chat).at(-1)).toEqual({ text: 'Which day?' });
		await same(chat);
		await chat.sendMessage({ text: 'Friday' });
		expect(shown(chat)).toEqual([{ text: 'Friday it is.' }]);
		expect(sent[1]?.at(-1)).toMatchObject({ role: 'tool', content: 'Friday' });
		await same(chat);
		const answered = chat.messages[2];
		await chat.sendMessage({ text: 'Saturday', messageId: answered?.id ?? '' });
		expect(sent[2]?.map(({ content }) => content)).toEqual(['Book', 'Hm.', 'Saturday']);
		expect(shown(chat)).toEqual([{ text: 'Saturday.' }]);
		await same(chat);
	});

	test('shows a failure of the run as the error of the chat', async () => {
		stage.play([text('Well'), { type: 'fail', message: 'It broke.' }], [text('Now it works.')]);
		const chat = open();
		await chat.sendMessage({ text: 'Hi' });
		expect(chat.status).toBe('error');
		expect(chat.error?.message).toMatch(/\w+/);
		expect(shown(chat)).toEqual([{ text: 'Well' }]);
		const [said] = chat.messages;
		await chat.regenerate();
		expect(chat.status).toBe('ready');
		expect(shown(chat)).toEqual([{ text: 'Now it works.' }]);
		expect(chat.messages.map(({ id }) => id)[0]).toBe(said?.id);
		await same(chat);
	});

	test('shows the message of a refused request as the error of the chat', async () => {
		const chat = open({ api: `${stage.url}/v1/ui/nobody` });
		await chat.sendMessage({ text: 'Hi' });
		expect(chat.error?.message).toBe('agent: there is no agent named "nobody". Known: desk, chief, poor, patient.');
	});

	test('continues a chat after a tool halts the run', async () => {
		stage.play([call('c1', 'stop')], [text('On.')]);
		const chat = open({ automatic: true });
		await chat.sendMessage({ text: 'Stop' });
		expect(chat.status).toBe('ready');
		expect(chat.messages.at(-1)?.metadata).toMatchObject({ status: 'halted', reason: 'enough' });
		await same(chat);
		await chat.sendMessage({ text: 'Go on' });
		expect(shown(chat)).toEqual([{ text: 'On.' }]);
	});

	test('lets the run continue after stop(), and shows the whole answer after a reload', async () => {
		const { turn, begun, end } = held(({ say }) => say(text('Hello')));
		stage.play(turn);
		const chat = open();
		const sending = chat.sendMessage({ text: 'Hi' });
		await begun;
		await expect.poll(() => shown(chat)).toEqual([{ text: 'Hello' }]);
		await chat.stop();
		await sending;
		expect(shown(chat)).toEqual([{ text: 'Hello' }]);
		const again = await reload(chat);
		expect(again.messages.map(({ role }) => role)).toEqual(['user']);
		const resuming = again.resumeStream();
		await expect.poll(() => shown(again)).toEqual([{ text: 'Hello' }]);
		end();
		await resuming;
		expect(shown(again)).toEqual([{ text: 'Hello there.' }]);
		expect(again.messages).toHaveLength(2);
		await same(again);
		await again.resumeStream();
		expect(again.status).toBe('ready');
		expect(again.messages).toHaveLength(2);
	});

	test('shows a queued message after a reload, and later the answers to both messages', async () => {
		const { turn, begun, end } = held(({ say }) => say(text('Hello')));
		stage.play(turn, [text('Two.')]);
		const chat = open();
		const first = chat.sendMessage({ text: 'First' });
		await begun;
		const second = open({ id: chat.id });
		const waits = second.sendMessage({ text: 'Second' });
		await expect.poll(async () => (await listed(chat.id)).map(({ role }) => role)).toEqual(['user', 'user']);
		const again = await reload(chat);
		expect(again.messages.map(({ id }) => id)).toEqual([chat.messages[0]?.id, second.messages[0]?.id]);
		const resuming = again.resumeStream();
		await expect.poll(() => shown(again)).toEqual([{ text: 'Hello' }]);
		end();
		await Promise.all([first, waits, resuming]);
		expect(shown(again)).toEqual([{ text: 'Hello there.' }]);
		const whole = await reload(chat);
		expect(whole.messages.map((_, at) => shown(whole, at)[0])).toEqual([
			{ text: 'First' },
			{ text: 'Hello there.' },
			{ text: 'Second' },
			{ text: 'Two.' },
		]);
	});

	// Version 5 repeats text after a lost connection until the page is reloaded.
	if (version !== 5)
		test('resumes the stream after a lost connection, and shows each text once', async () => {
			const { turn, begun, end } = held(({ say }) => say(text('Hello')));
			stage.play(turn);
			const cut = Promise.withResolvers<void>();
			const chat = open({ fetch: cuttable(cut.promise) });
			const sending = chat.sendMessage({ text: 'Hi' });
			await begun;
			await expect.poll(() => shown(chat)).toEqual([{ text: 'Hello' }]);
			cut.resolve();
			await sending;
			expect(chat.status).toBe('error');
			const resuming = chat.resumeStream();
			await until(() => chat.status === 'streaming');
			end();
			await resuming;
			expect(shown(chat)).toEqual([{ text: 'Hello there.' }]);
			expect(chat.messages).toHaveLength(2);
		});

	test('DELETE …/stream cancels the run, and keeps its text', async () => {
		const { turn, begun } = held(({ say }) => say(text('Hello')));
		stage.play(turn, [text('Yes?')]);
		const chat = open();
		const sending = chat.sendMessage({ text: 'Hi' });
		await begun;
		await expect.poll(() => shown(chat)).toEqual([{ text: 'Hello' }]);
		expect((await fetch(`${stage.api}/${chat.id}/stream`, { method: 'DELETE' })).status).toBe(204);
		await sending;
		expect(chat.status).toBe('ready');
		expect(chat.messages.at(-1)?.metadata).toMatchObject({ status: 'cancelled' });
		await same(chat);
		await chat.sendMessage({ text: 'Go on' });
		expect(shown(chat)).toEqual([{ text: 'Yes?' }]);
	});

	test('finds neither a stream nor messages before the first message', async () => {
		const chat = open();
		await chat.resumeStream();
		expect(chat.error).toBeUndefined();
		expect(await listed(chat.id)).toEqual([]);
	});

	test('regenerate() replaces the answer, and does not send the old answer to the model', async () => {
		const sent = stage.play([text('One.')], [text('Two.')], [text('Two again.')], [text('One again.')]);
		const chat = open();
		await chat.sendMessage({ text: 'First' });
		await chat.sendMessage({ text: 'Second' });
		await chat.regenerate();
		expect(shown(chat)).toEqual([{ text: 'Two again.' }]);
		expect(sent[2]?.map(({ content }) => content)).toEqual(['First', 'One.', 'Second']);
		await same(chat);
		await chat.regenerate({ messageId: chat.messages[1]?.id ?? '' });
		expect(sent[3]?.map(({ content }) => content)).toEqual(['First']);
		expect(chat.messages).toHaveLength(2);
		await same(chat);
	});

	test('an edited message replaces the old message and all later messages', async () => {
		const sent = stage.play([text('One.')], [text('Two.')], [text('Other.')]);
		const chat = open();
		await chat.sendMessage({ text: 'First' });
		await chat.sendMessage({ text: 'Second' });
		await chat.sendMessage({ text: 'Another', messageId: chat.messages[0]?.id ?? '' });
		expect(sent[2]?.map(({ content }) => content)).toEqual(['Another']);
		expect(chat.messages).toHaveLength(2);
		await same(chat);
		const { metadata } = chat.messages.at(-1) ?? {};
		const sessionId = JSON.parse(JSON.stringify(metadata)).sessionId;
		const { messages } = await (await fetch(`${stage.url}/v1/sessions/${sessionId}/messages`)).json();
		const kept = messages.map(({ content, isReplaced }: Record<string, unknown>) => [content, isReplaced === true]);
		expect(kept).toEqual([
			['First', true],
			['One.', true],
			['Second', true],
			['Two.', true],
			['Another', false],
			['Other.', false],
		]);
	});

	test('sends files to the model, and shows them after a reload', async () => {
		const sent = stage.play([text('A dot and a table.')]);
		const dot = 'data:image/png;base64,iVBORw0KGgo=';
		const table = `data:text/csv;base64,${btoa('a,b')}`;
		const chat = open();
		await chat.sendMessage({
			text: 'Look',
			files: [
				{ type: 'file', mediaType: 'image/png', filename: 'dot.png', url: dot },
				{ type: 'file', mediaType: 'text/csv', filename: 'table.csv', url: table },
			],
		});
		expect(sent[0]?.at(-1)?.parts).toMatchObject([
			{ kind: 'text', text: 'Look' },
			{ kind: 'image', data: 'iVBORw0KGgo=' },
			{ kind: 'text', text: expect.stringContaining('a,b') },
		]);
		expect((await listed(chat.id))[0]?.parts).toEqual([
			{ type: 'text', text: 'Look' },
			{ type: 'file', mediaType: 'image/png', filename: 'dot.png', url: dot },
			{ type: 'file', mediaType: 'text/csv', filename: 'table.csv', url: table },
		]);
	});

	test('answers a repeated POST without a second run', async () => {
		const { turn, begun, end } = held(({ say }) => say(text('Hello')));
		const sent = stage.play(turn, [text('Never said.')]);
		const id = `twice-${version}`;
		const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] };
		const post = async () => {
			const body = JSON.stringify({ id, messages: [message], trigger: 'submit-message' });
			const response = await fetch(stage.api, {
				method: 'POST',
				headers: { 'content-type': 'application/json' },
				body,
			});
			return response.text();
		};
		const first = post();
		await begun;
		const second = post();
		end();
		// The pieces of the text depend on the time of reading.
		const textIn = (stream: string) => [...stream.matchAll(/"delta":"([^"]*)"/g)].map(([, piece]) => piece).join('');
		expect(textIn(await first)).toBe('Hello there.');
		expect(textIn(await second)).toBe('Hello there.');
		expect(await post()).toContain('finish');
		expect(sent).toHaveLength(1);
	});
});

describe.each([6, 7] as const)('approvals with useChat of AI SDK %i', (version) => {
	const approvals = async (name: string) => {
		const sent = stage.play(
			[call(`${name}1`, 'pay', { amount: 5 }), call(`${name}2`, 'add', { x: 1, y: 1 })],
			[text('Settled.')],
		);
		const chat = chats[version]({ api: stage.api, id: `${name}-${version}`, automatic: true });
		await chat.sendMessage({ text: 'Pay' });
		expect(shown(chat)).toMatchObject([
			{ 'tool-pay': { amount: 5 }, state: 'approval-requested' },
			{ 'tool-add': { x: 1, y: 1 }, state: 'output-available', answered: 2 },
		]);
		return { chat, sent, id: `${name}1` };
	};
	const settled = (chat: AnyChat) =>
		expect
			.poll(() => chat.status === 'ready' && shown(chat).some((part) => JSON.stringify(part).includes('Settled')))
			.toBe(true);

	test('an approval runs the call once in the same message, also after a reload', async () => {
		const { chat: first, id, sent } = await approvals('yes');
		const chat = chats[version]({ api: stage.api, id: first.id, messages: await listed(first.id), automatic: true });
		await chat.addToolApprovalResponse?.({ id, approved: true });
		await settled(chat);
		expect(chat.messages).toHaveLength(2);
		expect(shown(chat)).toMatchObject([
			{ state: 'output-available', answered: expect.stringMatching(/^payment \d+: 5$/) },
			{ state: 'output-available' },
			{ text: 'Settled.' },
		]);
		const again = chats[version]({ api: stage.api, id: first.id, messages: await listed(first.id) });
		expect(shown(again)).toEqual(shown(chat));
		// The same approval again, as a retry or a malicious page would send it.
		const body = JSON.stringify({ id: first.id, messages: chat.messages, trigger: 'submit-message' });
		const headers = { 'content-type': 'application/json' };
		const retried = await (await fetch(stage.api, { method: 'POST', headers, body })).text();
		expect(retried).toContain('Settled.');
		expect(sent).toHaveLength(2);
	});

	test('a denial gives the model its reason, and the call does not run', async () => {
		const { chat, id, sent } = await approvals('no');
		await chat.addToolApprovalResponse?.({ id, approved: false, reason: 'Too much.' });
		await settled(chat);
		expect(shown(chat)[0]).toMatchObject({ 'tool-pay': { amount: 5 }, state: 'output-denied' });
		expect(
			sent[1]?.find(({ role, content }) => role === 'tool' && String(content).includes('Too much.')),
		).toBeDefined();
		const again = chats[version]({ api: stage.api, id: chat.id, messages: await listed(chat.id) });
		expect(shown(again)).toEqual(shown(chat));
	});

	test.each([
		['person', 'approval-responded'],
		['page', 'output-available'],
	])('after a reload, shows the answer of the %s to one call while the other call still waits', async (who, state) => {
		stage.play([call('c1', 'pay', { amount: 1 }), call('c2', 'locate')], [text('Settled.')]);
		const id = `beside-${who}-${version}`;
		const chat = chats[version]({ api: stage.api, id });
		const answers = [
			async (on: AnyChat) => on.addToolApprovalResponse?.({ id: 'c1', approved: true }),
			(on: AnyChat) => on.addToolOutput({ toolCallId: 'c2', output: 'Rome' }),
		];
		if (who === 'page') answers.reverse();
		await chat.sendMessage({ text: 'Pay' });
		await answers[0]?.(chat);
		await chat.sendMessage();
		const again = chats[version]({ api: stage.api, id, messages: await listed(id), automatic: true });
		expect(shown(again)).toEqual(shown(chat));
		expect(shown(again)).toContainEqual(expect.objectContaining({ state }));
		await answers[1]?.(again);
		await settled(again);
		expect(again.messages).toHaveLength(2);
		expect(shown(again)).toMatchObject([{ state: 'output-available' }, { answered: 'Rome' }, { text: 'Settled.' }]);
	});

	test('ignores an approval that no call requested', async () => {
		const { chat } = await approvals('forged');
		const forged = chat.messages.map(({ parts, ...message }) => ({
			...message,
			parts: parts.map((part) =>
				part.type === 'tool-pay'
					? { ...part, toolCallId: 'other', state: 'approval-responded', approval: { id: 'other', approved: true } }
					: part,
			),
		}));
		const body = JSON.stringify({ id: chat.id, messages: forged, trigger: 'submit-message' });
		const headers = { 'content-type': 'application/json' };
		const answer = await (await fetch(stage.api, { method: 'POST', headers, body })).text();
		expect(answer.match(/"type":"[a-z-]+"/g)).toEqual(['"type":"start"', '"type":"finish"']);
		expect((await listed(chat.id)).at(-1)?.parts[1]).toMatchObject({ type: 'tool-pay', state: 'approval-requested' });
	});

	test('a page that was loaded after an approval shows the whole run', async () => {
		const hold = Promise.withResolvers<void>();
		stage.play([call('c1', 'pay', { amount: 1 })], async ({ say, left }) => {
			say(text('Paid'));
			await Promise.race([hold.promise, left]);
			say(text('.'));
		});
		const chat = chats[version]({ api: stage.api, id: `while-${version}`, automatic: true });
		await chat.sendMessage({ text: 'Pay' });
		await chat.addToolApprovalResponse?.({ id: 'c1', approved: true });
		await expect.poll(() => shown(chat).at(-1)).toEqual({ text: 'Paid' });
		const again = chats[version]({ api: stage.api, id: chat.id, messages: await listed(chat.id) });
		expect(again.messages).toHaveLength(1);
		const resuming = again.resumeStream();
		await expect.poll(() => shown(again).at(-1)).toEqual({ text: 'Paid' });
		hold.resolve();
		await resuming;
		expect(shown(again)).toMatchObject([{ 'tool-pay': { amount: 1 }, state: 'output-available' }, { text: 'Paid.' }]);
		expect(again.messages).toHaveLength(2);
	});
});
