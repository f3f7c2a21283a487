import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { askUser, halt, tool } from '../../../src/core/index.ts';
import { calling, finish, results } from './support.ts';

const remember = tool.define({
	name: 'remember',
	description: 'Counts up.',
	inputSchema: v.object({ how: v.optional(v.string()) }),
	passInput: true,
	fn: async ({ how }, { state }) => {
		const count = 1 + ((await state.get('count', v.number())) ?? 0);
		await state.set('count', count);
		if (how === 'fails') throw new Error('It failed.');
		if (how === 'hangs') await new Promise(() => {});
		if (how === 'asks') return askUser('Sure?');
		return how === 'halts' ? halt('enough', count) : count;
	},
});
const call = (id: string, how?: string) => ({ id, name: 'remember', input: how === undefined ? {} : { how } });
const tools = [remember];

describe('the state of tools', () => {
	test('is kept between calls, and between runs if the caller passes a store', async () => {
		const state = tool.inMemoryState();
		const options = { tools, context: { state } };
		const { result } = await finish([calling(call('a')), calling(call('b')), 'Done.'], options);
		await finish([calling(call('c')), 'Done.'], options, result.messages);
		expect([results(result.messages), await state.get('count')]).toEqual([
			[
				['a', 1],
				['b', 2],
			],
			3,
		]);
	});

	test('is empty at the beginning of a run without a store', async () => {
		for (let run = 0; run < 2; run++) {
			const { result } = await finish([calling(call('a')), 'Done.'], { tools });
			expect(results(result.messages)).toEqual([['a', 1]]);
		}
	});

	test.each(['fails', 'hangs'])('does not change if a call %s', async (how) => {
		const state = tool.inMemoryState({ count: 5 });
		await finish([calling(call('a', how)), 'Done.'], { tools, context: { state }, timeouts: { toolMs: 30 } });
		expect(await state.get('count')).toBe(5);
	});

	test.each(['asks', 'halts'])('changes if a call %s', async (how) => {
		const state = tool.inMemoryState();
		await finish([calling(call('a', how))], { tools, context: { state } });
		expect(await state.get('count')).toBe(1);
	});

	test('includes the changes of earlier sequential calls, but no changes of parallel calls', async () => {
		const three = calling(call('a'), call('b'), call('c'));
		const { result } = await finish([three, 'Done.'], { tools });
		expect(results(result.messages).map(([, count]) => count)).toEqual([1, 1, 1]);
		const { result: later } = await finish([three, 'Done.'], { tools: [{ ...remember, sequential: true }] });
		expect(results(later.messages).map(([, count]) => count)).toEqual([1, 2, 3]);
	});

	test('is updated only after onMessage received the changes together with the result', async () => {
		const state = tool.inMemoryState();
		const told: unknown[] = [];
		await finish([calling(call('a')), 'Done.'], {
			tools,
			context: { state },
			onMessage: async ({ role }, { changes }) => {
				if (changes !== undefined) told.push([role, ...changes, await state.get('count')]);
			},
		});
		expect(told).toEqual([['tool', ['count', 1], undefined]]);
	});
});

test('a run passes its env to its tools and to their availability checks', async () => {
	const env = { TOKEN: 'secret' };
	const reveal = tool.define({
		name: 'reveal',
		description: 'Gives a variable.',
		inputSchema: {},
		passInput: true,
		isAvailable: (context) => Reflect.get(context.env ?? {}, 'TOKEN') !== undefined,
		fn: (_, context) => Reflect.get(context.env, 'TOKEN'),
	});
	const script = [calling({ id: 'a', name: 'reveal', input: {} }), 'Done.'];
	const { result } = await finish(script, { tools: [reveal], context: { env } });
	expect(results(result.messages)).toEqual([['a', 'secret']]);
	const { result: without } = await finish(script, { tools: [reveal] });
	expect(results(without.messages)[0]?.[1]).toMatch(/^There is no tool named reveal/);
});

test('a system prompt function is called before each turn with the metadata and the current skill context', async () => {
	let sender = 'Ada';
	const { requests } = await finish([calling(call('a')), 'Done.'], {
		tools,
		system: async ({ metadata, skillContext, sessionId }) => `${metadata.plan} ${skillContext.sender} ${sessionId}`,
		context: { sessionId: 's1', metadata: { plan: 'gold' } },
		skillContext: () => ({ sender }),
		onMessage: () => {
			sender = 'Bob';
		},
	});
	expect(requests.map(({ system }) => system)).toEqual(['gold Ada s1', 'gold Bob s1']);
});
