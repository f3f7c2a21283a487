import type { Message, RunAgentInput } from '@ag-ui/client';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { toAguiMessages } from '../../../src/cloudflare/agui/history.ts';
import { type AguiEvent, type AguiHead, AguiWriter } from '../../../src/cloudflare/agui/writer.ts';
import type { RunEvent, Step, TerminalEvent } from '../../../src/core/chat/index.ts';
import { createClient, formatEvents, readEvents } from './client.ts';

const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5 };
const started: RunEvent = { type: 'run.started', runId: 'run_1', attempt: 1 };
const done: RunEvent = { type: 'done', text: 'Hi.', usage };
const asked: Message = { id: 'm1', role: 'user', content: 'Go' };

function toHead({ threadId, runId, messages, state }: RunAgentInput, more: Partial<AguiHead> = {}): AguiHead {
	const base = { threadId, runId, messages, state, sessionId: 's', isCurrent: true, tools: new Set<string>() };
	return { ...base, given: new Map(), ...more };
}

function write(events: readonly RunEvent[], head: AguiHead): AguiEvent[] {
	const writer = new AguiWriter(head);
	return [...writer.start(), ...events.flatMap((event) => writer.write(event)), ...writer.end()];
}

/** Lets the unchanged client run, and returns what it has afterwards. */
async function play(events: readonly RunEvent[], more: Partial<AguiHead> = {}, messages: Message[] = [asked]) {
	let written: AguiEvent[] = [];
	const client = createClient(
		(input) => {
			written = write(events, toHead(input, more));
			const text = formatEvents(written);
			readEvents(text);
			return text;
		},
		{ initialMessages: messages },
	);
	const { result } = await client.runAgent();
	return { client, written, result, last: written.at(-1) };
}

const warn = vi.spyOn(console, 'warn');
const error = vi.spyOn(console, 'error');
beforeEach(() => {
	warn.mockReset();
	error.mockReset();
});
/** The client warns about fields that it does not know, and about messages that do not exist. */
afterEach(() => {
	expect(warn.mock.calls.map(([text]) => text)).toEqual([]);
});

const call = (id: string, name: string, input: unknown, pieces = [JSON.stringify(input)]): RunEvent[] => [
	{ type: 'tool_use_start', id, name },
	...pieces.map((partialInputJson): RunEvent => ({ type: 'tool_use_input', id, partialInputJson })),
	{ type: 'tool_use_end', id },
];
const stop = (reason = 'tool_use'): RunEvent => ({ type: 'stop', reason, usage }) as RunEvent;
const toStep = (iteration: number, about: Partial<Step> = {}): RunEvent => ({
	...{ type: 'step', iteration, model: 'm', text: '', toolCalls: [], toolResults: [], stopReason: 'end_turn', usage },
	...about,
});

