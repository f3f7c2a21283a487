import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { UiChunk } from '../../../../../src/cloudflare/wire/protocols/ui/chunk.ts';
import { toUiMessage } from '../../../../../src/cloudflare/wire/protocols/ui/message.ts';
import { type UiMessageHead, UiWriter } from '../../../../../src/cloudflare/wire/protocols/ui/writer.ts';
import type { RunEvent, TerminalEvent } from '../../../../../src/core/chat/index.ts';
import { step as usualStep } from '../../../session/run-events.ts';
import { readings, type SeenMessage } from './clients.ts';

const head: UiMessageHead = { messageId: 'msg_1', sessionId: 's1', earlier: [], given: [], isContinued: false };
const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5 };
const started: RunEvent = { type: 'run.started', runId: 'run_1', attempt: 1 };
const done: RunEvent = { type: 'done', text: '', usage };

function readChunks(events: readonly RunEvent[], about: Partial<UiMessageHead> = {}): UiChunk[] {
	const writer = new UiWriter({ ...head, ...about });
	return events.flatMap((event) => writer.write(event));
}

function call(id: string, name: string, input: unknown): RunEvent[] {
	const text = JSON.stringify(input);
	return [
		{ type: 'tool_use_start', id, name },
		{ type: 'tool_use_input', id, partialInputJson: text.slice(0, 3) },
		{ type: 'tool_use_input', id, partialInputJson: text.slice(3) },
		{ type: 'tool_use_end', id },
	];
}

function readTurn(...events: RunEvent[]): RunEvent[] {
	return [...events, { type: 'stop', reason: 'tool_use', usage }];
}

const step: RunEvent = { ...usualStep, stopReason: 'tool_use', usage };

