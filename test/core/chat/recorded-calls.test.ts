import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecordedCalls } from '../../../src/core/chat/recorded-calls.ts';

const recorded = () =>
	new RecordedCalls([
		{ tool: 'find_order', input: { id: 'A-1', with: { lines: true } }, result: 'waiting' },
		{ tool: 'find_order', input: { with: { lines: true }, id: 'A-1' }, result: 'on its way' },
		{ tool: 'find_order', input: { id: 'A-2', with: { lines: true } }, result: 'lost' },
		{ tool: 'refund', input: {}, result: undefined },
	]);

/** Values of few kinds, so that two are often equal or almost equal. */
const { similar } = fc.letrec((tie) => ({
	similar: fc.oneof(
		{ maxDepth: 3 },
		fc.constantFrom(0, 1, '0', null, true),
		fc.array(tie('similar'), { maxLength: 2 }),
		fc.dictionary(fc.constantFrom('0', 'a', 'a/0'), tie('similar')),
	),
}));

describe('RecordedCalls', () => {
	it('gives equal calls their recorded results in order, each once', () => {
		const calls = recorded();
		const take = () => calls.take('find_order', { id: 'A-1', with: { lines: true } });
		expect([take(), take(), take()]).toEqual([{ result: 'waiting' }, { result: 'on its way' }, undefined]);
	});

	it('gives an undefined result, which is not a missing one', () => {
		const calls = recorded();
		expect(calls.take('refund', {})).toEqual({ result: undefined });
		expect(calls.take('refund', {})).toBeUndefined();
	});

	it.each([
		['another tool', 'cancel_order', { id: 'A-1', with: { lines: true } }],
		['another value', 'find_order', { id: 'A-1', with: { lines: 1 } }],
		['a further argument', 'find_order', { id: 'A-1', with: { lines: true }, all: null }],
		['a missing argument', 'find_order', { id: 'A-1' }],
		['a list in place of an object', 'find_order', ['A-1', { lines: true }]],
	])('has no answer for %s', (_, tool, input) => {
		expect(recorded().take(tool, input)).toBeUndefined();
	});

	it('finds the nearest call of the same tool with its distance', () => {
		const calls = recorded();
		const nearest = calls.findNearest('find_order', { id: 'A-2', with: { lines: false } });
		expect(nearest).toEqual({ input: { id: 'A-2', with: { lines: true } }, distance: 0.5 });
		expect(calls.findNearest('cancel_order', { id: 'A-2' })).toBeUndefined();
		expect(calls.findNearest('refund', { all: true })).toEqual({ input: {}, distance: 1 });
	});

	it('takes a recorded call exactly if its distance is 0', () => {
		fc.assert(
			fc.property(similar, similar, (input, other) => {
				const calls = new RecordedCalls([{ tool: 'any', input, result: 1 }]);
				expect(calls.findNearest('any', other)?.distance === 0).toBe(calls.take('any', other) !== undefined);
			}),
		);
	});
});
