import { expect, test } from 'vitest';
import { allEvents, createSession, readHistory, readState, request, send } from '../../client.ts';
import { play } from '../../script.ts';

const calls = (count: number) =>
	Array.from({ length: count }, (_, n) => ({ id: `c${n}`, name: 'echo', input: { text: `${n}` } }));

test('runs only the first 200 of 2,000 tool calls in a turn, and completes the run', async () => {
	const id = await createSession();
	play({ toolCalls: calls(2_000) }, 'done');
	const events = await allEvents(await send(id, 'go'));
	const results = events.filter(({ type }) => type === 'tool_result');
	expect(results.filter(({ data }) => data.isError === false)).toHaveLength(200);
	expect(results).toHaveLength(2_000);
	expect(events.at(-1)?.type).toBe('done');
});

test('ends a run with an endless reply as reply_too_large, and the session continues', async () => {
	const id = await createSession();
	const piece = 'x'.repeat(1_000_000);
	play(async ({ options }, onDelta) => {
		for (let n = 0; n < 400 && options?.signal?.aborted === false; n++) await onDelta({ type: 'text', text: piece });
		return undefined;
	}, 'Well.');
	const events = await allEvents(await send(id, 'go'));
	expect(events.at(-1)).toMatchObject({ type: 'error', data: { code: 'reply_too_large' } });
	expect((await readState(id)).status).toBe('error');
	await request(`/v1/sessions/${id}/messages`, { text: 'again' });
	expect((await readHistory(id)).at(-1)).toMatchObject({ role: 'assistant', content: 'Well.' });
});
