import { describe, expect, test } from 'vitest';
import type { ChatOptions } from '../../../src/core/index.ts';
import { calling, echo, echoCall, finish } from './support.ts';

const script = [{ text: 'I look.', ...calling(echoCall('a')), usage: { inputTokens: 3 } }, 'Seen.'];

async function emitted(options: Partial<ChatOptions>) {
	const records: [type: string, data: unknown][] = [];
	const emit = (type: string, data: unknown): void => void records.push([type, data]);
	const played = await finish(script, { tools: [echo], emit, ...options });
	return { records, ...played };
}

describe('emit', () => {
	test('gets nothing by default', async () => {
		expect((await emitted({})).records).toEqual([]);
	});

	test('gets an ai:chat:step record for each turn if emitSteps is set', async () => {
		const { records, result } = await emitted({ emitSteps: true });
		expect(records.map(([type]) => type)).toEqual(['ai:chat:step', 'ai:chat:step']);
		expect(records.map(([, data]) => data)).toEqual(result.steps);
		expect(records[0]?.[1]).toEqual({
			iteration: 1,
			model: 'scripted',
			text: 'I look.',
			toolCalls: [echoCall('a')],
			toolResults: [{ id: 'a', output: 'a', isError: false }],
			stopReason: 'tool_use',
			usage: { inputTokens: 3 },
		});
	});

	test('gets an ai:chat:delta record for each delta, in order, if emitStreamDeltas is set', async () => {
		const { records, events } = await emitted({ emitStreamDeltas: true });
		expect(new Set(records.map(([type]) => type))).toEqual(new Set(['ai:chat:delta']));
		const kinds = ['text', 'tool_use_start', 'tool_use_input', 'tool_use_end', 'stop'];
		expect(records.map(([, data]) => data)).toEqual(events.filter(({ type }) => kinds.includes(type)));
	});

	test('gets records under the names that stepDataType and deltaDataType set', async () => {
		const { records } = await emitted({
			emitSteps: true,
			emitStreamDeltas: true,
			stepDataType: 'my:step',
			deltaDataType: 'my:delta',
		});
		expect(new Set(records.map(([type]) => type))).toEqual(new Set(['my:step', 'my:delta']));
	});

	test('does not end the run if it throws or rejects', async () => {
		const all = { tools: [echo], emitSteps: true, emitStreamDeltas: true };
		const throwing = () => {
			throw new Error('no stream');
		};
		expect((await finish(script, { ...all, emit: throwing })).result.text).toBe('Seen.');
		const rejecting = () => Promise.reject(new Error('no stream'));
		expect((await finish(script, { ...all, emit: rejecting })).result.text).toBe('Seen.');
	});
});
