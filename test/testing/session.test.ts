import { askUser, chat, parts, providers, tool, toolbox } from 'runlet';
import { agentTool, defineAgent } from 'runlet/cloudflare';
import { callTool, callTools, createTestSession } from 'runlet/testing';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';

const findOrder = tool.define({
	name: 'find_order',
	description: 'Finds an order.',
	inputSchema: v.object({ id: v.string() }),
	passInput: true,
	fn: async ({ id }, { env, state, skillContext }) => {
		await state.set('last', id);
		return { id, by: Reflect.get(env, 'SHOP_TOKEN'), for: skillContext.sender };
	},
});
const pay = tool.define({
	name: 'pay',
	description: 'Pays.',
	inputSchema: v.object({ amount: v.number() }),
	needsApproval: ({ amount }) => amount > 10,
	fn: (amount: number) => `paid ${amount}`,
});
const byHand = tool.define({ name: 'by_hand', description: 'Somebody does it.', inputSchema: {}, manual: true });
const ask = tool.define({ name: 'ask', description: 'Asks.', inputSchema: {}, fn: () => askUser('Which one?') });
const draw = tool.define({
	name: 'draw',
	description: 'Draws.',
	inputSchema: {},
	fn: () => parts([chat.imagePart('aGk=', 'image/png')]),
});

const desk = defineAgent({
	name: 'desk',
	description: 'Looks after orders.',
	model: 'claude-opus-4-5',
	system: ({ metadata }) => `You serve ${metadata.shop}.`,
	tools: [findOrder, pay, byHand, ask, draw],
	skills: [{ name: 'own', description: 'An own skill.', body: 'Be brief.' }, 'published'],
});

test('a test of an agent needs only ten lines', async () => {
	const session = createTestSession(desk, {
		script: [callTool('find_order', { id: 'A-1' }), 'It is on its way.'],
		env: { SHOP_TOKEN: 'test' },
	});
	const { status, text } = await session.send('Where is A-1?');
	expect([status, text]).toEqual(['completed', 'It is on its way.']);
	expect(session.events).toContainEqual(
		expect.objectContaining({ type: 'tool_result', output: { id: 'A-1', by: 'test' } }),
	);
	expect(await session.state.get('last')).toBe('A-1');
});

