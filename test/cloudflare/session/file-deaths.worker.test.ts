import { afterEach, describe, expect, test } from 'vitest';
import type { CrashPointName } from '../../../src/cloudflare/agent/runtime.ts';
import type { Message, ToolCall } from '../../../src/core/index.ts';
import { createSession, readHistory, readStatusUnlessDead, request } from '../../client.ts';
import { atCrashPoint, die } from '../../crash.ts';
import { play } from '../../script.ts';
import { handling } from '../../worker.ts';
import { post } from './stage.ts';

afterEach(() => {
	atCrashPoint();
	handling.hold = async () => {};
});

interface Change {
	readonly path: string;
	readonly kind: string;
	readonly callId?: string;
}

const readFiles = async (id: string): Promise<Record<string, string>> => {
	const { files } = await (await request(`/v1/sessions/${id}/files`)).json<{ files: { path: string }[] }>();
	const read = async (path: string) =>
		[path, await (await request(`/v1/sessions/${id}/files/${path}`)).text()] as const;
	return Object.fromEntries(await Promise.all(files.map(({ path }) => read(path))));
};
const readChanges = async (id: string): Promise<readonly Change[]> =>
	(await (await request(`/v1/sessions/${id}/changes`)).json<{ changes: Change[] }>()).changes;

const patch = `--- a/log.txt
+++ b/log.txt
@@ -1,2 +1,3 @@
 begin
 edit
+patch
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+new
`;

/** The calls of the model, one call per turn. Each is made from the results so far. */
const work: readonly ((results: readonly Record<string, unknown>[]) => Omit<ToolCall, 'id'>)[] = [
	() => ({ name: 'write_file', input: { path: 'log.txt', text: 'begin\n' } }),
	() => ({ name: 'edit_file', input: { path: 'log.txt', oldText: 'begin\n', newText: 'begin\nedit\n' } }),
	() => ({ name: 'apply_patch', input: { patch } }),
	() => ({
		name: 'plan_changes',
		input: {
			summary: 'More.',
			edits: [
				{ path: 'log.txt', oldText: 'patch\n', newText: 'patch\nplan\n' },
				{ path: 'new.txt', moveTo: 'moved.txt' },
			],
		},
	}),
	(results) => ({ name: 'apply_plan', input: { planId: results.at(-1)?.planId } }),
	() => ({ name: 'move_file', input: { from: 'moved.txt', to: 'gone.txt' } }),
	() => ({ name: 'delete_file', input: { path: 'gone.txt' } }),
	() => ({ name: 'undo_changes', input: { steps: 2 } }),
	() => ({ name: 'edit_file', input: { path: 'log.txt', oldText: 'plan\n', newText: 'plan\nagain\n' } }),
];
const expected = { 'log.txt': 'begin\nedit\npatch\nplan\nagain\n', 'moved.txt': 'new\n' };
/** The files that each call changed. */
const changed = [
	['call-8', 'log.txt', 'changed'],
	['call-7', 'moved.txt', 'created'],
	['call-6', 'gone.txt', 'deleted'],
	['call-5', 'gone.txt', 'moved'],
	['call-4', 'log.txt', 'changed'],
	['call-4', 'moved.txt', 'moved'],
	['call-2', 'log.txt', 'changed'],
	['call-2', 'new.txt', 'created'],
	['call-1', 'log.txt', 'changed'],
	['call-0', 'log.txt', 'created'],
];

/** The model decides by its input, because a turn may restart. */
const answer = ({ messages }: { readonly messages: readonly Message[] }) => {
	const n = messages.filter(({ role }) => role === 'assistant').length;
	const results = messages.flatMap((one) => (one.role === 'tool' ? [Object(one.content)] : []));
	const call = work[n]?.(results);
	return call === undefined ? 'Done.' : { toolCalls: [{ ...call, id: `call-${n}` }] };
};

const places: readonly ('held' | CrashPointName)[] = ['model-end', 'tool-begin', 'held', 'tool-end'];

describe('files of a session whose object dies', () => {
	test.each(places)('are changed and undone exactly once after a crash at %s', async (place) => {
		for (let step = 0; step < work.length; step++) {
			const id = await createSession('hands');
			let left = step + 1;
			const dieOnce = (at: string): Promise<never> | undefined =>
				at === place && --left === 0 ? die(id, { isDurable: true }) : undefined;
			atCrashPoint((point, { session }) => (session === id ? dieOnce(point) : undefined));
			handling.hold = async (session) => (session === id ? dieOnce('held') : undefined);
			play(...Array.from({ length: 40 }, () => answer));
			await post(id);
			await expect.poll(() => readStatusUnlessDead(id), { timeout: 30_000 }).toBe('completed');
			expect(left).toBeLessThanOrEqual(0);
			const history = await readHistory(id);
			expect(history.filter(({ isError }) => isError)).toEqual([]);
			expect(await readFiles(id)).toEqual(expected);
			expect((await readChanges(id)).map(({ callId, path, kind }) => [callId, path, kind])).toEqual(changed);
		}
	});
});
