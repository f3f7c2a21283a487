/** A session's requests keep their beginning over its runs and over the lives of its object. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ScriptedRequest } from '../../../src/core/providers/scripted.ts';
import { restart } from '../../client.ts';
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

/** Writes a request of the session in the words of an API. */
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

test('each request of a random session begins with the whole request before it, also after restarts', async () => {
	await fc.assert(
		fc.asyncProperty(runs, async (runs) => {
			const user = createUser();
			await putMemory(user, 'pets.md', 'Has a dog.');
			let ids = 0;
			// A memory that changes is sent as it is now, so each has a path of its own.
			const toCall = ([name, input]: readonly [string, object]) => {
				const id = `c${ids++}`;
				return { id, name, input: { ...input, ...(name === 'remember' && { path: `${id}.md` }) } };
			};
			const script = runs.flatMap(({ turns }) => [
				...turns.map((calls) => ({ toolCalls: calls.map(toCall) })),
				'Done.',
			]);
			const { requests } = play(...script);
			const id = await createSessionFor(user, 'equipped');
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
			for (const api of apis) {
				const parts = await Promise.all(requests.map((request) => toParts(api, request)));
				expect(findBreak(api, parts)).toBeUndefined();
			}
		}),
		{ numRuns: 12 },
	);
});
