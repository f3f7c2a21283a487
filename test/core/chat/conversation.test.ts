import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chat, type Message, type ToolCall } from '../../../src/core/index.ts';
import { byHand, calling, echo, echoCall, fail, finish, readTool, results } from './support.ts';

const user = chat.userMessage;
const answer = (id: string, output: unknown) => chat.toolResultMessage({ id, output, isError: false });
const assistant = (...calls: ToolCall[]) => chat.assistantMessage('', calls);

/** Returns the messages of the request for a history. */
async function sent(...history: Message[]): Promise<readonly Message[]> {
	const { requests } = await finish(['Hi'], { tools: [echo, byHand] }, history);
	return requests[0]?.messages ?? [];
}

describe('a request', () => {
	test('has the unchanged history if every call has a result', async () => {
		const history = [user('1'), assistant(echoCall('a')), answer('a', 1), chat.assistantMessage('ok'), user('2')];
		expect(await sent(...history)).toEqual(history);
	});

	test('has an isError result for a call that has no result before the next user message', async () => {
		const messages = await sent(user('1'), assistant(echoCall('a'), echoCall('b')), answer('b', 2), user('2'));
		expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'user']);
		const added = messages.find((message) => message.role === 'tool' && message.toolCallId === 'a');
		expect(added).toMatchObject({ isError: true, content: expect.stringMatching(/not (run|answered)/) });
		expect(messages).toContainEqual(answer('b', 2));
	});

	test('has one result for each call of a turn, in the order of the calls', async () => {
		const calls = assistant(echoCall('a'), echoCall('b'), echoCall('c'));
		const messages = await sent(user('1'), calls, answer('c', 3), answer('a', 1), user('2'));
		expect(messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []))).toEqual([
			'a',
			'b',
			'c',
		]);
		expect(messages[3]).toMatchObject({ toolCallId: 'b', isError: true });
	});

	test('adds missing results without changing the history', async () => {
		const history = [user('1'), assistant(echoCall('a')), user('2')];
		const { result } = await finish(['Hi'], {}, history);
		expect(result.messages).toEqual([...history, chat.assistantMessage('Hi')]);
	});

	test('keeps each result in its own turn if two turns use the same call id', async () => {
		const messages = await sent(
			user('1'),
			assistant(echoCall('a', 'one')),
			user('2'),
			assistant(echoCall('a', 'two')),
			answer('a', 'two'),
			user('3'),
		);
		expect(messages.map(({ role }) => role)).toEqual([
			'user',
			'assistant',
			'tool',
			'user',
			'assistant',
			'tool',
			'user',
		]);
		expect(messages[2]).toMatchObject({ toolCallId: 'a', isError: true });
		expect(messages[5]).toEqual(answer('a', 'two'));
	});

	test('has a late result directly after its call', async () => {
		const messages = await sent(user('1'), assistant(echoCall('a')), user('2'), answer('a', 'late'));
		expect(messages).toEqual([user('1'), assistant(echoCall('a')), answer('a', 'late'), user('2')]);
	});

	test('leaves out results that belong to no open call', async () => {
		const messages = await sent(
			user('1'),
			answer('x', 0),
			assistant(echoCall('a')),
			answer('a', 1),
			answer('a', 2),
			user('2'),
		);
		expect(results(messages)).toEqual([['a', 1]]);
	});
});

describe('a run that starts with a history', () => {
	test('runs the open calls of the last assistant message first', async () => {
		const { result, requests } = await finish(['Done.'], { tools: [echo] }, [user('1'), assistant(echoCall('a'))]);
		expect(results(requests[0]?.messages ?? [])).toEqual([['a', 'a']]);
		expect(result.steps[0]).toMatchObject({ toolResults: [{ id: 'a' }] });
		expect(result.text).toBe('Done.');
	});

	test('runs the second call if the first has a result, and keeps the results in the order of the calls', async () => {
		const history = [user('1'), assistant(echoCall('a'), echoCall('b')), answer('b', 'before')];
		const { result } = await finish(['Done.'], { tools: [echo] }, history);
		expect(results(result.messages)).toEqual([
			['a', 'a'],
			['b', 'before'],
		]);
	});

	test('runs the newer of two calls with the same id', async () => {
		const history = [user('1'), assistant(echoCall('a', 'old')), answer('a', 'old'), assistant(echoCall('a', 'new'))];
		const { result } = await finish(['Done.'], { tools: [echo] }, history);
		expect(results(result.messages)).toEqual([
			['a', 'old'],
			['a', 'new'],
		]);
	});

	test('does not run an open call that is followed by a user message', async () => {
		let ran = 0;
		const count = readTool('echo', () => ++ran);
		await finish(['Hi'], { tools: [count] }, [user('1'), assistant(echoCall('a')), user('2')]);
		expect(ran).toBe(0);
	});

	test('keeps a system message of the history in its place', async () => {
		const history: Message[] = [{ role: 'system', content: 'Be brief.' }, user('1')];
		expect(await sent(...history)).toEqual(history);
	});

	test('sends options.system separately from the messages', async () => {
		const { requests, result } = await finish(['Hi'], { system: 'Be brief.' }, [user('1')]);
		expect(requests[0]).toMatchObject({ system: 'Be brief.', messages: [user('1')] });
		expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
	});
});

