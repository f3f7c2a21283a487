import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { beforeEach, describe, expect, test } from 'vitest';
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
import { cast, createEditor, give, readChildren, readResults, said, usage } from './family.ts';
import { forever } from './stage.ts';

beforeEach(() => atCrashPoint());

const answer = (id: string, text: string) => request(`/v1/sessions/${id}/answer`, { text });

describe('a call to another agent', () => {
	test('has the answer of a child session as its result', async () => {
		const id = await createEditor();
		cast({
			editor: [{ toolCalls: [give('a', 'A poem.'), give('b', 'A song.')] }, 'Both are there.'],
			writer: (asked) => `Here: ${said(asked)}`,
		});
		const events = await allEvents(await send(id, 'go'));
		expect(events.at(-1)).toMatchObject({ type: 'done', data: { text: 'Both are there.' } });
		const children = await readChildren(id);
		expect(children.map(({ callId }) => callId).sort()).toEqual(['a', 'b']);
		expect((await readResults(id)).map(({ content }) => content).sort()).toEqual(['Here: A poem.', 'Here: A song.']);
		const notes = events.filter(({ type }) => type === 'note').map(({ data }) => data.detail);
		expect(notes.sort()).toEqual(children.map((child) => child.id).sort());
		const [child] = children;
		expect(await readState(child?.id ?? '')).toMatchObject({ agent: 'writer', status: 'completed', parent: { id } });
		expect((await readHistory(child?.id ?? '')).map(({ role }) => role)).toEqual(['user', 'assistant']);
	});

	test('gives the model an error if the child fails', async () => {
		const id = await createEditor();
		cast({ editor: [{ toolCalls: [give('a', 'A poem.')] }, 'So be it.'], writer: () => new Error('no ink') });
		expect((await allEvents(await send(id, 'go'))).at(-1)).toMatchObject({ type: 'done' });
		expect(await readResults(id)).toMatchObject([
			{
				isError: true,
				content: expect.stringMatching(
					/^writer did not finish the task \(provider_error: The model of this service cannot/,
				),
			},
		]);
	});

	test('runs the agent that the model chooses, within the same limits', async () => {
		const id = await createEditor();
		const choose = (call: string, agent: string) => ({ id: call, name: 'spawn', input: { agent, task: 'A poem.' } });
		cast({
			editor: [
				{ toolCalls: [choose('a', 'writer'), choose('b', 'writer'), choose('c', 'writer')] },
				{ toolCalls: [choose('d', 'editor')] },
				'The editor below wrote this.',
				'Done.',
			],
			writer: () => 'A poem.',
		});
		await allEvents(await send(id, 'go'));
		expect(await readChildren(id)).toMatchObject([
			{ callId: 'a', agent: 'writer', budget: { tokens: 1_000 } },
			{ callId: 'b', agent: 'writer' },
			{ callId: 'd', agent: 'editor' },
		]);
		expect((await readResults(id)).map(({ content }) => content)).toEqual([
			'A poem.',
			'A poem.',
			expect.stringMatching(/^Not begun: 2 agents work already/),
			'The editor below wrote this.',
		]);
	});

	test('is refused with a reason if there are too many levels, concurrent children or children in all', async () => {
		const id = await createEditor();
		cast({
			editor: [
				{ toolCalls: [give('d', 'Have it edited.', 'edit')] },
				// The editor's script.
				{ toolCalls: [give('d', 'Have it edited.', 'edit')] },
				'It is the last.',
				{ toolCalls: ['a', 'b', 'c'].map((one) => give(one, 'A poem.', 'two')) },
				{ toolCalls: Array.from({ length: 20 }, (_, n) => give(`n${n}`, 'A poem.')) },
				'Enough.',
			],
			writer: () => 'A poem.',
		});
		await allEvents(await send(id, 'go'));
		const [below] = await readChildren(id);
		const refusals = [...(await readResults(below?.id ?? '')), ...(await readResults(id))].filter((one) => one.isError);
		expect(refusals.map(({ content }) => content)).toEqual([
			expect.stringMatching(/^Not begun: agents may work for each other 1 levels deep/),
			expect.stringMatching(/^Not begun: 2 agents work already/),
			...Array(2).fill(expect.stringMatching(/^Not begun: this conversation has had 21 agents work for it/)),
		]);
	});

	test('creates a child that its owner can read, but not change', async () => {
		const id = await createEditor();
		cast({ editor: [{ toolCalls: [give('a', 'A poem.')] }, 'Done.'], writer: () => 'A poem.' });
		await allEvents(await send(id, 'go'));
		const [child] = await readChildren(id);
		const path = `/v1/sessions/${child?.id}`;
		const refused = [
			await request(`${path}/messages`, { text: 'And one more.' }),
			await request(`${path}/cancel`, {}),
			await request(path, { budget: { tokens: 1_000_000 } }, {}, 'PATCH'),
			await request(path, undefined, {}, 'DELETE'),
		];
		for (const response of refused) {
			expect(response.status).toBe(409);
			expect(await response.json()).toMatchObject({ error: { code: 'conflict', data: { parent: id } } });
		}
		const { sessions } = await (await request('/v1/sessions?limit=100')).json<{ sessions: { id: string }[] }>();
		const ids = sessions.map((one) => one.id);
		expect([ids.includes(id), ids.includes(child?.id ?? '')]).toEqual([true, false]);
	});
});

describe('the budget of a tree', () => {
	test('is shared: the parent reserves the budget of a child, and spends the cost of the child', async () => {
		const id = await createEditor({ tokens: 2_000 });
		const gate = Promise.withResolvers<void>();
		let isWorking = false;
		cast({
			editor: [
				{ toolCalls: [give('a', 'A poem.')], usage: usage(30, 10) },
				{ text: 'Done.', usage: usage(40, 10) },
			],
			writer: async () => {
				isWorking = true;
				await gate.promise;
				return { text: 'A poem.', usage: usage(50, 20) };
			},
		});
		const response = await send(id, 'go');
		await expect.poll(() => isWorking).toBe(true);
		expect((await readState(id)).budget).toMatchObject({ spent: { tokens: 40 }, reserved: { tokens: 1_000 } });
		gate.resolve();
		const after = { spent: { tokens: 160 }, reserved: { tokens: 0 }, left: { tokens: 1_840 } };
		expect((await allEvents(response)).at(-1)?.data).toMatchObject({ budget: after });
		expect(await readChildren(id)).toMatchObject([{ budget: { tokens: 1_000 }, spent: { tokens: 70 } }]);
	});

	test('is not exceeded by twenty children if the budget suffices for eight children', async () => {
		const id = await createEditor({ tokens: 8_200 });
		cast({
			editor: [
				{ toolCalls: Array.from({ length: 20 }, (_, n) => give(`n${n}`, 'A poem.')), usage: usage(100, 100) },
				({ messages }) => ({ text: `${messages.length}`, usage: usage(0, 0) }),
			],
			// The longest allowed text.
			writer: ({ options }) => ({ text: 'A poem.', usage: usage(900, options?.maxOutputTokens ?? 0) }),
		});
		await allEvents(await send(id, 'go'));
		const children = await readChildren(id);
		const ofChildren = children.reduce((sum, { spent }) => sum + (spent?.tokens ?? Number.NaN), 0);
		expect(children).toHaveLength(8);
		const { budget } = await readState(id);
		expect(budget).toMatchObject({ spent: { tokens: 200 + ofChildren }, reserved: { tokens: 0 } });
		expect(budget.spent.tokens).toBeLessThanOrEqual(8_200);
		const results = await readResults(id);
		expect(results.filter(({ isError }) => isError)).toHaveLength(12);
		for (const { content } of results.filter(({ isError }) => isError))
			expect(content).toMatch(/^Not begun: budget_exceeded/);
	});

	test('charges the owner once, because each session reports only its own cost', async () => {
		const day = env.LEDGERS.get(env.LEDGERS.idFromName('local'));
		const before = (await day.state({})).spent.tokens;
		const id = await createEditor();
		cast({
			editor: [
				{ toolCalls: [give('a', 'A poem.'), give('b', 'A song.')], usage: usage(30, 10) },
				{ text: 'Done.', usage: usage(40, 10) },
			],
			writer: () => ({ text: 'A poem.', usage: usage(50, 20) }),
		});
		await allEvents(await send(id, 'go'));
		expect((await readState(id)).budget.spent.tokens).toBe(230);
		// The alarm reports a lease that is kept for the next run.
		for (const one of [id, ...(await readChildren(id)).map((child) => child.id)])
			await runDurableObjectAlarm(readObject(one));
		await expect.poll(async () => (await day.state({})).spent.tokens).toBe(before + 230);
	});
});

describe('a child that waits for a person', () => {
	test('gets the answers to a question, an approval and a manual call through its parent', async () => {
		const id = await createEditor();
		const calls = [
			{ id: 'q', name: 'ask', input: { question: 'Which colour?' } },
			{ id: 'p', name: 'pay', input: { amount: 7 } },
			{ id: 'm', name: 'by_hand', input: {} },
		];
		cast({
			editor: [{ toolCalls: [give('a', 'A poem.')] }, 'Done.'],
			writer: (asked) => {
				const call = calls.shift();
				if (call === undefined) return `Told: ${said(asked)}`;
				return { text: said(asked), toolCalls: [call], usage: usage(1, 1) };
			},
		});
		await allEvents(await send(id, 'go'));
		const [child] = await readChildren(id);
		const about = { id: child?.id, agent: 'writer' };
		expect(await readState(id)).toMatchObject({
			status: 'awaiting_user',
			question: { callId: 'a', question: 'Which colour?', options: { child: about } },
			budget: { reserved: { tokens: 1_000 } },
		});
		// The inbox lists each call once, under the session where it is answered.
		const waiting = async () => {
			const page = await request('/v1/approvals?limit=100&agent=editor');
			const { approvals } = await page.json<{ approvals: readonly { sessionId: string; options?: object }[] }>();
			return approvals.filter((one) => one.sessionId === id).map(({ options }) => options);
		};
		await expect.poll(waiting).toEqual([{ child: about }]);
		const ofChildren = await (await request('/v1/approvals?limit=100&agent=writer')).json();
		expect(ofChildren).toMatchObject({ approvals: [] });
		await restart(id);
		expect(await (await answer(id, 'red')).json()).toMatchObject({
			status: 'awaiting_user',
			question: {
				question: 'writer asks: may it call pay({"amount":7})?',
				options: { child: about, kind: 'approval', call: { id: 'p' }, choices: ['approve', 'deny'] },
			},
		});
		await restart(child?.id ?? '');
		expect(await (await answer(id, 'approve')).json()).toMatchObject({
			question: { question: 'writer asks for the result of by_hand({}).', options: { kind: 'result' } },
		});
		expect(await (await answer(id, 'by me')).json()).toMatchObject({ status: 'completed', text: 'Done.' });
		expect(await readResults(id)).toMatchObject([{ content: 'Told: by me', isError: false }]);
		expect(await readResults(child?.id ?? '')).toMatchObject([
			{ content: 'red' },
			{ content: 'paid 7' },
			{ content: 'by me' },
		]);
	});

	/** A session whose child waits for the approval of a payment. */
	async function askToPay(): Promise<string> {
		const id = await createEditor();
		const calls = [{ id: 'p', name: 'pay', input: { amount: 7 } }];
		cast({
			editor: [{ toolCalls: [give('a', 'A poem.')] }, 'Done.'],
			writer: (asked) =>
				calls.length > 0 ? { toolCalls: calls.splice(0), usage: usage(1, 1) } : `Told: ${said(asked)}`,
		});
		await allEvents(await send(id, 'go'));
		return id;
	}

	test('treats any answer other than an approval as a denial, with the answer as the reason', async () => {
		const id = await askToPay();
		await (await answer(id, 'Not so much.')).text();
		expect(await readResults(id)).toMatchObject([{ content: 'Told: A person did not allow this call: Not so much.' }]);
	});

	test('refuses an answer that names a call other than the shown call', async () => {
		const id = await createEditor();
		const turns = [7, 7_000].map((amount) => [{ id: 'p', name: 'pay', input: { amount } }]);
		cast({
			editor: [{ toolCalls: [give('a', 'A poem.')] }, 'Done.'],
			writer: (asked) => ({ text: `Told: ${said(asked)}`, toolCalls: turns.shift() ?? [] }),
		});
		await allEvents(await send(id, 'go'));
		const decide = (text: string, callId?: string) => request(`/v1/sessions/${id}/answer`, { text, callId });
		expect((await decide('approve', 'other')).status).toBe(409);
		expect(await (await decide('deny approve', 'p')).json()).toMatchObject({
			question: { callId: 'a', options: { call: { id: 'p_2', input: { amount: 7_000 } } } },
		});
		// Somebody whose page still shows the first call.
		const late = await decide('approve', 'p');
		expect([late.status, await late.json()]).toMatchObject([
			409,
			{ error: { data: { field: 'callId', waiting: 'p_2' } } },
		]);
		const [child] = await readChildren(id);
		expect(await readResults(child?.id ?? '')).toMatchObject([
			{ content: 'A person did not allow this call: approve', isError: true },
		]);
		expect(await (await decide('approve', 'p_2')).json()).toMatchObject({ status: 'completed' });
		expect(await readResults(child?.id ?? '')).toMatchObject([{}, { content: 'paid 7000' }]);
	});

	test('runs an approved call with the arguments that a person changed, and refuses invalid arguments', async () => {
		const id = await askToPay();
		const [child] = await readChildren(id);
		for (const text of [
			'approve {"amount": 3',
			`approve {"amount": ${'['.repeat(200)}${']'.repeat(200)}}`,
			'approve {}{}',
		]) {
			const refused = await answer(id, text);
			expect([refused.status, await refused.json()]).toMatchObject([400, { error: { data: { field: 'text' } } }]);
		}
		await restart(child?.id ?? '');
		expect(await (await answer(id, 'approve {"amount": "three"}')).json()).toMatchObject({
			status: 'awaiting_user',
			question: {
				question: expect.stringMatching(/^input\.amount: .*\nwriter asks: may it call pay\({"amount":7}\)\?$/),
				options: { kind: 'approval', call: { id: 'p', input: { amount: 7 } } },
			},
		});
		expect(await readResults(child?.id ?? '')).toEqual([]);
		expect(await (await answer(id, 'Approve {"amount": 3}')).json()).toMatchObject({ status: 'completed' });
		expect(await readResults(child?.id ?? '')).toMatchObject([{ content: 'paid 3', ranWith: { amount: 3 } }]);
	});

	test('refuses an approval by a caller without the right to decide', async () => {
		const id = await askToPay();
		const approve = async (...scopes: string[]) => {
			const { token } = await (await request(`/v1/sessions/${id}/token`, { scopes })).json<{ token: string }>();
			const how = { delivery: 'result' } as const;
			return readObject(id).answer({ token }, { text: 'approve' }, how);
		};
		expect(await approve('read', 'message')).toMatchObject({ ok: false, error: { code: 'forbidden' } });
		// A webhook may answer questions if its agent allows it.
		const webhook = { text: 'approve', isPatient: true, mayAnswer: true };
		const sent = readObject(id).send({ owner: 'local' }, webhook, { delivery: 'accepted' });
		expect(await sent).toMatchObject({ ok: true });
		expect(await readState(id)).toMatchObject({ status: 'awaiting_user', waiting: 1 });
		expect(await approve('message', 'approve')).toMatchObject({ ok: true, value: { result: { status: 'completed' } } });
		expect(await readResults(id)).toMatchObject([{ content: 'Told: paid 7' }]);
	});

	test('is cancelled with the parent, and frees its reservation', async () => {
		const id = await createEditor();
		cast({
			editor: [{ toolCalls: [give('a', 'A poem.')] }],
			writer: () => ({ toolCalls: [{ id: 'm', name: 'by_hand', input: {} }], usage: usage(50, 20) }),
		});
		await allEvents(await send(id, 'go'));
		const [child] = await readChildren(id);
		await (await request(`/v1/sessions/${id}/cancel`, {})).text();
		await expect.poll(() => readStatusUnlessDead(child?.id ?? '')).toBe('idle');
		await expect.poll(() => readChildren(id)).toMatchObject([{ spent: { tokens: 70 } }]);
		expect((await readState(id)).budget.reserved.tokens).toBe(0);
	});
});

describe('a cancelled tree of three levels', () => {
	/** The writer at the bottom is billed 70 tokens, and waits. */
	const begin = async (budget: object) => {
		const id = await createEditor(budget);
		cast({
			editor: [
				{ toolCalls: [give('d', 'Have it edited.', 'edit')], usage: usage(30, 10) },
				// The editor's script.
				{ toolCalls: [give('a', 'A poem.')], usage: usage(100, 50) },
				{ text: 'Begun again.', usage: usage(5, 5) },
			],
			writer: () => ({ toolCalls: [{ id: 'm', name: 'by_hand', input: {} }], usage: usage(50, 20) }),
		});
		await allEvents(await send(id, 'go'));
		const [below] = await readChildren(id);
		const [writer] = await readChildren(below?.id ?? '');
		return { id, below: below?.id ?? '', writer: writer?.id ?? '' };
	};
	const cancel = async (id: string) => (await request(`/v1/sessions/${id}/cancel`, {})).json();

	test('reports the cost of all levels in the answer to a cancel, and nothing stays reserved', async () => {
		const { id, below } = await begin({ tokens: 12_000 });
		const cost = { spent: { tokens: 260 }, reserved: { tokens: 0 } };
		expect(await cancel(id)).toMatchObject({ budget: cost, children: [{ id: below, spent: { tokens: 220 } }] });
		expect((await allEvents(await send(id, 'again'))).at(-1)).toMatchObject({
			data: { budget: { spent: { tokens: 270 } } },
		});
	});

	test.each(['below', 'writer'] as const)(
		'learns the cost of all levels even if its session "%s" dies during the cancel',
		async (who) => {
			const tree = await begin({ tokens: 12_000 });
			let isDead = false;
			atCrashPoint((_, { session }) => {
				if (isDead || session !== tree[who]) return undefined;
				isDead = true;
				return die(session, { isDurable: true });
			});
			await restart(tree[who]);
			await cancel(tree.id).catch(() => {});
			await expect
				.poll(async () => {
					for (const id of [tree.writer, tree.below, tree.id])
						await runDurableObjectAlarm(readObject(id)).catch(() => {});
					return (await readState(tree.id)).budget;
				})
				.toMatchObject({ spent: { tokens: 260 }, reserved: { tokens: 0 } });
		},
	);

	test('keeps the budget of a child reserved while the cost of a grandchild is unknown', async () => {
		const { id, below } = await begin({ tokens: 12_000 });
		await runInDurableObject(readObject(below), (_, { storage }) =>
			storage.sql.exec('UPDATE child SET id = ?, created_at = ?', env.SESSIONS.newUniqueId().toString(), Date.now()),
		);
		await restart(below);
		await cancel(id);
		await runDurableObjectAlarm(readObject(id));
		expect((await readState(id)).budget.reserved.tokens).toBeGreaterThan(1_000);
	});
});

describe('a parent that ends early', () => {
	test('cancels its working children', async () => {
		const id = await createEditor();
		let isWorking = false;
		cast({
			editor: [{ toolCalls: [give('a', 'A poem.')] }],
			writer: () => {
				isWorking = true;
				return forever();
			},
		});
		const response = await send(id, 'go');
		await expect.poll(() => isWorking).toBe(true);
		const [child] = await readChildren(id);
		await (await request(`/v1/sessions/${id}/cancel`, {})).text();
		expect((await allEvents(response)).at(-1)?.type).toBe('cancelled');
		await expect.poll(() => readStatusUnlessDead(child?.id ?? '')).toBe('idle');
		await expect.poll(async () => (await readState(id)).budget.reserved.tokens).toBe(0);
	});

	test('removes its children when it is deleted', async () => {
		const id = await createEditor();
		cast({ editor: [{ toolCalls: [give('a', 'A poem.')] }, 'Done.'], writer: () => 'A poem.' });
		await allEvents(await send(id, 'go'));
		const [child] = await readChildren(id);
		expect((await request(`/v1/sessions/${id}`, undefined, {}, 'DELETE')).status).toBe(204);
		await expect.poll(async () => (await request(`/v1/sessions/${child?.id}`)).status).toBe(404);
	});
});

describe('a tree in which objects die', () => {
	test.each(['parent', 'child'] as const)('continues after the death of the %s while the child works', async (who) => {
		const id = await createEditor();
		let isWorking = false;
		let lives = 0;
		const asked = cast({
			editor: [{ toolCalls: [give('a', 'A poem.')] }, 'Done.', 'Done.'],
			writer: async () => {
				if (lives++ > 0 && who === 'child') return 'A poem.';
				isWorking = true;
				return gate.promise;
			},
		});
		const gate = Promise.withResolvers<string>();
		await (await request(`/v1/sessions/${id}/messages`, { text: 'go' }, { prefer: 'respond-async' })).text();
		await expect.poll(() => isWorking).toBe(true);
		const [child] = await readChildren(id);
		await restart(who === 'parent' ? id : (child?.id ?? ''));
		await readState(who === 'parent' ? id : (child?.id ?? ''));
		gate.resolve('A poem.');
		await expect.poll(() => readStatusUnlessDead(id), { timeout: 20_000 }).toBe('completed');
		expect(await readResults(id)).toMatchObject([{ content: 'A poem.', isError: false }]);
		expect(asked).toEqual({ editor: 2, writer: who === 'parent' ? 1 : 2 });
		expect(await readChildren(id)).toMatchObject([{ id: child?.id, spent: {} }]);
		expect((await readHistory(child?.id ?? '')).filter(({ role }) => role === 'user')).toHaveLength(1);
	});

	const points = ['accepted', 'model-begin', 'model-end', 'tool-begin', 'tool-end', 'ended'] as const;
	const deaths = [
		...points.map((point) => ({ who: 'parent', point })),
		...points.filter((point) => !point.startsWith('tool')).map((point) => ({ who: 'child', point })),
	];
	test.each(deaths)(
		'has one child for a call, and pays each cost once, if the $who dies at $point',
		async ({ who, point }) => {
			const day = env.LEDGERS.get(env.LEDGERS.idFromName('local'));
			const before = (await day.state({})).spent.tokens;
			const id = await createEditor();
			cast({
				// The interrupted turn restarts.
				editor: Array.from(
					{ length: 4 },
					(): ScriptedFn =>
						({ messages }) => {
							const isFirst = messages.at(-1)?.role === 'user';
							return isFirst
								? { toolCalls: [give('a', 'A poem.')], usage: usage(30, 10) }
								: { text: 'Done.', usage: usage(40, 10) };
						},
				),
				writer: () => ({ text: 'A poem.', usage: usage(50, 20) }),
			});
			let hasDied = false;
			atCrashPoint((at, { session }) => {
				if (hasDied || at !== point || (session === id) !== (who === 'parent')) return undefined;
				hasDied = true;
				return die(session, { isDurable: true });
			});
			const body = { text: 'go' };
			await request(`/v1/sessions/${id}/messages`, body, { prefer: 'respond-async' }).then(
				(response) => response.text(),
				() => {},
			);
			await expect.poll(() => readStatusUnlessDead(id), { timeout: 20_000 }).toBe('completed');
			expect(hasDied).toBe(true);
			const children = await readChildren(id);
			expect(children).toHaveLength(1);
			const told = await readHistory(children[0]?.id ?? '');
			expect(told.map(({ role }) => role)).toEqual(['user', 'assistant']);
			expect(await readResults(id)).toMatchObject([{ content: 'A poem.', isError: false }]);
			const { spent, reserved } = (await readState(id)).budget;
			expect(reserved.tokens).toBe(0);
			const readDay = async () => {
				for (const one of [id, ...children.map((child) => child.id)]) await runDurableObjectAlarm(readObject(one));
				return (await day.state({})).spent.tokens - before;
			};
			await expect.poll(readDay, { timeout: 20_000 }).toBe(spent.tokens);
		},
	);
});
