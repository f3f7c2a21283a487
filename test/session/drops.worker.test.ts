import { describe, expect, test } from 'vitest';
import {
	allEvents,
	createSession,
	eventsOf,
	follow,
	historyOf,
	request,
	restart,
	send,
	textOf,
	type WireEvent,
} from '../client.ts';
import { play } from '../script.ts';

type Take = (delta: { type: string; text: string }) => unknown;

/** A stream that shows these pieces and then drops. */
const drop =
	(...pieces: readonly string[]) =>
	async (_: unknown, onDelta: Take) => {
		for (const text of pieces) await onDelta({ type: 'text', text });
		return undefined;
	};
/** A stream that shows a piece and then stands still. */
const stall = async (_: unknown, onDelta: Take) => {
	await onDelta({ type: 'text', text: 'Stal' });
	return new Promise<never>(() => {});
};
const look = { text: 'I look. ', toolCalls: [{ id: 'a', name: 'echo', input: { text: 'hi' } }] };

/** The events behind the newest restart of each turn: what a reader has in front of it. */
function kept(events: readonly WireEvent[]): WireEvent[] {
	const out: WireEvent[] = [];
	let turnAt = 0;
	for (const event of events) {
		if (event.type === 'turn.restarted') out.length = turnAt;
		else out.push(event);
		if (event.type === 'step') turnAt = out.length;
	}
	return out;
}

describe('a model stream that drops in the middle of an answer', () => {
	test('is asked again in the same run, and the history has the answer once', async () => {
		const id = await createSession();
		const { requests } = play(look, drop('Half', ' of'), 'Whole.');
		const events = await allEvents(await send(id, 'go'));
		expect(events.filter(({ type }) => type === 'turn.restarted').map(({ data }) => data.iteration)).toEqual([2]);
		expect(textOf(kept(events))).toBe('I look. Whole.');
		expect(events.at(-1)).toMatchObject({ type: 'done', data: { text: 'Whole.' } });
		expect(requests).toHaveLength(3);
		expect((await historyOf(id)).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
	});

	test('is told to a reader that comes back behind any event, live and from the store', async () => {
		const id = await createSession();
		play(look, drop('Half', ' of'), drop('Nearly'), 'Whole.');
		const live = await allEvents(await send(id, 'go'));
		for (const storedOnly of [false, true]) {
			if (storedOnly) await restart(id);
			for (const [at, event] of live.entries()) {
				if (event.id === undefined) continue;
				const rest = await allEvents(await follow(id, event.id));
				const whole = [...live.slice(0, at + 1), ...rest];
				expect(textOf(kept(whole)), `behind ${event.id}`).toBe('I look. Whole.');
				expect(rest.filter(({ type }) => type === 'done')).toHaveLength(at === live.length - 1 ? 0 : 1);
			}
		}
		const late = await allEvents(await follow(id));
		expect(late.filter(({ type }) => type === 'turn.restarted')).toHaveLength(2);
		expect(textOf(late)).toBe('I look. Whole.');
	});

	test('and whose object then dies is told once more, to readers of both lives', async () => {
		const id = await createSession();
		const followed = Promise.withResolvers<string>();
		play(look, drop('Half', ' of'), stall, () => followed.promise);
		const first: WireEvent[] = [];
		for await (const event of eventsOf(await send(id, 'go'))) {
			first.push(event);
			if (event.data.text === 'Stal') break;
		}
		await restart(id);
		const responses = await Promise.all(first.map(({ id: last }) => follow(id, last)));
		followed.resolve('Whole.');
		for (const [at, response] of responses.entries()) {
			const whole = [...first.slice(0, at + 1), ...(await allEvents(response))];
			expect(textOf(kept(whole)), `behind ${first[at]?.id}`).toBe('I look. Whole.');
			expect(whole.at(-1)?.type).toBe('done');
		}
		await restart(id);
		expect(textOf(kept(await allEvents(await follow(id))))).toBe('I look. Whole.');
	});

	test('for the last time ends the run as interrupted: what was shown last stays, and it can be continued', async () => {
		const id = await createSession();
		play(drop('One'), drop('Two'), drop('Three'));
		const live = await allEvents(await send(id, 'go'));
		expect(live.at(-1)).toMatchObject({ type: 'error', data: { code: 'interrupted' } });
		expect(textOf(kept(live))).toBe('Three');
		await restart(id);
		const stored = await allEvents(await follow(id));
		expect(textOf(kept(stored))).toBe('Three');
		expect(stored.filter(({ type }) => type === 'turn.restarted')).toHaveLength(2);
		for (const [at, event] of live.entries()) {
			const rest = await allEvents(await follow(id, event.id));
			expect(textOf(kept([...live.slice(0, at + 1), ...rest]))).toBe('Three');
		}
		play('Whole.');
		await request(`/v1/sessions/${id}/continue`, {});
		expect((await historyOf(id)).at(-1)).toMatchObject({ role: 'assistant', content: 'Whole.' });
	});
});
