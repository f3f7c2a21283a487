import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { afterEach, beforeEach, expect, type MockInstance, test, vi } from 'vitest';
import { readConfig } from '../../../src/cloudflare/config/config.ts';
import type { DataPoint, MetricsDataset } from '../../../src/cloudflare/config/env.ts';
import { RunletError } from '../../../src/core/base/errors.ts';
import { allEvents, createSession, follow, readEvents, readObject, request, restart, send } from '../../client.ts';
import { play } from '../../script.ts';
import { forever, post } from './stage.ts';

const call = (id: string, name: string, input: unknown = {}) => ({ id, name, input });

/** The points of sessions. Miniflare's dataset drops them. */
const points: DataPoint[] = [];
let dataset: MockInstance<MetricsDataset['writeDataPoint']>;

afterEach(() => void vi.restoreAllMocks());
beforeEach(async () => {
	points.length = 0;
	await runInDurableObject(readObject(await createSession()), (object) => {
		const { metrics } = readConfig(Reflect.get(object, 'env'));
		if (metrics === undefined) throw new Error('METRICS is not bound');
		dataset = vi.spyOn(metrics, 'writeDataPoint').mockImplementation((point) => void points.push(point));
	});
});

test('a run writes one data point with its owner, agent, model, outcome, tokens, cost, turns and calls', async () => {
	const id = await createSession();
	const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 60, reasoningTokens: 5, costUsd: 0.25 };
	play({ toolCalls: [call('a', 'echo', { text: 'hi' })], usage }, { text: 'Done.', usage });
	await allEvents(await send(id, 'go'));
	expect(points).toHaveLength(1);
	expect(points[0]).toMatchObject({
		indexes: ['local'],
		blobs: ['scripted', 'scripted', 'scripted', 'completed', '', 'http'],
	});
	const [input, output, cached, reasoning, usd, duration = -1, first = -1, turns, toolCalls, lives, toolFailures] =
		points[0]?.doubles ?? [];
	expect([input, output, cached, reasoning, usd]).toEqual([200, 40, 120, 10, 0.5]);
	expect(duration).toBeGreaterThanOrEqual(first);
	expect(first).toBeGreaterThanOrEqual(0);
	expect([turns, toolCalls, lives, toolFailures]).toEqual([2, 1, 1, 0]);
});

test('each outcome writes a data point with its usage', async () => {
	const id = await createSession();
	const usage = { inputTokens: 10, outputTokens: 1, costUsd: 0.01 };
	play(
		{ toolCalls: [call('a', 'ask', { question: 'Which?' })], usage },
		{ toolCalls: [call('b', 'stop')], usage },
		() => {
			throw new RunletError('auth', 'no');
		},
	);
	for (const text of ['go', 'this', 'more']) await allEvents(await send(id, text));
	expect(points.map(({ blobs, doubles }) => [blobs[3], blobs[4], doubles[0], doubles[7]])).toEqual([
		['awaiting_user', '', 10, 1],
		['halted', '', 10, 1],
		['error', 'auth', 0, 0],
	]);
});

test('a resumed run writes one data point for all its attempts and their cost', async () => {
	const id = await createSession();
	const usage = { inputTokens: 10, outputTokens: 1, costUsd: 0.5 };
	play({ toolCalls: [call('a', 'echo', { text: 'hi' })], usage }, forever, { text: 'Done.', usage });
	for await (const { type } of readEvents(await send(id, 'go'))) if (type === 'step') break;
	await restart(id);
	expect(points).toEqual([]);
	await runDurableObjectAlarm(readObject(id));
	await allEvents(await follow(id));
	expect(points).toHaveLength(1);
	const [input, , , , usd, , first, turns, toolCalls, lives] = points[0]?.doubles ?? [];
	expect({ input, first, turns, toolCalls, lives }).toEqual({ input: 20, first: 0, turns: 2, toolCalls: 1, lives: 2 });
	// The interrupted turn is charged, too.
	expect(usd).toBeGreaterThan(1);
	await restart(id);
	await allEvents(await follow(id));
	expect(points).toHaveLength(1);
});

test('a run that ends after its last attempt writes one data point', async () => {
	const id = await createSession();
	play(forever, forever, forever);
	await post(id);
	for (let life = 1; life <= 3; life++) {
		await restart(id);
		await request(`/v1/sessions/${id}`);
	}
	await allEvents(await follow(id));
	expect(points.map(({ blobs }) => [blobs[3], blobs[4]])).toEqual([['error', 'interrupted']]);
});

test('a run ends normally even if its data point cannot be written', async () => {
	const id = await createSession();
	dataset.mockImplementation(() => {
		throw new Error('no room');
	});
	play('Done.');
	expect((await allEvents(await send(id, 'go'))).at(-1)).toMatchObject({ type: 'done', data: { text: 'Done.' } });
	expect(dataset).toHaveBeenCalledOnce();
});
