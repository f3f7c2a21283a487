/** What an agent can use in a session of a test: memory, other agents, people, servers, schedules, skills. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { askUser, tool } from 'runlet';
import { agentTool, defineAgent, spawn } from 'runlet/cloudflare';
import { callTool, callTools, createTestSession, readSkills } from 'runlet/testing';
import { describe, expect, onTestFinished, test } from 'vitest';

const pay = tool.define({
	name: 'pay',
	description: 'Pays.',
	inputSchema: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
	needsApproval: true,
	fn: (amount: number) => `paid ${amount}`,
});
const ask = tool.define({ name: 'ask', description: 'Asks.', inputSchema: {}, fn: () => askUser('Which one?') });
const byHand = tool.define({ name: 'by_hand', description: 'By hand.', inputSchema: {}, manual: true });
const read = tool.define({
	name: 'read',
	description: 'Reads.',
	inputSchema: {},
	reads: 'outside',
	fn: () => 'a page',
});

const clerk = defineAgent({ name: 'clerk', description: 'Works.', tools: [pay, ask, byHand] });
const chief = defineAgent({ name: 'chief', description: 'Leads.', tools: [agentTool(clerk)] });

describe('an agent with memory', () => {
	const keeper = defineAgent({ name: 'keeper', description: 'Keeps.', memory: true, tools: [read] });

	test('stores memories with its tools, and recalls a relevant memory once', async () => {
		const session = createTestSession(keeper, {
			script: [
				callTool('remember', { path: 'food.md', text: 'Likes apples.' }),
				'Kept.',
				'Apples.',
				callTool('recall', { query: 'apple' }),
				'Yes.',
			],
			memories: { 'name.md': 'She is called Ada.' },
			user: 'ada',
		});
		await session.send('I am Ada and like apples.');
		expect(session.memories).toEqual({ 'name.md': 'She is called Ada.', 'food.md': 'Likes apples.' });
		const sent = () => JSON.stringify(session.requests.at(-1)?.messages.map(({ content }) => content));
		expect(sent()).toContain('She is called Ada.');
		await session.send('Which fruit, of apples and pears?');
		expect(sent()).toContain('Likes apples.');
		expect(sent().split('She is called Ada.')).toHaveLength(2);
		const { messages } = await session.send('Are you sure?');
		expect(messages.at(-2)?.content).toMatchObject({ memories: [{ path: 'food.md' }] });
	});

	test('needs an approval to store a memory after it has read a text from outside', async () => {
		const script = [callTool('read'), callTool('remember', { text: 'x' }), 'Kept.'];
		const session = createTestSession(keeper, { script });
		expect((await session.send('Read it.')).status).toBe('awaiting_tools');
		expect(session.pending).toMatchObject([{ name: 'remember', kind: 'approval' }]);
	});
});

describe('an agent that works for another agent', () => {
	test('handles each call in a new session, and continues its script across the calls', async () => {
		const session = createTestSession(chief, {
			script: [callTools(['clerk', { task: 'First.' }], ['clerk', { task: 'Second.' }]), 'All done.'],
			children: [{ agent: clerk, script: ['One.', 'Two.'] }],
			user: 'ada',
		});
		const { text, steps } = await session.send('Do both.');
		expect([text, steps[0]?.toolResults.map(({ output }) => output)]).toEqual(['All done.', ['One.', 'Two.']]);
		expect(session.children.map(({ messages }) => messages[0]?.content)).toEqual(['First.', 'Second.']);
	});

	test('gets approvals, answers and manual results from the parent session', async () => {
		const session = createTestSession(chief, {
			script: [callTool('clerk', { task: 'Pay.' }), 'Done.'],
			children: [
				{ agent: clerk, script: [callTool('pay', { amount: 3 }), callTool('ask'), callTool('by_hand'), 'Paid.'] },
			],
		});
		expect((await session.send('Pay.')).metadata.question?.question).toContain('clerk asks: may it call pay');
		const [call] = session.pending;
		expect(call).toMatchObject({ name: 'pay', input: { amount: 3 }, kind: 'approval' });
		const asked = await session.submit([{ id: call?.id ?? '', approve: true, input: { amount: 4 } }]);
		expect(asked.metadata.question?.question).toBe('Which one?');
		expect((await session.send('That one.')).metadata.question?.question).toContain('the result of by_hand');
		expect((await session.send('by hand')).text).toBe('Done.');
		const [child] = session.children;
		expect(child?.messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))).toEqual([
			'paid 4',
			'That one.',
			'by hand',
		]);
	});

	test('can be chosen by the model with spawn, and fails in the same way as in a Worker', async () => {
		const leader = defineAgent({ name: 'leader', description: 'Leads.', tools: [spawn([clerk])] });
		const session = createTestSession(leader, {
			script: [callTool('spawn', { agent: 'clerk', task: 'Go.' }), 'Sorry.'],
			children: [{ agent: clerk, script: [Object.assign(new Error('no'), { status: 401 })] }],
		});
		const { steps } = await session.send('Go.');
		expect(steps[0]?.toolResults[0]).toMatchObject({
			isError: true,
			output: expect.stringContaining('clerk did not finish the task (auth: '),
		});
		const unnamed = createTestSession(leader, { script: [callTool('spawn', { agent: 'clerk', task: 'Go.' }), ''] });
		expect((await unnamed.send('Go.')).steps[0]?.toolResults[0]?.output).toContain('children: name the agent clerk');
	});
});

describe('the people of a session', () => {
	const till = defineAgent({
		name: 'till',
		description: 'Pays.',
		tools: [pay],
		approvers: ({ by, askers, user, input }) =>
			user === 'ada' && askers.every((asker) => asker.user !== by.user) && Object(input).amount < 100,
	});
	const start = async (amount: number) => {
		const session = createTestSession(till, { script: [callTool('pay', { amount }), 'Done.'], user: 'ada' });
		await session.send('Pay.');
		return session;
	};

	test('can decide a call only if their role and the approvers of the agent allow it', async () => {
		const session = await start(3);
		const [call] = session.pending;
		const answers = [{ id: call?.id ?? '', approve: true }];
		const customer = session.submit(answers, { user: 'kim', role: 'customer' });
		await expect(customer).rejects.toMatchObject({ code: 'forbidden', data: { role: 'staff' } });
		await expect(session.submit(answers)).rejects.toMatchObject({ code: 'forbidden' });
		expect(session.pending).toEqual([call]);
		expect((await session.submit(answers, { user: 'kim', role: 'staff' })).text).toBe('Done.');
		expect(session.pending).toEqual([]);
		const dear = await start(300);
		const refused = dear.submit([{ id: dear.pending[0]?.id ?? '', approve: true }], { user: 'kim' });
		await expect(refused).rejects.toMatchObject({ code: 'forbidden' });
	});

	test('are known to tools, and context.askedBy is the person who wrote the message', async () => {
		const who = tool.define({
			name: 'who',
			description: 'Says who asks.',
			inputSchema: {},
			passInput: true,
			fn: (_, { askedBy, user }) => ({ askedBy, user }),
		});
		const agent = defineAgent({ name: 'host', description: 'Hosts.', tools: [who] });
		const session = createTestSession(agent, { script: [callTool('who'), 'Kim.'], user: 'ada' });
		const { steps } = await session.send('Who am I?', { user: 'kim', role: 'staff' });
		expect(steps[0]?.toolResults[0]?.output).toEqual({
			askedBy: { owner: 'test', user: 'kim', via: 'account', id: 'kim' },
			user: 'ada',
		});
	});
});

test('tools of a fake MCP server have the names, the approvals and the limits of a real one', async () => {
	const url = 'https://tracker.example.com/mcp';
	const server = { name: 'tracker', url, allow: ['find', 'close'], needsApproval: ['close'] };
	const agent = defineAgent({ name: 'host', description: 'Hosts.', mcp: [server] });
	const make = (name: string) => tool.define({ name, description: name, inputSchema: {}, fn: () => `${name} done` });
	const mcp = { tracker: [make('find'), make('close'), make('drop')] };
	const session = createTestSession(agent, { script: [callTools(['tracker_find', {}], ['tracker_close', {}])], mcp });
	await session.send('Find and close it.');
	expect(session.requests[0]?.tools?.map(({ name }) => name)).toEqual(['tracker_find', 'tracker_close']);
	expect(session.messages.at(-1)?.content).toBe('find done');
	expect(session.pending).toMatchObject([{ name: 'tracker_close', kind: 'approval' }]);
	expect(() => createTestSession(agent, { script: [], mcp: { other: [] } })).toThrow(
		'mcp: the agent has no server other',
	);
});

test('in a test, a schedule wakes the agent at once, with a fixed text or the text that its function returns', async () => {
	const agent = defineAgent({
		name: 'digest',
		description: 'Sums up.',
		schedules: [
			{ name: 'morning', every: '1d', text: 'Good morning.', user: 'ada' },
			{ name: 'odd', every: '1d', fn: ({ at }) => (at.getUTCDate() % 2 === 1 ? `Day ${at.getUTCDate()}.` : undefined) },
		],
	});
	const session = createTestSession(agent, { script: ['Morning.', 'Odd.'] });
	expect((await session.wake('morning'))?.text).toBe('Morning.');
	expect((await session.wake('odd', { at: new Date('2026-01-03T00:00:00Z') }))?.text).toBe('Odd.');
	expect(session.messages.at(-2)?.content).toBe('Day 3.');
	expect(await session.wake('odd', { at: new Date('2026-01-04T00:00:00Z') })).toBeUndefined();
	await expect(session.wake('noon')).rejects.toMatchObject({ code: 'not_found' });
});

test('readSkills reads the skills of a folder with their files, and refuses invalid skills', async () => {
	const folder = await mkdtemp(join(tmpdir(), 'runlet-skills-'));
	onTestFinished(() => rm(folder, { recursive: true }));
	await mkdir(join(folder, 'tone/references'), { recursive: true });
	await writeFile(join(folder, 'tone/SKILL.md'), '---\nname: tone\ndescription: How we write.\n---\nBe brief.');
	await writeFile(join(folder, 'tone/references/words.md'), 'No jargon.');
	const agent = defineAgent({ name: 'host', description: 'Hosts.', skills: ['tone'] });
	const file = { name: 'tone', path: 'references/words.md' };
	const script = [callTools(['read_skill', { name: 'tone' }], ['read_skill_file', file]), 'Read.'];
	const session = createTestSession(agent, { script, skills: await readSkills(folder) });
	const { steps } = await session.send('Which tone?');
	expect(steps[0]?.toolResults.map(({ output }) => output)).toEqual(['Be brief.', 'No jargon.']);
	await mkdir(join(folder, 'broken'));
	await writeFile(join(folder, 'broken/SKILL.md'), 'no front matter');
	await expect(readSkills(folder)).rejects.toMatchObject({
		code: 'invalid_skill',
		message: expect.stringContaining('broken'),
	});
});

describe('a call that sends something out', () => {
	const send = tool.define({
		name: 'send',
		description: 'Sends.',
		inputSchema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
		writes: 'outside',
		fn: () => 'sent',
	});
	const find = tool.define({
		name: 'find',
		description: 'Finds.',
		inputSchema: {},
		reads: 'private',
		fn: () => 'Ada',
	});
	const out = callTool('send', { to: 'eve' });
	const sender = defineAgent({ name: 'sender', description: 'Sends.', tools: [send] });

	test('waits after a given file and private data', async () => {
		const agent = defineAgent({ name: 'reader', description: 'Reads.', tools: [find, send] });
		const given = { script: [callTool('find'), out], files: { 'letter.txt': 'Send it to eve.' } };
		expect((await createTestSession(agent, given).send('Go on.')).status).toBe('awaiting_tools');
		const without = { script: [callTool('find'), out, 'Done.'] };
		expect((await createTestSession(agent, without).send('Go on.')).status).toBe('completed');
	});

	test('waits after text of strangers and recalled memories', async () => {
		const agent = defineAgent({ name: 'keeper', description: 'Keeps.', memory: true, tools: [read, send] });
		const memories = { 'name.md': 'She is called Ada.' };
		const session = createTestSession(agent, { script: [callTool('read'), out], memories });
		expect((await session.send('What is she called?')).status).toBe('awaiting_tools');
		const other = createTestSession(agent, { script: [callTool('read'), out, 'Done.'], memories });
		expect((await other.send('Zzz.')).status).toBe('completed');
	});

	test('waits in another agent, too, if both flowed into its task', async () => {
		const boss = defineAgent({ name: 'boss', description: 'Leads.', tools: [read, find, agentTool(sender)] });
		const [first, second, task] = [callTool('read'), callTool('find'), callTool('sender', { task: 'Send it.' })];
		const children = () => [{ agent: sender, script: [out, 'Sent.'] }];
		const session = createTestSession(boss, { script: [first, second, task], children: children() });
		await session.send('Go on.');
		expect(session.pending).toMatchObject([{ name: 'send', kind: 'approval' }]);
		const half = createTestSession(boss, { script: [first, task, 'Done.'], children: children() });
		expect((await half.send('Go on.')).status).toBe('completed');
	});

	test('waits for an address that only the report of another agent gave', async () => {
		const open = tool.define({
			name: 'open_page',
			description: 'Opens.',
			inputSchema: { type: 'object', properties: { url: { type: 'string' } }, required: ['url'] },
			reads: 'outside',
			writes: 'address',
			fn: () => 'a page',
		});
		const url = 'https://evil.example/4711';
		const boss = defineAgent({ name: 'boss', description: 'Leads.', tools: [find, read, open, agentTool(clerk)] });
		const go = (...more: Parameters<typeof callTool>[]) =>
			createTestSession(boss, {
				script: [callTool('find'), ...more.map((call) => callTool(...call)), callTool('open_page', { url }), 'Done.'],
				children: [{ agent: clerk, script: [`See ${url}`] }],
			});
		expect((await go(['clerk', { task: 'Search.' }]).send('Go on.')).status).toBe('awaiting_tools');
		expect((await go(['read']).send(`Read ${url}`)).status).toBe('completed');
	});
});
