import { describe, expect, test } from 'vitest';
import type { ChatOptions, ReplyDelta, RunEvent } from '../../../src/core/index.ts';
import { calling, echo, echoCall, endings, finish, only, readText, results } from './support.ts';

type Delta = ReplyDelta | { readonly type: string; readonly [field: string]: unknown };

/** Runs a turn that streams these deltas, and returns the events of the model. */
async function streamed(deltas: readonly Delta[], text = '', options: Partial<ChatOptions> = {}): Promise<RunEvent[]> {
	const { events } = await finish([{ text, deltas }], options);
	return events.slice(1, -2);
}

describe('deltas', () => {
	test('are passed on in the order of the provider', async () => {
		const deltas = [
			{ type: 'reasoning', text: 'Hm' },
			{ type: 'text', text: 'a' },
			{ type: 'text', text: 'b' },
		] as const;
		expect(await streamed(deltas, 'ab')).toEqual([...deltas, { type: 'stop', reason: 'end_turn', usage: {} }]);
	});

	test('are dropped if they are empty', async () => {
		const deltas = [
			{ type: 'text', text: '' },
			{ type: 'reasoning', text: '' },
			{ type: 'text', text: 'a' },
			{ type: 'tool_use_input', id: 'x', partialInputJson: '' },
		];
		expect((await streamed(deltas, 'a')).map(({ type }) => type)).toEqual(['text', 'stop']);
	});

	test('of unknown kinds are passed on and have no other effect', async () => {
		const unknown = { type: 'acme:citation', url: 'https://example.org' };
		const events = await streamed([unknown, { type: 'text', text: 'a' }], 'a');
		expect(events[0]).toEqual(unknown);
		expect(readText(events)).toBe('a');
	});

	test.each([
		'run.started',
		'tool_result',
		'note',
		'step',
		'warning',
		'turn.restarted',
		'done',
		'awaiting',
		'halted',
		'cancelled',
		'error',
	])('of the kind %s are dropped, because only the loop emits them', async (type) => {
		const { events, result } = await finish([
			{
				text: 'a',
				deltas: [
					{ type, id: 'x' },
					{ type: 'text', text: 'a' },
				],
			},
		]);
		expect(events.filter((event) => 'id' in event && event.id === 'x')).toEqual([]);
		expect(endings(events)).toHaveLength(1);
		expect(result.status).toBe('completed');
	});

	test.each([[undefined], [null], ['text'], [{}], [{ type: 7 }]])(
		'are dropped if they are malformed: %j',
		async (delta) => {
			const { events } = await finish([
				async (_, onDelta) => {
					const tell: (delta: never) => unknown = onDelta;
					await Reflect.apply(tell, undefined, [delta]);
					return 'a';
				},
			]);
			expect(events.map(({ type }) => type)).toEqual(['run.started', 'text', 'stop', 'step', 'done']);
		},
	);

	test('are dropped if they arrive after the end of their request', async () => {
		let late: () => void = () => {};
		const { events, result } = await finish(
			[
				(_, onDelta) => {
					late = () => void onDelta({ type: 'text', text: 'LATE' });
					return { text: 'Look.', ...calling(echoCall('a')) };
				},
				() => {
					late();
					return 'Done.';
				},
			],
			{ tools: [echo] },
		);
		expect(readText(events)).toBe('Look.Done.');
		expect(result.text).toBe('Done.');
	});

	test('end with one stop in each turn, whatever the provider sends', async () => {
		const stop = { type: 'stop', reason: 'end_turn' };
		const events = await streamed([stop, { type: 'text', text: 'a' }, stop], 'a');
		expect(events.map(({ type }) => type)).toEqual(['text', 'stop']);
	});

	test('become the text of a reply that has no text itself', async () => {
		const { result } = await finish([
			{
				deltas: [
					{ type: 'text', text: 'a' },
					{ type: 'text', text: 'b' },
				],
			},
		]);
		expect(result.text).toBe('ab');
	});
});

describe('two calls with one id', () => {
	const same = [echoCall('a', 'one'), echoCall('a', 'two'), echoCall('a_2', 'three')];
	const deltas = same.flatMap(({ id, name, input }) => [
		{ type: 'tool_use_start', id, name },
		{ type: 'tool_use_input', id, partialInputJson: JSON.stringify(input) },
		{ type: 'tool_use_end', id },
	]);

	test('get different ids in the history, and each call has its own result', async () => {
		const { result, requests } = await finish([calling(...same), 'Done.'], { tools: [echo] });
		const answered = results(result.messages);
		expect(answered.map(([, content]) => content)).toEqual(['one', 'two', 'three']);
		expect(answered[0]?.[0]).toBe('a');
		expect(answered[1]?.[0]).toMatch(/^a./);
		expect(new Set(answered.map(([id]) => id)).size).toBe(3);
		expect(requests[1]?.messages).toEqual(result.messages.slice(0, -1));
	});

	test('have the same ids in the deltas as in the history', async () => {
		const { events, result } = await finish([{ ...calling(...same), deltas }, 'Done.'], { tools: [echo] });
		const ids = results(result.messages).map(([id]) => id);
		expect(only(events, 'tool_use_start').map(({ id }) => id)).toEqual(ids);
		expect(only(events, 'tool_use_input').map(({ id }) => id)).toEqual(ids);
		expect(only(events, 'tool_use_end').map(({ id }) => id)).toEqual(ids);
		expect(only(events, 'tool_result').map(({ id }) => id)).toEqual(ids);
	});

	test('keep their id if they are in different turns', async () => {
		const { result, requests } = await finish([calling(echoCall('a', 'one')), calling(echoCall('a', 'two')), 'Done.'], {
			tools: [echo],
		});
		expect(results(result.messages)).toEqual([
			['a', 'one'],
			['a', 'two'],
		]);
		expect(requests[2]?.messages).toEqual(result.messages.slice(0, -1));
	});

	test('get a new id each if their id is empty', async () => {
		const nameless = [echoCall('', 'one'), echoCall('', 'two')];
		const starts = nameless.map(({ id, name }) => ({ type: 'tool_use_start', id, name }));
		const { events, result } = await finish([{ ...calling(...nameless), deltas: starts }, 'Done.'], { tools: [echo] });
		const ids = results(result.messages).map(([id]) => id);
		expect(new Set(ids).size).toBe(2);
		expect(ids).not.toContain('');
		expect(only(events, 'tool_use_start').map(({ id }) => id)).toEqual(ids);
	});
});

describe('the time for a tool input', () => {
	/** Counts the reads of fragments. Each fragment is read once if the time is linear. */
	async function readsFor(fragments: number): Promise<number> {
		let reads = 0;
		const deltas: Delta[] = [{ type: 'tool_use_start', id: 'a', name: 'echo' }];
		for (let n = 0; n < fragments; n++) {
			const delta = { type: 'tool_use_input', id: 'a' };
			const get = (): string => {
				reads++;
				return 'x';
			};
			Object.defineProperty(delta, 'partialInputJson', { enumerable: true, get });
			deltas.push(delta);
		}
		await finish([{ ...calling(echoCall('a')), deltas }, 'Done.'], { tools: [echo] });
		return reads;
	}

	test('grows linearly with the number of its fragments', async () => {
		const [few, many] = [await readsFor(100), await readsFor(10_000)];
		expect(many).toBeLessThanOrEqual(few * 110);
		expect(many).toBeLessThanOrEqual(10_000 * 4);
	});
});
