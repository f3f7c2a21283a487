import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCallResult } from '../../../src/core/mcp/result.ts';
import { isParts } from '../../../src/core/tool/index.ts';

const tool = { name: 'look', inputSchema: { type: 'object' } };
const checked = { ...tool, outputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } };
const read = (content: unknown, more: object = {}, of: typeof tool = tool) => readCallResult(of, { content, ...more });
const text = (words: string) => ({ type: 'text', text: words });

describe('the result of a call', () => {
	it('is a text if the server sends one text', async () => {
		expect(await read([text('hello')])).toBe('hello');
	});

	it('contains images, audio, embedded resources and links as parts in order', async () => {
		const result = await read([
			text('see'),
			{ type: 'image', data: 'aGk=', mimeType: 'image/png' },
			{ type: 'audio', data: 'aGk=', mimeType: 'audio/wav' },
			{ type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'hi' } },
			{ type: 'resource', resource: { uri: 'file:///b.bin', blob: 'aGk=' } },
			{ type: 'resource_link', uri: 'file:///c.csv', name: 'C', mimeType: 'text/csv', description: 'numbers' },
		]);
		expect(isParts(result) && result.parts).toEqual([
			{ kind: 'text', text: 'see' },
			{ kind: 'image', data: 'aGk=', mime: 'image/png' },
			{ kind: 'audio', data: 'aGk=', mime: 'audio/wav' },
			{ kind: 'file', data: 'aGk=', mime: 'text/plain', name: 'file:///a.txt' },
			{ kind: 'file', data: 'aGk=', name: 'file:///b.bin' },
			{ kind: 'text', text: '[Resource C: file:///c.csv (text/csv, numbers)]', meta: { uri: 'file:///c.csv' } },
		]);
	});

	it('is only the structured content if the texts add nothing', async () => {
		expect(await read([text('{ "n": 1 }')], { structuredContent: { n: 1 } })).toEqual({ n: 1 });
		expect(await read([], { structuredContent: { n: 1 } })).toEqual({ n: 1 });
		expect(await read([text('one')], { structuredContent: { content: 'one' } })).toBe('one');
		const both = await read([text('one')], { structuredContent: { n: 1 } });
		expect(isParts(both) && both.parts.map((part) => part.text)).toEqual(['one', '{"n":1}']);
	});

	it("begins with a note to the model if the content violates the tool's output schema", async () => {
		for (const structuredContent of [{ n: 'one' }, undefined]) {
			const result = await read([text('one')], { structuredContent }, checked);
			expect(isParts(result) && result.parts[0]?.text).toMatch(/^\[This result is not what the tool promises: /);
		}
	});

	it('is cut with a note if its texts and data together exceed 1 MB', async () => {
		const long = await read([text('x'.repeat(2_000_000))]);
		expect(isParts(long) && long.parts.map((part) => part.text?.length)).toEqual([1_048_576, expect.any(Number)]);
		expect(isParts(long) && long.parts[1]?.text).toBe(
			'[Cut: this text had 2000000 characters. A result has at most 1048576.]',
		);
		const large = await read([{ type: 'image', data: 'aaaa'.repeat(500_000), mimeType: 'image/png' }, text('below')]);
		expect(isParts(large) && large.parts.map((part) => part.text)).toEqual([
			'below',
			'[Left out: an image of 1500000 bytes.]',
		]);
	});

	it("is an error with the server's shortened message if the call failed", async () => {
		await expect(read([text('no')], { isError: true })).rejects.toMatchObject({ message: 'no' });
		await expect(read([], { isError: true, structuredContent: { why: 1 } })).rejects.toMatchObject({
			message: '{"why":1}',
		});
		await expect(read([], { isError: true })).rejects.toMatchObject({
			message: expect.stringContaining('does not say why'),
		});
	});

	it('is a text, JSON or parts for any content, and its size is limited', async () => {
		const word = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.base64String());
		const block = fc.oneof(
			fc.record({ type: fc.constant('text'), text: word }),
			fc.record(
				{ type: fc.constantFrom('image', 'audio'), data: word, mimeType: word },
				{ requiredKeys: ['type', 'data'] },
			),
			fc.record({
				type: fc.constant('resource'),
				resource: fc.record({ uri: word, text: word, blob: word }, { requiredKeys: ['uri'] }),
			}),
			fc.record({ type: fc.constant('resource_link'), uri: word, name: word }),
			fc.jsonValue(),
		);
		await fc.assert(
			fc.asyncProperty(
				fc.array(block, { maxLength: 40, size: 'small' }),
				fc.option(fc.jsonValue()),
				async (content, structuredContent) => {
					const result = await read(content, structuredContent === null ? {} : { structuredContent }, checked);
					if (isParts(result)) expect(result.parts.length).toBeLessThanOrEqual(32);
					expect(JSON.stringify(result).length).toBeLessThan(3_000_000);
				},
			),
		);
	});
});
