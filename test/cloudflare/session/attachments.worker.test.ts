import { describe, expect, test } from 'vitest';
import type { Attachment } from '../../../src/cloudflare/wire/message.ts';
import type { ScriptedTurn } from '../../../src/core/providers/index.ts';
import {
	allEvents,
	createSession,
	follow,
	readEvents,
	readHistory,
	readText,
	request,
	restart,
	send,
	type WireMessage,
} from '../../client.ts';
import { play } from '../../script.ts';

const note = (contentText: string, name = 'note.txt'): Attachment => ({
	name,
	type: 'text/plain',
	size: contentText.length,
	contentText,
});
const image: Attachment = { name: 'a.png', type: 'image/png', size: 3, contentBase64: 'iVBO' };
const stream = { accept: 'text/event-stream' };
const async = { prefer: 'respond-async' };
const say = (id: string, text: string, attachments?: readonly object[], headers: Record<string, string> = stream) =>
	request(`/v1/sessions/${id}/messages`, { text, attachments }, headers);
const call = (id: string, name: string, input: unknown = {}) => ({ toolCalls: [{ id, name, input }] });
/** The output of a model that tries to give a skill other attachments and another sender. */
const spoofing = (id: string) =>
	call(id, 'apply_skill', {
		name: 'told',
		ctx: { attachments: ['fake'], sender: 'root', transport: 'console', topic: 'mine' },
	});
const readResult = (messages: readonly WireMessage[], id: string) =>
	messages.find(({ toolCallId }) => toolCallId === id)?.content;
const toldTo = async (id: string, callId: string) => JSON.parse(String(readResult(await readHistory(id), callId)));
const harness = (...attachments: Attachment[]) => ({ sender: 'local', transport: 'http', attachments });

