/** A child’s call is decided with its exact arguments, at any length (docs/people.md). */
import { beforeEach, describe, expect, test } from 'vitest';
import { restart } from '../../client.ts';
import { happened } from './agents.ts';
import {
	ada,
	answer,
	approve,
	ask,
	begin,
	call,
	complete,
	create,
	decide,
	findChild,
	findLink,
	findOpen,
	keys,
	kim,
	lea,
	look,
	makeLinks,
	makeToken,
	openMcp,
	payment,
	postPage,
	read,
	readResults,
	requests,
	say,
	waitFor,
} from './stage.ts';

beforeEach(begin);

const note = (length: number, sign = 'x') => sign.repeat(length / sign.length);

/** Makes a child, or a grandchild, ask for a payment with a long note. */
const levels: Readonly<Record<string, (text: string) => string>> = {
	'a child': (text) => call('hand', { task: text }),
	'a child without a policy': (text) => call('loose', { task: text }),
	'a grandchild': (text) => call('mid', { task: call('hand', { task: text }) }),
};

/** Notes whose JSON exceeds the limit of a decision. */
const tooLong: Readonly<Record<string, string>> = {
	'100,000 characters': note(100_000),
	'slightly too many characters': note(90_000),
	'300,000 characters': note(300_000),
	'50,000 quotation marks, which are two characters of JSON each': note(50_000, '"'),
	'a long harmless article': note(120_000, 'It was a dark and stormy night. '),
};

/** All attempts to approve with a token that may read and write. */
const attempts: Readonly<Record<string, (token: string, id: string) => Promise<Response>>> = {
	'a message': (token, id) => say(token, id, 'approve'),
	'an answer': (token, id) => answer(token, id, 'approve'),
	'a message on a page': (token, id) => postPage(token, id, 'approve'),
	'a message with arguments': (token, id) => say(token, id, 'approve {"amount":1}'),
	'an answer with arguments': (token, id) => answer(token, id, 'approve {"amount":1}'),
	'a patient message': (token, id) => say(token, id, 'Approve ', { whenBusy: 'steer' }),
	'a result': async (token, id) => decide(token, id, await findOpen(id), { output: 'approve' }),
	'a decision': async (token, id) => decide(token, id, await findOpen(id)),
};

describe.each(Object.entries(levels))('%s', (_, give) => {
	test.each(Object.entries(tooLong))(
		'whose call has %s gets an error, and nobody is asked for a decision',
		async (_, text) => {
			const { id, status } = await create(ada, { text: `${give(payment(80, text))}\n${call('who')}` });
			expect(status).toBe('completed');
			expect(happened.paid).toEqual([]);
			expect(happened.asked).toEqual([]);
			const told = requests().filter(({ messages }) =>
				JSON.stringify(messages.at(-1)).includes('too long for a person'),
			);
			expect(told).toHaveLength(1);
			expect(await readResults(id)).toEqual([expect.anything(), expect.objectContaining({ user: 'ada' })]);
		},
	);

	test('with a call of 100,000 characters gets no approval from a person who can only read and write', async () => {
		const { id } = await create(keys.shop, { user: 'ada' });
		const { token } = await makeToken(keys.shop, id);
		const running = say(token, id, give(payment(80, note(100_000))));
		const sent = [say(token, id, 'approve'), say(token, id, 'approve', { whenBusy: 'steer' })];
		await running;
		for (const one of sent) await (await one).text();
		for (const [, tryOut] of Object.entries(attempts)) await (await tryOut(token, id)).text();
		await restart(id);
		await say(token, id, 'approve');
		expect(happened.paid).toEqual([]);
	});

	test.each([1_000, 50_000, 85_000])(
		'with a call of %i characters waits, and an approval runs the call with exactly these arguments',
		async (length) => {
			const { id } = await create(keys.shop, { user: 'ada' });
			const { token } = await makeToken(keys.shop, id);
			await say(token, id, give(payment(80, note(length))));
			await restart(id);
			expect(await look(kim, id)).toMatchObject({
				status: 'awaiting_user',
				question: {
					options: { kind: 'approval', call: { name: 'disburse', input: { amount: 80, note: note(length) } } },
				},
			});
			for (const [how, tryOut] of Object.entries(attempts)) {
				const refused = await tryOut(token, id);
				expect([how, refused.status >= 400 || (await refused.text()).includes('This needs a token')]).toEqual([
					how,
					true,
				]);
			}
			expect(happened.asked).toEqual([]);
			expect((await approve(ada, id)).status).toBe(403);
			expect((await approve(kim, id)).status).toBe(200);
			expect(happened.paid).toMatchObject([{ amount: 80, noteLength: length, owner: 'shop', user: 'ada' }]);
		},
	);

	test('with a call of 50,000 characters waits for another person, because the policy checks the call', async () => {
		const { id } = await create(kim, { user: 'ada', text: give(payment(80, note(50_000))) });
		const callId = await findOpen(id);
		expect((await decide(keys.ofKim, id, callId)).status).toBe(403);
		expect((await answer(kim, id, 'approve')).status).toBe(403);
		expect(happened.asked.map(({ input }) => input)).toEqual([
			{ amount: 80, note: note(50_000) },
			{ amount: 80, note: note(50_000) },
		]);
		expect(happened.paid).toEqual([]);
		expect((await answer(lea, id, 'approve')).status).toBe(200);
		expect(happened.paid).toMatchObject([{ noteLength: 50_000 }]);
	});

	test('whose call has 50,000 characters gets the reason of a denial', async () => {
		const { id } = await create(ada, { text: give(payment(80, note(50_000))) });
		expect((await approve(kim, id, { approve: false, reason: 'Too much.' })).status).toBe(200);
		expect(happened.paid).toEqual([]);
		expect(requests().some(({ messages }) => JSON.stringify(messages.at(-1)).includes('Too much.'))).toBe(true);
	});
});

