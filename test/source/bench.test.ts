import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { type Plan, writePiece } from '../../scripts/bench/plan.ts';
import { readRun } from '../../scripts/bench/reading.ts';
import { readQuantile, toBarTable } from '../../scripts/bench/table.ts';

const plan: Plan = { tools: 1, deltas: 2, perWrite: 1, paceMs: 0, padding: 0 };
const text = (index: number) => ({ type: 'text', text: writePiece(index, 0) });
const whole = [text(0), text(1), { type: 'tool_result' }, text(2), text(3), { type: 'done' }];

/** Reads a run that a server answers with these events. */
async function read(events: readonly object[], end = ''): Promise<number> {
	const frames = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
	const server = createServer((_, response) => response.end(frames + end)).listen(0, '127.0.0.1');
	onTestFinished(() => {
		server.close();
	});
	await once(server, 'listening');
	const address = server.address();
	const port = typeof address === 'object' ? address?.port : undefined;
	const { delaysMs } = await readRun({ url: `http://127.0.0.1:${port}`, body: '' }, plan);
	return delaysMs.length;
}

test('the bench reads a run to its end, with every piece of the text', async () => {
	expect(await read(whole)).toBe(4);
});

test.each([
	['a piece', whole.toSpliced(4, 1)],
	['the result of a tool', whole.toSpliced(2, 1)],
	['the end', whole.slice(0, -1)],
	['the correct order of its pieces', [text(1), text(0), ...whole.slice(2)]],
	['unique pieces', [text(0), ...whole]],
])('the bench fails for a run whose stream lacks %s', async (_, events) => {
	await expect(read(events)).rejects.toThrow(/pieces|as its piece/);
});

test('the bench fails for a run whose stream was cut within an event', async () => {
	await expect(read(whole, 'data: {"type":')).rejects.toThrow('a stream ended with done');
});

test('a percentile of no values is not a number, and the 100th percentile is the largest value', () => {
	expect(readQuantile([], 0.5)).toBeNaN();
	expect(readQuantile([3, 1, 2], 0.5)).toBe(2);
	expect(readQuantile([3, 1, 2], 1)).toBe(3);
});

test('a value misses a limit if the value is on the wrong side of the limit or is not a number', () => {
	const verdicts = (value: number) =>
		toBarTable([
			{ what: 'cost', value, unit: 'ms', most: 2 },
			{ what: 'rate', value, unit: '/s', least: 2 },
		]).match(/holds|MISSED/g);
	expect(verdicts(1)).toEqual(['holds', 'MISSED']);
	expect(verdicts(2)).toEqual(['holds', 'holds']);
	expect(verdicts(3)).toEqual(['MISSED', 'holds']);
	expect(verdicts(Number.NaN)).toEqual(['MISSED', 'MISSED']);
});