describe('onMessage', () => {
	test('gets all new messages of the run in the order of the history', async () => {
		const stored: Message[] = [];
		const onMessage = (message: Message): void => void stored.push(message);
		const { result } = await finish([calling(echoCall('a')), 'Done.'], { tools: [echo], onMessage });
		expect(stored).toEqual(result.messages.slice(1));
	});

	test('is awaited before the next step begins', async () => {
		const order: string[] = [];
		const onMessage = async ({ role }: Message): Promise<void> => {
			order.push(`${role} begins`);
			for (let n = 0; n < 9; n++) await null;
			order.push(`${role} stored`);
		};
		const look = readTool('look', () => void order.push('tool runs'));
		const ask = () => {
			order.push('model asked');
			return 'Done.';
		};
		await finish([calling({ id: 'a', name: 'look', input: {} }), ask], { tools: [look], onMessage });
		expect(order).toEqual([
			'assistant begins',
			'assistant stored',
			'tool runs',
			'tool begins',
			'tool stored',
			'model asked',
			'assistant begins',
			'assistant stored',
		]);
	});

	test('is called for one message at a time, even if tools finish together', async () => {
		let open = 0;
		let most = 0;
		const onMessage = async (): Promise<void> => {
			most = Math.max(most, ++open);
			for (let n = 0; n < 9; n++) await null;
			open--;
		};
		await finish([calling(echoCall('a'), echoCall('b'), echoCall('c')), 'Done.'], { tools: [echo], onMessage });
		expect(most).toBe(1);
	});

	test('ends the run if it rejects, and then no tool runs and no other request is sent', async () => {
		let ran = 0;
		const count = readTool('count', () => ++ran);
		const onMessage = () => Promise.reject(new Error('disk full'));
		const { requests, events } = await fail([calling({ id: 'a', name: 'count', input: {} }), 'never'], {
			tools: [count],
			onMessage,
		});
		expect([ran, requests.length]).toEqual([0, 1]);
		expect(events.at(-1)?.type).toBe('error');
	});

	test("gets each assistant message with its turn's number, model, stop reason and usage", async () => {
		const turns: unknown[] = [];
		await finish([{ text: 'Hi', usage: { inputTokens: 3 } }], { onMessage: (_, { turn }) => void turns.push(turn) });
		const about = { iteration: 1, model: 'scripted', stopReason: 'end_turn', usage: { inputTokens: 3 } };
		expect(turns).toEqual([{ ...about, firstMs: expect.any(Number) }]);
	});
});

describe('the reasoning of a reply', () => {
	const providerMetadata = { anthropic: { content: [{ type: 'thinking', thinking: 'Hm', signature: 'c2ln' }] } };

	test("is kept with the provider's metadata in the history, and both are sent back unchanged", async () => {
		const turn = { text: 'I look.', reasoning: 'Hm', providerMetadata, ...calling(echoCall('a')) };
		const { result, requests } = await finish([turn, 'Done.'], { tools: [echo] });
		const kept = { ...chat.assistantMessage('I look.', [echoCall('a')]), reasoning: 'Hm', providerMetadata };
		expect(result.messages[1]).toEqual(kept);
		expect(requests[1]?.messages[1]).toEqual(kept);
	});

	test("is sent back with the provider's metadata even after a round trip through JSON", async () => {
		const first = await finish([{ text: 'Hi', reasoning: 'Hm', providerMetadata }]);
		const history: Message[] = JSON.parse(JSON.stringify(first.result.messages));
		const { requests } = await finish(['Bye'], {}, [...history, user('2')]);
		expect(requests[0]?.messages[1]).toEqual({ ...chat.assistantMessage('Hi'), reasoning: 'Hm', providerMetadata });
	});

	test('is kept even if the reply has it only as deltas', async () => {
		const { result } = await finish([
			{
				text: 'Hi',
				deltas: [
					{ type: 'reasoning', text: 'H' },
					{ type: 'reasoning', text: 'm' },
				],
			},
		]);
		expect(result.messages.at(-1)).toEqual({ ...chat.assistantMessage('Hi'), reasoning: 'Hm' });
	});
});

