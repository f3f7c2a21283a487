import { describe, expect, test } from 'vitest';
import { chat } from '../../../src/core/index.ts';

describe('messages', () => {
	test('a user message has its text', () => {
		expect(chat.userMessage('Hi')).toEqual({ role: 'user', content: 'Hi' });
	});

	test('a user message made of parts keeps them and has their flattened form as its content', () => {
		const parts = [chat.textPart('What is this?'), chat.imagePart('https://example.org/a.png')];
		expect(chat.userMessage(parts)).toEqual({
			role: 'user',
			content: 'What is this?\n\n[image:image (https://example.org/a.png)]',
			parts,
		});
	});

	test('an assistant message has its text and its calls', () => {
		const toolCalls = [{ id: 'a', name: 'echo', input: {} }];
		expect(chat.assistantMessage('Hello!')).toEqual({ role: 'assistant', content: 'Hello!' });
		expect(chat.assistantMessage(undefined, toolCalls)).toEqual({ role: 'assistant', content: '', toolCalls });
	});

	test('a tool result message echoes the id of its call and keeps isError', () => {
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

describe('parts', () => {
	test('an image part is a URL, or data with its media type', () => {
		expect(chat.imagePart('https://example.org/a.png')).toEqual({ kind: 'image', url: 'https://example.org/a.png' });
		expect(chat.imagePart('aGk=', 'image/png')).toEqual({ kind: 'image', data: 'aGk=', mime: 'image/png' });
	});

	test('parts are flattened with a blank line between, none to the empty text', () => {
		expect(chat.flattenParts([chat.textPart('a'), chat.textPart('b')])).toBe('a\n\nb');
		expect(chat.flattenParts([])).toBe('');
	});

	test('a part without text is a placeholder of its kind, its name or its kind again, and its URL', () => {
		expect(chat.renderPart({ kind: 'image', url: 'https://x.org/a.png' })).toBe('[image:image (https://x.org/a.png)]');
		expect(chat.renderPart({ kind: 'image', name: 'a cat', url: 'u' })).toBe('[image:a cat (u)]');
		expect(chat.renderPart({ kind: 'file', name: 'bill.pdf', data: 'aGk=' })).toBe('[file:bill.pdf]');
		expect(chat.renderPart({ kind: 'audio', data: 'aGk=', mime: 'audio/mp3' })).toBe('[audio:audio]');
	});

	test('a text part is its text', () => {
		expect(chat.renderPart(chat.textPart('as it is'))).toBe('as it is');
	});

	test('the caption of an image is not lost', () => {
		expect(chat.renderPart({ kind: 'image', url: 'u', text: 'Our garden' })).toContain('Our garden');
	});
});

describe('messageText', () => {
	test('gives the content of a message', () => {
		expect(chat.messageText(chat.userMessage('Hi'))).toBe('Hi');
		expect(chat.messageText(chat.assistantMessage('Hello!'))).toBe('Hello!');
		expect(chat.messageText({ role: 'system', content: 'Be brief.' })).toBe('Be brief.');
	});

	test('gives the flattened parts of a message that has parts', () => {
		const parts = [chat.textPart('a'), chat.textPart('b')];
		expect(chat.messageText({ role: 'user', content: 'old', parts })).toBe('a\n\nb');
	});

	test('an empty list of parts hides no content', () => {
		expect(chat.messageText({ role: 'user', content: 'Hi', parts: [] })).toBe('Hi');
	});

	test('returns the JSON of a result that is not text', () => {
		expect(chat.messageText({ role: 'tool', toolCallId: 'a', content: { c: 18 } })).toBe('{"c":18}');
		expect(chat.messageText({ role: 'tool', toolCallId: 'a', content: 'warm' })).toBe('warm');
	});
});
