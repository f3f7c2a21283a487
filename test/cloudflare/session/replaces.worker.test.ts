import { SELF } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { createClient, type Message } from '../../../src/client/index.ts';
import { allEvents, createSession, readState, readText, request, restart, send } from '../../client.ts';
import { play } from '../../script.ts';

const replace = (id: string, replaces: string, more: object = {}) =>
	request(`/v1/sessions/${id}/messages`, { replaces, ...more }, { accept: 'text/event-stream' });
const runlet = createClient({
	baseUrl: 'http://localhost',
	fetch: (input, init) => SELF.fetch(new Request(input, init)),
});
const readHistory = (id: string) => runlet.listMessages(id);
const toTexts = (messages: readonly Message[]) =>
	messages.map(({ isReplaced, content }) => `${isReplaced === true ? 'old ' : ''}${content}`);

/** A session with two messages and their answers, and the ids of the messages. */
async function talk() {
	const id = await createSession();
	play('A1', 'B1');
	await allEvents(await send(id, 'A'));
	await allEvents(await send(id, 'B'));
	const [first, , second] = await readHistory(id);
	return { id, first: String(first?.id), second: String(second?.id) };
}

test('replaces a message, and keeps the later messages without sending them to a model', async () => {
	const { id, first } = await talk();
	const { requests } = play('C1', 'D1');
	expect(readText(await allEvents(await replace(id, first, { text: 'C' })))).toBe('C1');
	expect(requests[0]?.messages).toEqual([expect.objectContaining({ role: 'user', content: 'C' })]);
	expect(toTexts(await readHistory(id))).toEqual(['old A', 'old A1', 'old B', 'old B1', 'C', 'C1']);
	await restart(id);
	await allEvents(await send(id, 'D'));
	expect(requests[1]?.messages.map(({ content }) => content)).toEqual(['C', 'C1', 'D']);
});

test('sends the same message again if the request has no new text', async () => {
	const { id, second } = await talk();
	const { requests } = play('B2');
	expect(readText(await allEvents(await replace(id, second)))).toBe('B2');
	expect(requests[0]?.messages.map(({ content }) => content)).toEqual(['A', 'A1', 'B']);
	expect(toTexts(await readHistory(id))).toEqual(['A', 'A1', 'old B', 'old B1', 'B', 'B2']);
});

test('cancels the current run before it replaces a message', async () => {
	const { id, second } = await talk();
	const begun = Promise.withResolvers<void>();
	play(() => {
		begun.resolve();
		return new Promise(() => {});
	}, 'B2');
	const stopped = await send(id, 'C');
	await begun.promise;
	expect(readText(await allEvents(await replace(id, second)))).toBe('B2');
	expect((await allEvents(stopped)).at(-1)?.type).toBe('cancelled');
	expect(await readState(id)).toMatchObject({ status: 'completed' });
});

test('refuses to replace anything other than a person’s current message, and changes nothing', async () => {
	const { id, first, second } = await talk();
	const [, answer] = await readHistory(id);
	play('C1');
	await allEvents(await replace(id, second, { text: 'C' }));
	const before = await readHistory(id);
	for (const wrong of [String(answer?.id), second, '1', '999999999', 'x']) {
		const refused = await replace(id, wrong, { text: 'D' });
		expect(refused.status).toBe(400);
		expect(await refused.json()).toMatchObject({ error: { data: { field: 'replaces' } } });
	}
	expect(await readHistory(id)).toEqual(before);
	expect(first).not.toBe(second);
});

test('names the earlier version of a message, and counts its versions', async () => {
	const { id, first, second } = await talk();
	play('B2', 'B3', 'C1');
	await allEvents(await replace(id, second));
	const newer = String((await readHistory(id)).at(-2)?.id);
	await allEvents(await replace(id, newer, { text: 'B, please' }));
	const history = await readHistory(id);
	expect(history.filter(({ role }) => role === 'user').map(({ replaces, version }) => [replaces, version])).toEqual([
		[undefined, undefined],
		[undefined, undefined],
		[second, 2],
		[newer, 3],
	]);
	await allEvents(await replace(id, first, { text: 'C' }));
	expect((await readHistory(id)).at(-2)).toMatchObject({ replaces: first, version: 2 });
});

test('leaves out the replaced messages if a reader asks for that', async () => {
	const { id, first } = await talk();
	play('C1');
	await allEvents(await replace(id, first, { text: 'C' }));
	const page = await (await request(`/v1/sessions/${id}/messages?replaced=false&limit=2&order=desc`)).json();
	expect(page).toEqual({
		messages: [expect.objectContaining({ content: 'C1' }), expect.objectContaining({ content: 'C' })],
	});
});

test('forks a replaced message into a session that goes on from there', async () => {
	const { id, first, second } = await talk();
	play('B2', 'C1');
	await allEvents(await replace(id, second, { text: 'B, please' }));
	await allEvents(await replace(id, first, { text: 'C' }));
	const history = await readHistory(id);
	const old = await runlet.forkSession(id, { at: String(history[3]?.id) });
	expect(toTexts(await readHistory(old.id))).toEqual(['A', 'A1', 'B', 'B1']);
	const later = await runlet.forkSession(id, { at: String(history[5]?.id) });
	expect(toTexts(await readHistory(later.id))).toEqual(['A', 'A1', 'old B', 'old B1', 'B, please', 'B2']);
	const { requests } = play('D1');
	await allEvents(await send(old.id, 'D'));
	expect(requests[0]?.messages.map(({ content }) => content)).toEqual(['A', 'A1', 'B', 'B1', 'D']);
});
