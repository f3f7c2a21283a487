import { expect, test } from 'vitest';
import { calling, finish, readTool } from './support.ts';

const call = { id: 'c1', name: 'breaks', input: {} };
const breaks = readTool('breaks', () => {
	throw new Error('No luck.');
});

test('the text of showThrown reaches readers before the result, but is in no message and no request', async () => {
	const thrown: unknown[] = [];
	const { events, requests, result } = await finish([calling(call), 'done'], {
		tools: [breaks],
		onToolThrow: (_, error) => thrown.push(error),
		showThrown: (error) => `of ${String(error)}`,
	});
	const shown = events.filter(({ type }) => type === 'tool_stack' || type === 'tool_result');
	expect(shown).toEqual([
		{ type: 'tool_stack', id: 'c1', stack: 'of Error: No luck.' },
		{ type: 'tool_result', id: 'c1', output: 'No luck.', isError: true },
	]);
	expect(thrown).toHaveLength(1);
	expect(JSON.stringify([requests, result.messages])).not.toContain('of Error');
});

test('readers see no stack if showThrown returns no text', async () => {
	for (const showThrown of [undefined, () => undefined]) {
		const { events } = await finish([calling(call), 'done'], { tools: [breaks], showThrown });
		expect(events.filter(({ type }) => type === 'tool_stack')).toEqual([]);
		expect(JSON.stringify(events)).not.toMatch(/\bat .*:\d+:\d+/);
	}
});
