import { expect, test } from 'vitest';
import { play as playCase } from '../../src/evals/conversation.ts';
import type { EvalCase } from '../../src/evals/define.ts';
import { openInMemory } from '../../src/evals/memory.ts';
import { toCase } from '../../src/evals/recording.ts';
import { callTool, callTools, readRecording } from '../../src/testing/index.ts';
import { request } from '../client.ts';
import { play } from '../script.ts';
import { record } from '../testing/record.ts';
import { createShop } from '../testing/shop.ts';

const say = async (id: string, text: string) => (await request(`/v1/sessions/${id}/messages`, { text })).json();
const decide = async (id: string, answers: object) =>
	(await request(`/v1/sessions/${id}/tool-results`, answers)).json();

/** What the model answers, turn by turn. */
const script = () => [
	callTools(['find_order', { id: 'A-1' }], ['find_order', { id: 'none' }]),
	'Sent.',
	{ toolCalls: [{ id: 'r', name: 'refund', input: { id: 'A-1', euros: 80 } }] },
	'Refunded.',
	{ toolCalls: [{ id: 's', name: 'refund', input: { id: 'A-2', euros: 90 } }] },
	'Not refunded.',
	callTool('ask_color'),
	'Red it is.',
];

/** Records a session with lookups, an edited and a denied approval, and a question. */
async function recordVisit() {
	const made = await request('/v1/sessions', { agent: 'replayed-shop', user: 'ada', metadata: { shop: 'Books' } });
	const { id } = await made.json<{ id: string }>();
	play(...script());
	await say(id, 'Where is A-1?');
	await say(id, 'Give me 80 euros back.');
	await decide(id, [{ id: 'r', approve: true, input: { id: 'A-1', euros: 60 } }]);
	await say(id, 'And A-2.');
	await decide(id, [{ id: 's', approve: false, reason: 'too much' }]);
	await say(id, 'A bag, please.');
	await say(id, 'red');
	return readRecording(await record(id));
}

const shop = () => {
	const agent = createShop().find(({ name }) => name === 'replayed-shop');
	if (agent === undefined) throw new Error('There is no shop.');
	return agent;
};

/** Plays a case in memory, and returns what can be read of it. */
async function run(one: EvalCase, turns = script()) {
	const conversation = openInMemory({ agent: shop(), cases: [], script: turns }, one, {
		...{ model: 'scripted', defaultModel: 'scripted', providers: [], env: {}, signal: new AbortController().signal },
	});
	await playCase(conversation, one);
	return conversation.read();
}

test('a recording becomes a case with the messages, decisions and answers of people', async () => {
	expect(toCase(await recordVisit(), 'live')).toEqual({
		input: [
			'Where is A-1?',
			'Give me 80 euros back.',
			{ approve: 'refund', input: { id: 'A-1', euros: 60 } },
			'And A-2.',
			{ deny: 'refund', reason: 'too much' },
			'A bag, please.',
			'red',
		],
		expected: 'Red it is.',
		user: 'ada',
		metadata: { shop: 'Books' },
	});
});

test.each(['live', 'recorded'] as const)('a case of a recording plays in memory with %s tools', async (tools) => {
	const recording = await recordVisit();
	const { status, messages } = await run(toCase(recording, tools));
	expect(status).toBe('completed');
	const show = (list: readonly { readonly role: string; readonly content: unknown }[]) =>
		list.map(({ role, content }) => [role, content]);
	expect(show(messages)).toEqual(show(recording.messages));
});

test('a call without a recorded result does not run, and the model is told so', async () => {
	const one = toCase(await recordVisit(), 'recorded');
	const { messages } = await run({ ...one, input: 'Where is A-3?' }, [callTool('find_order', { id: 'A-3' }), 'Sorry.']);
	expect(messages).toContainEqual(
		expect.objectContaining({ isError: true, content: expect.stringContaining('The recording has no result') }),
	);
});

test('a recorded result is given as often as it was recorded', async () => {
	const one = toCase(await recordVisit(), 'recorded');
	const again = callTools(['find_order', { id: 'A-1' }], ['find_order', { id: 'A-1' }]);
	const { messages } = await run({ ...one, input: 'Where is A-1?' }, [again, 'Sent.']);
	expect(messages.flatMap((message) => (message.role === 'tool' ? [message.isError === true] : []))).toEqual([
		false,
		true,
	]);
});
