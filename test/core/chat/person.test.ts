import * as v from 'valibot';
import { expect, test } from 'vitest';
import { chat, providers, type ToolCall, tool } from '../../../src/core/index.ts';
import { calling, finish } from './support.ts';

const call = (id: string, name: string, input: unknown): ToolCall => ({ id, name, input });
const inputSchema = v.object({ amount: v.pipe(v.number(), v.minValue(1)) });
const pay = (more: Partial<tool.ToolRecord>) =>
	tool.define({ name: 'pay', description: 'Pays.', inputSchema, ...more } as tool.ToolRecord);

test('a tool that needs approval is not run by the loop', async () => {
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

test('whether it needs approval may hang on the arguments; a check that throws says that it does', async () => {
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

test('a call with wrong arguments goes back to the model, not to a person', async () => {
	for (const input of [{ amount: -5 }, '{"amount": 5', {}]) {
		const { result } = await finish([calling(call('a', 'pay', input)), 'I see.'], { tools: [pay({ manual: true })] });
		expect(result.status).toBe('completed');
		expect(result.messages.find(({ role }) => role === 'tool')).toMatchObject({ isError: true });
	}
});

test('a result does not change if the tool changes the value later', async () => {
	const list = ['one'];
	const grow = tool.define({ name: 'grow', description: 'Grows.', inputSchema: v.object({}), fn: () => list });
	const { result } = await finish([calling(call('a', 'grow', {})), 'Done.'], { tools: [grow] });
	list.push('two');
	expect(result.messages.find(({ role }) => role === 'tool')?.content).toEqual(['one']);
});

test('a call that a person allowed runs when the conversation is taken up; one of a later turn with its id does not', async () => {
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

test('stopAfter ends a run after so many turns, their tools having run', async () => {
	const tools = [pay({ fn: () => 'paid' })];
	const turns = [1, 2, 3].map((amount) => calling(call(`c${amount}`, 'pay', { amount })));
	const { result } = await finish(turns, { tools, stopAfter: 2 });
	expect(result).toMatchObject({ status: 'awaiting_tools', metadata: { manualToolCalls: [] } });
	expect(result.steps).toHaveLength(2);
	expect(result.messages.filter(({ role }) => role === 'tool')).toHaveLength(2);
	const done = await finish(['Done.'], { tools, stopAfter: 1 });
	expect(done.result.status).toBe('completed');
});
