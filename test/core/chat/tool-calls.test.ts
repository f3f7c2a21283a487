import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { createDeferred } from '../../../src/core/base/promises.ts';
import { chat, fn, type RunEvent, type ToolCall, tool } from '../../../src/core/index.ts';
import { calling, echo, echoCall, finish, only, readTool, results } from './support.ts';

const call = (id: string, name: string, input: unknown = {}): ToolCall => ({ id, name, input });

/** A meeting point: `arrive` waits for `guests` calls, so it never resolves for sequential tools. */
function meeting(guests: number): () => Promise<string> {
	const all = Promise.withResolvers<string>();
	let present = 0;
	return () => {
		if (++present === guests) all.resolve('met');
		return all.promise;
	};
}

describe('a faulty call', () => {
	const integer = v.pipe(v.number(), v.integer());
	const add = fn(
		{
			name: 'add',
			params: [
				['x', integer],
				['y', integer],
			],
		},
		(x, y) => x + y,
	);
	const broken = readTool('broken', () => {
		throw new Error('no route to the warehouse');
	});

	test.each<[what: string, call: ToolCall, says: RegExp]>([
		['input that is no JSON', call('a', 'add', '{"x": 1,'), /JSON/],
		['input that the schema refuses', call('a', 'add', { x: 1, y: 'two' }), /y/],
		['a missing argument', call('a', 'add', { x: 1 }), /y/],
		['an unknown tool', call('a', 'subtract'), /subtract[\s\S]*add/],
		['a function that throws', call('a', 'broken'), /no route to the warehouse/],
	])('with %s becomes an isError result, and the run continues', async (_, bad, says) => {
		const { result, requests, events } = await finish([calling(bad), 'I see.'], { tools: [add, broken] });
		const [answer] = result.messages.filter(({ role }) => role === 'tool');
		expect(answer).toMatchObject({ toolCallId: 'a', isError: true, content: expect.stringMatching(says) });
		expect(only(events, 'tool_result')).toMatchObject([{ id: 'a', isError: true }]);
		expect(requests[1]?.messages.at(-1)).toEqual(answer);
		expect(result.text).toBe('I see.');
	});

	test('of an unavailable tool fails, because the tool is neither offered nor run', async () => {
		const off = readTool('off', () => 'ran', { isAvailable: () => false });
		const offByHand = readTool('off_by_hand', undefined, { manual: true, isAvailable: () => false });
		const { result, requests } = await finish([calling(call('a', 'off'), call('b', 'off_by_hand')), 'I see.'], {
			tools: [echo, off, offByHand],
		});
		expect(requests[0]?.tools?.map(({ name }) => name)).toEqual(['echo']);
		expect(result.messages.filter((message) => message.role === 'tool')).toMatchObject([
			{ toolCallId: 'a', isError: true },
			{ toolCallId: 'b', isError: true },
		]);
	});

	test.each([[undefined], [null], ['']])('with empty arguments (%j) gets the arguments {}', async (input) => {
		const got: unknown[] = [];
		const look = readTool('look', (given) => got.push(given));
		const { result } = await finish([calling(call('a', 'look', input)), 'Done.'], { tools: [look] });
		expect(got).toEqual([{}]);
		expect(result.messages[1]).toEqual(chat.assistantMessage('', [call('a', 'look')]));
	});

	test('keeps its arguments in the history even if they are not JSON', async () => {
		const { result } = await finish([calling(call('a', 'echo', '{"te')), 'Done.'], { tools: [echo] });
		expect(result.messages[1]).toMatchObject({ toolCalls: [{ input: '{"te' }] });
	});
});

describe('the calls of one turn', () => {
	test('run concurrently', async () => {
		const arrive = meeting(3);
		const meet = readTool('meet', arrive);
		const script = [calling(call('a', 'meet'), call('b', 'meet'), call('c', 'meet')), 'Done.'];
		const { result } = await finish(script, { tools: [meet], timeouts: { toolMs: 2_000 } });
		expect(results(result.messages)).toEqual([
			['a', 'met'],
			['b', 'met'],
			['c', 'met'],
		]);
	});

	test('of sequential tools run after all other calls, one at a time and in order', async () => {
		const order: string[] = [];
		const work = (kind: string) => async (input: unknown) => {
			const { id } = v.parse(v.object({ id: v.string() }), input);
			order.push(`${kind} ${id} begins`);
			for (let n = 0; n < 5; n++) await null;
			order.push(`${kind} ${id} ends`);
		};
		const tools = [readTool('alone', work('alone'), { sequential: true }), readTool('with', work('with'))];
		const calls = [
			['1', 'alone'],
			['2', 'with'],
			['3', 'alone'],
			['4', 'with'],
		] as const;
		await finish([calling(...calls.map(([id, name]) => call(id, name, { id }))), 'Done.'], { tools });
		expect(order).toEqual([
			'with 2 begins',
			'with 4 begins',
			'with 2 ends',
			'with 4 ends',
			'alone 1 begins',
			'alone 1 ends',
			'alone 3 begins',
			'alone 3 ends',
		]);
	});

	test('have their results in the order of the calls, whichever call ends first', async () => {
		const second = Promise.withResolvers<void>();
		const first = readTool('first', async () => {
			await second.promise;
			return 1;
		});
		const other = readTool('second', () => {
			second.resolve();
			return 2;
		});
		const last = readTool('alone', () => 0, { sequential: true });
		const script = [calling(call('z', 'alone'), call('a', 'first'), call('b', 'second')), 'Done.'];
		const { result, events, requests } = await finish(script, { tools: [first, other, last] });
		expect(only(events, 'tool_result').map(({ id }) => id)).toEqual(['b', 'a', 'z']);
		expect(results(result.messages)).toEqual([
			['z', 0],
			['a', 1],
			['b', 2],
		]);
		expect(results(requests[1]?.messages ?? [])).toEqual([
			['z', 0],
			['a', 1],
			['b', 2],
		]);
		expect(result.steps[0]?.toolResults.map(({ id }) => id)).toEqual(['z', 'a', 'b']);
	});
});