describe('a run', () => {
	test('gives reasoning, text, a call and its result as messages, and its usage', async () => {
		const { client, result, last } = await play([
			started,
			{ type: 'reasoning', text: 'Let me ' },
			{ type: 'reasoning', text: 'see.' },
			{ type: 'text', text: 'I look.' },
			...call('c1', 'add', { x: 1 }, ['{"x"', ':1}']),
			stop(),
			{ type: 'tool_result', id: 'c1', output: { sum: 3 }, isError: false },
			toStep(1, { text: 'I look.', toolCalls: [{ id: 'c1', name: 'add', input: { x: 1 } }] }),
			{ type: 'text', text: 'Hi.' },
			stop('end_turn'),
			toStep(2, { text: 'Hi.' }),
			done,
		]);
		expect(client.messages).toEqual([
			asked,
			{ id: 'run_1-1-reasoning', role: 'reasoning', content: 'Let me see.' },
			{
				id: 'run_1-1',
				role: 'assistant',
				content: 'I look.',
				toolCalls: [{ id: 'c1', type: 'function', function: { name: 'add', arguments: '{"x":1}' } }],
			},
			{ id: 'c1-result', role: 'tool', toolCallId: 'c1', content: '{"sum":3}' },
			{ id: 'run_1-2', role: 'assistant', content: 'Hi.' },
		]);
		expect(result).toBe('Hi.');
		expect(last).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' }, usage: [usage] });
	});

	test('takes back a turn that restarts', async () => {
		const { client } = await play([
			started,
			{ type: 'reasoning', text: 'Hm' },
			{ type: 'text', text: 'Wro' },
			...call('c1', 'add', {}).slice(0, 2),
			{ type: 'turn.restarted', iteration: 1 },
			{ type: 'text', text: 'Hi.' },
			stop('end_turn'),
			toStep(1, { text: 'Hi.' }),
			done,
		]);
		expect(client.messages.filter(({ role }) => role !== 'reasoning')).toEqual([
			asked,
			{ id: 'run_1-1', role: 'assistant', content: 'Hi.' },
		]);
		expect(JSON.stringify(client.messages)).not.toContain('Hm');
	});

	test('takes back the calls of a turn that was cut off', async () => {
		const { client } = await play([
			started,
			{ type: 'text', text: 'Hi.' },
			...call('c1', 'add', {}),
			stop('max_tokens'),
			toStep(1, { text: 'Hi.', stopReason: 'max_tokens' }),
			done,
		]);
		expect(client.messages).toEqual([asked, { id: 'run_1-1', role: 'assistant', content: 'Hi.' }]);
	});

	test('is read again from its beginning by a client that has a part of it', async () => {
		const events = [
			started,
			...call('c1', 'add', {}),
			stop(),
			{ type: 'tool_result', id: 'c1', output: 3, isError: false } as const,
			toStep(1, { toolCalls: [{ id: 'c1', name: 'add', input: {} }] }),
			{ type: 'text', text: 'Hi.' } as const,
			stop('end_turn'),
			toStep(2, { text: 'Hi.' }),
			done,
		];
		const { client } = await play(events);
		for (let length = 1; length <= client.messages.length; length++) {
			const again = await play(events, {}, client.messages.slice(0, length));
			expect(again.client.messages).toEqual(client.messages);
		}
	});

	test('keeps the state of the page, and adds the task lists', async () => {
		const list = (id: string, text: string) => ({ id, title: 'T', tasks: [{ id: 't', text }] });
		const head = { state: { page: 7, tasks: [list('a', 'old'), list('b', 'kept')] } };
		const { client } = await play([started, { type: 'tasks', id: 'c', lists: [list('a', 'new')] }, done], head);
		expect(client.state).toEqual({ page: 7, tasks: [list('a', 'new'), list('b', 'kept')] });
	});

	test('that was cut off ends with an error of the client', async () => {
		const { client, last } = await play([started, { type: 'text', text: 'Hi' }]);
		expect(last).toMatchObject({ type: 'RUN_ERROR', code: 'interrupted' });
		expect(client.messages.at(-1)).toMatchObject({ content: 'Hi' });
	});

	test('of an earlier client has only values that it takes', () => {
		const head = toHead({ threadId: 't', runId: 'r', messages: [], tools: [], context: [] }, { isCurrent: false });
		const part = { kind: 'image', mime: 'image/png', data: 'iVBORw0KGgo=' } as const;
		const ends = (events: RunEvent[], more: Partial<AguiHead> = {}) =>
			write([started, ...events], { ...head, ...more });
		const [first] = ends([]);
		expect(first).not.toHaveProperty('protocolVersion');
		const shown = ends([
			...call('c1', 'draw', {}),
			{ type: 'tool_result', id: 'c1', output: 1, isError: false, parts: [part] },
		]);
		expect(shown.find(({ type }) => type === 'TOOL_CALL_RESULT')).toMatchObject({ content: '1' });
		expect(ends([{ type: 'cancelled' }]).at(-1)).toMatchObject({ outcome: { type: 'success' } });
		const waits: RunEvent = {
			type: 'awaiting',
			status: 'awaiting_tools',
			toolCalls: [{ id: 'c', name: 'here', input: {} }],
		};
		expect(ends([waits], { tools: new Set(['here']) }).at(-1)?.outcome).toEqual({ type: 'success' });
	});
});