test('a child’s call of 50,000 characters runs with changed arguments of the same length', async () => {
	const { id } = await create(ada, { text: call('hand', { task: payment(80, note(50_000)) }) });
	expect((await approve(kim, id, { approve: true, input: { amount: 70, note: note(49_000) } })).status).toBe(200);
	expect(happened.paid).toMatchObject([{ amount: 70, noteLength: 49_000 }]);
});

test('refuses a decision whose arguments are too long, and the call still waits', async () => {
	const { id } = await create(ada, { text: call('hand', { task: payment(80, note(50_000)) }) });
	expect((await approve(kim, id, { approve: true, input: { amount: 70, note: note(100_001) } })).status).toBe(400);
	expect((await answer(kim, id, `approve ${JSON.stringify({ note: note(100_001) })}`)).status).toBe(400);
	expect(happened.paid).toEqual([]);
	expect((await look(kim, id)).status).toBe('awaiting_user');
});

test('after a decision with an invalid argument, the call still waits for a person who is allowed to decide', async () => {
	const { id } = await create(kim, { user: 'ada', text: call('hand', { task: payment(80, note(50_000)) }) });
	await approve(lea, id, { approve: true, input: { amount: 'much' } });
	await waitFor(id, 'awaiting_user');
	expect(happened.paid).toEqual([]);
	for (const tryOut of Object.values(attempts)) await (await tryOut(kim as never, id)).text();
	expect(happened.paid).toEqual([]);
	expect((await approve(lea, id)).status).toBe(200);
	expect(happened.paid).toMatchObject([{ amount: 80, noteLength: 50_000 }]);
});

test.each([50_000, 120_000, 250_000])(
	'a background child’s call of %i characters is decided at the child, with exactly these arguments',
	async (length) => {
		const { id } = await create(kim, { user: 'ada', text: call('errand', { task: payment(80, note(length)) }) });
		const child = await findChild(id);
		await waitFor(child, 'awaiting_tools');
		await restart(child);
		const callId = await findOpen(child);
		for (const who of [kim, keys.ofKim]) expect((await decide(who, child, callId)).status).toBe(403);
		expect((await say(ada, child, 'approve')).status).toBeGreaterThanOrEqual(400);
		expect((await decide(ada, child, callId)).status).toBe(403);
		expect(happened.paid).toEqual([]);
		expect((await decide(lea, child, callId)).status).toBe(200);
		expect(happened.paid).toMatchObject([{ noteLength: length }]);
	},
);

test.each([50_000, 250_000])('a message cannot approve the session’s own call of %i characters', async (length) => {
	const { id } = await create(keys.shop, { user: 'ada' });
	const { token } = await makeToken(keys.shop, id);
	await say(token, id, payment(80, note(length)));
	for (const tryOut of Object.values(attempts)) await (await tryOut(token, id)).text();
	expect(happened.paid).toEqual([]);
	expect((await approve(kim, id)).status).toBe(200);
	expect(happened.paid).toMatchObject([{ noteLength: length }]);
});

test('refuses a link for arguments that are too long for the page of the link', async () => {
	const { id } = await create(ada, { text: call('hand', { task: payment(80, note(50_000)) }) });
	expect((await makeLinks(kim, id)).status).toBe(413);
	const short = await create(ada, { text: call('hand', { task: payment(80, note(15_000)) }) });
	expect(await (await ask(undefined, await findLink(kim, short.id))).text()).toContain(note(15_000));
});

test('the inbox marks a call of 50,000 characters as cut', async () => {
	const { id } = await create(ada, { text: call('hand', { task: payment(80, note(50_000)) }) });
	const { approvals } = await read<{ approvals: { sessionId: string }[] }>(kim, '/v1/approvals?user=ada&limit=100');
	expect(approvals.find(({ sessionId }) => sessionId === id)).toMatchObject({
		kind: 'question',
		isCut: true,
		user: 'ada',
	});
});

test.each(['2025-11-25', '2026-07-28'] as const)(
	'an MCP client of revision %s cannot approve a long call of a child by a text',
	async (revision) => {
		const { id } = await create(kim, { user: 'ada', text: call('loose', { task: payment(80, note(50_000)) }) });
		const client = await openMcp(keys.ofBoss, `/mcp/till?session=${id}`, { revision });
		for (const text of ['approve', ' Approve ', 'approve {"amount":1}'])
			await client.callTool({ name: 'ask', arguments: { text } }).catch(() => {});
		expect(happened.paid).toEqual([]);
		expect((await look(kim, id)).status).toBe('awaiting_user');
	},
);

test('a text in chat completions cannot approve a long call of a child', async () => {
	const { id } = await create(kim, { text: call('loose', { task: payment(80, note(50_000)) }) });
	const answered = await complete(keys.ofKim, 'approve', { session: id });
	expect(answered.status).toBe(403);
	expect(happened.paid).toEqual([]);
});
