import { expect, test } from 'vitest';
import { defineAgent } from '../../src/cloudflare/agent/define.ts';
import type { Conversation } from '../../src/evals/conversation.ts';
import { runTrial } from '../../src/evals/trial.ts';

const agent = defineAgent({ name: 'desk', description: 'Answers.' });

/** Runs a trial whose session reads its messages with `read`. */
async function run(read: Conversation['read'], timeoutMs: number) {
	let closed = 0;
	const conversation: Conversation = {
		model: 'scripted',
		send: async () => {},
		submit: async () => {},
		listPending: () => [],
		read,
		close: async () => {
			closed++;
		},
	};
	const job = { one: { name: 'one', input: 'Hello.' }, model: 'scripted', trial: 1 };
	const bench = { definition: { agent, cases: [] }, providers: [], purses: new Map(), open: () => conversation };
	const { error } = await runTrial(job, bench, timeoutMs);
	return { error, closed };
}

test('a session that cannot be read is deleted, too', async () => {
	expect(await run(() => Promise.reject(new Error('no JSON')), 5_000)).toEqual({ error: 'no JSON', closed: 1 });
});

test('a server that does not answer any more ends a trial at its time limit', async () => {
	const { error, closed } = await run(() => new Promise(() => {}), 50);
	expect([error, closed]).toEqual(['It took longer than 50 ms.', 1]);
});
