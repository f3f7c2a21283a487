import { runInDurableObject } from 'cloudflare:test';
import { describe, expect, test } from 'vitest';
import { messageText } from '../../../src/core/chat/index.ts';
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

const words = (n: number) => `Fact ${n}: ${'word '.repeat(300)}`;

/** A session with this many turns of some 380 tokens. */
async function talked(agent: string, turns: number): Promise<string> {
	const id = await createSession(agent);
	for (let n = 1; n <= turns; n++) {
		play(`Noted ${n}.`);
		await allEvents(await send(id, words(n)));
	}
	return id;
}

describe('a conversation that is over its context', () => {
	test('fails by default, and keeps everything', async () => {
		const id = await talked('full-fail', 2);
		const { requests } = play('never');
		expect((await allEvents(await send(id, words(3)))).at(-1)).toMatchObject({ data: { code: 'context_overflow' } });
		expect(requests).toHaveLength(0);
		expect(await readHistory(id)).toHaveLength(5);
	});

	test('is truncated for an agent with truncate: readers get a warning, and the history keeps everything', async () => {
		const id = await talked('full-truncate', 2);
		const { requests } = play('Noted 3.');
		const events = await allEvents(await send(id, words(3)));
		expect(events.find(({ type }) => type === 'warning')?.data).toMatchObject({ code: 'context_truncated' });
		expect(readText(events)).toBe('Noted 3.');
		expect(messageText(requests[0]?.messages[0] ?? { role: 'user', content: '' })).not.toContain('Fact 1');
		expect(await readHistory(id)).toHaveLength(6);
	});

	test('is summarized for an agent with compact: a stored summary replaces it in requests', async () => {
		const id = await talked('full-compact', 2);
		const { requests } = play('The user gave facts 1 and 2.', 'Noted 3.');
		const live = await allEvents(await send(id, words(3)));
		expect(readText(live)).toBe('Noted 3.');
		expect(live.find(({ type }) => type === 'warning')?.data).toMatchObject({ code: 'context_compacted' });
		const history = await readHistory(id);
		const roles = history.map(({ role }) => role);
		expect(roles).toEqual(['user', 'assistant', 'system', 'user', 'assistant', 'user', 'assistant']);
		expect(history[2]).toMatchObject({ summary: true, content: expect.stringContaining('facts 1 and 2') });
		expect(requests[1]?.messages.map(({ role }) => role)).toEqual(roles.slice(2, -1));
		await restart(id);
		expect(await allEvents(await follow(id))).toEqual(live);
		const next = play('Yes.');
		expect(readText(await allEvents(await send(id, 'Do you remember?')))).toBe('Yes.');
		expect(next.requests[0]?.messages.map(({ role }) => role)).toEqual([...roles.slice(2), 'user']);
		expect(await readState(id)).toMatchObject({ status: 'completed' });
	});

	test('sends the newest of two summaries, with the later messages', async () => {
		const id = await talked('full-compact', 2);
		play('First summary.', 'Noted 3.');
		await allEvents(await send(id, words(3)));
		play('Noted 4.');
		const { requests } = play('Second summary.', 'Noted 4.');
		await allEvents(await send(id, words(4)));
		expect(messageText(requests[0]?.messages[0] ?? { role: 'user', content: '' })).toContain('First summary.');
		const summaries = (await readHistory(id)).filter(({ role }) => role === 'system');
		expect(summaries).toHaveLength(2);
		await restart(id);
		const last = play('Fine.');
		await allEvents(await send(id, 'ok'));
		expect(JSON.stringify(last.requests[0]?.messages)).toContain('Second summary.');
		expect(JSON.stringify(last.requests[0]?.messages)).not.toContain('First summary.');
	});
});

describe('a result over 256 KB', () => {
	const large = 3_000_000;

	test('reaches the model shortened and with a note, even after a restart, and is stored whole', async () => {
		const id = await createSession();
		const { requests } = play(
			{ toolCalls: [{ id: 'l', name: 'long', input: { characters: large } }] },
			'Long.',
			'Still.',
		);
		const live = await allEvents(await send(id, 'go'));
		const sent = (at: number) => String(requests[at]?.messages.find(({ role }) => role === 'tool')?.content);
		expect(sent(1).length).toBeLessThanOrEqual(262_144);
		expect(sent(1)).toContain(`${large}`);
		await restart(id);
		await allEvents(await send(id, 'and now?'));
		expect(sent(2)).toBe(sent(1));
		const { messages } = await (await request(`/v1/sessions/${id}/messages`)).json<{ messages: Cut[] }>();
		const cut = messages.find(({ role }) => role === 'tool');
		expect(cut).toMatchObject({ isCut: true, content: sent(1) });
		const whole = await (await request(`/v1/sessions/${id}/messages/${cut?.id}`)).json<Cut>();
		expect(whole.content).toHaveLength(large);
		const result = live.find(({ type }) => type === 'tool_result');
		expect(result?.data.output).toHaveLength(large);
	});

	test('is shown whole to a reader after a restart', async () => {
		const id = await createSession();
		play({ toolCalls: [{ id: 'l', name: 'long', input: { characters: large } }] }, 'Long.');
		const live = await allEvents(await send(id, 'go'));
		await restart(id);
		expect(await allEvents(await follow(id))).toEqual(live);
	});

	test('cannot be read under an unknown message id (404) or an invalid id (400)', async () => {
		const id = await createSession();
		expect((await request(`/v1/sessions/${id}/messages/65536`)).status).toBe(404);
		expect((await request(`/v1/sessions/${id}/messages/first`)).status).toBe(400);
	});

	interface Cut {
		readonly id: string;
		readonly role: string;
		readonly content: string;
	}
});

test('a page of the history has limited bytes, and its cursors lead through the whole history', async () => {
	const id = await createSession();
	await runInDurableObject(readObject(id), (_, { storage }) => {
		for (let n = 1; n <= 40; n++) {
			const body = JSON.stringify({ message: { role: 'user', content: 'y'.repeat(400_000) } });
			storage.sql.exec(
				'INSERT INTO message (seq, part, run, stored, body, created_at) VALUES (?, 0, 1, 0, ?, 1)',
				n * 65_536,
				body,
			);
		}
	});
	let seen = 0;
	for (let cursor: string | undefined = '0', pages = 0; cursor !== undefined; pages++) {
		expect(pages).toBeLessThan(10);
		const response = await request(`/v1/sessions/${id}/messages?limit=500&cursor=${cursor}`);
		const text = await response.text();
		expect(text.length).toBeLessThan(5_000_000);
		const page: { messages: unknown[]; cursor?: string } = JSON.parse(text);
		seen += page.messages.length;
		cursor = page.cursor;
	}
	expect(seen).toBe(40);
});
