import { expect, test } from 'vitest';
import { request } from '../../client.ts';
import { play } from '../../script.ts';

const talk = [
	{ role: 'user', content: 'My name is Ada.' },
	{ role: 'assistant', content: 'Hello, Ada.' },
];
const compact = (body: object, headers?: Record<string, string>) =>
	request('/v1/responses/compact', { model: 'scripted', input: talk, ...body }, headers);

test('a compaction is a summary by the agent, which stands for the conversation in a later request', async () => {
	const usage = { inputTokens: 10, outputTokens: 4 };
	const { requests } = play({ text: 'The user is named Ada.', usage }, 'Ada.');
	const response = await compact({ instructions: 'Be brief.', prompt_cache_key: 'k' });
	const { id, output, ...rest } = await response.json<{ id: string; output: object[] }>();
	expect(rest).toMatchObject({ object: 'response.compaction', usage: { input_tokens: 10, output_tokens: 4 } });
	expect(output).toEqual([
		{ id: expect.stringMatching(/^cmp_/), type: 'compaction', encrypted_content: 'The user is named Ada.' },
	]);
	expect(requests[0]?.messages.map(({ content }) => content)).toEqual([
		'Be brief.',
		'My name is Ada.',
		'Hello, Ada.',
		expect.stringContaining('summary'),
	]);
	await request('/v1/responses', { model: 'scripted', input: [...output, { role: 'user', content: 'Who am I?' }] });
	const asked = requests[1]?.messages.map(({ content }) => content).join();
	expect(asked).toMatch(/^Summary of the conversation so far:\n\nThe user is named Ada\.\n\nWho am I\?$/);
	expect((await request(`/v1/responses/${id}`)).status).toBe(404);
});

test('a repeated compaction with the same Idempotency-Key is made once', async () => {
	const { requests } = play('The user is named Ada.', 'Not this.');
	const headers = { 'idempotency-key': 'compact-once' };
	const first = await (await compact({}, headers)).json();
	const again = await compact({}, headers);
	expect([again.headers.get('idempotent-replayed'), await again.json()]).toEqual(['true', first]);
	expect(requests).toHaveLength(1);
});

test('a compaction without a summary fails with 406, and after a stored response there is none', async () => {
	play({ toolCalls: [{ id: 'p', name: 'pay', input: { amount: 3 } }] });
	expect((await compact({})).status).toBe(406);
	const after = await compact({ previous_response_id: 'resp_x' });
	expect([after.status, await after.json()]).toMatchObject([400, { error: { param: 'previous_response_id' } }]);
	expect((await request('/v1/responses/compact', { input: talk })).status).toBe(400);
});
