/** What a person reads before they decide about a call. */
import * as v from 'valibot';
import { expect, test } from 'vitest';
import { type tool, tool as tools } from '../../../src/core/index.ts';
import { calling, finish } from './support.ts';

const define = (more: Partial<tool.ToolRecord>) =>
	tools.define({
		name: 'pay',
		description: 'Pays.',
		inputSchema: v.object({ amount: v.number() }),
		passInput: true,
		needsApproval: true,
		fn: () => 'paid',
		...more,
	} as tool.ToolRecord);
const ask = async (more: Partial<tool.ToolRecord>, options = {}) => {
	const { result } = await finish([calling({ id: 'a', name: 'pay', input: { amount: 5 } }), 'Done.'], {
		tools: [define(more)],
		...options,
	});
	return result.metadata.manualToolCalls?.[0];
};

test('a preview gets the checked arguments and the context of the run', async () => {
	const preview = async ({ amount }: { amount: number }, { sessionId }: { sessionId?: string }) =>
		`Pays ${amount} in ${sessionId}.`;
	const inputSchema = v.object({ amount: v.pipe(v.number(), v.toMinValue(7)) });
	const asked = await ask({ inputSchema, preview } as Partial<tool.ToolRecord>, { context: { sessionId: 's' } });
	expect(asked).toEqual({ id: 'a', name: 'pay', input: { amount: 5 }, kind: 'approval', preview: 'Pays 7 in s.' });
});

test.each([
	['that throws', () => Promise.reject(new Error('no'))],
	['without a text', () => undefined],
	['that is no text', () => 5],
	['that is empty', () => ''],
])('a call with a preview %s waits without one', async (_, preview) => {
	expect(await ask({ preview } as Partial<tool.ToolRecord>)).toEqual({
		...{ id: 'a', name: 'pay', input: { amount: 5 }, kind: 'approval' },
	});
});

test('a preview that takes longer than a call of the tool may take is left out', { timeout: 10_000 }, async () => {
	const preview = () => new Promise<string>(() => {});
	expect(await ask({ preview, timeoutMs: 5 } as Partial<tool.ToolRecord>)).not.toHaveProperty('preview');
});

test('a call that needs no approval gets no preview', async () => {
	let made = 0;
	const preview = () => String(++made);
	const needsApproval = (args: Record<string, unknown>) => Number(args.amount) > 10;
	expect(await ask({ preview, needsApproval } as Partial<tool.ToolRecord>)).toBeUndefined();
	expect(made).toBe(0);
});

test('a preview must be a function', () => {
	expect(() => define({ preview: 'pays' } as never)).toThrow(/preview: expected a function/);
});
