import { describe, expect, test } from 'vitest';
import { deferred } from '../../src/chat/deferred.ts';
import { chat, providers } from '../../src/index.ts';

/** A meter that writes down what it is told. */
function noting(reserve: chat.Meter['reserve'] = ({ maxOutputTokens }) => maxOutputTokens) {
	const told: unknown[] = [];
	const meter: chat.Meter = {
		reserve: (request) => {
			told.push(['reserve', request.model]);
			return reserve(request);
		},
		lost: (usage, cut) => {
			told.push(['lost', usage?.inputTokens, cut]);
		},
	};
	return { meter, told };
}

const busy = Object.assign(new Error('busy'), { status: 429, headers: { 'retry-after': '0' } });

describe('a meter', () => {
	test('is told of each request before it is made, and of what it cost with the message that it gave', async () => {
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

	test('is told of retries and fallbacks one by one', async () => {
		const { meter, told } = noting();
		const scripted = providers.scripted([busy, busy, { text: 'done', usage: { inputTokens: 1, outputTokens: 1 } }]);
		const options = { model: 'scripted', fallbacks: ['scripted-b'], maxRetries: 1, providers: [scripted], meter };
		await chat.run(options, [chat.userMessage('hi')]).result;
		expect(told).toEqual([
			['reserve', 'scripted'],
			['lost', undefined, false],
			['reserve', 'scripted'],
			['lost', undefined, false],
			['reserve', 'scripted-b'],
		]);
	});

	test('that refuses ends the run before anything is sent', async () => {
		const { meter } = noting(() => {
			throw new Error('no');
		});
		const scripted = providers.scripted(['never']);
		const run = chat.run({ model: 'scripted', providers: [scripted], meter }, [chat.userMessage('hi')]);
		await expect(run.result).rejects.toThrow();
		expect(scripted.requests).toHaveLength(0);
	});

	test('bounds the reply', async () => {
		const { meter } = noting(() => 17);
		const scripted = providers.scripted(['done']);
		await chat.run({ model: 'scripted', providers: [scripted], meter }, [chat.userMessage('hi')]).result;
		expect(scripted.requests[0]?.options?.maxOutputTokens).toBe(17);
	});

	test('is told that a request cost nothing which was cancelled before it was made', async () => {
		const asked = deferred<void>();
		const answer = deferred<undefined>();
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
			['lost', undefined, false],
		]);
		expect(scripted.requests).toHaveLength(0);
	});

	test('is told that a request was cut which broke off', async () => {
		const { meter, told } = noting();
		const scripted = providers.scripted([undefined]);
		const run = chat.run({ model: 'scripted', maxRetries: 0, providers: [scripted], meter }, [chat.userMessage('hi')]);
		await expect(run.result).rejects.toMatchObject({ code: 'interrupted' });
		expect(told.at(-1)).toEqual(['lost', undefined, true]);
	});
});
