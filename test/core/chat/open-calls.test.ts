import * as v from 'valibot';
import { expect, test } from 'vitest';
import {
	askUser,
	type ChatOptions,
	chat,
	providers,
	type ToolCall,
	tool,
	tool as tools,
} from '../../../src/core/index.ts';
import { calling, finish, only, results } from './support.ts';

const order = (more: Partial<tool.ToolRecord> = {}) =>
	tools.define({
		name: 'order',
		description: 'Asks for a size.',
		inputSchema: v.object({ thing: v.string() }),
		passInput: true,
		fn: () => askUser('Which size?', { choices: ['S', 'M'] }, { step: 1 }),
		onAnswer: (answer: string, { args, resume }: tool.AnsweredCall) => ({ answer, args, resume }),
		...more,
	} as tool.ToolRecord);
const ordering = calling({ id: 'a', name: 'order', input: { thing: 'hat' } });

/** Lets the tool ask, and answers the question. */
async function answer(text: string, options: Partial<ChatOptions>) {
	const first = await finish([ordering], options);
	const { answerTo, question } = first.result.metadata;
	if (answerTo === undefined || question === undefined) throw new Error('the tool did not ask');
	const openCalls = new Map([['a', { question, answer: { ...answerTo, text } }]]);
	const second = await finish(['Done.'], { ...options, openCalls }, first.result.messages);
	return { first, second };
}

test('onAnswer gets the answer, the arguments of the call and the data stored with the question', async () => {
	const { second } = await answer('M', { tools: [order()] });
	expect(results(second.result.messages)).toEqual([
		['a', { answer: 'M', args: { thing: 'hat' }, resume: { step: 1 } }],
	]);
	expect(only(second.events, 'note')).toEqual([{ type: 'note', id: 'a', label: 'Answer', detail: 'M' }]);
});

test('the data of a question is in no event', async () => {
	const { first } = await answer('M', { tools: [order()] });
	expect(JSON.stringify(first.events)).not.toContain('step":1');
	expect(only(first.events, 'awaiting')).toEqual([
		{
			type: 'awaiting',
			status: 'awaiting_user',
			question: { callId: 'a', question: 'Which size?', options: { choices: ['S', 'M'] } },
		},
	]);
});

test('onAnswer can ask another question with its own data', async () => {
	const again = order({ onAnswer: (text: string) => askUser(`${text}: which colour?`, undefined, { step: 2 }) });
	const { second } = await answer('M', { tools: [again] });
	expect(second.result).toMatchObject({
		status: 'awaiting_user',
		metadata: { question: { question: 'M: which colour?' }, answerTo: { callId: 'a', resume: { step: 2 } } },
	});
});

test('an error in onAnswer becomes an isError result', async () => {
	const failing = order({
		onAnswer: () => {
			throw new Error('sold out');
		},
	});
	const { second } = await answer('M', { tools: [failing] });
	expect(second.result.messages.find(({ role }) => role === 'tool')).toMatchObject({
		isError: true,
		content: 'sold out',
	});
});

test('an approved call that asks a question continues without another approval', async () => {
	const first = await finish([ordering], { tools: [order({ needsApproval: true })] });
	const options = { tools: [order({ needsApproval: true })], openCalls: new Map([['a', { isApproved: true }]]) };
	const asked = await finish(['never'], options, first.result.messages);
	const { answerTo, question } = asked.result.metadata;
	if (answerTo === undefined || question === undefined) throw new Error('the tool did not ask');
	const { result } = await finish(
		['Done.'],
		{ tools: options.tools, openCalls: new Map([['a', { question, answer: { ...answerTo, text: 'S' } }]]) },
		asked.result.messages,
	);
	expect(result.status).toBe('completed');
});

test('a question sets no metadata.answerTo if its tool has no onAnswer', async () => {
	const { result } = await finish([ordering], { tools: [order({ onAnswer: undefined })] });
	expect(result.metadata).toMatchObject({ question: { callId: 'a' } });
	expect(result.metadata.answerTo).toBeUndefined();
});

test('loadTools is called before each turn, and its newest tools are offered', async () => {
	const named = (name: string) => tools.define({ name, description: name, inputSchema: v.object({}), fn: () => name });
	const lists = [[named('one')], [named('one'), named('two')], [named('two')]];
	let asked = 0;
	const loadTools = () => lists[Math.min(Math.max(0, asked++ - 1), 2)] ?? [];
	const { requests } = await finish(
		[calling({ id: 'a', name: 'one', input: {} }), calling({ id: 'b', name: 'two', input: {} }), 'Done.'],
		{ loadTools },
		[chat.userMessage('go')],
	);
	expect(requests.map(({ tools: sent }) => sent?.map(({ name }) => name))).toEqual([['one'], ['one', 'two'], ['two']]);
});