describe('a session in memory', () => {
	test('has a workspace for its tools', async () => {
		const tools = Object.values(toolbox.withFiles(toolbox.basic()));
		const clerk = defineAgent({ name: 'clerk', description: 'Files things.', model: 'demo', tools });
		const session = createTestSession(clerk, {
			script: [callTool('edit_file', { path: 'a.txt', oldText: 'one', newText: 'two' }), 'Done.'],
			files: { 'a.txt': 'one' },
		});
		await session.send('Change it.');
		expect((await session.workspace.readLines('a.txt')).text).toBe('two');
	});

	test('asks the models of providers in place of a script, also for its children', async () => {
		const asked: string[] = [];
		const play = ({ model, system }: { model: string; system?: string }) => {
			asked.push(`${model}: ${system}`);
			return asked.length === 1 ? callTool('ask_clerk', { task: 'Count.' }) : 'Done.';
		};
		const clerk = defineAgent({ name: 'clerk', description: 'Counts.', model: 'scripted-small', system: 'Clerk.' });
		const boss = defineAgent({
			name: 'boss',
			description: 'Asks the clerk.',
			model: 'scripted-large',
			system: 'Boss.',
			tools: [agentTool(clerk, { name: 'ask_clerk' })],
		});
		const real = [providers.scripted([play, play, play])];
		const session = createTestSession(boss, { providers: real, model: 'scripted-huge', children: [{ agent: clerk }] });
		expect((await session.send('Go.')).text).toBe('Done.');
		expect(asked).toEqual(['scripted-huge: Boss.', 'scripted-small: Clerk.', 'scripted-huge: Boss.']);
		expect(() => createTestSession(boss, {})).toThrow('script: name what the model answers');
	});

	test('keeps its conversation, and shows the requests to the model', async () => {
		const session = createTestSession(desk, {
			script: ['Hello.', 'Yes.'],
			metadata: { shop: 'a bakery' },
			skills: [
				{ name: 'published', description: 'A published skill.' },
				{ name: 'other', description: 'Not named.' },
			],
		});
		await session.send('Hi');
		await session.send('Are you there?');
		expect(session.messages.map(({ content }) => content)).toEqual(['Hi', 'Hello.', 'Are you there?', 'Yes.']);
		expect(session.requests[1]).toMatchObject({ model: 'claude-opus-4-5', messages: session.messages.slice(0, 3) });
		expect(session.requests[0]?.system).toMatch(/^You serve a bakery\.[\s\S]*own: An own skill[\s\S]*published: A pub/);
		expect(session.requests[0]?.system).not.toContain('other');
	});

	test('waits for approvals and results as a session of a Worker does', async () => {
		const three = callTools(['pay', { amount: 20 }], ['pay', { amount: 30 }], ['by_hand', {}]);
		const session = createTestSession(desk, { script: [three, 'Done.'] });
		const { status, metadata } = await session.send('Pay.');
		const [first, second, third] = metadata.manualToolCalls ?? [];
		expect([status, first?.kind, third?.kind]).toEqual(['awaiting_tools', 'approval', undefined]);
		await expect(session.send('Hello?')).rejects.toMatchObject({ code: 'conflict' });
		await expect(session.submit([{ id: 'x', approve: true }])).rejects.toMatchObject({ code: 'invalid_request' });
		const wrong = { id: first?.id ?? '', approve: true, input: { amount: 'all' } };
		await expect(session.submit([wrong])).rejects.toMatchObject({ data: { field: 'input.amount' } });
		const rest = await session.submit([{ id: first?.id ?? '', approve: true, input: { amount: 21 } }]);
		expect([rest.status, rest.metadata.manualToolCalls]).toEqual(['awaiting_tools', [second, third]]);
		const { text } = await session.submit([
			{ id: second?.id ?? '', approve: false, reason: 'Too much.' },
			{ id: third?.id ?? '', output: 'done by hand' },
		]);
		expect(text).toBe('Done.');
		expect(session.messages.flatMap((one) => (one.role === 'tool' ? [one.content] : []))).toEqual([
			'paid 21',
			'A person did not allow this call: Too much.',
			'done by hand',
		]);
	});

	test('takes the next message as the answer to a question, without a second call', async () => {
		const session = createTestSession(desk, { script: [callTool('ask'), 'That one, then.'] });
		expect(await session.send('Find it.')).toMatchObject({
			status: 'awaiting_user',
			metadata: { question: { question: 'Which one?' } },
		});
		expect((await session.send('The red one.')).text).toBe('That one, then.');
		expect(session.messages[2]).toMatchObject({ role: 'tool', content: 'The red one.' });
	});

	test('begins with the given state, and stores the parts of a tool result', async () => {
		const session = createTestSession(desk, { script: [callTool('draw'), 'Look.'], state: { last: 'B-2' } });
		const { messages } = await session.send('Draw.');
		expect(messages[2]).toMatchObject({ parts: [chat.imagePart('aGk=', 'image/png')] });
		expect(await session.state.get('last')).toBe('B-2');
	});

	test('fails as a session of a Worker does, and then accepts the next message', async () => {
		const session = createTestSession(desk, { script: [Object.assign(new Error('no'), { status: 401 }), 'Better.'] });
		await expect(session.send('Hi')).rejects.toMatchObject({ code: 'auth' });
		expect((await session.send('Again')).text).toBe('Better.');
	});
});

test('the usage of a session has that of all its runs, of failed runs, and of its children', async () => {
	const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15, costUsd: 0.25 };
	const child = defineAgent({ name: 'child', description: 'Helps.', tools: [] });
	const parent = defineAgent({ name: 'parent', description: 'Asks.', tools: [agentTool(child)] });
	const session = createTestSession(parent, {
		script: [
			{ ...callTool('child', { task: 'Help.' }), usage },
			{ text: 'Done.', usage },
			{ text: 'Again.', usage },
		],
		children: [{ agent: child, script: [{ text: 'Helped.', usage }] }],
	});
	await session.send('Go.');
	await session.send('Again.');
	expect(session.usage).toMatchObject({ totalTokens: 60, costUsd: 1 });
	await expect(session.send('Once more.')).rejects.toThrow('The script has 3 turns');
	expect(session.usage).toMatchObject({ totalTokens: 60, costUsd: 1 });
});

test('a signal cancels a run of a session', async () => {
	const stop = new AbortController();
	const agent = defineAgent({ name: 'slow', description: 'Waits.', tools: [] });
	const script: providers.ScriptedFn = () => {
		stop.abort();
		return new Promise(() => {});
	};
	const session = createTestSession(agent, { script: [script], signal: stop.signal });
	await expect(session.send('Go.')).rejects.toMatchObject({ code: 'cancelled' });
});

test('a call with a secret of the environment is not run', async () => {
	const ran: unknown[] = [];
	const send = tool.define({
		name: 'send',
		description: 'Sends.',
		inputSchema: v.object({ text: v.string() }),
		passInput: true,
		fn: (input) => void ran.push(input),
	});
	const agent = defineAgent({ name: 'sender', description: 'Sends.', tools: [send] });
	const env = { CALLBACK_SECRET: 'whsec_0123456789' };
	const script = [{ toolCalls: [{ id: 'a', name: 'send', input: { text: btoa(env.CALLBACK_SECRET) } }] }, 'No.'];
	const session = createTestSession(agent, { script, env });
	await session.send('Go.');
	expect(ran).toEqual([]);
	expect(session.messages.at(-2)?.content).toContain('(CALLBACK_SECRET)');
});