describe('attachments of a message', () => {
	test('reach the model, tools and skills, and the model cannot spoof them', async () => {
		const id = await createSession('equipped');
		const { requests } = play(call('a', 'look'), spoofing('b'), 'Done.');
		expect(readText(await allEvents(await say(id, 'See.', [note('Hello'), image])))).toBe('Done.');
		expect(requests[0]?.messages[0]).toMatchObject({
			parts: [
				{ kind: 'text', text: 'See.' },
				{ kind: 'text', text: 'Attached file "note.txt" (text/plain, 5 bytes):\n```\nHello\n```' },
				{ kind: 'image', mime: 'image/png', name: 'a.png', data: 'iVBO' },
			],
		});
		expect(readResult(await readHistory(id), 'a')).toEqual(harness(note('Hello'), image));
		expect(await toldTo(id, 'b')).toEqual({ topic: 'mine', ...harness(note('Hello'), image) });
	});

	test('become files of the workspace once, and never replace a file', async () => {
		const id = await createSession();
		const readFiles = async () => {
			const { files } = await (await request(`/v1/sessions/${id}/files`)).json<{ files: { path: string }[] }>();
			const read = async ({ path }: { path: string }) =>
				[path, await (await request(`/v1/sessions/${id}/files/${path}`)).text()] as const;
			return Object.fromEntries(await Promise.all(files.map(read)));
		};
		play('1', '2', '3', '4');
		await allEvents(await say(id, 'See.', [note('one'), note('two'), image]));
		await allEvents(
			await say(id, 'The same again, and a link.', [
				note('one'),
				{ ...note(''), contentText: undefined, contentUrl: 'https://example.com/x' },
			]),
		);
		const odd = ['NUL.txt', 'ends.', ' . ', 'a\u200bb\uff0fc.txt', `${'ü'.repeat(200)}.txt`];
		await allEvents(
			await say(
				id,
				'Odd names.',
				odd.map((name) => note('odd', name)),
			),
		);
		const files = await readFiles();
		expect(Object.keys(files).toSorted()).toEqual(
			[
				'attachments/note.txt',
				'attachments/note-2.txt',
				'attachments/a.png',
				'attachments/_NUL.txt',
				'attachments/ends',
				'attachments/file',
				'attachments/a_b_c.txt',
				`attachments/${'ü'.repeat(118)}.txt`,
			].toSorted(),
		);
		expect([files['attachments/note.txt'], files['attachments/note-2.txt']]).toEqual(['one', 'two']);
		const { changes } = await (await request(`/v1/sessions/${id}/changes`)).json<{ changes: { callId?: string }[] }>();
		expect(changes.some(({ callId }) => callId !== undefined)).toBe(false);
	});

	test('become files only when a run gets their queued message', async () => {
		const id = await createSession('hands');
		const read = (path: string) => request(`/v1/sessions/${id}/files/attachments/${path}`);
		const release = Promise.withResolvers<string>();
		play(async () => ({ text: await release.promise, ...call('a', 'list_files') }), 'First.', 'Second.');
		await say(id, 'Go.', [], async);
		await request(
			`/v1/sessions/${id}/messages`,
			{ text: 'Look.', attachments: [note('now', 'steers.txt')], whenBusy: 'steer' },
			async,
		);
		await request(`/v1/sessions/${id}/messages`, { text: 'Then.', attachments: [note('later', 'waits.txt')] }, async);
		expect([(await read('steers.txt')).status, (await read('waits.txt')).status]).toEqual([404, 404]);
		release.resolve('Working.');
		await expect.poll(async () => (await read('waits.txt')).status, { timeout: 20_000 }).toBe(200);
		expect(await (await read('steers.txt')).text()).toBe('now');
	});

	test('become files if the message creates the session', async () => {
		play(spoofing('a'), 'Done.');
		const response = await request('/v1/sessions', { agent: 'equipped', attachments: [image] });
		const { id } = await response.json<{ id: string }>();
		expect(response.status).toBe(201);
		expect(await toldTo(id, 'a')).toMatchObject(harness(image));
		expect(await readHistory(id)).toMatchObject([
			{ role: 'user', content: '[image:a.png]', attachments: [{ name: 'a.png', type: 'image/png', size: 3 }] },
			...[{ role: 'assistant' }, { role: 'tool' }, { role: 'assistant' }],
		]);
	});

	test('reach tools only if the message is the newest', async () => {
		const id = await createSession('equipped');
		play('One.', spoofing('a'), 'Two.');
		await allEvents(await say(id, 'first', [image]));
		await allEvents(await say(id, 'second'));
		expect(await toldTo(id, 'a')).toEqual({ topic: 'mine', ...harness() });
	});

	test('survive a crash in the middle of the run', async () => {
		const id = await createSession('equipped');
		play(call('e', 'echo', { text: 'x' }), () => new Promise(() => {}), spoofing('a'), 'Done.');
		for await (const { type } of readEvents(await say(id, 'go', [note('Hello'), image]))) if (type === 'step') break;
		await restart(id);
		expect(readText(await allEvents(await follow(id)))).toBe('Done.');
		expect(await toldTo(id, 'a')).toMatchObject(harness(note('Hello'), image));
	});

	test('reach the run that continues with the results of calls', async () => {
		const id = await createSession('equipped');
		play(
			{ toolCalls: [...call('r', 'read_skill', { name: 'bringing' }).toolCalls] },
			call('h', 'by_hand'),
			spoofing('a'),
			'Done.',
		);
		await allEvents(await say(id, 'go', [image]));
		await restart(id);
		await request(`/v1/sessions/${id}/tool-results`, [{ id: 'h', output: 'by hand' }]);
		expect(await toldTo(id, 'a')).toMatchObject(harness(image));
	});

	test('reach the run that continues when their message answers a question', async () => {
		const id = await createSession('equipped');
		play(call('r', 'read_skill', { name: 'asking' }), call('q', 'ask', { question: 'Which?' }), spoofing('a'), 'Done.');
		await allEvents(await send(id, 'go'));
		expect(readText(await allEvents(await say(id, 'This.', [note('Hello')])))).toBe('Done.');
		expect(readResult(await readHistory(id), 'q')).toMatch(/^This\.\n\nAttached file "note\.txt"/);
		expect(await toldTo(id, 'a')).toMatchObject(harness(note('Hello')));
	});
});

describe('attachments of a message that comes during a run', () => {
	/** A session whose first run waits until `end` is called. */
	async function busy(...then: readonly ScriptedTurn[]) {
		const gate = Promise.withResolvers<void>();
		play(() => gate.promise.then(() => 'One.'), ...then);
		const id = await createSession('equipped');
		const first = await say(id, 'first', [image]);
		return { id, first, end: gate.resolve };
	}

	test('reach the run of that message, also after a restart', async () => {
		const { id } = await busy('One.', spoofing('a'), 'Two.');
		expect((await say(id, 'second', [note('Second')], async)).status).toBe(202);
		await restart(id);
		await expect.poll(() => readHistory(id).then((all) => all.at(-1)?.content)).toBe('Two.');
		expect(await toldTo(id, 'a')).toMatchObject(harness(note('Second')));
	});

	test('reach the current run with a steering message, also after a restart', async () => {
		const { id, first, end } = await busy(spoofing('a'), () => new Promise(() => {}), spoofing('b'), 'Two.');
		const steering = { text: 'steer', attachments: [note('Steered')], whenBusy: 'steer' };
		expect((await request(`/v1/sessions/${id}/messages`, steering, async)).status).toBe(202);
		end();
		for await (const { type } of readEvents(first)) if (type === 'tool_result') break;
		await restart(id);
		expect(readText(await allEvents(await follow(id)))).toMatch(/Two\.$/);
		expect(await toldTo(id, 'a')).toMatchObject(harness(note('Steered')));
		expect(await toldTo(id, 'b')).toMatchObject(harness(note('Steered')));
	});
});
