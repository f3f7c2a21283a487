import { env, runDurableObjectAlarm } from 'cloudflare:test';
import { beforeEach, expect, test, vi } from 'vitest';
import type { ScriptedFn } from '../../../src/core/providers/scripted.ts';
import {
	allEvents,
	readHistory,
	readObject,
	readState,
	readStatusUnlessDead,
	request,
	restart,
	send,
} from '../../client.ts';
import { atCrashPoint, die } from '../../crash.ts';
import { play } from '../../script.ts';
import { cast, createEditor, give, readChildren, readResults, said, usage } from './family.ts';
import { post } from './stage.ts';

beforeEach(() => atCrashPoint());

const sendOff = (id: string, task: string) => give(id, task, 'send_off');
/** Replies with the number of user messages, so that turns differ. */
const countAsked: ScriptedFn = ({ messages }) => ({
	text: `Read ${messages.filter(({ role }) => role === 'user').length}.`,
	usage: usage(1, 1),
});
const readAsked = async (id: string) =>
	(await readHistory(id)).filter(({ role }) => role === 'user').map(({ content }) => String(content));

/** Lets a writer wait until `open` is called. */
function createGate() {
	const gate = Promise.withResolvers<void>();
	const asked = { times: 0 };
	const write: ScriptedFn = async (given) => {
		asked.times++;
		await gate.promise;
		return { text: `Here: ${said(given)}`, usage: usage(50, 20) };
	};
	return { write, open: gate.resolve, asked };
}

test('returns at once from a call in the background, whose result later begins a run', async () => {
	const id = await createEditor({ tokens: 10_000 });
	const { write, open } = createGate();
	cast({ editor: [{ toolCalls: [sendOff('a', 'A poem.')] }, countAsked, countAsked], writer: write });
	expect((await allEvents(await send(id, 'go'))).at(-1)).toMatchObject({ type: 'done', data: { text: 'Read 1.' } });
	const [child] = await readChildren(id);
	expect(await readResults(id)).toMatchObject([{ content: { session: child?.id }, isError: false }]);
	expect(child).toMatchObject({ callId: 'a', background: true, budget: { tokens: 1_000 } });
	expect((await readState(id)).budget.reserved.tokens).toBe(1_000);
	open();
	await expect.poll(async () => (await readHistory(id)).at(-1)?.content).toBe('Read 2.');
	expect(await readAsked(id)).toEqual(['go', `writer (session ${child?.id}) has finished its task:\n\nHere: A poem.`]);
	// A page shows a report otherwise than what a person wrote.
	expect((await readHistory(id)).flatMap(({ from }) => from ?? [])).toEqual(['agent']);
	expect(await readChildren(id)).toMatchObject([{ spent: { tokens: 70 } }]);
	expect((await readState(id)).budget.reserved.tokens).toBe(0);
	// A lost report is repeated.
	const again = { text: 'Once more.', ofChild: { id: child?.id ?? '', spent: { tokens: 70, usd: 0 } } };
	expect(await readObject(id).send({ owner: 'local' }, again, { delivery: 'accepted' })).toMatchObject({ ok: true });
	expect(await readAsked(id)).toHaveLength(2);
});

test('passes the result of a child to the next turn of the current run', async () => {
	const id = await createEditor();
	const { write, open } = createGate();
	const isTold = async () => (await readState(id)).waiting === 1;
	cast({
		editor: [
			{ toolCalls: [sendOff('a', 'A poem.')] },
			async () => {
				open();
				await expect.poll(isTold).toBe(true);
				return { toolCalls: [{ id: 'n', name: 'nothing', input: {} }] };
			},
			countAsked,
		],
		writer: write,
	});
	expect((await allEvents(await send(id, 'go'))).at(-1)).toMatchObject({ data: { text: 'Read 2.' } });
	expect(await readState(id)).toMatchObject({ status: 'completed' });
});

