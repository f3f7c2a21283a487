import { describe, expect, test } from 'vitest';
import { chat, halt, parts, tool } from '../../../src/core/index.ts';
import { readTool } from '../chat/support.ts';

const image = chat.imagePart('aGk=', 'image/png');
const file = chat.filePart('https://example.com/a.pdf', 'application/pdf', 'a.pdf');
const dispatch = (fn: () => unknown) => tool.dispatch([readTool('draw', fn)], { id: 'c1', name: 'draw', input: {} });

describe('a tool that returns parts', () => {
	test('returns the parts in its result, and their text as the output', async () => {
		const given = [chat.textPart('A dot.'), image, file];
		expect(await dispatch(() => parts(given))).toEqual({
			id: 'c1',
			output: 'A dot.\n\n[image:image]\n\n[file:a.pdf (https://example.com/a.pdf)]',
			isError: false,
			parts: given,
		});
	});

	test('cannot change the parts later', async () => {
		const given = [chat.textPart('before')];
		const result = await dispatch(() => parts(given));
		given[0] = chat.textPart('after');
		expect(result.parts).toEqual([chat.textPart('before')]);
	});

	test('can halt the run with parts', async () => {
		const { output } = await dispatch(() => halt('enough', parts([image])));
		expect(tool.isHalt(output) && tool.isParts(output.result) && output.result.parts).toEqual([image]);
	});

	test.each([
		['a value that is no list', 'text', 'parts: must be a list of parts'],
		['an empty list', [], 'parts: must hold a part'],
		['a text', ['text'], 'parts.0'],
		['a part of another kind', [{ kind: 'video', data: 'aGk=' }], 'parts.0.kind: must be text, image, audio or file'],
		['an image without bytes or an address', [{ kind: 'image' }], 'parts.0: give data or url'],
		['bytes that are no base64', [{ kind: 'image', data: '?' }], 'parts.0.data: must be base64'],
		['a text part without text', [{ kind: 'text' }], 'parts.0.text: missing'],
		['an unknown field', [{ kind: 'text', text: '', size: 1 }], 'parts.0.size: no such field'],
		['too many parts', Array.from({ length: 33 }, () => image), 'at most 32 parts'],
		['too much text', [{ kind: 'text', text: 'x'.repeat(4_000_001) }], 'at most 4000000 characters together'],
	])('fails with an error that explains the mistake: %s', async (_, list, says) => {
		const wrong: (typeof image)[] = JSON.parse(JSON.stringify(list));
		const { output, isError } = await dispatch(() => parts(wrong));
		expect([isError, output]).toEqual([true, expect.stringContaining(says)]);
	});
});
