import { describe, expect, test } from 'vitest';
import { chat } from '../../../src/core/index.ts';

describe('the message functions', () => {
	test('create a user message from a text', () => {
		expect(chat.userMessage('Hi')).toEqual({ role: 'user', content: 'Hi' });
	});

	test('create a user message from parts, with their flattened text as content', () => {
		const parts = [chat.textPart('What is this?'), chat.imagePart('https://example.org/a.png')];
		expect(chat.userMessage(parts)).toEqual({
			role: 'user',
			content: 'What is this?\n\n[image:image (https://example.org/a.png)]',
			parts,
		});
	});

	test('create an assistant message from a text and calls', () => {
		const toolCalls = [{ id: 'a', name: 'echo', input: {} }];
		expect(chat.assistantMessage('Hello!')).toEqual({ role: 'assistant', content: 'Hello!' });
		expect(chat.assistantMessage(undefined, toolCalls)).toEqual({ role: 'assistant', content: '', toolCalls });
	});

	test('create a result message with the id of the call and isError', () => {
		expect(chat.toolResultMessage({ id: 'a', output: { c: 18 }, isError: false })).toEqual({
			role: 'tool',
			content: { c: 18 },
			toolCallId: 'a',
			isError: false,
		});
		expect(chat.toolResultMessage({ id: 'b', output: 'no', isError: true })).toMatchObject({
			toolCallId: 'b',
			isError: true,
		});
	});
});

describe('the part functions', () => {
	test('create an image part from a URL, or from data and a media type', () => {
		expect(chat.imagePart('https://example.org/a.png')).toEqual({ kind: 'image', url: 'https://example.org/a.png' });
		expect(chat.imagePart('aGk=', 'image/png')).toEqual({ kind: 'image', data: 'aGk=', mime: 'image/png' });
	});

	test('join parts with blank lines, and return an empty text for no parts', () => {
		expect(chat.flattenParts([chat.textPart('a'), chat.textPart('b')])).toBe('a\n\nb');
		expect(chat.flattenParts([])).toBe('');
	});

	test('write a part without text as a placeholder with its kind, name and URL', () => {
		expect(chat.renderPart({ kind: 'image', url: 'https://x.org/a.png' })).toBe('[image:image (https://x.org/a.png)]');
		expect(chat.renderPart({ kind: 'image', name: 'a cat', url: 'u' })).toBe('[image:a cat (u)]');
		expect(chat.renderPart({ kind: 'file', name: 'bill.pdf', data: 'aGk=' })).toBe('[file:bill.pdf]');
		expect(chat.renderPart({ kind: 'audio', data: 'aGk=', mime: 'audio/mp3' })).toBe('[audio:audio]');
	});

	test('write the text of a text part', () => {
		expect(chat.renderPart(chat.textPart('as it is'))).toBe('as it is');
	});

	test('keep the caption of an image', () => {
		expect(chat.renderPart({ kind: 'image', url: 'u', text: 'Our garden' })).toContain('Our garden');
	});
});

describe('messageText', () => {
	test('returns the content of a message', () => {
		expect(chat.messageText(chat.userMessage('Hi'))).toBe('Hi');
		expect(chat.messageText(chat.assistantMessage('Hello!'))).toBe('Hello!');
		expect(chat.messageText({ role: 'system', content: 'Be brief.' })).toBe('Be brief.');
	});

	test('returns the flattened parts of a message with parts', () => {
		const parts = [chat.textPart('a'), chat.textPart('b')];
		expect(chat.messageText({ role: 'user', content: 'old', parts })).toBe('a\n\nb');
	});

	test('ignores an empty list of parts', () => {
		expect(chat.messageText({ role: 'user', content: 'Hi', parts: [] })).toBe('Hi');
	});

	test('returns the JSON of a result that is not text', () => {
		expect(chat.messageText({ role: 'tool', toolCallId: 'a', content: { c: 18 } })).toBe('{"c":18}');
		expect(chat.messageText({ role: 'tool', toolCallId: 'a', content: 'warm' })).toBe('warm');
	});
});