test('reports a failed child, but does not report a child that was cancelled with its parent', async () => {
	const id = await createEditor();
	cast({
		editor: [{ toolCalls: [sendOff('a', 'A poem.')] }, countAsked, countAsked],
		writer: () => new Error('no ink'),
	});
	await allEvents(await send(id, 'go'));
	await expect
		.poll(async () => (await readAsked(id)).at(-1))
		.toMatch(/^writer .* did not finish its task \(provider_error: The model of this service cannot/);
	await expect.poll(() => readStatusUnlessDead(id)).toBe('completed');

	const other = await createEditor();
	const { write, asked } = createGate();
	cast({ editor: [{ toolCalls: [sendOff('a', 'A poem.')] }, countAsked], writer: write });
	await allEvents(await send(other, 'go'));
	await expect.poll(() => asked.times).toBe(1);
	const [child] = await readChildren(other);
	// No run of the session continues.
	await (await request(`/v1/sessions/${other}/cancel`, {})).text();
	await expect.poll(() => readStatusUnlessDead(child?.id ?? '')).toBe('idle');
	await expect.poll(async () => (await readChildren(other))[0]?.spent).toBeDefined();
	await runDurableObjectAlarm(readObject(child?.id ?? ''));
	expect(await readAsked(other)).toEqual(['go']);
});

test('a failed run does not stop its background children', async () => {
	const id = await createEditor();
	const { write, open, asked } = createGate();
	cast({ editor: [{ toolCalls: [sendOff('a', 'A poem.')] }, new Error('no paper'), countAsked], writer: write });
	expect((await allEvents(await send(id, 'go'))).at(-1)?.type).toBe('error');
	await expect.poll(() => asked.times).toBe(1);
	open();
	await expect.poll(async () => (await readHistory(id)).at(-1)?.content).toBe('Read 2.');
});

/** Lets a minute pass, after which a missing child counts as never created, and runs the alarm. */
async function passMinute(id: string): Promise<void> {
	vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 70_000 });
	try {
		await runDurableObjectAlarm(readObject(id));
		await expect.poll(async () => (await readState(id)).budget.reserved.tokens).toBe(0);
	} finally {
		vi.useRealTimers();
	}
}

test('frees the reservation of a refused background child', async () => {
	const made = await request('/v1/sessions', { agent: 'hopeful', budget: { tokens: 10_000 } });
	const { id } = await made.json<{ id: string }>();
	play({ toolCalls: [give('a', 'A poem.', 'gone')] }, 'Without it.');
	expect((await allEvents(await send(id, 'go'))).at(-1)).toMatchObject({ data: { text: 'Without it.' } });
	expect(await readResults(id)).toMatchObject([{ isError: true }]);
	expect((await readState(id)).budget.reserved.tokens).toBe(1_000);
	await passMinute(id);
	expect(await readChildren(id)).toMatchObject([{ spent: { tokens: 0 } }]);
});

test('frees the reservation of a child after the last attempt of its parent', async () => {
	const id = await createEditor({ tokens: 10_000 });
	cast({ editor: [{ toolCalls: [sendOff('a', 'A poem.')] }], writer: () => 'A poem.' });
	atCrashPoint((at, { session }) =>
		at === 'accepted' && session !== id ? die(session, { isDurable: false }) : undefined,
	);
	await post(id);
	await expect.poll(async () => (await readChildren(id)).length).toBe(1);
	const wake = async () => {
		await restart(id);
		await runDurableObjectAlarm(readObject(id)).catch(() => {});
		return readStatusUnlessDead(id);
	};
	await expect.poll(wake, { timeout: 20_000 }).toBe('error');
	expect((await readState(id)).budget.reserved.tokens).toBe(1_000);
	await passMinute(id);
});

