import { describe, expect, test } from 'vitest';
import { chat, type Skill, skill } from '../../../src/core/index.ts';
import { calling, echo, fail, finish, results } from './support.ts';

const refund: Skill = { name: 'refund', description: 'Pay back', when: ['refund'], body: 'Check the receipt.' };
const greet: Skill = {
	name: 'greet',
	description: 'Say hello',
	bodyFn: (context: Readonly<Record<string, unknown>>) =>
		`Dear ${String(context.sender)}, from ${String(context.place)}`,
};
const skills = [refund, greet];
const call = (name: string, input: unknown) => calling({ id: 'a', name, input });

describe('the loop with skills', () => {
	test('appends the skill index to the system prompt', async () => {
		const { requests } = await finish(['Hi'], { system: 'Be brief.', skills });
		expect(requests[0]?.system).toBe(`Be brief.\n\n${skill.buildIndex(skills)}`);
		expect(requests[0]?.system).toContain('  - refund: Pay back (when: refund)');
	});

	test('uses the skill index as the system prompt if no system prompt is given', async () => {
		expect((await finish(['Hi'], { skills })).requests[0]?.system).toBe(skill.buildIndex(skills));
	});

	test('sends no index and no skill tools if the list of skills is empty', async () => {
		const { requests } = await finish(['Hi'], { skills: [] });
		expect(requests[0]).toMatchObject({ system: undefined, tools: undefined });
	});

	test('offers list_skills, read_skill and apply_skill together with the tools of the caller', async () => {
		const { requests } = await finish(['Hi'], { skills, tools: [echo] });
		expect(requests[0]?.tools?.map(({ name }) => name)).toEqual(['echo', 'list_skills', 'read_skill', 'apply_skill']);
	});

	test('reads a skill by its name', async () => {
		const { result } = await finish([call('read_skill', { name: 'refund' }), 'Done.'], { skills });
		expect(results(result.messages)).toEqual([['a', 'Check the receipt.']]);
	});

	test('cuts a long skill file in the request, but keeps the whole file in the history', async () => {
		const files = { 'references/long.md': 'x'.repeat(300_000) };
		const read = call('read_skill_file', { name: 'refund', path: 'references/long.md' });
		const { result, requests } = await finish([read, 'Done.'], { skills: [{ ...refund, files }] });
		expect(results(result.messages)).toEqual([['a', files['references/long.md']]]);
		expect(chat.messageText(requests[1]?.messages[2] ?? chat.userMessage(''))).toMatch(/^x+\n\n\[Cut: of 300000 /);
	});

	test('reports an unknown skill without an error', async () => {
		const { result } = await finish([call('read_skill', { name: 'nope' }), 'Done.'], { skills });
		expect(result.messages[2]).toMatchObject({ content: 'Unknown skill: nope', isError: false });
	});

	test("lets skillContext override the model's ctx for apply_skill", async () => {
		const said = call('apply_skill', { name: 'greet', ctx: { sender: 'the model', place: 'Rome' } });
		const { result } = await finish([said, 'Done.'], { skills, skillContext: { sender: 'Ada' } });
		expect(results(result.messages)).toEqual([['a', 'Dear Ada, from Rome']]);
	});

	test("fails with duplicate_tool if a caller's tool has the name of a skill tool", async () => {
		const own = { name: 'read_skill', inputSchema: {}, fn: () => '' };
		expect((await fail(['never'], { skills, tools: [own] })).error.code).toBe('duplicate_tool');
	});
});

describe('a skill resolver in the loop', () => {
	test('replaces options.skills', async () => {
		const skillResolver = skill.inMemoryResolver([refund]);
		const { requests } = await finish(['Hi'], { skills: [greet], skillResolver });
		expect(requests[0]?.system).toBe(skill.buildIndex([refund]));
	});

	test('that can search adds search_skills, and puts only the alwaysOn skills into the index', async () => {
		const skillResolver = skill.searchableResolver(skills, { alwaysOn: ['greet'] });
		const { requests, result } = await finish([call('read_skill', { name: 'refund' }), 'Done.'], { skillResolver });
		expect(requests[0]?.tools?.map(({ name }) => name)).toContain('search_skills');
		expect(requests[0]?.system).toBe(skill.buildIndex([greet]));
		expect(results(result.messages)).toEqual([['a', 'Check the receipt.']]);
	});

	test('is called before each turn with the messages, the system prompt and the model', async () => {
		const asked: { messages: number; system: unknown; model: string }[] = [];
		const skillResolver = {
			...skill.inMemoryResolver(skills),
			listFn: async ({ messages, system, model }: { messages: readonly unknown[]; system?: string; model: string }) => {
				asked.push({ messages: messages.length, system, model });
				return asked.length === 1 ? [refund] : [greet];
			},
		};
		const script = [call('echo', { text: 'x' }), 'Done.'];
		const { requests } = await finish(script, { skillResolver, tools: [echo], system: 'Be brief.' });
		expect(asked).toEqual([
			{ messages: 1, system: 'Be brief.', model: 'scripted' },
			{ messages: 3, system: 'Be brief.', model: 'scripted' },
		]);
		expect(requests.map(({ system }) => system)).toEqual([
			`Be brief.\n\n${skill.buildIndex([refund])}`,
			`Be brief.\n\n${skill.buildIndex([greet])}`,
		]);
	});

	test('gets the messages of the run, beginning with the user message', async () => {
		const seen: unknown[] = [];
		const skillResolver = {
			...skill.inMemoryResolver(skills),
			listFn: ({ messages }: { messages: readonly unknown[] }) => {
				seen.push(messages[0]);
				return [];
			},
		};
		const { requests } = await finish(['Hi'], { skillResolver });
		expect(seen).toEqual([chat.userMessage('Hello')]);
		expect(requests[0]?.system).toBeUndefined();
	});
});
