import { describe, expect, test, vi } from 'vitest';
import { createDeferred } from '../../../src/core/base/promises.ts';
import { chat, providers, RunletError } from '../../../src/core/index.ts';

/** A meter that records its calls. */
function noting(reserve: chat.Meter['reserve'] = ({ maxOutputTokens }) => maxOutputTokens) {
	const told: unknown[] = [];
	const meter: chat.Meter = {
		reserve: (request) => {
			told.push(['reserve', request.model]);
			return reserve(request);
		},
		lost: (usage, cut, outputTokens) => {
			told.push(['lost', usage?.inputTokens, cut, outputTokens]);
		},
	};
	return { meter, told };
}

const busy = Object.assign(new Error('busy'), { status: 429, headers: { 'retry-after': '0' } });

describe('a meter', () => {
	test('reserves before a request, and onMessage gets the cost with the reply', async () => {
		const { meter, told } = noting();
		const scripted = providers.scripted([{ text: 'done', usage: { inputTokens: 3, outputTokens: 4 } }]);
		const spent: unknown[] = [];
		const onMessage: chat.ChatOptions['onMessage'] = (_, about) => {
			spent.push(about.spent);
		};
		const options = { model: 'scripted', providers: [scripted], meter, onMessage };
		await chat.run(options, [chat.userMessage('hi')]).result;
		expect(told).toEqual([['reserve', 'scripted']]);
		expect(spent).toMatchObject([{ inputTokens: 3, outputTokens: 4 }]);
	});

	test('reserves before each retry and each fallback', async () => {
		const { meter, told } = noting();
		const scripted = providers.scripted([busy, busy, { text: 'done', usage: { inputTokens: 1, outputTokens: 1 } }]);
		const options = { model: 'scripted', fallbacks: ['scripted-b'], maxRetries: 1, providers: [scripted], meter };
		await chat.run(options, [chat.userMessage('hi')]).result;
		expect(told).toEqual([
			['reserve', 'scripted'],
			['lost', undefined, false, 0],
			['reserve', 'scripted'],
			['lost', undefined, false, 0],
			['reserve', 'scripted-b'],
		]);
	});

	test('reserves again, for a whole reply, after its own short limit cut off the first reply', async () => {
		let isShort = true;
		const asked: (boolean | undefined)[] = [];
		const { meter, told } = noting((request) => {
			asked.push(request.isWhole);
			isShort = request.isWhole !== true;
			return isShort ? 3 : 100;
		});
		const scripted = providers.scripted([
			{ text: 'One two', stopReason: 'max_tokens', usage: { inputTokens: 5, outputTokens: 3 } },
			{ text: 'One two three four', usage: { inputTokens: 5, outputTokens: 6 } },
		]);
		const options = {
			...{ model: 'scripted', providers: [scripted] },
			meter: {
				...meter,
				get isShort() {
					return isShort;
				},
			},
		};
		const { events, result } = chat.run(options, [chat.userMessage('Count.')]);
		const kinds: string[] = [];
		for await (const { type } of events) kinds.push(type);
		expect(await result).toMatchObject({ text: 'One two three four', usage: { inputTokens: 10, outputTokens: 9 } });
		expect(asked).toEqual([undefined, true]);
		expect(told).toContainEqual(['lost', 5, false, expect.any(Number)]);
		expect(kinds).toContain('turn.restarted');
	});

	test('does not reserve again if a limit other than its own cut off a reply', async () => {
		const { meter, told } = noting();
		const scripted = providers.scripted([{ text: 'One two', stopReason: 'max_tokens' }]);
		await chat.run({ model: 'scripted', providers: [scripted], meter }, [chat.userMessage('Count.')]).result;
		expect(told).toEqual([['reserve', 'scripted']]);
	});

	test('ends the run without a retry or a fallback if it is overloaded', async () => {
		const { meter, told } = noting(() => {
			throw new RunletError('overloaded', 'The ledger is overloaded.');
		});
		const scripted = providers.scripted(['never']);
		const options = { model: 'scripted', fallbacks: ['scripted-b'], maxRetries: 3, providers: [scripted], meter };
		const { result } = chat.run(options, [chat.userMessage('hi')]);
		await expect(result).rejects.toMatchObject({ code: 'overloaded' });
		expect(told).toEqual([['reserve', 'scripted']]);
		expect(scripted.requests).toEqual([]);
	});

	test('gets the audio tokens of a request', async () => {
		const asked: chat.MeteredRequest[] = [];
		const { meter } = noting((request) => {
			asked.push(request);
			return undefined;
		});
		const options = { model: 'scripted', providers: [providers.scripted(['done'])], meter };
		const audio = { kind: 'audio', mime: 'audio/mpeg', data: btoa('x'.repeat(4_000)) } as const;
		await chat.run(options, [chat.userMessage([chat.textPart('Listen.'), audio])]).result;
		expect(asked[0]?.choices?.inputAudioTokens).toBe(64);
		expect(asked[0]?.inputTokens).toBeGreaterThan(64);
	});

	test('learns that a request was interrupted if an error comes after the reply began', async () => {
		const told: unknown[] = [];
		const meter: chat.Meter = { reserve: () => 100, lost: (_, cut) => void told.push(cut) };
		const events = [
			{ type: 'response.created', response: { id: 'r', model: 'gpt-5' } },
			{ type: 'error', code: 'server_error', message: 'Sorry.' },
		];
		const answer = (list: readonly object[]) => async () =>
			new Response(list.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''), {
				headers: { 'content-type': 'text/event-stream' },
			});
		for (const list of [events, events.slice(1)]) {
			const openai = providers.openai({ apiKey: 'k', fetch: answer(list) });
			const options = { model: 'gpt-5', providers: [openai], meter, maxRetries: 0 };
			await expect(chat.run(options, [chat.userMessage('hi')]).result).rejects.toThrow('Sorry.');
		}
		expect(told).toEqual([true, false]);
	});

	test('learns the total length of long pauses in an interrupted reply, and whether provider tools were used', async () => {
		const told: (chat.HiddenCost | undefined)[] = [];
		const meter: chat.Meter = { reserve: () => 100, lost: (_, __, ___, hidden) => void told.push(hidden) };
		vi.useFakeTimers({ toFake: ['Date'] });
		try {
			for (const type of ['text', 'provider_tool']) {
				const scripted = providers.scripted([
					async (_, onDelta) => {
						vi.setSystemTime(Date.now() + 3_000);
						await onDelta({ type, text: 'a', id: 's', name: 'web_search' });
						// A short pause does not count, and a long pause does.
						vi.setSystemTime(Date.now() + 100);
						await onDelta({ type: 'text', text: 'b' });
						vi.setSystemTime(Date.now() + 2_000);
						return undefined;
					},
				]);
				const options = { model: 'scripted', providers: [scripted], meter, maxRetries: 0 };
				await expect(chat.run(options, [chat.userMessage('hi')]).result).rejects.toThrow();
			}
		} finally {
			vi.useRealTimers();
		}
		expect(told).toEqual([
			{ silentMs: 5_000, hasReadAgain: false },
			{ silentMs: 5_000, hasReadAgain: true },
		]);
	});

	test('prevents the request and ends the run if it throws', async () => {
		const { meter } = noting(() => {
			throw new Error('no');
		});
		const scripted = providers.scripted(['never']);
		const run = chat.run({ model: 'scripted', providers: [scripted], meter }, [chat.userMessage('hi')]);
		await expect(run.result).rejects.toThrow();
		expect(scripted.requests).toHaveLength(0);
	});

	test('limits the length of the reply', async () => {
		const { meter } = noting(() => 17);
		const scripted = providers.scripted(['done']);
		await chat.run({ model: 'scripted', providers: [scripted], meter }, [chat.userMessage('hi')]).result;
		expect(scripted.requests[0]?.options?.maxOutputTokens).toBe(17);
	});

	test('gets no cost for a request that was cancelled before it was sent', async () => {
		const asked = createDeferred<void>();
		const answer = createDeferred<undefined>();
		const { meter, told } = noting(() => {
			asked.resolve();
			return answer.promise;
		});
		const scripted = providers.scripted(['never']);
		const stop = new AbortController();
		const options = { model: 'scripted', providers: [scripted], meter, signal: stop.signal };
		const run = chat.run(options, [chat.userMessage('hi')]);
		await asked.promise;
		stop.abort();
		answer.resolve(undefined);
		await expect(run.result).rejects.toMatchObject({ code: 'cancelled' });
		expect(told).toEqual([
			['reserve', 'scripted'],
			['lost', undefined, false, 0],
		]);
		expect(scripted.requests).toHaveLength(0);
	});

	test('learns that a request was interrupted if its stream breaks off', async () => {
		const { meter, told } = noting();
		const scripted = providers.scripted([undefined]);
		const run = chat.run({ model: 'scripted', maxRetries: 0, providers: [scripted], meter }, [chat.userMessage('hi')]);
		await expect(run.result).rejects.toMatchObject({ code: 'interrupted' });
		expect(told.at(-1)).toEqual(['lost', undefined, true, 0]);
	});

	test('gets the number of streamed tokens of an interrupted request: text, thinking and tool input', async () => {
		const { meter, told } = noting();
		const words = 'word '.repeat(80);
		const deltas = [
			{ type: 'reasoning', text: words },
			{ type: 'text', text: words },
			{ type: 'tool_use_start', id: 'a', name: 'find' },
			{ type: 'tool_use_input', id: 'a', partialInputJson: words },
		] as const;
		const chatStreamFn: chat.ChatOptions['chatStreamFn'] = async (_, __, ___, ____, onDelta) => {
			for (const delta of deltas) await onDelta(delta);
			return undefined;
		};
		const run = chat.run({ model: 'm', maxRetries: 0, chatStreamFn, meter }, [chat.userMessage('hi')]);
		await expect(run.result).rejects.toMatchObject({ code: 'interrupted' });
		expect(told.at(-1)).toEqual(['lost', undefined, true, 301]);
	});

	test('gets a higher token estimate per character for Chinese text than for Latin text', async () => {
		const sent: number[] = [];
		const { meter } = noting(({ inputTokens, maxOutputTokens }) => {
			sent.push(inputTokens);
			return maxOutputTokens;
		});
		const scripted = providers.scripted(['done', 'done']);
		for (const text of ['平'.repeat(100_000), 'word '.repeat(20_000)])
			await chat.run({ model: 'scripted', providers: [scripted], meter }, [chat.userMessage(text)]).result;
		expect(sent[0]).toBeGreaterThan(90_000);
		expect(sent[0]).toBeLessThan(160_000);
		expect(sent[1]).toBeGreaterThan(24_000);
		expect(sent[1]).toBeLessThan(28_000);
	});

	test('learns that a timed-out request was interrupted, both before and after its first word', async () => {
		const { meter, told } = noting();
		const silent: Parameters<typeof providers.scripted>[0][number] = () => new Promise(() => {});
		const begins: Parameters<typeof providers.scripted>[0][number] = async (_, onDelta) => {
			await onDelta({ type: 'text', text: 'So' });
			return new Promise(() => {});
		};
		const scripted = providers.scripted([silent, begins]);
		const timeouts = { firstEventMs: 5, idleMs: 5 };
		const options = {
			model: 'scripted',
			fallbacks: ['scripted-b'],
			maxRetries: 0,
			providers: [scripted],
			meter,
			timeouts,
		};
		const run = chat.run(options, [chat.userMessage('hi')]);
		await expect(run.result).rejects.toMatchObject({ code: 'timeout' });
		expect(told).toEqual([
			['reserve', 'scripted'],
			['lost', undefined, true, 0],
			['reserve', 'scripted-b'],
			['lost', undefined, true, expect.any(Number)],
		]);
	});
});