test('lists the open call of a background child under the child, which accepts the answer', async () => {
	const id = await createEditor();
	const calls = [{ id: 'p', name: 'pay', input: { amount: 7 } }];
	cast({
		editor: [{ toolCalls: [sendOff('a', 'A poem.')] }, countAsked, countAsked],
		writer: (given) => (calls.length > 0 ? { toolCalls: calls.splice(0) } : `Told: ${said(given)}`),
	});
	await allEvents(await send(id, 'go'));
	const [child] = await readChildren(id);
	const path = `/v1/sessions/${child?.id}`;
	expect((await request(`${path}/messages`, { text: 'More.' })).status).toBe(409);
	const findWaiting = async () => {
		const page = await request('/v1/approvals?limit=100&agent=writer&kind=approval');
		const { approvals } = await page.json<{ approvals: readonly { sessionId: string; callId: string }[] }>();
		return approvals.find(({ sessionId }) => sessionId === child?.id);
	};
	await expect.poll(findWaiting).toMatchObject({ callId: 'p', tool: 'pay', input: { amount: 7 } });
	await (await request(`${path}/tool-results`, [{ id: 'p', approve: true }])).text();
	await expect.poll(async () => (await readAsked(id)).at(-1)).toMatch(/has finished its task:\n\nTold: paid 7$/);
	// If a child waits for nobody, only its parent may change it.
	expect((await request(`${path}/messages`, { text: 'More.' })).status).toBe(409);
	expect((await request(path, undefined, {}, 'DELETE')).status).toBe(409);
	expect((await request(`/v1/sessions/${id}`, undefined, {}, 'DELETE')).status).toBe(204);
	await expect.poll(async () => (await request(path)).status).toBe(404);
});

test('a waiting background child accepts only answers', async () => {
	const id = await createEditor({ tokens: 10_000 });
	const calls = [{ id: 'p', name: 'pay', input: { amount: 7 } }];
	cast({
		editor: [{ toolCalls: [sendOff('a', 'A poem.')] }, countAsked, countAsked],
		writer: () => ({
			...(calls.length > 0 ? { toolCalls: calls.splice(0) } : { text: 'Paid.' }),
			usage: usage(50, 20),
		}),
	});
	await allEvents(await send(id, 'go'));
	const [{ id: child } = { id: '' }] = await readChildren(id);
	await expect.poll(() => readStatusUnlessDead(child)).toBe('awaiting_tools');
	const path = `/v1/sessions/${child}`;
	// Schedules and webhooks send such messages. They are queued while a session waits for somebody.
	const patient = { text: 'And a song.', sender: 'look', transport: 'schedule', isPatient: true };
	const owner = { owner: 'local' };
	const sent = await readObject(child).send(owner, patient, { delivery: 'accepted' });
	// A page that edits the task sends this.
	const [task] = await (await request(`${path}/messages`))
		.json<{ messages: { id: string }[] }>()
		.then((page) => page.messages);
	const edited = { agent: 'writer', input: { text: 'A song.', messageId: `in_${task?.id}` } };
	const posted = await readObject(child).post(owner, edited, { delivery: 'stream' });
	for (const refused of [sent, posted])
		expect(refused).toMatchObject({ ok: false, error: { code: 'conflict', data: { parent: id } } });
	expect((await request(`${path}/files/a.txt`, 'A file.', {}, 'PUT')).status).toBe(409);
	expect((await request(`${path}/files/a.txt`, undefined, {}, 'DELETE')).status).toBe(409);
	expect(await readState(child)).toMatchObject({ status: 'awaiting_tools', toolCalls: [{ id: 'p' }] });
	await (await request(`${path}/tool-results`, [{ id: 'p', approve: true }])).text();
	await expect.poll(async () => (await readChildren(id))[0]?.spent).toMatchObject({ tokens: 140 });
	expect((await readState(child)).budget.spent.tokens).toBe(140);
});

