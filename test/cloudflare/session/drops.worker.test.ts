import { describe, expect, test } from 'vitest';
import {
	allEvents,
	createSession,
	follow,
	readHistory,
	readText,
	request,
	restart,
	send,
	type WireEvent,
} from '../../client.ts';
import { play } from '../../script.ts';
import { dropAfter, readHalf, readTo, readTurns } from './stage.ts';

const look = { text: 'I look. ', toolCalls: [{ id: 'a', name: 'echo', input: { text: 'hi' } }] };

/** The text that a reader sees, without restarted turns. */
const readShown = (events: readonly WireEvent[]) => readTurns(events).join('');

describe('a model stream that drops during an answer', () => {
	test('is requested again in the same run, and the history has one answer', async () => {
		const id = await createSession();
		const { requests } = play(look, dropAfter('Half', ' of'), 'Whole.');
		const events = await allEvents(await send(id, 'go'));
		expect(events.filter(({ type }) => type === 'turn.restarted').map(({ data }) => data.iteration)).toEqual([2]);
		expect(readShown(events)).toBe('I look. Whole.');
		expect(events.at(-1)).toMatchObject({ type: 'done', data: { text: 'Whole.' } });
		expect(requests).toHaveLength(3);
		expect((await readHistory(id)).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
	});

	test('is completed for a reader that continues after any event, live or from the store', async () => {
		const id = await createSession();
		play(look, dropAfter('Half', ' of'), dropAfter('Nearly'), 'Whole.');
		const live = await allEvents(await send(id, 'go'));
		for (const storedOnly of [false, true]) {
			if (storedOnly) await restart(id);
			for (const [at, event] of live.entries()) {
				if (event.id === undefined) continue;
				const rest = await allEvents(await follow(id, event.id));
				const whole = [...live.slice(0, at + 1), ...rest];
				expect(readShown(whole), `behind ${event.id}`).toBe('I look. Whole.');
				expect(rest.filter(({ type }) => type === 'done')).toHaveLength(at === live.length - 1 ? 0 : 1);
			}
		}
		const late = await allEvents(await follow(id));
		expect(late.filter(({ type }) => type === 'turn.restarted')).toHaveLength(2);
		expect(readText(late)).toBe('I look. Whole.');
	});

	test('is completed after a crash for the readers of both attempts', async () => {
		const id = await createSession();
		const followed = Promise.withResolvers<string>();
		play(look, dropAfter('Half', ' of'), readHalf('Stal'), () => followed.promise);
		const first = await readTo(await send(id, 'go'), { text: 'Stal' });
		await restart(id);
		const responses = await Promise.all(first.map(({ id: last }) => follow(id, last)));
		followed.resolve('Whole.');
		for (const [at, response] of responses.entries()) {
			const whole = [...first.slice(0, at + 1), ...(await allEvents(response))];
			expect(readShown(whole), `behind ${first[at]?.id}`).toBe('I look. Whole.');
			expect(whole.at(-1)?.type).toBe('done');
		}
		await restart(id);
		expect(readShown(await allEvents(await follow(id)))).toBe('I look. Whole.');
	});

	test('ends the run as interrupted after the last attempt, and the run keeps its last text', async () => {
		const id = await createSession();
		play(dropAfter('One'), dropAfter('Two'), dropAfter('Three'));
		const live = await allEvents(await send(id, 'go'));
		expect(live.at(-1)).toMatchObject({ type: 'error', data: { code: 'interrupted' } });
		expect(readShown(live)).toBe('Three');
		await restart(id);
		const stored = await allEvents(await follow(id));
		expect(readShown(stored)).toBe('Three');
		expect(stored.filter(({ type }) => type === 'turn.restarted')).toHaveLength(2);
		for (const [at, event] of live.entries()) {
			const rest = await allEvents(await follow(id, event.id));
			expect(readShown([...live.slice(0, at + 1), ...rest])).toBe('Three');
		}
		play('Whole.');
		await request(`/v1/sessions/${id}/continue`, {});
		expect((await readHistory(id)).at(-1)).toMatchObject({ role: 'assistant', content: 'Whole.' });
	});
});