const limit = 262_144;

/** Returns the sent form of a result in each request. */
async function sentFor(message: Partial<Extract<Message, { role: 'tool' }>>): Promise<Message | undefined> {
	const result: Message = { role: 'tool', toolCallId: 'a', content: '', ...message };
	const history = [chat.userMessage('1'), chat.assistantMessage('', [echoCall('a')]), result];
	const { requests, result: run } = await finish(['Hi'], {}, history);
	expect(run.messages[2]).toEqual(result);
	return requests[0]?.messages[2];
}

describe('cutOutput', () => {
	test.each([
		['a text', 'x'.repeat(limit)],
		['data', { text: 'x'.repeat(limit - 11) }],
		['undefined', undefined],
		['null', null],
	])('returns %s unchanged if it has at most 262,144 characters', (_, content) => {
		expect(chat.cutOutput(content)).toBe(content);
	});

	test('returns the beginning of a longer text, and a note with the full length', () => {
		const cut = chat.cutOutput(`begins${'x'.repeat(limit)}`);
		expect(cut).toMatch(/^beginsx+\n\n\[Cut: of 262150 characters only the first \d+ are shown\.\]$/);
	});

	test('returns the beginning of the JSON of longer data', () => {
		const rows = Array.from({ length: 50_000 }, (_, n) => ({ n }));
		expect(chat.cutOutput({ rows })).toMatch(/^\{"rows":\[\{"n":0\},\{"n":1\}.*\[Cut: of \d+ characters/s);
	});

	test('returns at most 262,144 characters, splits no character, and never cuts a text twice', () => {
		fc.assert(
			fc.property(fc.nat(400), fc.string({ unit: 'binary', minLength: 1, maxLength: 7 }), (more, unit) => {
				const cut = chat.cutOutput(unit.repeat(Math.ceil((limit + more) / unit.length)));
				if (typeof cut !== 'string') throw new Error('no text');
				expect(cut.length).toBeLessThanOrEqual(limit);
				expect(/[\ud800-\udbff](?![\udc00-\udfff])/.test(cut)).toBe(false);
				expect(chat.cutOutput(cut)).toBe(cut);
			}),
			{ numRuns: 50 },
		);
	});
});

describe('a tool result', () => {
	test('is cut in every request if it is too long, but stays whole in the history', async () => {
		const long = 'x'.repeat(limit + 1);
		const look = readTool('look', () => long);
		const script = [
			calling({ id: 'a', name: 'look', input: {} }),
			calling({ id: 'b', name: 'look', input: {} }),
			'Done.',
		];
		const { requests, result } = await finish(script, { tools: [look] });
		expect(result.messages[2]?.content).toBe(long);
		expect(requests[1]?.messages[2]?.content).toMatch(/^x+\n\n\[Cut: of 262145 /);
		expect(requests[2]?.messages[2]).toBe(requests[1]?.messages[2]);
	});

	test('is cut if its text parts together are too long, and images do not count', async () => {
		const image = chat.imagePart('https://example.org/a.png');
		const parts = [chat.textPart('a'.repeat(limit - 500)), image, chat.textPart('b'.repeat(500)), chat.textPart('c')];
		const sent = await sentFor({ content: chat.flattenParts(parts), parts });
		if (sent?.role !== 'tool' || sent.parts === undefined) throw new Error('no parts');
		expect(sent.parts.slice(0, 2)).toEqual(parts.slice(0, 2));
		expect(sent.parts[2]?.text).toMatch(/^b+\n\n\[Cut: of 262145 characters/);
		expect(sent.parts[3]?.text).toBe('');
		expect(sent.parts.reduce((sum, { text = '' }) => sum + text.length, 0)).toBeLessThanOrEqual(limit);
	});

	test('stays unchanged if it is not too long', async () => {
		const parts = [chat.textPart('short')];
		expect(await sentFor({ content: 'short', parts })).toEqual({
			role: 'tool',
			toolCallId: 'a',
			content: 'short',
			parts,
		});
	});
});
