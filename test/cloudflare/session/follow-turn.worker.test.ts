import { expect, test } from 'vitest';
import { allEvents, createSession, readHistory, readText, request, restart, send } from '../../client.ts';
import { play } from '../../script.ts';

const follow = (id: string, from: string) => request(`/v1/sessions/${id}/events?from=${from}`);
const byHand = (id: string) => ({ toolCalls: [{ id, name: 'no_such_tool', input: {} }], text: `Turn ${id}.` });

test('begins with the turn of a message of the newest run, and ends with the run', async () => {
	const id = await createSession();
	play('Hello.', byHand('1'), byHand('2'), byHand('3'), 'Over.');
	await allEvents(await send(id, 'Hi'));
	await allEvents(await send(id, 'Work'));
	const turns = (await readHistory(id)).filter(({ role }) => role === 'assistant');
	const second = String(turns[2]?.id);
	for (const how of ['in memory', 'from the store']) {
		const events = await allEvents(await follow(id, second));
		expect(readText(events), how).toBe('Turn 2.Turn 3.Over.');
		expect(events.at(-1)?.type).toBe('done');
		await restart(id);
	}
});

test('begins with the start of the newest run if the message is of another run, or is no turn', async () => {
	const id = await createSession();
	play('Hello.', byHand('1'), 'Over.');
	await allEvents(await send(id, 'Hi'));
	await allEvents(await send(id, 'Work'));
	const history = await readHistory(id);
	for (const message of [history[1], history[2], { id: 99_999_999 }])
		expect((await allEvents(await follow(id, String(message?.id)))).at(0)?.type).toBe('run.started');
	expect((await follow(id, 'x')).status).toBe(400);
});