describe('a run that waits', () => {
	const wait = (about: Partial<Extract<TerminalEvent, { type: 'awaiting' }>>, head: Partial<AguiHead> = {}) =>
		play([started, { type: 'awaiting', status: 'awaiting_tools', ...about }], head);

	test('for approvals and results ends with an interrupt for each', async () => {
		const { client } = await wait({
			toolCalls: [
				{ id: 'a', name: 'pay', input: { amount: 3 }, kind: 'approval', preview: '-3' },
				{ id: 'b', name: 'by_hand', input: {} },
			],
		});
		expect(client.pendingInterrupts).toMatchObject([
			{ id: 'approval:a', reason: 'tool_call', toolCallId: 'a', metadata: { runlet: { name: 'pay', preview: '-3' } } },
			{ id: 'result:b', reason: 'input_required', toolCallId: 'b' },
		]);
	});

	test("for the client's own tools ends as a success that names the calls", async () => {
		const { client, last } = await wait(
			{ toolCalls: [{ id: 'b', name: 'here', input: {} }] },
			{ tools: new Set(['here']) },
		);
		expect(client.pendingInterrupts).toEqual([]);
		expect(last).toMatchObject({ outcome: { type: 'success', pendingToolCallIds: ['b'] } });
	});

	test('for an answer ends with one interrupt', async () => {
		const question = { callId: 'q', question: 'Which?', options: { choices: ['a'] } };
		const { client } = await wait({ status: 'awaiting_user', question });
		expect(client.pendingInterrupts).toMatchObject([
			{
				id: 'answer:q',
				reason: 'input_required',
				message: 'Which?',
				metadata: { runlet: { options: { choices: ['a'] } } },
			},
		]);
	});

	test('shows an answer as the result of its call, unless the tool gives a result', async () => {
		const given = new Map([
			['a', 'denied'],
			['b', 'left'],
			['q', 'first answer'],
		]);
		const { written } = await play(
			[
				started,
				{ type: 'tool_result', id: 'b', output: 'done', isError: false },
				toStep(0),
				{ type: 'text', text: 'Hi.' },
				stop('end_turn'),
				toStep(1, { text: 'Hi.' }),
				done,
			],
			{ given },
		);
		const results = written.filter(({ type }) => type === 'TOOL_CALL_RESULT');
		expect(results.map(({ toolCallId, content }) => [toolCallId, content])).toEqual([
			['b', 'done'],
			['a', 'denied'],
			['q', 'first answer'],
		]);
		const again = await play(
			[started, { type: 'awaiting', status: 'awaiting_user', question: { callId: 'q', question: '?' } }],
			{ given },
		);
		expect(again.written.some(({ type, toolCallId }) => type === 'TOOL_CALL_RESULT' && toolCallId === 'q')).toBe(false);
	});
});

interface Stored {
	readonly text: string;
	readonly reasoning: string;
	readonly calls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
	readonly results: readonly { readonly id: string; readonly output: unknown }[];
}

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 });
const side = fc.constantFrom<RunEvent>(
	{ type: 'note', id: 'n', label: 'a' },
	{ type: 'tasks', id: 't', lists: [{ id: 'l', title: 'T', tasks: [] }] },
	{ type: 'warning', code: 'w', message: 'm' },
	{ type: 'source', id: 's', url: 'https://example.com' },
	{ type: 'provider_tool', id: 'p', name: 'web_search', input: {} },
	{ type: 'acme:other', value: 1 },
);
const piece = fc.oneof(
	{ weight: 4, arbitrary: words.map((text): RunEvent[] => [{ type: 'text', text }]) },
	{ weight: 3, arbitrary: words.map((text): RunEvent[] => [{ type: 'reasoning', text }]) },
	{ weight: 1, arbitrary: side.map((event) => [event]) },
	{
		weight: 3,
		arbitrary: fc
			.tuple(fc.uuid(), fc.dictionary(fc.constantFrom('x', 'y'), words), fc.boolean())
			.map(([id, input, inOne]) => {
				const text = JSON.stringify(input);
				return call(id, 'tool', input, inOne ? [text] : [text.slice(0, 2), text.slice(2)]);
			}),
	},
);
const turn = fc.record({
	attempts: fc.array(fc.tuple(fc.array(piece, { maxLength: 4 }), fc.nat(20)), { maxLength: 2 }),
	pieces: fc.array(piece, { maxLength: 6 }),
	cut: fc.constantFrom('no', 'no', 'no', 'max_tokens', 'refusal'),
	order: fc.infiniteStream(fc.nat(5)),
});

