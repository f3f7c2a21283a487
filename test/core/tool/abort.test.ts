import * as v from 'valibot';
import { expect, test } from 'vitest';
import { tool } from '../../../src/core/index.ts';

/** A tool that never ends by itself. `started` resolves with the signal of its call. */
function endless() {
	const { promise: started, resolve } = Promise.withResolvers<AbortSignal>();
	const own = tool.define({
		name: 'endless',
		description: 'd',
		inputSchema: v.object({}),
		passInput: true,
		fn: (_, { signal }) => {
			resolve(signal);
			return new Promise(() => {});
		},
	});
	return { own, started };
}

const call = { id: 'c', name: 'endless', input: {} };
const never = new AbortController().signal;

test('dispatch throws a cancelled error when its signal is aborted', async () => {
	const { own, started } = endless();
	const controller = new AbortController();
	const running = tool.dispatch([own], call, { signal: controller.signal });
	await started;
	controller.abort();
	await expect(running).rejects.toMatchObject({ name: 'RunletError', code: 'cancelled' });
});

test('an abort of the call aborts the signal of the tool', async () => {
	const { own, started } = endless();
	const controller = new AbortController();
	const running = tool.dispatch([own], call, { signal: controller.signal });
	const signal = await started;
	expect(signal.aborted).toBe(false);
	controller.abort();
	expect(signal.aborted).toBe(true);
	await expect(running).rejects.toThrow();
});

test('dispatch runs no tool if its signal is already aborted', async () => {
	let ran = false;
	const own = {
		...endless().own,
		fn: () => {
			ran = true;
		},
	};
	await expect(tool.dispatch([own], call, { signal: AbortSignal.abort() })).rejects.toMatchObject({
		code: 'cancelled',
	});
	expect(ran).toBe(false);
});

test('dispatch throws a cancelled error if a tool fails because of an abort', async () => {
	const controller = new AbortController();
	const own = {
		...endless().own,
		fn: () => {
			controller.abort();
			throw new Error('fetch failed');
		},
	};
	await expect(tool.dispatch([own], call, { signal: controller.signal })).rejects.toMatchObject({ code: 'cancelled' });
});

test('dispatch returns an error result if a tool throws an AbortError without an abort', async () => {
	const own = {
		...endless().own,
		fn: () => {
			throw new DOMException('gone', 'AbortError');
		},
	};
	expect(await tool.dispatch([own], call, { signal: never })).toMatchObject({ output: 'gone', isError: true });
});

test('dispatch returns an error result after the time limit, and aborts the signal of the tool', async () => {
	const { own, started } = endless();
	const result = await tool.dispatch([own], call, { signal: never, timeoutMs: 1 });
	expect(result).toMatchObject({ id: 'c', isError: true, output: expect.stringContaining('1 ms') });
	expect((await started).aborted).toBe(true);
});

test('the time limit does not affect a tool that ends in time', async () => {
	const own = { ...endless().own, fn: async () => 'in time' };
	expect(await tool.dispatch([own], call, { timeoutMs: 60_000 })).toMatchObject({ output: 'in time', isError: false });
});

test('dispatch ignores an error that a tool throws after its time limit', async () => {
	const { promise, reject } = Promise.withResolvers<never>();
	const own = { ...endless().own, fn: () => promise };
	expect(await tool.dispatch([own], call, { timeoutMs: 1 })).toMatchObject({ isError: true });
	reject(new Error('late'));
	await expect(promise).rejects.toThrow('late');
});

test.each(['its end', 'a cancelled run'])('the signal of a tool is aborted after %s', async (end) => {
	const { promise: started, resolve } = Promise.withResolvers<{ readonly signal: AbortSignal }>();
	const controller = new AbortController();
	const own = tool.define({
		name: 'endless',
		description: 'd',
		inputSchema: v.object({}),
		passInput: true,
		fn: (_, context) => {
			resolve(context);
			return end === 'its end' ? 'done' : new Promise(() => {});
		},
	});
	const running = tool.dispatch([own], call, { signal: controller.signal }).catch(() => {});
	const context = await started;
	if (end !== 'its end') controller.abort(new Error('by hand'));
	await running;
	expect(context.signal.aborted).toBe(true);
	expect(context.signal.reason).toMatchObject(end === 'its end' ? { name: 'AbortError' } : { message: 'by hand' });
});
