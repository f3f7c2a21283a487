import * as v from 'valibot';
import { expect, test } from 'vitest';
import { askUser, type ChatOptions, chat, type tool, tool as tools } from '../../../src/core/index.ts';
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

/** Has the tool ask, and gives it the answer. */
async function answer(text: string, options: Partial<ChatOptions>) {
	const first = await finish([ordering], options);
	const { answerTo, question } = first.result.metadata;
	if (answerTo === undefined || question === undefined) throw new Error('the tool did not ask');
	const openCalls = new Map([['a', { question, answer: { ...answerTo, text } }]]);
	const second = await finish(['Done.'], { ...options, openCalls }, first.result.messages);
	return { first, second };
}

test('the answer to a question goes to onAnswer, with the arguments and what the tool kept', async () => {
	const { second } = await answer('M', { tools: [order()] });
	expect(results(second.result.messages)).toEqual([
		['a', { answer: 'M', args: { thing: 'hat' }, resume: { step: 1 } }],
	]);
	expect(only(second.events, 'note')).toEqual([{ type: 'note', id: 'a', label: 'Answer', detail: 'M' }]);
});

test('what the tool keeps with its question is in no event', async () => {
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

test('onAnswer may ask again, and its next question has its own data', async () => {
	const again = order({ onAnswer: (text: string) => askUser(`${text}: which colour?`, undefined, { step: 2 }) });
	const { second } = await answer('M', { tools: [again] });
	expect(second.result).toMatchObject({
		status: 'awaiting_user',
		metadata: { question: { question: 'M: which colour?' }, answerTo: { callId: 'a', resume: { step: 2 } } },
	});
});

test('an onAnswer that throws gives an isError result', async () => {
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

test('a call that was allowed and asks runs on without being allowed again', async () => {
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

test('a tool without onAnswer has no metadata.answerTo: the answer is its result', async () => {
	const { result } = await finish([ordering], { tools: [order({ onAnswer: undefined })] });
	expect(result.metadata).toMatchObject({ question: { callId: 'a' } });
	expect(result.metadata.answerTo).toBeUndefined();
});

test('loadTools is asked before each turn, and its newest tools are offered', async () => {
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
