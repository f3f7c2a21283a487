import { describe, expect, test } from 'vitest';
import {
	askUser,
	type ChatOptions,
	chat,
	halt,
	type Message,
	providers,
	type RunEvent,
} from '../../../src/core/index.ts';
import { byHand, calling, echo, echoCall, endings, httpError, only, play, readTool, type Script } from './support.ts';

const call = (name: string) => calling({ id: 'a', name, input: {} });
const tools = [echo, byHand, readTool('ask', () => askUser('Which one?')), readTool('stop', () => halt('enough'))];

interface Path {
	readonly script: Script;
	readonly ends: RunEvent['type'];
	readonly options?: Partial<ChatOptions>;
}

const paths: Record<string, Path> = {
	'an answer': { script: ['Hi'], ends: 'done' },
	'an empty answer': { script: [''], ends: 'done' },
	'an answer after a tool': { script: [calling(echoCall('a')), 'Hi'], ends: 'done' },
	max_tokens: { script: [{ text: 'Once', stopReason: 'max_tokens' }], ends: 'done' },
	'a refusal': { script: [{ text: '', stopReason: 'refusal' }], ends: 'done' },
	'a question': { script: [call('ask')], ends: 'awaiting' },
	'a manual tool': { script: [call('by_hand')], ends: 'awaiting' },
	'manual mode': { script: [calling(echoCall('a'))], ends: 'awaiting', options: { mode: 'manual' } },
	'a halt': { script: [call('stop')], ends: 'halted' },
	'an abort before it began': { script: ['Hi'], ends: 'cancelled', options: { signal: AbortSignal.abort() } },
	'a refused request': { script: [httpError(400)], ends: 'error' },
	'a stream that broke off': { script: [undefined], ends: 'error', options: { maxRetries: 0 } },
	'too many turns': { script: [calling(echoCall('a'))], ends: 'error', options: { maxIterations: 1 } },
	'a full context': { script: ['Hi'], ends: 'error', options: { maxContextTokens: 1 } },
	'a repeated tool name': { script: ['Hi'], ends: 'error', options: { tools: [echo, echo] } },
	'an unknown model': { script: ['Hi'], ends: 'error', options: { model: 'unheard-of' } },
	'a history that cannot be stored': {
		script: ['Hi'],
		ends: 'error',
		options: { onMessage: () => Promise.reject(new Error('disk full')) },
	},
	'a token counter that throws': {
		script: ['Hi'],
		ends: 'error',
		options: {
			maxContextTokens: 9,
			countTokensFn: () => {
				throw new Error('no counter');
			},
		},
	},
	'a skill resolver that throws': {
		script: ['Hi'],
		ends: 'error',
		options: { skillResolver: { listFn: () => Promise.reject(new Error('no store')), readFn: () => undefined } },
	},
};

describe('exactly one terminal event', () => {
	test.each(Object.entries(paths))('ends a run with %s', async (_, { script, ends, options }) => {
		const { events, result, error } = await play(script, { tools, ...options });
		expect(endings(events).map(({ type }) => type)).toEqual([ends]);
		expect(events.at(-1)?.type).toBe(ends);
		const failed = ends === 'error' || ends === 'cancelled';
		expect([result === undefined, error === undefined]).toEqual([failed, !failed]);
		if (ends === 'error') expect(events.at(-1)).toMatchObject({ code: error?.code, message: error?.message });
	});
});

describe('the start of a run', () => {
	test('emits run.started with an id and an attempt', async () => {
		const { events } = await play(['Hi'], { context: { runId: 'run-7' } });
		expect(events[0]).toEqual({ type: 'run.started', runId: 'run-7', attempt: 1 });
	});

	test('creates an id if the caller gives no id', async () => {
		const [one] = only((await play(['Hi'])).events, 'run.started');
		const [other] = only((await play(['Hi'])).events, 'run.started');
		expect(one?.runId).toMatch(/./);
		expect(one?.runId).not.toBe(other?.runId);
	});
});

describe('run never throws synchronously', () => {
	const bad: Record<string, [code: string, options: ChatOptions]> = {
		'a repeated tool name': ['duplicate_tool', { model: 'demo', providers: [providers.demo()], tools: [echo, echo] }],
		'an unknown model': ['unknown_model', { model: 'unheard-of' }],
		'a model without a provider': ['unknown_model', { model: 'claude-x' }],
	};
	test.each(Object.entries(bad))(
		'rejects the result and ends the events with error for %s',
		async (_, [code, options]) => {
			const run = chat.run(options, [chat.userMessage('Hi')]);
			const events: RunEvent[] = [];
			for await (const event of run.events) events.push(event);
			await expect(run.result).rejects.toMatchObject({ name: 'RunletError', code });
			expect(endings(events)).toMatchObject([{ type: 'error', code }]);
		},
	);

	test('rejects the result if options and messages have a wrong type', async () => {
		const nothing: { options?: ChatOptions; messages?: Message[] } = JSON.parse('{}');
		// @ts-expect-error a caller in JavaScript may pass any value
		const run = chat.run(nothing.options, nothing.messages);
		await expect(run.result).rejects.toMatchObject({ name: 'RunletError' });
	});
});
