import { describe, expect, test } from 'vitest';
import { allEvents, createSession, follow, request, restart, send } from '../../client.ts';
import { play } from '../../script.ts';

const say = async (id: string, text: string) => {
	const response = await request(`/v1/sessions/${id}/messages`, { text });
	return { status: response.status, ...(await response.json<Record<string, unknown>>()) };
};

describe.each([
	['structured', 'Oslo'],
	['transformed', 'OSLO'],
])('the answer of an agent with an outputSchema (%s)', (agent, city) => {
	test('is the output in the response and in the last event, live, replayed and after a restart', async () => {
		const id = await createSession(agent);
		play('```json\n{"city":"Oslo"}\n```', '{"city": "Oslo"}');
		expect(await say(id, 'Where?')).toMatchObject({ status: 'completed', output: { city } });
		const live = await allEvents(await send(id, 'And now?'));
		expect(live.at(-1)).toMatchObject({ type: 'done', data: { text: '{"city": "Oslo"}', output: { city } } });
		expect((await allEvents(await follow(id))).at(-1)).toEqual(live.at(-1));
		await restart(id);
		expect((await allEvents(await follow(id))).at(-1)).toEqual(live.at(-1));
	});

	test('is requested again at most twice in the same run if it is invalid', async () => {
		const id = await createSession(agent);
		const { requests } = play('Oslo!', '{"city":1}', '{"city":"Oslo"}', 'a', 'b', 'c');
		expect(await say(id, 'Where?')).toMatchObject({ output: { city } });
		expect(requests).toHaveLength(3);
		expect(await say(id, 'And now?')).toMatchObject({ status: 502, error: { code: 'invalid_output' } });
	});

	test('has no extra limit on its length if its schema does not transform the output', async () => {
		const id = await createSession(agent);
		const long = JSON.stringify({ city: 'a'.repeat(2_500_000) });
		play(long);
		const last = (await allEvents(await send(id, 'Where?'))).at(-1);
		if (agent === 'transformed') expect(last).toMatchObject({ type: 'error', data: { code: 'invalid_output' } });
		else expect(last?.data.output).toEqual(JSON.parse(long));
		expect((await allEvents(await follow(id))).at(-1)).toEqual(last);
	});
});

test('a run without an outputSchema has no output, even if its answer is JSON', async () => {
	const id = await createSession();
	play('{"city":"Oslo"}');
	expect(await say(id, 'Where?')).not.toHaveProperty('output');
});