test('reports the end of a child to a waiting session once, after the person has answered', async () => {
	const id = await createEditor();
	const { write, open } = createGate();
	const question = { id: 'q', name: 'writer', input: { task: 'Ask.' } };
	const asks: ScriptedFn = (given, show) =>
		said(given) === 'Ask.'
			? { toolCalls: [{ id: 'k', name: 'ask', input: { question: 'Which?' } }] }
			: said(given) === 'red'
				? 'Red it is.'
				: write(given, show);
	cast({ editor: [{ toolCalls: [sendOff('a', 'A poem.'), question] }, countAsked, countAsked], writer: asks });
	expect((await allEvents(await send(id, 'go'))).at(-1)?.type).toBe('awaiting');
	open();
	await expect.poll(async () => (await readState(id)).waiting).toBe(1);
	expect(await readState(id)).toMatchObject({ status: 'awaiting_user', question: { question: 'Which?' } });
	await (await request(`/v1/sessions/${id}/answer`, { text: 'red' })).text();
	await expect.poll(async () => (await readAsked(id)).length).toBe(2);
	expect(await readResults(id)).toMatchObject([{}, { content: 'Red it is.' }]);
});

const points = ['accepted', 'model-begin', 'model-end', 'ended'] as const;
test.each([
	...points.map((point) => ({ who: 'parent', point })),
	...(['tool-begin', 'tool-end'] as const).map((point) => ({ who: 'parent', point })),
	...points.map((point) => ({ who: 'child', point })),
])('reports the end of a child exactly once if the $who crashes at $point', async ({ who, point }) => {
	const day = env.LEDGERS.get(env.LEDGERS.idFromName('local'));
	const before = (await day.state({})).spent.tokens;
	const id = await createEditor();
	const edit: ScriptedFn = (asked, show) =>
		said(asked) === 'go' ? { toolCalls: [sendOff('a', 'A poem.')], usage: usage(30, 10) } : countAsked(asked, show);
	cast({
		editor: Array.from({ length: 8 }, () => edit),
		writer: () => ({ text: 'A poem.', usage: usage(50, 20) }),
	});
	let hasDied = false;
	atCrashPoint((at, { session }) => {
		if (hasDied || at !== point || (session === id) !== (who === 'parent')) return undefined;
		hasDied = true;
		return die(session, { isDurable: true });
	});
	await request(`/v1/sessions/${id}/messages`, { text: 'go' }, { prefer: 'respond-async' }).then(
		(response) => response.text(),
		() => {},
	);
	const readTold = async () => (await readAsked(id).catch(() => [])).length;
	const wake = async () => {
		for (const one of [id, ...(await readChildren(id).catch(() => [])).map((child) => child.id)])
			await runDurableObjectAlarm(readObject(one)).catch(() => {});
		return [await readTold(), await readStatusUnlessDead(id)];
	};
	await expect.poll(wake, { timeout: 20_000 }).toEqual([2, 'completed']);
	expect(hasDied).toBe(true);
	const children = await readChildren(id);
	// The interrupted request is charged, too.
	const { tokens } = (await readState(children[0]?.id ?? '')).budget.spent;
	expect(children).toMatchObject([{ spent: { tokens } }]);
	await restart(id);
	expect(await wake()).toEqual([2, 'completed']);
	const { spent, reserved } = (await readState(id)).budget;
	expect(reserved.tokens).toBe(0);
	await expect
		.poll(async () => wake().then(async () => (await day.state({})).spent.tokens - before), { timeout: 20_000 })
		.toBe(spent.tokens);
});

test('a child session waits for its own background child', async () => {
	const id = await createEditor();
	cast({
		editor: [
			{ toolCalls: [give('e', 'Have it edited.', 'edit')] },
			// The editor's script.
			{ toolCalls: [sendOff('a', 'A poem.')] },
			({ messages }) => String(messages.at(-1)?.content),
			({ messages }) => String(messages.at(-1)?.content),
		],
		writer: () => 'A poem.',
	});
	expect((await allEvents(await send(id, 'go'))).at(-1)).toMatchObject({
		data: { text: expect.stringContaining('\nA poem.\n') },
	});
});
