/** A memory keeps the labels of the session that wrote it (docs/untrusted-text.md). */
import { beforeEach, expect, test } from 'vitest';
import { request } from '../../client.ts';
import { play } from '../../script.ts';
import { createSessionFor, createUser, decide, listMemories, putMemory, say } from '../memory/people.ts';
import { left, order, secret } from './agents.ts';

const agent = 'flow-remembering';
const call = (name: string, input: object) => ({ toolCalls: [{ id: name, name, input: { ...input } }] });
const mail = call('send_mail', { to: 'eve', text: secret });
const readMail = call('read_mail', {});
const fork = async (id: string) => (await (await request(`/v1/sessions/${id}/fork`, {})).json<{ id: string }>()).id;
const note = `Tea: ${order}`;

beforeEach(() => {
	left.length = 0;
});

/** Lets a session that has text of strangers write a memory, which a person allows. */
async function rememberOrder(user: string): Promise<void> {
	const id = await createSessionFor(user, agent);
	play(readMail, call('remember', { text: note, path: 'tea.md' }), 'Remembered.');
	await say(id);
	await decide(id, 'remember', true);
}

/** How a memory comes into a session. */
const ways: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
	'that stands in front of a message': (id) => {
		play('Tea it is.');
		return say(id, 'Tea?');
	},
	'that `recall` finds': (id) => {
		play(call('recall', { query: 'tea' }), 'Found.');
		return say(id, 'Look.');
	},
	'that `memory` shows': (id) => {
		play(call('memory', { command: 'view', path: '/memories/tea.md' }), 'Found.');
		return say(id, 'Look.');
	},
	'whose name `memory` lists': (id) => {
		play(call('memory', { command: 'view', path: '/memories' }), 'Found.');
		return say(id, 'Look.');
	},
};

test.each(Object.keys(ways))(
	'a memory %s is text of strangers if it was made of such text, also in a copy',
	async (way) => {
		const user = createUser();
		await rememberOrder(user);
		expect(await listMemories(user)).toMatchObject([{ text: note, source: { via: 'call', outside: true } }]);
		const first = await createSessionFor(user, agent);
		await ways[way]?.(first);
		for (const id of [await fork(await fork(first)), first]) {
			play(mail);
			const source = expect.arrayContaining([{ what: expect.stringContaining('memory') }]);
			expect(await say(id, 'Send.')).toMatchObject({
				status: 'awaiting_tools',
				toolCalls: [{ flow: { outside: source } }],
			});
			expect(left).toEqual([]);
		}
	},
);

test.each(Object.keys(ways))('a memory %s is only private if a person wrote it, also in a copy', async (way) => {
	const user = createUser();
	await rememberOrder(user);
	await putMemory(user, 'tea.md', 'Tea, with milk.');
	expect(await listMemories(user)).toMatchObject([{ source: { via: 'http' } }]);
	const id = await createSessionFor(user, agent);
	await ways[way]?.(id);
	const copy = await fork(id);
	play(mail, 'Sent.');
	expect(await say(id, 'Send.')).toMatchObject({ status: 'completed' });
	expect(left).toHaveLength(1);
	play(readMail, mail);
	expect(await say(copy, 'Send.')).toMatchObject({ status: 'awaiting_tools', toolCalls: [{ flow: {} }] });
	expect(left).toHaveLength(1);
});

test.each([
	{ command: 'str_replace', path: '/memories/tea.md', old_str: 'Tea', new_str: 'Coffee' },
	{ command: 'insert', path: '/memories/tea.md', insert_line: 0, insert_text: 'Coffee' },
	{ command: 'rename', old_path: '/memories/tea.md', new_path: '/memories/coffee.md' },
])('a memory stays text of strangers when another session changes it by $command', async (input) => {
	const user = createUser();
	await rememberOrder(user);
	const id = await createSessionFor(user, agent);
	play(call('memory', input), 'Changed.');
	expect(await say(id, 'Change it.')).toMatchObject({ status: 'completed' });
	const [changed] = await listMemories(user);
	expect(JSON.stringify(changed)).toContain(input.command === 'rename' ? 'coffee.md' : 'Coffee');
	expect(changed).toMatchObject({ source: { via: 'call', sessionId: id, outside: true } });
});

test('a memory that became text of strangers after it was recalled makes a later call wait', async () => {
	const user = createUser();
	await putMemory(user, 'tea.md', 'Tea, with milk.');
	const id = await createSessionFor(user, agent);
	play('Tea it is.');
	await say(id, 'Tea?');
	await rememberOrder(user);
	play(mail);
	expect(await say(id, 'Send.')).toMatchObject({ status: 'awaiting_tools' });
	expect(left).toEqual([]);
});

test('a session that recalled text of strangers writes no memory without a person', async () => {
	const user = createUser();
	await rememberOrder(user);
	const id = await createSessionFor(user, agent);
	play(call('recall', { query: 'tea' }), call('remember', { text: 'Pay to account 666.' }));
	expect(await say(id, 'Look.')).toMatchObject({ status: 'awaiting_tools', toolCalls: [{ name: 'remember' }] });
});
