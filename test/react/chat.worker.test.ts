import { SELF } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { type ClientOptions, createClient } from '../../src/client/index.ts';
import { Chat, type ChatOptions, type ChatState } from '../../src/react/chat.ts';
import type { CallPart, ChatMessage } from '../../src/react/parts.ts';
import { createSession, request } from '../client.ts';
import { play } from '../script.ts';

const ask: typeof fetch = (input, init) => SELF.fetch(new Request(input, init));
const createTestClient = (options: ClientOptions = {}) =>
	createClient({ baseUrl: 'http://localhost', retryDelayMs: 0, fetch: ask, ...options });

function createChat(session?: string, options: Omit<ChatOptions, 'session'> = { create: { agent: 'scripted' } }) {
	const chat = new Chat(createTestClient(), session, () => options);
	const seen: ChatState[] = [];
	chat.subscribe(() => seen.push(chat.getState()));
	/** Waits for a state. */
	const until = async (isIt: (state: ChatState) => boolean): Promise<ChatState> => {
		while (!isIt(chat.getState())) {
			const next = Promise.withResolvers<void>();
			const leave = chat.subscribe(next.resolve);
			await next.promise;
			leave();
		}
		return chat.getState();
	};
	return { chat, seen, until };
}

const show = (messages: readonly ChatMessage[]) => messages.map(({ role, text }) => `${role}: ${text}`);
const listCalls = ({ messages }: ChatState): CallPart[] =>
	messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'call' ? [part] : [])));
const call = (name: string, input: object = {}) => ({ text: 'So.', toolCalls: [{ id: 'c', name, input }] });

test('the first message creates a session, and the chat shows the answer as it grows', async () => {
	play(call('echo', { text: 'hi' }), 'It said hi.');
	const made: string[] = [];
	const { chat, seen, until } = createChat(undefined, {
		create: { agent: 'scripted', metadata: { from: 'a test' } },
		onCreate: ({ id }) => made.push(id),
	});
	expect(chat.getState()).toMatchObject({ status: 'ready', messages: [], session: undefined });
	await chat.send('Go');
	const state = await until(({ status }) => status === 'ready');
	expect(show(state.messages)).toEqual(['user: Go', 'assistant: So.\n\nIt said hi.']);
	expect(listCalls(state)).toMatchObject([{ name: 'echo', input: { text: 'hi' }, output: 'hi', state: 'done' }]);
	expect(state.session).toMatchObject({ id: chat.id, metadata: { from: 'a test' }, budget: { spent: {} } });
	expect(made).toEqual([chat.id]);
	expect(seen.some(({ status }) => status === 'running')).toBe(true);
});

test('a chat that is opened again shows what it showed before', async () => {
	play(call('echo', { text: 'hi' }), 'It said hi.', 'Bye.');
	const { chat, until } = createChat();
	await chat.send('Go');
	await chat.send('And now?');
	const before = await until(({ status }) => status === 'ready');
	const other = createChat(chat.id);
	expect(other.chat.getState().status).toBe('loading');
	const leave = other.chat.open();
	const after = await other.until(({ status }) => status === 'ready');
	leave();
	const toShown = (state: ChatState) =>
		state.messages.map(({ role, text, parts, runId }) => ({
			role,
			text,
			parts,
			runId: role === 'assistant' ? runId : undefined,
		}));
	expect(toShown(after)).toEqual(toShown(before));
});

test('a chat follows a run that began elsewhere, and a reader that leaves does not stop it', async () => {
	const gate = Promise.withResolvers<void>();
	play(async (_, emit) => {
		await emit({ type: 'text', text: 'One. ' });
		await gate.promise;
		await emit({ type: 'text', text: 'Two.' });
		return 'One. Two.';
	});
	const id = await createSession();
	await (await request(`/v1/sessions/${id}/messages`, { text: 'Go' }, { prefer: 'respond-async' })).text();
	const left = createChat(id);
	const leave = left.chat.open();
	await left.until(({ messages }) => messages.at(-1)?.text === 'One. ');
	leave();
	const { chat, until } = createChat(id);
	chat.open();
	const running = await until(({ messages }) => messages.at(-1)?.text === 'One. ');
	expect(running.status).toBe('running');
	expect(running.messages.at(-1)?.isRunning).toBe(true);
	gate.resolve();
	const ended = await until(({ status }) => status === 'ready');
	expect(show(ended.messages)).toEqual(['user: Go', 'assistant: One. Two.']);
	expect(ended.messages.at(-1)?.isRunning).toBeUndefined();
});

