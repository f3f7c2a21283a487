import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { estimateRequest } from '../../../src/core/chat/estimate.ts';
import { readToolResult } from '../../../src/core/chat/message.ts';
import { chat, halt, type MessagePart, parts } from '../../../src/core/index.ts';
import { calling, fail, finish, only, readTool } from './support.ts';

const image = chat.imagePart('aGk=', 'image/png');
const draw = (list: readonly MessagePart[]) => readTool('draw', () => parts(list));
const script = [calling({ id: 'a', name: 'draw', input: {} }), 'Done.'];

const base64 = fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => btoa(String.fromCharCode(...bytes)));
const name = fc.option(fc.string({ maxLength: 8 }), { nil: undefined });
const part: fc.Arbitrary<MessagePart> = fc.oneof(
	fc.string().map(chat.textPart),
	base64.map((data) => chat.imagePart(data, 'image/png')),
	fc.webUrl().map((url) => chat.imagePart(url)),
	fc.record({ data: base64, name }).map(({ data, name }) => chat.filePart(data, 'application/pdf', name)),
	base64.map((data) => ({ kind: 'audio', data, mime: 'audio/wav' }) as const),
);

test("the parts of a tool's result reach the history, the model and the readers unchanged", async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 5 }), async (list) => {
			const { result, events, requests } = await finish(script, { tools: [draw(list)] });
			const message = result.messages.find(({ role }) => role === 'tool');
			expect(message).toEqual({
				role: 'tool',
				toolCallId: 'a',
				content: chat.flattenParts(list),
				isError: false,
				parts: list,
			});
			expect(requests[1]?.messages.at(-1)).toEqual(message);
			const [shown] = only(events, 'tool_result');
			expect(shown).toEqual({
				type: 'tool_result',
				id: 'a',
				output: chat.flattenParts(list),
				isError: false,
				parts: list,
			});
			if (message?.role !== 'tool') throw new Error('no result');
			expect({ type: 'tool_result', ...readToolResult(message) }).toEqual(shown);
			expect(result.steps[0]?.toolResults).toEqual([readToolResult(message)]);
		}),
	);
});

test('a halted run keeps the parts of the result that halted it', async () => {
	const halting = readTool('draw', () => halt('enough', parts([image])));
	const { result } = await finish(script, { tools: [halting] });
	expect([result.status, result.messages.at(-1)]).toEqual([
		'halted',
		expect.objectContaining({ content: '[image:image]', parts: [image] }),
	]);
});

test('the estimate of a request counts images in results, and the context limit counts texts in results', async () => {
	const count = async (parts: readonly MessagePart[]) =>
		estimateRequest({ model: 'any' }, [{ role: 'tool', toolCallId: 'a', content: '', parts }]);
	const text = chat.textPart('A dot.');
	const more = (await count([text, chat.imagePart('https://example.com/a.png')])) - (await count([text]));
	expect(more).toBeGreaterThan(1_600);
	const { error } = await fail(script, {
		tools: [draw([chat.textPart('x'.repeat(200_000))])],
		maxContextTokens: 20_000,
	});
	expect(error.code).toBe('context_overflow');
});
