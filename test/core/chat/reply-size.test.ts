import { describe, expect, test } from 'vitest';
import { type ChatOptions, chat, RunletError } from '../../../src/core/index.ts';
import { fail, finish, only, refusal } from './support.ts';

type Take = (delta: { type: string; [field: string]: unknown }) => unknown;

const piece = 'x'.repeat(1_000_000);
/** Deltas of a million bytes by kind. */
const kinds: Record<string, (n: number) => { type: string; [field: string]: unknown }> = {
	text: () => ({ type: 'text', text: piece }),
	reasoning: () => ({ type: 'reasoning', text: piece }),
	'the input of a call': (n) =>
		n === 0
			? { type: 'tool_use_start', id: 'a', name: 'echo' }
			: { type: 'tool_use_input', id: 'a', partialInputJson: piece },
	'calls without end': (n) => ({ type: 'tool_use_start', id: `a${n}`, name: piece }),
	'deltas of an unknown kind': () => ({ type: 'acme:data', data: piece }),
};

/** Creates a model that streams 400 MB of one kind of delta. Returns the model and its state. */
function endless(make: (n: number) => { type: string; [field: string]: unknown }) {
	const seen = { deltas: 0, aborted: false };
	const turn: Parameters<typeof fail>[0][number] = async ({ options }, onDelta) => {
		for (let n = 0; n < 400 && options?.signal?.aborted === false; n++) {
			seen.deltas++;
			await onDelta(make(n));
		}
		seen.aborted = options?.signal?.aborted === true;
		return undefined;
	};
	return { seen, turn };
}

describe('a reply over the size limit', () => {
	test.each(Object.entries(kinds))('is broken off if it consists of %s', async (_, make) => {
		const { seen, turn } = endless(make);
		const { error, events, requests } = await fail([turn, 'never'], { fallbacks: ['scripted-b'] });
		expect(error.code).toBe('reply_too_large');
		expect(error.message).toContain('maxReplyBytes');
		expect(seen).toEqual({ deltas: expect.any(Number), aborted: true });
		expect(seen.deltas).toBeLessThan(12);
		expect(requests).toHaveLength(1);
		expect(JSON.stringify(events).length).toBeLessThan(9_000_000);
		expect(events.at(-1)?.type).toBe('error');
	});

	test('is abandoned if the model function ignores its signal', async () => {
		const chatStreamFn: ChatOptions['chatStreamFn'] = async (_model, _messages, _system, _tools, onDelta) => {
			for (let n = 0; n < 400; n++) await onDelta({ type: 'text', text: piece });
			return { text: 'late', stopReason: 'end_turn' };
		};
		const run = chat.run({ model: 'own', chatStreamFn }, [chat.userMessage('Hi')]);
		let shown = 0;
		for await (const event of run.events) if (event.type === 'text') shown += event.text.length;
		expect((await refusal(run.result)).code).toBe('reply_too_large');
		expect(shown).toBeLessThan(9_000_000);
	});

	test('is refused if it arrives whole', async () => {
		const usage = { inputTokens: 3, outputTokens: 5 };
		const long = 'x'.repeat(9_000_000);
		for (const reply of [
			{ text: long },
			{ reasoning: long },
			{ toolCalls: [{ id: 'a', name: 'echo', input: { deep: [{ text: long }] } }] },
			{ toolCalls: [{ id: 'a', name: 'echo', input: long }] },
		]) {
			const chatFn = async () => ({ stopReason: 'end_turn', usage, ...reply });
			const { code, data } = await refusal(chat.runLoopMessages({ model: 'own', chatFn }, [chat.userMessage('Hi')]));
			expect([code, data?.usage]).toEqual(['reply_too_large', usage]);
		}
	});
});

test('the reported cost of a reply over the limit is charged', async () => {
	const told: unknown[] = [];
	const meter: ChatOptions['meter'] = {
		reserve: () => undefined,
		lost: (usage, isCut, tokens) => void told.push([usage?.inputTokens, isCut, tokens > 0]),
	};
	const spending = async (_: unknown, onDelta: Take) => {
		await onDelta({ type: 'text', text: 'So' });
		await onDelta({ type: 'text', text: piece.repeat(9) });
		return undefined;
	};
	await fail([spending], { meter });
	const telling = async (_: unknown, onDelta: Take) => {
		await onDelta({ type: 'text', text: piece.repeat(9) });
		return new RunletError('cancelled', 'stopped', { usage: { inputTokens: 7, outputTokens: 9 } });
	};
	const { error } = await fail([telling], { meter });
	expect(error).toMatchObject({ code: 'reply_too_large', data: { usage: { inputTokens: 7 } } });
	expect(told).toEqual([
		[undefined, true, true],
		[7, true, false],
	]);
});

test('maxReplyBytes counts bytes of UTF-8', async () => {
	for (const [text, bytes] of [
		['abc', 3],
		['äö', 4],
		['日本', 6],
		['😀', 4],
	] as const) {
		expect((await finish([text], { maxReplyBytes: bytes })).result.text).toBe(text);
		expect((await fail([text], { maxReplyBytes: bytes - 1 })).error.code).toBe('reply_too_large');
	}
});

test('a stream of endless empty deltas ends with the timeout of the run', async () => {
	let deltas = 0;
	const empty: Parameters<typeof fail>[0][number] = async ({ options }, onDelta) => {
		for (; options?.signal?.aborted === false; deltas++) await onDelta({ type: 'text', text: '' });
		return undefined;
	};
	const { error, events } = await fail([empty], { timeouts: { runMs: 50 } });
	expect(error.code).toBe('timeout');
	expect(deltas).toBeGreaterThan(0);
	expect(only(events, 'text')).toEqual([]);
});