const call = (id: string, name: string, input: unknown): ToolCall => ({ id, name, input });
const inputSchema = v.object({ amount: v.pipe(v.number(), v.minValue(1)) });
const pay = (more: Partial<tool.ToolRecord>) =>
	tool.define({ name: 'pay', description: 'Pays.', inputSchema, ...more } as tool.ToolRecord);

test('the loop does not run a tool that needs approval', async () => {
	let ran = false;
	const fn = () => {
		ran = true;
	};
	const { result } = await finish([calling(call('a', 'pay', { amount: 5 }))], {
		tools: [pay({ fn, needsApproval: true })],
	});
	expect(result).toMatchObject({ status: 'awaiting_tools', metadata: { manualToolCalls: [{ id: 'a' }] } });
	expect(ran).toBe(false);
});

test('needsApproval can check the arguments, and if it throws, the call needs approval', async () => {
	const paid: unknown[] = [];
	const fn = (amount: unknown) => paid.push(amount);
	const above = pay({ fn, needsApproval: ({ amount }) => Number(amount) > 10 });
	const small = await finish([calling(call('a', 'pay', { amount: 5 })), 'Done.'], { tools: [above] });
	expect(small.result.status).toBe('completed');
	const large = await finish([calling(call('a', 'pay', { amount: 50 }))], { tools: [above] });
	expect(large.result.status).toBe('awaiting_tools');
	const broken = pay({
		fn,
		needsApproval: () => {
			throw new Error('cannot say');
		},
	});
	expect((await finish([calling(call('a', 'pay', { amount: 5 }))], { tools: [broken] })).result.status).toBe(
		'awaiting_tools',
	);
	expect(paid).toEqual([5]);
});

test('a call with wrong arguments fails without asking a person', async () => {
	for (const input of [{ amount: -5 }, '{"amount": 5', {}]) {
		const { result } = await finish([calling(call('a', 'pay', input)), 'I see.'], { tools: [pay({ manual: true })] });
		expect(result.status).toBe('completed');
		expect(result.messages.find(({ role }) => role === 'tool')).toMatchObject({ isError: true });
	}
});

test('a result does not change if the tool later changes the value that it returned', async () => {
	const list = ['one'];
	const grow = tool.define({ name: 'grow', description: 'Grows.', inputSchema: v.object({}), fn: () => list });
	const { result } = await finish([calling(call('a', 'grow', {})), 'Done.'], { tools: [grow] });
	list.push('two');
	expect(result.messages.find(({ role }) => role === 'tool')?.content).toEqual(['one']);
});

test('an approved call runs when the run continues, and a later call with the same id needs its own approval', async () => {
	const paid: unknown[] = [];
	const tools = [pay({ fn: (amount: unknown) => paid.push(amount), needsApproval: true })];
	const asked = await finish([calling(call('a', 'pay', { amount: 5 }))], { tools });
	expect(asked.result.metadata.manualToolCalls).toEqual([
		{ id: 'a', name: 'pay', input: { amount: 5 }, kind: 'approval' },
	]);
	const model = providers.scripted([calling(call('a', 'pay', { amount: 900 }))]);
	const openCalls = new Map([['a', { isApproved: true }]]);
	const options = { model: 'scripted', providers: [model], tools, openCalls };
	const allowed = await chat.run(options, asked.result.messages).result;
	expect(paid).toEqual([5]);
	expect(allowed).toMatchObject({
		status: 'awaiting_tools',
		metadata: { manualToolCalls: [{ input: { amount: 900 } }] },
	});
});

test('stopAfter: n ends a run after n turns and their tool calls', async () => {
	const tools = [pay({ fn: () => 'paid' })];
	const turns = [1, 2, 3].map((amount) => calling(call(`c${amount}`, 'pay', { amount })));
	const { result } = await finish(turns, { tools, stopAfter: 2 });
	expect(result).toMatchObject({ status: 'awaiting_tools', metadata: { manualToolCalls: [] } });
	expect(result.steps).toHaveLength(2);
	expect(result.messages.filter(({ role }) => role === 'tool')).toHaveLength(2);
	const done = await finish(['Done.'], { tools, stopAfter: 1 });
	expect(done.result.status).toBe('completed');
});
