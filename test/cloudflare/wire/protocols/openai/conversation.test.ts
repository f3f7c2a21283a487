import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toConversation } from '../../../../../src/cloudflare/wire/protocols/openai/conversation.ts';
import { type ClientMessage, completionRequest } from '../../../../../src/cloudflare/wire/protocols/openai/schema.ts';
import { check } from '../../../../../src/core/base/check.ts';
import { RunletError } from '../../../../../src/core/base/errors.ts';
import { listOpenCalls, toSendable } from '../../../../../src/core/chat/message.ts';

const text = fc.string({ minLength: 1, maxLength: 8 }).map((one) => `${one}.`);
const user = text.map((content): ClientMessage[] => [{ role: 'user', content }]);
const system = fc
	.tuple(fc.constantFrom('system' as const, 'developer' as const), text)
	.map(([role, content]): ClientMessage[] => [{ role, content }]);
/** A turn with calls, and their results in any order. */
const called = fc
	.tuple(text, fc.shuffledSubarray(['a', 'b', 'c'], { minLength: 1 }))
	.map(([content, ids]): ClientMessage[] => [
		{
			role: 'assistant',
			content,
			tool_calls: ids.toSorted().map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{"x":1}' } })),
		},
		...ids.map((id): ClientMessage => ({ role: 'tool', tool_call_id: id, content: `result ${id}` })),
	]);
const said = text.map((content): ClientMessage[] => [{ role: 'assistant', content }]);
const conversation = fc
	.tuple(fc.array(fc.oneof(user, system, said, called), { maxLength: 8 }), fc.oneof(user, called), fc.option(system))
	.map(([before, last, behind]) => [...before.flat(), ...last, ...(behind ?? [])]);

const readTexts = (messages: readonly { readonly content: unknown }[]) =>
	messages.map(({ content }) => String(content));

test('keeps all texts of each role in their order, and leaves no call open', () => {
	fc.assert(
		fc.property(conversation, (messages) => {
			const { history, results, message } = toConversation(messages);
			const all = [...history, ...results, ...(message === undefined ? [] : [message])];
			expect(listOpenCalls(all)).toEqual([]);
			const sent = toSendable(all);
			expect(sent).toHaveLength(all.length);
			for (const [role, ...roles] of [['user'], ['assistant'], ['system', 'developer']]) {
				const theirs = sent.filter((one) => one.role === role);
				const given = messages
					.filter((one) => [role, ...roles].includes(one.role))
					.map(({ content }) => String(content));
				expect(readTexts(theirs).join('\n\n')).toBe(given.join('\n\n'));
			}
			const told = messages.flatMap((one) => (one.role === 'tool' ? [`${one.tool_call_id} ${one.content}`] : []));
			const heard = sent.flatMap((one) => (one.role === 'tool' ? [`${one.toolCallId} ${one.content}`] : []));
			expect(heard.toSorted()).toEqual(told.toSorted());
		}),
	);
});

const json = fc.oneof(
	{ weight: 2, arbitrary: fc.constantFrom('user', 'tool', 'assistant', 'text', 'a', null, [], {}) },
	fc.jsonValue({ maxDepth: 2 }),
);
const part = fc.record(
	{ type: fc.constantFrom('text', 'image_url', 'file', 'x'), text: json, image_url: json, file: json },
	{ requiredKeys: ['type'] },
);
const odd = fc.record(
	{
		role: fc.constantFrom('user', 'assistant', 'tool', 'system', 'critic'),
		content: fc.oneof(text, json, fc.array(part, { maxLength: 2 })),
		tool_calls: fc.oneof(
			json,
			fc.array(fc.record({ id: json, type: json, function: json }, { requiredKeys: [] }), { maxLength: 2 }),
		),
		tool_call_id: json,
	},
	{ requiredKeys: ['role'] },
);

test('accepts random messages, or names the refused field', () => {
	fc.assert(
		fc.property(fc.array(odd, { maxLength: 5 }), fc.boolean(), (messages, open) => {
			try {
				const body = check(completionRequest, { model: 'agent', messages }, 'body');
				toConversation(body.messages, { open });
			} catch (error) {
				if (!(error instanceof RunletError)) throw error;
				expect(error.code).toBe('invalid_request');
				expect(error.message.startsWith(`${error.data?.field}: `)).toBe(true);
				expect(String(error.data?.field)).toMatch(/^messages/);
			}
		}),
		{ numRuns: 1_000 },
	);
});

test('joins several messages of the user into one message with all parts', () => {
	const { message } = toConversation([
		{ role: 'user', content: 'one' },
		{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }] },
	]);
	expect(message?.parts).toEqual([
		{ kind: 'text', text: 'one' },
		{ kind: 'image', url: 'https://example.com/a.png' },
	]);
});

test('keeps arguments that are not JSON as text, and reads missing arguments as an empty object', () => {
	const calls = ['{"a":', '', '[1]'].map((given, index) => ({
		id: String(index),
		type: 'function' as const,
		function: { name: 'f', arguments: given },
	}));
	const { history } = toConversation([
		{ role: 'assistant', content: null, tool_calls: calls },
		{ role: 'user', content: 'Go on' },
	]);
	expect(history).toMatchObject([{ toolCalls: [{ input: '{"a":' }, { input: {} }, { input: [1] }] }]);
});