describe('a run', () => {
	test('gives one message with reasoning, calls and text, in every version', async () => {
		const chunks = readChunks([
			started,
			{ type: 'reasoning', text: 'Let me' },
			{ type: 'reasoning', text: ' see.' },
			...readTurn({ type: 'text', text: 'I look.' }, ...call('c1', 'add', { x: 1 })),
			{ type: 'tool_result', id: 'c1', output: 3, isError: false },
			step,
			{ type: 'text', text: 'It is 3.' },
			{ type: 'stop', reason: 'end_turn', usage },
			step,
			done,
		]);
		for (const read of Object.values(readings)) {
			expect(slim(await read(chunks))).toEqual({
				id: 'msg_1',
				role: 'assistant',
				metadata: { sessionId: 's1', runId: 'run_1', status: 'completed', usage },
				parts: [
					{ type: 'step-start' },
					{ type: 'reasoning', text: 'Let me see.', state: 'done' },
					{ type: 'text', text: 'I look.', state: 'done' },
					{ type: 'tool-add', toolCallId: 'c1', state: 'output-available', input: { x: 1 }, output: 3 },
					{ type: 'step-start' },
					{ type: 'text', text: 'It is 3.', state: 'done' },
				],
			});
		}
		expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' });
	});

	test('shows a task list as one part with the newest state, in every version', async () => {
		const list = (id: string, ...outcomes: ('done' | 'failed' | undefined)[]) => ({
			id,
			title: 'Release',
			tasks: outcomes.map((outcome, n) => ({ id: `task-${n}`, text: 'build', ...(outcome && { outcome }) })),
		});
		const chunks = readChunks([
			started,
			...readTurn(...call('c1', 'add_tasks', {})),
			{ type: 'tasks', id: 'c1', lists: [list('list-1', undefined, undefined), list('list-2')] },
			{ type: 'tool_result', id: 'c1', output: 1, isError: false },
			step,
			...readTurn(...call('c2', 'resolve_task', {})),
			{ type: 'tasks', id: 'c2', lists: [list('list-1', 'done', undefined)] },
			{ type: 'tool_result', id: 'c2', output: 2, isError: false },
			step,
			done,
		]);
		for (const read of Object.values(readings)) {
			const message = await read(chunks);
			expect(message?.parts.filter(({ type }) => type === 'data-tasks')).toEqual([
				{ type: 'data-tasks', id: 'list-1', data: list('list-1', 'done', undefined) },
				{ type: 'data-tasks', id: 'list-2', data: list('list-2') },
			]);
			expect(slim(toUiMessage(chunks))).toEqual(slim(message));
		}
	});

	test('reports a call only after its turn, so a page runs no call of a cut-off turn', () => {
		const kinds = (events: RunEvent[]) => readChunks([started, ...events]).map(({ type }) => type);
		const begun = call('c1', 'add', {});
		expect(kinds(begun)).not.toContain('tool-input-available');
		expect(kinds(readTurn(...begun))).toContain('tool-input-available');
		const cut = kinds([...begun, { type: 'stop', reason: 'max_tokens', usage }]);
		expect(cut).not.toContain('tool-input-available');
		expect(cut).toContain('tool-input-error');
	});

	test('asks for an approval before its step ends', async () => {
		const chunks = readChunks([
			started,
			...readTurn(...call('c1', 'pay', { amount: 5 })),
			step,
			{
				type: 'awaiting',
				status: 'awaiting_tools',
				toolCalls: [{ id: 'c1', name: 'pay', input: { amount: 5 }, kind: 'approval' }],
			},
		]);
		expect(chunks.slice(-3).map(({ type }) => type)).toEqual(['tool-approval-request', 'finish-step', 'finish']);
		for (const version of [6, 7] as const)
			expect((await readings[version](chunks))?.parts.at(-1)).toMatchObject({
				type: 'tool-pay',
				state: 'approval-requested',
				approval: { id: 'c1' },
			});
		await expect(readings[5](chunks)).rejects.toThrow('not accepted');
	});

	test('shows a question as text and settles its call', async () => {
		const chunks = readChunks([
			started,
			...readTurn(...call('c1', 'ask', {})),
			step,
			{ type: 'awaiting', status: 'awaiting_user', question: { callId: 'c1', question: 'Which day?' } },
		]);
		for (const read of Object.values(readings)) {
			const { parts = [] } = slim(await read(chunks)) ?? {};
			expect(parts[1]).toMatchObject({ state: 'output-available', output: { question: 'Which day?' } });
			expect(parts.slice(2)).toEqual([{ type: 'step-start' }, { type: 'text', text: 'Which day?', state: 'done' }]);
		}
	});

	test('keeps its usage when it is cancelled', async () => {
		const chunks = readChunks([started, { type: 'text', text: 'Well' }, { type: 'cancelled', usage }]);
		expect(chunks.at(-1)).toEqual({ type: 'abort' });
		for (const read of Object.values(readings))
			expect((await read(chunks))?.metadata).toMatchObject({ status: 'cancelled', usage });
	});

	const search = { type: 'provider_tool', id: 's1', name: 'web_search', input: { query: 'rain' } } as const;
	const found = { ...search, output: [{ url: 'https://rain.example/' }] };
	const page = { type: 'source', id: 'p1', url: 'https://rain.example/', title: 'Rain', quote: 'It rains.' } as const;

	test('marks tools that the provider ran, and shows sources as parts, in every version', async () => {
		const chunks = readChunks([
			started,
			search,
			found,
			{ type: 'provider_tool', id: 'f1', name: 'web_fetch' },
			{ type: 'provider_tool', id: 'f1', name: 'web_fetch', output: { why: 'gone' }, isError: true },
			{ type: 'text', text: 'It ' },
			page,
			page,
			{ type: 'text', text: 'rains.' },
			{ type: 'source', id: 'p2', title: 'report.pdf' },
			{ type: 'source', id: 'p3', url: 'javascript:alert(1)' },
			{ type: 'stop', reason: 'end_turn', usage },
			step,
			done,
		]);
		const quoted = { providerMetadata: { runlet: { quote: 'It rains.' } } };
		const about = { providerExecuted: true, toolCallId: 's1', input: { query: 'rain' } };
		for (const read of [...Object.values(readings), async () => toUiMessage(chunks)])
			expect(slim(await read(chunks))?.parts).toEqual([
				{ type: 'step-start' },
				{ type: 'tool-web_search', ...about, state: 'output-available', output: found.output },
				expect.objectContaining({
					...{ type: 'tool-web_fetch', toolCallId: 'f1', providerExecuted: true },
					...{ state: 'output-error', errorText: '{"why":"gone"}' },
				}),
				{ type: 'text', text: 'It rains.', state: 'done' },
				{ type: 'source-url', sourceId: 'p1', url: 'https://rain.example/', title: 'Rain', ...quoted },
				{ type: 'source-document', sourceId: 'p2', mediaType: 'text/plain', title: 'report.pdf' },
				{ type: 'source-document', sourceId: 'p3', mediaType: 'text/plain', title: 'javascript:alert(1)' },
			]);
	});

	test('accepts the result of a provider’s call in a later turn, and renames a repeated id', () => {
		const chunks = readChunks([started, search, ...readTurn(), step, found, step, search, found, step, done]);
		const shown = toUiMessage(chunks)?.parts.filter(({ type }) => type === 'tool-web_search');
		expect(shown?.map(({ toolCallId, state }) => [toolCallId, state])).toEqual([
			['s1', 'output-available'],
			['s1_2', 'output-available'],
		]);
	});

	test('keeps the name of a provider’s call if the result has another name, as clients do', () => {
		const chunks = readChunks([started, { type: 'provider_tool', id: 's1', name: 'search' }, found, done]);
		expect(toUiMessage(chunks)?.parts[1]).toMatchObject({ type: 'tool-search' });
		expect(chunks).toContainEqual(expect.objectContaining({ type: 'tool-input-available', toolName: 'search' }));
	});

	test.each([
		[done, 'output-available'],
		[{ type: 'cancelled' } as const, 'output-error'],
	])('ends every open call of the provider: %o', (end, state) => {
		expect(toUiMessage(readChunks([started, search, end]))?.parts[1]).toMatchObject({ toolCallId: 's1', state });
	});

	test('keeps only the calls and sources that a turn has after its restart', () => {
		const again: RunEvent = { type: 'turn.restarted', iteration: 1 };
		const chunks = readChunks([started, search, page, again, search, found, page, ...readTurn(), step, done]);
		expect(toUiMessage(chunks)?.parts).toMatchObject([
			{ type: 'step-start' },
			{ type: 'tool-web_search', toolCallId: 's1_2', state: 'output-available' },
			{ type: 'source-url' },
		]);
		expect(chunks).toContainEqual(expect.objectContaining({ type: 'tool-output-error', toolCallId: 's1' }));
	});

	test('marks a restart, so that a page discards the earlier text of the turn', () => {
		const events: RunEvent[] = [
			started,
			{ type: 'text', text: 'Half a' },
			{ type: 'turn.restarted', iteration: 1 },
			{ type: 'text', text: 'Whole.' },
			done,
		];
		const kinds = readChunks(events).map(({ type }) => type);
		expect(kinds.slice(4, 8)).toEqual(['text-end', 'data-restarted', 'finish-step', 'start-step']);
		expect(toUiMessage(readChunks(events))?.parts).toEqual([
			{ type: 'step-start' },
			{ type: 'text', text: 'Whole.', state: 'done' },
		]);
	});

	test('shows the images and files of a result beside the call', async () => {
		const parts = [
			{ kind: 'text', text: 'A dot.' },
			{ kind: 'image', data: 'aGk=', mime: 'image/png' },
			{ kind: 'file', url: 'https://example.com/a.pdf', mime: 'application/pdf' },
		] as const;
		const chunks = readChunks([
			started,
			...readTurn(...call('c1', 'draw', {})),
			{ type: 'tool_result', id: 'c1', output: 'A dot.', isError: false, parts },
			step,
			done,
		]);
		for (const read of [...Object.values(readings), async () => toUiMessage(chunks)]) {
			const shown = (await read(chunks))?.parts.filter(({ type }) => type !== 'step-start');
			expect(shown?.slice(0, 3)).toMatchObject([
				{ type: 'tool-draw', state: 'output-available', output: 'A dot.' },
				{ type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,aGk=' },
				{ type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' },
			]);
		}
	});

	test('ends with an empty step if all calls are answered, so a client does not post in a loop', () => {
		const events = [
			started,
			...readTurn(...call('c1', 'stop', {})),
			{ type: 'tool_result', id: 'c1', output: null, isError: false } as const,
			step,
		];
		for (const end of [{ type: 'halted', reason: 'enough' }, { type: 'cancelled' }] as const) {
			const parts = toUiMessage(readChunks([...events, end]))?.parts ?? [];
			expect(parts.at(-1)).toEqual({ type: 'step-start' });
		}
	});
});

describe('an answer that continues after calls were answered', () => {
	const asked: RunEvent[] = [
		started,
		...readTurn(...call('c1', 'pay', {}), ...call('c2', 'pay', {}), ...call('c3', 'look', {})),
		step,
		{
			type: 'awaiting',
			status: 'awaiting_tools',
			toolCalls: [
				{ id: 'c1', name: 'pay', input: {}, kind: 'approval' },
				{ id: 'c2', name: 'pay', input: {}, kind: 'approval' },
				{ id: 'c3', name: 'look', input: {} },
			],
		},
	];
	const given = [
		{ id: 'c2', output: 'no', isError: true, isDenied: true },
		{ id: 'c3', output: 'seen', isError: false, isDenied: false },
	];
	const goesOn: RunEvent[] = [
		{ type: 'run.started', runId: 'run_2', attempt: 1 },
		{ type: 'tool_result', id: 'c1', output: 'paid', isError: false },
		{ ...step, iteration: 0 },
		{ type: 'text', text: 'Paid.' },
		{ type: 'stop', reason: 'end_turn', usage },
		{ ...step, stopReason: 'end_turn' },
		done,
	];
	const about = { earlier: [{ given: [], events: asked }], given };

	test('repeats nothing to the page that answered, and keeps the message id', () => {
		const chunks = readChunks(goesOn, { ...about, isContinued: true });
		expect(chunks.map(({ type }) => type)).toEqual([
			'start',
			'tool-output-denied',
			'tool-output-available',
			'tool-output-available',
			'start-step',
			'text-start',
			'text-delta',
			'text-end',
			'finish-step',
			'finish',
		]);
		expect(chunks[0]).toMatchObject({ messageId: 'msg_1' });
	});

	test('sends the whole message to a page that was loaded later', async () => {
		for (const version of [6, 7] as const) {
			const parts = slim(await readings[version](readChunks(goesOn, about)))?.parts;
			expect(parts).toMatchObject([
				{ type: 'step-start' },
				{ toolCallId: 'c1', state: 'output-available', output: 'paid' },
				{ toolCallId: 'c2', state: 'output-denied' },
				{ toolCallId: 'c3', state: 'output-available', output: 'seen' },
				{ type: 'step-start' },
				{ type: 'text', text: 'Paid.' },
			]);
		}
	});

	test('has no waiting call after a cancel', () => {
		const parts = toUiMessage(readChunks([started, { type: 'cancelled' }], about))?.parts ?? [];
		expect(parts.filter(({ type }) => type.startsWith('tool-')).map(({ state }) => state)).toEqual([
			'output-error',
			'output-denied',
			'output-available',
		]);
		expect(parts.at(-1)).toEqual({ type: 'step-start' });
	});
});

describe('for random events', () => {
	const id = fc.constantFrom('c1', 'c2', 'c3');
	const text = fc.string({ maxLength: 6, unit: 'binary' });
	const anyParts = fc.array(
		fc.oneof(
			fc.record({ kind: fc.constant('text'), text }),
			fc.record({ kind: fc.constantFrom('image', 'audio', 'file'), data: fc.constant('aGk=') }),
			fc.record({ kind: fc.constant('image'), url: fc.webUrl(), mime: fc.constant('image/png') }),
		),
		{ maxLength: 3 },
	);
	const anyEvent: fc.Arbitrary<RunEvent> = fc.oneof(
		fc.record({ type: fc.constantFrom('text', 'reasoning'), text }),
		fc.record({ type: fc.constant('tool_use_start'), id, name: fc.constantFrom('add', '__proto__', 'a.b') }),
		fc.record({ type: fc.constant('tool_use_input'), id, partialInputJson: fc.constantFrom('{"a":', '1}', '[', 'x') }),
		fc.record({ type: fc.constant('tool_use_end'), id }),
		fc.record({
			type: fc.constant('stop'),
			reason: fc.constantFrom('end_turn', 'tool_use', 'max_tokens', 'refusal', 'else'),
			usage: fc.constant(usage),
		}),
		fc.record(
			{ type: fc.constant('tool_result'), id, output: fc.jsonValue(), isError: fc.boolean(), parts: anyParts },
			{ requiredKeys: ['type', 'id', 'output', 'isError'] },
		),
		fc.record(
			{
				type: fc.constant('provider_tool'),
				...{ id: fc.constantFrom('p1', 'p2'), name: fc.constantFrom('web_search', '__proto__', 'a/b') },
				...{ input: fc.jsonValue(), output: fc.jsonValue(), isError: fc.boolean() },
			},
			{ requiredKeys: ['type', 'id', 'name'] },
		),
		fc.record(
			{ type: fc.constant('source'), id: fc.constantFrom('d1', 'd2'), url: fc.webUrl(), title: text, quote: text },
			{ requiredKeys: ['type', 'id'] },
		),
		fc.record({ type: fc.constant('note'), id, label: text }),
		fc.record({ type: fc.constant('warning'), code: text, message: text }),
		fc.record({ type: fc.constant('turn.restarted'), iteration: fc.nat(3) }),
		fc.constant(step),
		fc.record({ type: fc.constant('acme:citation' as const), url: text }),
	);
	const anyEnd: fc.Arbitrary<TerminalEvent> = fc.oneof(
		fc.record({ type: fc.constant('done'), text, usage: fc.constant(usage) }),
		fc.record({
			type: fc.constant('awaiting'),
			status: fc.constant('awaiting_tools'),
			toolCalls: fc.array(fc.record({ id, name: fc.constant('add'), input: fc.jsonValue() })),
		}),
		fc.record({
			type: fc.constant('awaiting'),
			status: fc.constant('awaiting_user'),
			question: fc.record({ callId: id, question: text }),
		}),
		fc.record({ type: fc.constant('halted'), reason: text }),
		fc.record({ type: fc.constant('cancelled') }),
	);
	const anyRun = fc
		.tuple(fc.array(anyEvent, { maxLength: 25 }), anyEnd)
		.map(([events, end]): RunEvent[] => [started, ...events, end]);
	const anyGiven = fc.array(
		fc.record({ id, output: fc.jsonValue(), isError: fc.boolean(), isDenied: fc.constant(false) }),
		{ maxLength: 3 },
	);

	test('every client accepts each chunk and builds the same message as a reload', async () => {
		await fc.assert(
			fc.asyncProperty(anyRun, async (events) => {
				const chunks = readChunks(events);
				const listed = toUiMessage(chunks);
				const restarted = chunks.some(({ type }) => type === 'data-restarted');
				for (const read of Object.values(readings)) {
					const seen = slim(await read(chunks));
					if (restarted || listed === undefined) continue;
					expect(seen).toEqual(slim(listed));
				}
			}),
			{ numRuns: 300 },
		);
	});

	test('a page that continues and a page that reloads build the same message', async () => {
		await fc.assert(
			fc.asyncProperty(anyRun, anyGiven, anyRun, async (first, given, second) => {
				const earlier = [{ given: [], events: first }];
				const whole = readChunks(second, { earlier, given });
				const before = readChunks(first).filter(({ type }) => type !== 'abort');
				const after = readChunks(second, { earlier, given, isContinued: true });
				for (const read of Object.values(readings)) {
					const resumed = await read(whole);
					const live = await read([...before, ...after]);
					expect(readParts(live)).toEqual(readParts(resumed));
				}
			}),
			{ numRuns: 300 },
		);
	});

	/** Parts without the step marks and the details of calls. */
	function readParts(message: SeenMessage | undefined) {
		return slim(message)
			?.parts.filter(({ type }) => type !== 'step-start')
			.map(({ type, text: said, toolCallId }) => ({ type, said, toolCallId }));
	}
});

/** The visible message: without undefined fields and internal fields of the client. */
function slim(message: { readonly parts: readonly object[] } | undefined): SeenMessage | undefined {
	if (message === undefined) return undefined;
	const shown: SeenMessage = JSON.parse(JSON.stringify(message));
	const parts = shown.parts.map(({ rawInput: _, ...part }) => {
		const { id: __, ...reasoning } = part;
		// The versions differ in whether they keep an incomplete input.
		const { input: ___, ...failed } = part;
		return part.type === 'reasoning' ? reasoning : part.state === 'output-error' ? failed : part;
	});
	return { ...shown, parts };
}
