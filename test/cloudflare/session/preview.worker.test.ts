/** A person who decides about a call sees what it would do (docs/people.md). */
import { SELF } from 'cloudflare:test';
import { expect, test } from 'vitest';
import type { ScriptedTurn } from '../../../src/core/providers/index.ts';
import { readHistory, request } from '../../client.ts';
import { play } from '../../script.ts';

interface Answer {
	readonly id: string;
	readonly toolCalls?: readonly { readonly preview?: string }[];
	readonly question?: { readonly options: { readonly preview?: string } };
}

const call = (name: string, input: object, id = name) => ({ toolCalls: [{ id, name, input }] });
const plan = (text: string) =>
	call('plan_changes', { summary: 'Say more.', edits: [{ path: 'a.txt', newText: text }] });
const begin = async (agent: string) => (await request('/v1/sessions', { agent, text: 'Change it.' })).json<Answer>();
const read = async (id: string) => (await request(`/v1/sessions/${id}`)).json<Answer>();

/** Plays a model that plans a change, and applies what it planned. */
function playPlan(text: string, ...before: readonly ScriptedTurn[]): void {
	play(...before, plan(text), ({ messages }) => {
		const found = /plan-[\da-f]{8}/.exec(JSON.stringify(messages.at(-1)?.content));
		return call('apply_plan', { planId: found?.[0] ?? '' });
	});
}

async function findInInbox(id: string) {
	const find = async () => {
		const { approvals } = await (await request('/v1/approvals?limit=100')).json<{
			approvals: { sessionId: string; preview?: string; isCut?: true; options?: object }[];
		}>();
		return approvals.find(({ sessionId }) => sessionId === id);
	};
	await expect.poll(find).toBeDefined();
	return find();
}

test('the diff of a plan stands in the session, in the inbox and on the page of a link', async () => {
	playPlan('Hello.\nAnd\t<more>.\n');
	const { id } = await begin('planning');
	const diff = expect.stringMatching(/^--- .*\n\+\+\+ b\/a\.txt\n@@.*\n\+Hello\.\n\+And\t<more>\.\n/m);
	expect(await read(id)).toMatchObject({ toolCalls: [{ preview: diff }] });
	expect(await findInInbox(id)).toMatchObject({ preview: diff });
	const made = await request(`/v1/sessions/${id}/links`, { callId: 'apply_plan' });
	const { pathname } = new URL((await made.json<{ approve: string }>()).approve);
	const page = await (await SELF.fetch(`http://localhost${pathname}`)).text();
	expect(page).toContain('<h1>Approve: Apply plan?</h1>');
	expect(page).toContain('<span class="added">+And\t&lt;more&gt;.</span>');
	play('Done.');
	await request(`/v1/sessions/${id}/tool-results`, [{ id: 'apply_plan', approve: true }]);
	const file = await SELF.fetch(`http://localhost/v1/sessions/${id}/files/a.txt`);
	expect(await file.text()).toBe('Hello.\nAnd\t<more>.\n');
	expect((await readHistory(id)).at(-1)).toMatchObject({ content: 'Done.' });
});

test('a long diff is cut at 8,000 characters, and the inbox says that the session has more', async () => {
	playPlan('A line of a long file.\n'.repeat(1_000));
	const { id } = await begin('planning');
	const [shown] = (await read(id)).toolCalls ?? [];
	expect(shown?.preview).toMatch(/^.{8000}\n… 16,\d\d\d more characters, which are not shown$/s);
	const listed = await findInInbox(id);
	expect(listed).toMatchObject({ isCut: true });
	expect(listed).not.toHaveProperty('preview');
});

test('the diff of a child’s plan stands in the question of its parent', async () => {
	playPlan('Hello.\n', call('planning', { task: 'Change it.' }));
	const { id } = await begin('plan-boss');
	expect((await read(id)).question?.options.preview).toMatch(/^\+Hello\./m);
	expect((await findInInbox(id))?.options).toMatchObject({ preview: expect.stringMatching(/^\+Hello\./m) });
});

test('a call of an unknown plan waits without a diff, and its error says what to do', async () => {
	play(call('apply_plan', { planId: 'plan-00000000' }));
	const { id } = await begin('planning');
	const { toolCalls } = await read(id);
	expect(toolCalls).toMatchObject([{ kind: 'approval' }]);
	expect(toolCalls?.[0]).not.toHaveProperty('preview');
	play('No.');
	await request(`/v1/sessions/${id}/tool-results`, [{ id: 'apply_plan', approve: true }]);
	expect((await readHistory(id)).at(-2)).toMatchObject({
		isError: true,
		content: expect.stringContaining('there is no plan'),
	});
});
