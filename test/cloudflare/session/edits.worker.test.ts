import { SELF } from 'cloudflare:test';
import { afterEach, expect, test } from 'vitest';
import { createClient } from '../../../src/client/index.ts';
import type { CrashPointName } from '../../../src/cloudflare/agent/runtime.ts';
import {
	allEvents,
	createSession,
	readHistory,
	readState,
	readStatusUnlessDead,
	request,
	restart,
	send,
} from '../../client.ts';
import { atCrashPoint, die } from '../../crash.ts';
import { play } from '../../script.ts';

afterEach(() => atCrashPoint());

const pay = (id: string, amount = 5) => ({ id, name: 'pay', input: { amount } });

/** A session that waits for the approval of these calls. */
async function waiting(...calls: readonly { id: string; name: string; input: object }[]): Promise<string> {
	const id = await createSession();
	play({ toolCalls: calls });
	await allEvents(await send(id, 'go'));
	return id;
}

const decide = (id: string, ...answers: readonly object[]) => request(`/v1/sessions/${id}/tool-results`, answers);
const findResults = async (id: string) => (await readHistory(id)).filter(({ role }) => role === 'tool');

test('refuses a message to a session that waits for an approval, and names the call', async () => {
	const id = await waiting(pay('a'));
	const refused = await request(`/v1/sessions/${id}/messages`, { text: 'Hi', whenBusy: 'reject' });
	expect(await refused.json()).toMatchObject({
		error: { code: 'conflict', message: expect.stringMatching(/POST messages .* the approval of "a"\.$/) },
	});
});

test('an approved call runs with the arguments that the person changed, and the model gets them', async () => {
	const id = await waiting(pay('a'));
	const { requests } = play('Paid.');
	const done = await decide(id, { id: 'a', approve: true, input: { amount: 3 } });
	expect(await done.json()).toMatchObject({ status: 'completed', text: 'Paid.' });
	expect(requests[0]?.messages.at(-1)).toMatchObject({
		toolCallId: 'a',
		content: 'A person changed the arguments, and the call ran with {"amount":3}. Its result:\npaid 3',
	});
	const [, asked, result] = await readHistory(id);
	expect(asked).toMatchObject({ toolCalls: [{ id: 'a', input: { amount: 5 } }] });
	expect(result).toMatchObject({ toolCallId: 'a', content: 'paid 3', ranWith: { amount: 3 } });
	const events = await allEvents(await request(`/v1/sessions/${id}/events`));
	expect(events.map(({ data }) => data)).toContainEqual(
		expect.objectContaining({ type: 'tool_result', output: 'paid 3', ranWith: { amount: 3 } }),
	);
});

test.each<[what: string, input: unknown, field: string]>([
	['a wrong value', { amount: 'much' }, 'input.amount'],
	['a missing value', {}, 'input.amount'],
	['a list instead of an object', [3], '0.input'],
	['more than 100,000 characters', { amount: 3, note: 'x'.repeat(100_000) }, '0.input'],
])('an approval with %s changes nothing, and the error names the field', async (_, input, field) => {
	const id = await waiting(pay('a'), pay('b'));
	const refused = await decide(id, { id: 'b', approve: true }, { id: 'a', approve: true, input });
	expect(refused.status).toBe(400);
	const { error } = await refused.json<{ error: { message: string; data: { field: string } } }>();
	expect(error.message.replace('1.input', '0.input')).toContain(`${field}: `);
	expect(error.data.field.replace('1.input', '0.input')).toBe(field);
	expect(await readState(id)).toMatchObject({ toolCalls: [{ id: 'a' }, { id: 'b' }] });
	play('Paid.');
	await decide(id, { id: 'b', approve: true }, { id: 'a', approve: true });
	expect((await findResults(id)).map(({ content }) => content)).toEqual(['paid 5', 'paid 5']);
});

test('refuses changed arguments in a denial, beside a result and for an answered call', async () => {
	const id = await waiting(pay('a'), { id: 'm', name: 'by_hand', input: {} });
	const input = { amount: 1 };
	for (const answer of [
		{ id: 'a', approve: false, input },
		{ id: 'm', approve: true, input },
		{ id: 'm', output: 1, input },
	])
		expect((await decide(id, answer)).status, JSON.stringify(answer)).toBe(400);
	await decide(id, { id: 'a', approve: false });
	expect((await decide(id, { id: 'a', approve: true, input })).status).toBe(409);
	expect((await readState(id)).status).toBe('awaiting_tools');
});

test('keeps changed arguments until the last call is answered, even across a crash', async () => {
	const id = await waiting(pay('a'), pay('b'));
	const body = [{ id: 'a', approve: true, input: { amount: 3 } }];
	const post = () =>
		SELF.fetch(`http://localhost/v1/sessions/${id}/tool-results`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', 'idempotency-key': 'once' },
			body: JSON.stringify(body),
		});
	expect((await post()).status).toBe(200);
	await restart(id);
	expect((await post()).status).toBe(200);
	play('Paid.');
	await decide(id, { id: 'b', approve: true });
	expect(await findResults(id)).toMatchObject([{ content: 'paid 3', ranWith: { amount: 3 } }, { content: 'paid 5' }]);
});

const once = (key: string) => ({ id: 'o', name: 'once', input: { key, hangs: false } });

test.each<[point: CrashPointName, runs: string]>([
	['tool-begin', 'the model reads that the outcome is not known'],
	['tool-end', 'the run continues after the result of the call'],
])('after an approval with changed arguments and a crash at %s, %s', async (point) => {
	const id = await waiting(once(`asks-${point}`));
	const { requests } = play('Done.', 'Done.');
	let deaths = 0;
	atCrashPoint((at, { session }) =>
		at === point && session === id && deaths++ === 0 ? die(id, { isDurable: true }) : undefined,
	);
	const input = { key: `edited-${point}`, hangs: false };
	await decide(id, { id: 'o', approve: true, input }).catch(() => {});
	await expect.poll(() => readStatusUnlessDead(id)).toBe('completed');
	expect(deaths).toBe(1);
	const [result, ...others] = await findResults(id);
	expect(others).toEqual([]);
	expect(result).toMatchObject({ toolCallId: 'o', ranWith: input, isError: point === 'tool-begin' });
	expect(JSON.stringify(requests.at(-1)?.messages.at(-1))).toContain(`edited-${point}`);
});

test('runlet/client can approve a call with changed arguments', async () => {
	const id = await waiting(pay('a'));
	const client = createClient('http://localhost', { fetch: (given, init) => SELF.fetch(new Request(given, init)) });
	play('Paid.');
	for await (const _ of client.submitResults(id, [{ id: 'a', approve: true, input: { amount: 2 } }])) {
	}
	expect(await findResults(id)).toMatchObject([{ content: 'paid 2' }]);
});

test('refuses arguments that are nested too deep', async () => {
	const id = await waiting(pay('a'));
	const input = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
	const response = await SELF.fetch(`http://localhost/v1/sessions/${id}/tool-results`, {
		method: 'POST',
		headers: { 'content-type': 'application/json' },
		body: `[{"id":"a","approve":true,"input":${input}}]`,
	});
	expect(response.status).toBe(400);
});