describe('a tool', () => {
	test('emits notes while it runs, each as a text or as a label and a detail', async () => {
		const noisy = tool.define({
			name: 'noisy',
			description: '',
			inputSchema: v.object({}),
			passInput: true,
			fn: (_, { emit }) => {
				emit('working');
				emit(['file', 'a.txt']);
				return 'ok';
			},
		});
		const { events } = await finish([calling(call('a', 'noisy')), 'Done.'], { tools: [noisy] });
		const told = events.filter(({ type }) => type === 'note' || type === 'tool_result');
		expect(told).toEqual<RunEvent[]>([
			{ type: 'note', id: 'a', label: 'working' },
			{ type: 'note', id: 'a', label: 'file', detail: 'a.txt' },
			{ type: 'tool_result', id: 'a', output: 'ok', isError: false },
		]);
	});

	test('gets the call id, the session id, the run id and the skill context', async () => {
		const seen: unknown[] = [];
		const look = readTool('look', (_, context) => seen.push(context));
		const context = { sessionId: 's', runId: 'r', skillContext: { sender: 'Ada' } };
		await finish([calling(call('a', 'look')), 'Done.'], { tools: [look], context });
		expect(seen).toMatchObject([
			{ callId: 'a', ...context, signal: expect.any(AbortSignal), emit: expect.any(Function) },
		]);
	});

	test('gets a signal even if the run has no signal', async () => {
		const seen: unknown[] = [];
		const look = readTool('look', (_, context) => {
			if (typeof context === 'object' && context !== null) seen.push(Reflect.get(context, 'signal'));
		});
		await finish([calling(call('a', 'look')), 'Done.'], { tools: [look] });
		expect(seen).toEqual([expect.any(AbortSignal)]);
	});

	test('that is a plain record gets its arguments in the order of inputSchema.properties', async () => {
		const got: unknown[][] = [];
		const plain = {
			name: 'plain',
			inputSchema: { type: 'object', properties: { b: {}, a: {} } },
			fn: (...args: unknown[]) => got.push(args),
		};
		await finish([calling(call('x', 'plain', { a: 1, b: 2 })), 'Done.'], { tools: [plain] });
		expect(got).toEqual([[2, 1]]);
	});

	test('is found by its provider-safe alias', async () => {
		const sum = fn({ name: 'myapp/sum', params: [] }, () => 42);
		const alias = tool.providerName('myapp/sum');
		const { result } = await finish([calling(call('a', alias)), 'Done.'], { tools: [sum] });
		expect(results(result.messages)).toEqual([['a', 42]]);
	});

	test('with the name of another tool is refused as duplicate_tool before any request', async () => {
		await expect(finish(['never'], { tools: [echo, echo] })).rejects.toMatchObject({ code: 'duplicate_tool' });
	});

	test('has its result directly after the assistant message that called it', async () => {
		const script = [calling(echoCall('a')), calling(echoCall('b'), echoCall('c')), 'Done.'];
		const { result } = await finish(script, { tools: [echo] });
		expect(result.messages.map(({ role }) => role)).toEqual([
			'user',
			'assistant',
			'tool',
			'assistant',
			'tool',
			'tool',
			'assistant',
		]);
	});
});

test('a note that arrives while a result is being stored is shown after that result', async () => {
	const storing = createDeferred<void>();
	const said = createDeferred<void>();
	const stored: [id: string, notes: number][] = [];
	const quick = readTool('quick', () => 'ok');
	const noisy = readTool('noisy', async (_, context) => {
		await storing.promise;
		v.parse(v.object({ emit: v.function() }), context).emit('working');
		said.resolve();
		return 'ok';
	});
	const { events } = await finish(
		[calling({ id: 'a', name: 'quick', input: {} }, { id: 'b', name: 'noisy', input: {} }), 'done'],
		{
			tools: [quick, noisy],
			onMessage: async (message, { before }) => {
				if (message.role !== 'tool') return;
				stored.push([message.toolCallId, before.length]);
				storing.resolve();
				await said.promise;
			},
		},
	);
	const shown = events.filter(({ type }) => type === 'tool_result' || type === 'note');
	expect(shown.map((event) => [event.type, Reflect.get(event, 'id')])).toEqual([
		['tool_result', 'a'],
		['note', 'b'],
		['tool_result', 'b'],
	]);
	expect(stored).toEqual([
		['a', 0],
		['b', 1],
	]);
});

test("a note after the tool's result is neither shown nor stored", async () => {
	let emit = (_note: string): void => {};
	const keeping = readTool('keeping', (_, context) => {
		emit = v.parse(v.object({ emit: v.function() }), context).emit;
		return 'ok';
	});
	const stored: unknown[] = [];
	const late = () => {
		emit('late');
		return 'Done.';
	};
	const { events } = await finish([calling({ id: 'a', name: 'keeping', input: {} }), late], {
		tools: [keeping],
		onMessage: (_, { before }) => void stored.push(...before),
	});
	expect(events.filter(({ type }) => type === 'note')).toEqual([]);
	expect(stored).toEqual([]);
});