/** The events of turns, and what a session stores of them. */
const turns = fc.array(turn, { maxLength: 4 }).map((list) => {
	const stored: Stored[] = [];
	const events = list.flatMap(({ attempts, pieces, cut, order }, at): RunEvent[] => {
		const lost = attempts.flatMap(([begun, length]): RunEvent[] => [
			...begun.flat().slice(0, length),
			{ type: 'turn.restarted', iteration: at + 1 },
		]);
		const shown = pieces.flat();
		const join = (kind: string) =>
			shown.flatMap((event) => (event.type === kind && 'text' in event ? [event.text] : [])).join('');
		const isCut = cut !== 'no';
		const calls = shown.flatMap((event) => {
			if (isCut || event.type !== 'tool_use_start') return [];
			const { id } = event as Extract<RunEvent, { type: 'tool_use_start' }>;
			const input = shown.flatMap((other) =>
				other.type === 'tool_use_input' && other.id === id ? [String(other.partialInputJson)] : [],
			);
			return [{ id, name: 'tool', input: JSON.parse(input.join('')) as unknown }];
		});
		const results = calls.map(({ id }, n) => ({ id, output: `result ${n}` }));
		const arrived = results.map((result) => ({ result, rank: order.next().value })).sort((a, b) => a.rank - b.rank);
		const text = join('text');
		stored.push({ text, reasoning: join('reasoning'), calls, results: arrived.map(({ result }) => result) });
		return [
			...lost,
			...shown,
			stop(isCut ? cut : 'tool_use'),
			...arrived.map(({ result }): RunEvent => ({ type: 'tool_result', ...result, isError: false })),
			toStep(at + 1, { text, toolCalls: calls }),
		];
	});
	return { events, stored };
});

const ends: Record<string, TerminalEvent> = {
	done: { type: 'done', text: '', usage },
	awaiting: {
		type: 'awaiting',
		status: 'awaiting_tools',
		toolCalls: [{ id: 'a', name: 'pay', input: {}, kind: 'approval' }],
	},
	asking: { type: 'awaiting', status: 'awaiting_user', question: { callId: 'q', question: '?' } },
	halted: { type: 'halted', reason: 'stopped' },
	cancelled: { type: 'cancelled' },
	error: { type: 'error', code: 'budget', message: 'Used up.' },
};

describe('any run', () => {
	const run = fc.record({
		turns,
		end: fc.constantFrom(...Object.values(ends)),
		more: fc.array(piece, { maxLength: 3 }),
	});

	test('passes the schemas and the checks of the client, and gives it the stored messages', async () => {
		await fc.assert(
			fc.asyncProperty(run, async ({ turns: { events, stored }, end, more }) => {
				const rest = end.type === 'cancelled' || end.type === 'error' ? more.flat() : [];
				const { client } = await play([started, ...events, ...rest, end]);
				const isRest = (message: Message) => message.id.startsWith(`run_1-${stored.length + 1}`);
				const shown = client.messages.filter((message) => !isRest(message) && message.role !== 'reasoning');
				const records = stored.flatMap(({ text: content, calls, results }, at) => [
					{ ...record(`${at}`), role: 'assistant' as const, content, toolCalls: [...calls] },
					...results.map(({ id, output }) => ({
						...record(id),
						role: 'tool' as const,
						content: output,
						toolCallId: id,
					})),
				]);
				expect(shown).toEqual([asked, ...toAguiMessages(records)]);
				const thoughts = client.messages.filter((message) => message.role === 'reasoning' && !isRest(message));
				expect(thoughts.map(({ content }) => content).filter((content) => content !== '')).toEqual(
					stored.map(({ reasoning }) => reasoning).filter((reasoning) => reasoning !== ''),
				);
			}),
			{ numRuns: 300 },
		);
	});

	test('that is cut off anywhere still passes the checks of the client', async () => {
		await fc.assert(
			fc.asyncProperty(run, fc.nat(60), async ({ turns: { events }, end }, length) => {
				await play([started, ...events, end].slice(0, length));
			}),
			{ numRuns: 200 },
		);
	});
});

function record(id: string) {
	return { id, runId: 'run_1', createdAt: '' };
}
