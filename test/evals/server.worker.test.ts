import { SELF } from 'cloudflare:test';
import { expect, test } from 'vitest';
import type { Agent } from '../../src/cloudflare/agent/define.ts';
import { play as playCase } from '../../src/evals/conversation.ts';
import type { EvalCase } from '../../src/evals/define.ts';
import { openAtServer } from '../../src/evals/server.ts';
import { callTool } from '../../src/testing/index.ts';
import { request } from '../client.ts';
import { play } from '../script.ts';
import { runtime } from '../worker.ts';

const ask: typeof fetch = (input, init) => SELF.fetch(new Request(input, init));

function find(name: string): Agent {
	const agent = runtime.agents.find((one) => one.name === name);
	if (agent === undefined) throw new Error(`There is no agent ${name}.`);
	return agent;
}

/** Opens a session of an agent of the Worker under test, and plays a case in it. */
async function run(agent: string, one: EvalCase, { keep = false, model }: { keep?: boolean; model?: string } = {}) {
	const server = { url: 'http://localhost', fetch: ask, keep };
	const signal = new AbortController().signal;
	const conversation = await openAtServer({ agent: find(agent), cases: [] }, one, { server, model, signal });
	const failure = await playCase(conversation, one).catch((error: Error) => error.message);
	const observed = await conversation.read();
	await conversation.close();
	return { ...observed, failure };
}

const count = async (agent: string) => {
	const listed = await request(`/v1/sessions?agent=${agent}&limit=100`);
	return (await listed.json<{ sessions: unknown[] }>()).sessions.length;
};

const usage = { inputTokens: 100, outputTokens: 50, totalTokens: 150, costUsd: 0.15 };

test('tokens and dollars are those of the ledger, with the children, and the session is deleted', async () => {
	const before = await count('editor');
	play({ ...callTool('writer', { task: 'Write.' }), usage }, { text: 'Written.', usage }, { text: 'Edited.', usage });
	const { status, tokens, costUsd, messages, failure } = await run('editor', { input: 'Have it written.' });
	expect([failure, status, messages.at(-1)?.content]).toEqual([undefined, 'completed', 'Edited.']);
	expect(tokens).toBe(450);
	expect(costUsd).toBeCloseTo(0.45);
	expect(await count('editor')).toBe(before);
});

test('a decision reaches the call of a child, as in memory', async () => {
	play(
		{ ...callTool('writer', { task: 'Pay.' }), usage },
		{ ...callTool('pay', { amount: 5 }), usage },
		{ text: 'Paid.', usage },
		{ text: 'It is paid.', usage },
	);
	const { failure, messages } = await run('editor', { input: ['Pay 5.', { approve: 'pay' }] });
	expect([failure, messages.at(-1)?.content]).toEqual([undefined, 'It is paid.']);
});

test('results, denials and answers to questions continue the run', async () => {
	play(callTool('by_hand'), callTool('ask', { question: 'Which one?' }), 'All done.');
	const { failure, messages } = await run('scripted', {
		input: ['Go.', { result: 'by_hand', output: 'made' }, 'The blue one.'],
	});
	expect(failure).toBeUndefined();
	expect(messages.map(({ content }) => content)).toEqual(expect.arrayContaining(['made', 'All done.']));
	expect(messages.at(-1)?.content).toBe('All done.');
});

test('a model without a price is named, and there is no cost', async () => {
	play({ text: 'Hi.', usage: { inputTokens: 10, outputTokens: 1 } });
	const { costUsd, unpriced } = await run('scripted', { input: 'Hi' }, { model: 'scripted-unpriced' });
	expect([costUsd, unpriced]).toEqual([undefined, 'scripted-unpriced']);
});

test('a run that fails rejects with its error', async () => {
	play(Object.assign(new Error('Refused.'), { status: 400 }));
	const { failure, status } = await run('scripted', { input: 'Hi' });
	expect([failure, status]).toEqual([expect.stringMatching(/./), 'error']);
});
