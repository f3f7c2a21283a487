import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chat, type Message } from '../../../src/core/index.ts';
import { calling, echoCall, finish, readTool } from './support.ts';

const limit = 262_144;

/** What the model is sent for a result, in each of the requests. */
async function sentFor(message: Partial<Extract<Message, { role: 'tool' }>>): Promise<Message | undefined> {
	const result: Message = { role: 'tool', toolCallId: 'a', content: '', ...message };
	const history = [chat.userMessage('1'), chat.assistantMessage('', [echoCall('a')]), result];
	const { requests, result: run } = await finish(['Hi'], {}, history);
	expect(run.messages[2]).toEqual(result);
	return requests[0]?.messages[2];
}

describe('cutOutput', () => {
	test.each([
		['a text', 'x'.repeat(limit)],
		['data', { text: 'x'.repeat(limit - 11) }],
		['nothing', undefined],
		['null', null],
	])('%s of up to 262,144 characters is given back as it is', (_, content) => {
		expect(chat.cutOutput(content)).toBe(content);
	});

	test('a longer text keeps its beginning, and says that it was cut and how long it was', () => {
		const cut = chat.cutOutput(`begins${'x'.repeat(limit)}`);
		expect(cut).toMatch(/^beginsx+\n\n\[Cut: of 262150 characters only the first \d+ are shown\.\]$/);
	});

	test('longer data goes as the beginning of its JSON', () => {
		const rows = Array.from({ length: 50_000 }, (_, n) => ({ n }));
		expect(chat.cutOutput({ rows })).toMatch(/^\{"rows":\[\{"n":0\},\{"n":1\}.*\[Cut: of \d+ characters/s);
	});

	test('what was cut has at most 262,144 characters, is no broken text, and is not cut again', () => {
		fc.assert(
			fc.property(fc.nat(400), fc.string({ unit: 'binary', minLength: 1, maxLength: 7 }), (more, unit) => {
				const cut = chat.cutOutput(unit.repeat(Math.ceil((limit + more) / unit.length)));
				if (typeof cut !== 'string') throw new Error('no text');
				expect(cut.length).toBeLessThanOrEqual(limit);
				expect(/[\ud800-\udbff](?![\udc00-\udfff])/.test(cut)).toBe(false);
				expect(chat.cutOutput(cut)).toBe(cut);
			}),
			{ numRuns: 50 },
		);
	});
});

describe('a result that is too long', () => {
	test('goes to the model cut in every request, and stays whole in the history', async () => {
		const long = 'x'.repeat(limit + 1);
		const look = readTool('look', () => long);
		const script = [
			calling({ id: 'a', name: 'look', input: {} }),
			calling({ id: 'b', name: 'look', input: {} }),
			'Done.',
		];
		const { requests, result } = await finish(script, { tools: [look] });
		expect(result.messages[2]?.content).toBe(long);
		expect(requests[1]?.messages[2]?.content).toMatch(/^x+\n\n\[Cut: of 262145 /);
		expect(requests[2]?.messages[2]).toBe(requests[1]?.messages[2]);
	});

	test('is cut in its parts too: together they are no longer than one, and images stay', async () => {
		const image = chat.imagePart('https://example.org/a.png');
		const parts = [chat.textPart('a'.repeat(limit - 500)), image, chat.textPart('b'.repeat(500)), chat.textPart('c')];
		const sent = await sentFor({ content: chat.flattenParts(parts), parts });
		if (sent?.role !== 'tool' || sent.parts === undefined) throw new Error('no parts');
		expect(sent.parts.slice(0, 2)).toEqual(parts.slice(0, 2));
		expect(sent.parts[2]?.text).toMatch(/^b+\n\n\[Cut: of 262145 characters/);
		expect(sent.parts[3]?.text).toBe('');
		expect(sent.parts.reduce((sum, { text = '' }) => sum + text.length, 0)).toBeLessThanOrEqual(limit);
	});

	test('is the very message where nothing is cut', async () => {
		const parts = [chat.textPart('short')];
		expect(await sentFor({ content: 'short', parts })).toEqual({
			role: 'tool',
			toolCallId: 'a',
			content: 'short',
			parts,
		});
	});
});
