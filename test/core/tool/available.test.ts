import { afterEach, describe, expect, test, vi } from 'vitest';
import { chat, providers, RunletError, type Tool, tool, toolbox } from '../../../src/core/index.ts';
import { refusal } from './support.ts';

const ran: string[] = [];
const own = (isAvailable: Tool['isAvailable'], more: Partial<Tool> = {}): Tool => ({
	name: 'own',
	inputSchema: { type: 'object' },
	fn: () => ran.push('own'),
	...(isAvailable && { isAvailable }),
	...more,
});
const never: Record<string, Tool['isAvailable']> = {
	'resolves to false': async () => false,
	'rejects its promise': () => Promise.reject(new Error('no')),
	'throws an error': () => {
		throw new Error('no');
	},
};

describe('a tool whose isAvailable', () => {
	test.each(Object.entries(never))('%s is neither advertised nor run', async (_, isAvailable) => {
		ran.length = 0;
		const tools = [own(isAvailable)];
		const call = { id: 'c', name: 'own', input: {} };
		const model = providers.scripted([{ toolCalls: [call], stopReason: 'tool_use' }, 'done']);
		const { messages } = await chat.run({ model: 'scripted', providers: [model], tools }, [chat.userMessage('go')])
			.result;
		expect(model.requests[0]?.tools ?? []).toEqual([]);
		expect(messages).toContainEqual(expect.objectContaining({ role: 'tool', isError: true }));
		expect(await tool.dispatch(tools, call)).toMatchObject({
			isError: true,
			output: expect.stringMatching(/no tool named/),
		});
		const box = { own: own(isAvailable) };
		expect(await toolbox.perform('own', {}, box)).toMatchObject({ ok: false, error: { kind: 'unknown_tool' } });
		expect(ran).toEqual([]);
	});

	test.each(Object.entries(never))('%s is not offered to a person for approval', async (_, isAvailable) => {
		const tools = [own(isAvailable, { needsApproval: true })];
		const call = { id: 'c', name: 'own', input: {} };
		const model = providers.scripted([{ toolCalls: [call], stopReason: 'tool_use' }, 'done']);
		const run = chat.run({ model: 'scripted', providers: [model], tools }, [chat.userMessage('go')]);
		expect((await run.result).status).toBe('completed');
	});

	test('resolves to true is advertised and run', async () => {
		ran.length = 0;
		const tools = [own(async () => true)];
		const call = { id: 'c', name: 'own', input: {} };
		const model = providers.scripted([{ toolCalls: [call], stopReason: 'tool_use' }, 'done']);
		await chat.run({ model: 'scripted', providers: [model], tools }, [chat.userMessage('go')]).result;
		expect(model.requests[0]?.tools).toHaveLength(1);
		expect(await toolbox.perform('own', {}, toolbox.build(tools))).toMatchObject({ ok: true });
		expect(ran).toEqual(['own', 'own']);
	});

	test('never settles is unavailable after the time limit, and the run continues', async () => {
		const model = providers.scripted(['done']);
		const options = { model: 'scripted', providers: [model], tools: [own(() => new Promise(() => {}))] };
		const run = chat.run({ ...options, timeouts: { toolMs: 5 } }, [chat.userMessage('go')]);
		expect((await run.result).text).toBe('done');
		expect(model.requests[0]?.tools ?? []).toEqual([]);
	});
});

describe('outside a run, a tool function that never settles ends at the same time limit as in a run:', () => {
	afterEach(() => void vi.useRealTimers());
	const never = () => new Promise<never>(() => {});
	const slow: readonly (readonly [string, () => Promise<unknown>, object])[] = [
		['isAvailable', () => toolbox.perform('own', {}, { own: own(never) }), { error: { kind: 'unknown_tool' } }],
		[
			'isAvailable, dispatched',
			() => tool.dispatch([own(never)], { id: 'c', name: 'own', input: {} }),
			{ isError: true },
		],
		[
			'readArgs',
			() => toolbox.perform('own', {}, { own: own(undefined, { readArgs: never }) }),
			{ error: { message: 'own gave no result within 120000 ms.' } },
		],
		['fn', () => toolbox.perform('own', {}, { own: own(undefined, { fn: never }) }), { error: { kind: 'failed' } }],
		[
			'readArgs of withArgs',
			() => toolbox.withArgs('own', {}, () => 1, { own: own(undefined, { readArgs: never }) }),
			{ error: { kind: 'failed' } },
		],
		[
			'readArgs of onRequest',
			async () => ({
				said: await toolbox.onRequest(
					'own',
					{},
					{ own: own(undefined, { readArgs: never, onRequest: () => 'on it' }) },
				),
			}),
			{ said: undefined },
		],
	];

	test.each(slow)('%s', async (_, call, outcome) => {
		vi.useFakeTimers();
		const called = call();
		await vi.advanceTimersByTimeAsync(121_000);
		expect(vi.getTimerCount()).toBe(0);
		expect(await called).toMatchObject(outcome);
	});
});

test("a tool's own time limit replaces the limit of the run", async () => {
	const never = own(undefined, { fn: () => new Promise<never>(() => {}), timeoutMs: 5 });
	const call = { id: 'c', name: 'own', input: {} };
	expect(await tool.dispatch([never], call, { timeoutMs: 60_000 })).toMatchObject({
		output: 'own gave no result within 5 ms.',
	});
	const slow = own(undefined, {
		fn: () => new Promise((resolve) => setTimeout(resolve, 20, 'done')),
		timeoutMs: 60_000,
	});
	expect(await tool.dispatch([slow], call, { timeoutMs: 5 })).toMatchObject({ output: 'done' });
});

test('asks a person if needsApproval rejects, but asks nobody if needsApproval resolves to false', async () => {
	const call = { id: 'c', name: 'own', input: {} };
	const statusWith = async (needsApproval: Tool['needsApproval']) => {
		const model = providers.scripted([{ toolCalls: [call], stopReason: 'tool_use' }, 'done']);
		const tools = [own(undefined, { needsApproval })];
		return (await chat.run({ model: 'scripted', providers: [model], tools }, [chat.userMessage('go')]).result).status;
	};
	expect(await statusWith(async () => false)).toBe('completed');
	expect(await statusWith(async () => true)).toBe('awaiting_tools');
	expect(await statusWith(() => Promise.reject(new Error('no')))).toBe('awaiting_tools');
});

test.each([[[undefined]], [[null]], [[5]], [['own']], [[[]]], [undefined], [null], ['own'], [own(undefined)]])(
	'forAgent(%j) throws invalid_tool',
	(entries) => {
		expect(refusal(() => Reflect.apply(tool.forAgent, undefined, [entries]))).toBeInstanceOf(RunletError);
		expect(refusal(() => Reflect.apply(tool.forAgent, undefined, [entries])).code).toBe('invalid_tool');
	},
);
