/** The requests of a session keep the same beginning in all its runs and after restarts. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ScriptedRequest } from '../../../src/core/providers/scripted.ts';
import { allEvents, follow, request, restart, send } from '../../client.ts';
import { type Api, apis, type Parts } from '../../core/providers/prefix/apis.ts';
import { findBreak } from '../../core/providers/prefix/walk.ts';
import { play } from '../../script.ts';
import { createSessionFor, createUser, decide, putMemory, say } from '../memory/people.ts';

const call = fc.constantFrom(
	['echo', { text: 'x' }],
	['pay', { amount: 1 }],
	['search_tools', { query: 'ants' }],
	['search_tools', { query: 'bees' }],
	['read_skill', { name: 'bringing' }],
	['find_7', {}],
	['remember', { text: 'Likes cats.' }],
	['unknown', {}],
) satisfies fc.Arbitrary<readonly [string, object]>;

const runs = fc.array(
	fc.record({
		text: fc.constantFrom('Which cats?', 'And dogs?', 'Ants.'),
		turns: fc.array(fc.array(call, { minLength: 1, maxLength: 3 }), { maxLength: 2 }),
		approves: fc.boolean(),
		restarts: fc.boolean(),
	}),
	{ minLength: 2, maxLength: 4 },
);

/** Writes a request of the session in the format of an API. */
async function toParts(api: Api, { messages, system, tools, options }: ScriptedRequest): Promise<Parts> {
	const parts: Parts[] = [];
	const { chatFn } = api.provider((body) => {
		parts.push(api.parts(body));
		return { status: 200, body: api.body({ text: 'Done.', stop: 'end_turn' }) };
	});
	await chatFn?.(api.model, messages, system, tools, { ...options, signal: undefined, onActivity: undefined });
	const [sent] = parts;
	if (sent === undefined) throw new Error('nothing was sent');
	return sent;
}

test('each request of a random session begins with the whole previous request, also after restarts', async () => {
	await fc.assert(
		fc.asyncProperty(runs, async (runs) => {
			const user = createUser();
			await putMemory(user, 'pets.md', 'Has a dog.');
			let ids = 0;
			// A changed memory is sent in its new form, so each memory has its own path.
			const toCall = ([name, input]: readonly [string, object]) => {
				const id = `c${ids++}`;
				return { id, name, input: { ...input, ...(name === 'remember' && { path: `${id}.md` }) } };
			};
			const script = runs.flatMap(({ turns }) => [
				...turns.map((calls) => ({ toolCalls: calls.map(toCall) })),
				'Done.',
			]);
			const { requests } = play(...script);
			const id = await createSessionFor(user, 'economical');
			for (const { text, approves, restarts } of runs) {
				let ended = await say(id, text);
				for (let open = ended.toolCalls?.[0]; open !== undefined; open = ended.toolCalls?.[0]) {
					if (restarts) await restart(id);
					ended = await decide(id, open.id, approves);
				}
				expect(ended.status).toBe('completed');
				if (restarts) await restart(id);
			}
			expect(requests).toHaveLength(script.length);
			// The cache key names the session without its id.
			const keys = new Set(requests.map(({ options }) => options?.cacheKey));
			expect([...keys]).toEqual([expect.stringMatching(/^[0-9a-z]{11}$/)]);
			expect(requests.map(({ options }) => options?.cache)).toEqual(requests.map(() => '5m'));
			for (const api of apis) {
				const parts = await Promise.all(requests.map((sent) => toParts(api, sent)));
				expect(findBreak(api, parts)).toBeUndefined();
			}
		}),
		{ numRuns: 12 },
	);
});

test('steps and messages contain the reason for a cache miss, also after a restart', async () => {
	const usage = (cachedInputTokens: number) => ({ inputTokens: 5_000, outputTokens: 1, cachedInputTokens });
	play({ text: 'One.', usage: usage(0) }, { text: 'Two.', usage: usage(5_000) }, { text: 'Three.', usage: usage(0) });
	const id = await createSessionFor(createUser(), 'economical');
	const misses: unknown[] = [];
	for (const text of ['a', 'b', 'c']) {
		const steps = (await allEvents(await send(id, text))).filter(({ type }) => type === 'step');
		misses.push(...steps.map(({ data }) => data.cacheMiss));
		await restart(id);
	}
	expect(misses).toEqual([undefined, undefined, 'unknown']);
	const replayed = (await allEvents(await follow(id))).filter(({ type }) => type === 'step');
	expect(replayed.map(({ data }) => data.cacheMiss)).toEqual(['unknown']);
	const response = await request(`/v1/sessions/${id}/messages`);
	const { messages: history } = await response.json<{ messages: { turn?: { cacheMiss?: string } }[] }>();
	expect(history.flatMap(({ turn }) => (turn === undefined ? [] : [turn.cacheMiss]))).toEqual(misses);
	// The record of a request is not shown.
	expect(JSON.stringify(history)).not.toContain('"prompt"');
});
