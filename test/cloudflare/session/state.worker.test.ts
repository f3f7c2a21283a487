import * as fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type { CrashPointName } from '../../../src/cloudflare/agent/runtime.ts';
import { createSession, readHistory, readState, readStatusUnlessDead, request, restart } from '../../client.ts';
import { atCrashPoint, die } from '../../crash.ts';
import { play } from '../../script.ts';
import { remembering } from '../../worker.ts';
import { forever, post } from './stage.ts';

afterEach(() => {
	atCrashPoint();
	remembering.hold = async () => {};
});

type How = 'fails' | 'asks' | 'halts' | 'deletes' | undefined;
const call = (id: string, key: string, how?: How) => ({ id, name: 'remember', input: { key, ...(how && { how }) } });
const say = async (id: string, text: string) => {
	const response = await request(`/v1/sessions/${id}/messages`, { text });
	return response.json<Record<string, unknown>>();
};
const readKept = async (id: string) => {
	const { state } = await (await request(`/v1/sessions/${id}/export`)).json<{ state: { key: string }[] }>();
	return state;
};
const readResults = async (id: string) =>
	(await readHistory(id)).flatMap(({ role, content, isError }) => (role === 'tool' && !isError ? [content] : []));

describe('the state of a session’s tools', () => {
	test('survives runs and restarts, is exported, and is removed with the session', async () => {
		const id = await createSession();
		play({ toolCalls: [call('a', 'visits')] }, 'One.', { toolCalls: [call('b', 'visits')] }, 'Two.');
		await say(id, 'go');
		await restart(id);
		await say(id, 'again');
		expect(await readResults(id)).toEqual([1, 2]);
		expect(await readKept(id)).toEqual([{ key: 'visits', value: 2 }]);
		const lines = await request(`/v1/sessions/${id}/export`, undefined, { accept: 'application/x-ndjson' });
		expect(await lines.text()).toContain('{"state":{"key":"visits","value":2}}\n');
		expect((await request(`/v1/sessions/${id}`, undefined, {}, 'DELETE')).status).toBe(204);
		expect((await request(`/v1/sessions/${id}/export`)).status).toBe(404);
	});

	test('is stored when a tool asks a question, and the answer does not run the tool again', async () => {
		const id = await createSession();
		play({ toolCalls: [call('a', 'asked', 'asks')] }, 'Fine.');
		expect(await say(id, 'go')).toMatchObject({ status: 'awaiting_user' });
		await restart(id);
		expect(await say(id, 'Yes.')).toMatchObject({ status: 'completed' });
		expect(await readKept(id)).toEqual([{ key: 'asked', value: 1 }]);
	});

	test('is unchanged after a crash during a call, which runs again', async () => {
		const id = await createSession();
		play({ toolCalls: [call('a', 'count')] }, { toolCalls: [call('b', 'count')] }, 'Done.');
		const begun = remembering.begun;
		remembering.hold = forever;
		await post(id);
		await expect.poll(() => remembering.begun).toBe(begun + 1);
		remembering.hold = async () => {};
		expect(await readKept(id)).toEqual([]);
		await restart(id);
		await expect.poll(async () => (await readState(id)).status).toBe('completed');
		expect(remembering.begun).toBe(begun + 3);
		expect([await readResults(id), await readKept(id)]).toEqual([[1, 2], [{ key: 'count', value: 2 }]]);
	});
});

describe('the key of a call for external effects', () => {
	test('is unique, even for calls with the same id', async () => {
		remembering.keys.length = 0;
		for (let session = 0; session < 2; session++) {
			const id = await createSession();
			play({ toolCalls: [call('a', 'k')] }, { toolCalls: [call('a', 'k'), call('b', 'k')] }, 'Done.');
			await say(id, 'go');
		}
		expect(new Set(remembering.keys).size).toBe(6);
		for (const key of remembering.keys) expect(key).toMatch(/^[\w-]{1,128}$/);
	});

	test('stays the same after a crash', async () => {
		const id = await createSession();
		play({ toolCalls: [call('a', 'k')] }, 'Done.');
		remembering.keys.length = 0;
		remembering.hold = forever;
		await post(id);
		await expect.poll(() => remembering.keys.length).toBe(1);
		remembering.hold = async () => {};
		await restart(id);
		await expect.poll(async () => (await readState(id)).status).toBe('completed');
		expect(remembering.keys).toEqual([remembering.keys[0], remembering.keys[0]]);
	});
});

const points: readonly CrashPointName[] = ['model-end', 'tool-begin', 'tool-end', 'ended'];
const step = fc.record({
	key: fc.constantFrom('a', 'b'),
	how: fc.constantFrom<How>(undefined, undefined, 'fails', 'deletes'),
	/** The point of this call at which the object dies. */
	dies: fc.option(fc.constantFrom('within', ...points), { nil: undefined }),
	isDurable: fc.boolean(),
});

test('stores each change exactly once, wherever a crash comes between the change and its result', async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
			const id = await createSession();
			/** The steps at which the object will still die. */
			const dying = new Set(steps.filter(({ dies }) => dies !== undefined));
			const dieAt = (place: string, at: number): Promise<never> | undefined => {
				const planned = steps[at];
				if (planned?.dies !== place || !dying.delete(planned)) return undefined;
				return die(id, planned);
			};
			const at = async (): Promise<number> => turns - 1;
			let turns = 0;
			atCrashPoint((point, { session }) => (session === id ? dieAt(point, turns - 1) : undefined));
			remembering.hold = async () => dieAt('within', await at());
			// The model answers by its input, because its turn may restart.
			const turn = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) => {
				const n = messages.filter(({ role }) => role === 'assistant').length;
				turns = n + 1;
				const planned = steps[n];
				return planned === undefined ? 'Done.' : { toolCalls: [call(`c${n}`, planned.key, planned.how)] };
			};
			play(...Array.from({ length: 40 }, () => turn));
			await post(id);
			await expect.poll(() => readStatusUnlessDead(id), { timeout: 30_000 }).toBe('completed');
			const model = new Map<string, number>();
			const expected = steps.flatMap(({ key, how }) => {
				const count = (model.get(key) ?? 0) + 1;
				if (how === 'fails') return [];
				if (how === 'deletes') model.delete(key);
				else model.set(key, count);
				return [count];
			});
			expect(await readResults(id)).toEqual(expected);
			expect(await readKept(id)).toEqual([...model].sort().map(([key, value]) => ({ key, value })));
		}),
		{ numRuns: 25 },
	);
});

test('tools get the variables of the Worker', async () => {
	const id = await createSession();
	play({ toolCalls: [{ id: 'a', name: 'reveal', input: { name: 'LOCAL' } }] }, 'Done.');
	await say(id, 'go');
	expect(await readResults(id)).toEqual(['true']);
});

test('the system prompt of an agent can be a function of the metadata and the skill context', async () => {
	const { requests } = play('Hello.');
	const made = await request('/v1/sessions', { agent: 'addressing', metadata: { customer: 'Ada' }, text: 'Hi' });
	const { id } = await made.json<{ id: string }>();
	expect(requests[0]?.system).toBe(`Ada writes by http to ${id} in true.`);
});