test('a call waits for approval, and the run goes on with the answer', async () => {
	play(call('pay', { amount: 5 }), 'Done.');
	const { chat, until } = createChat();
	await chat.send('Go');
	const waiting = await until(({ status }) => status === 'waiting');
	expect(waiting.calls).toMatchObject([{ id: 'c', kind: 'approval' }]);
	expect(listCalls(waiting)).toMatchObject([{ state: 'waiting' }]);
	await chat.answer({ id: 'c', approve: false, reason: 'no' });
	const ended = await until(({ status }) => status === 'ready');
	expect(ended.calls).toEqual([]);
	expect(listCalls(ended)).toMatchObject([{ id: 'c', state: 'failed' }]);
	expect(ended.messages.at(-1)?.text).toBe('Done.');
});

test('a question waits for the next message', async () => {
	play(call('ask', { question: 'Which color?' }), 'Blue it is.');
	const { chat, until } = createChat();
	await chat.send('Go');
	const { question } = await until(({ status }) => status === 'waiting');
	expect(question?.question).toBe('Which color?');
	await chat.send('Blue');
	expect((await until(({ status }) => status === 'ready')).messages.at(-1)?.text).toBe('Blue it is.');
});

test('a message during a run waits for its end, and stands above its own answer', async () => {
	const gate = Promise.withResolvers<void>();
	play(async (_, emit) => {
		await emit({ type: 'text', text: 'One.' });
		await gate.promise;
		return 'One.';
	}, 'Two.');
	const { chat, until } = createChat();
	const first = chat.send('First');
	await until(({ messages }) => messages.at(-1)?.text === 'One.');
	await chat.send('Second');
	const queued = await until(({ messages }) => messages.at(-1)?.isQueued === true);
	expect(show(queued.messages)).toEqual(['user: First', 'assistant: One.', 'user: Second']);
	gate.resolve();
	await first;
	const ended = await until(({ status }) => status === 'ready');
	expect(show(ended.messages)).toEqual(['user: First', 'assistant: One.', 'user: Second', 'assistant: Two.']);
	expect(ended.messages.some(({ isQueued }) => isQueued)).toBe(false);
});

test('a person stops a run', async () => {
	play(async (_, emit) => {
		await emit({ type: 'text', text: 'One.' });
		return new Promise(() => {});
	});
	const { chat, until } = createChat();
	const sent = chat.send('Go');
	await until(({ messages }) => messages.at(-1)?.text === 'One.');
	await chat.stop();
	await sent;
	const state = await until(({ status }) => status === 'ready');
	expect(state.session?.run?.status).toBe('cancelled');
});

test('a refused message is taken back, and its error stays until the next request', async () => {
	play('Hello.');
	const { chat, until } = createChat(undefined, { create: { agent: 'nobody' } });
	await expect(chat.send('Go')).rejects.toMatchObject({ status: 404 });
	const failed = await until(({ error }) => error !== undefined);
	expect(failed.messages).toEqual([]);
	const none = createChat(undefined, {});
	await expect(none.chat.send('Go')).rejects.toThrow('create: missing. Name an agent or a session.');
	await expect(none.chat.retry()).rejects.toThrow('There is no session yet.');
});

test('a run that fails says why, and goes on when a person asks', async () => {
	play(() => {
		throw new Error('broken');
	}, 'Again.');
	const { chat, until } = createChat();
	await chat.send('Go');
	const failed = await until(({ status }) => status === 'failed');
	expect(failed.messages.at(-1)?.parts).toMatchObject([{ type: 'notice' }]);
	await chat.retry();
	expect((await until(({ status }) => status === 'ready')).messages.at(-1)?.text).toBe('Again.');
});
