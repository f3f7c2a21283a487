import { describe, expect, test } from 'vitest';
import { chat, providers, type Skill, skill } from '../../../src/core/index.ts';
import { refusal } from '../tool/support.ts';

const one: Skill = { name: 'tone', description: 'How we write.', body: 'Warm.' };
const other: Skill = { ...one, body: 'Cold.' };

test('every function that accepts skills refuses two skills with the same name', async () => {
	const twice = [one, other];
	for (const given of [skill.forAgent, skill.inMemoryResolver, skill.searchableResolver, skill.builtins])
		expect(refusal(() => Reflect.apply(given, undefined, [twice])).code).toBe('duplicate_skill');
	const run = chat.run({ model: 'scripted', providers: [providers.scripted(['Hi'])], skills: twice }, []);
	await expect(run.result).rejects.toMatchObject({ code: 'duplicate_skill', data: { name: 'tone' } });
});

test('forAgent throws invalid_skill for a value that is not a skill', () => {
	for (const entry of [undefined, null, 5, {}, { name: 'a' }])
		expect(refusal(() => Reflect.apply(skill.forAgent, undefined, [[entry]])).code).toBe('invalid_skill');
});

describe('a resolver whose functions return null', () => {
	const none = { listFn: () => [one], readFn: () => null, findFn: async () => null };

	test('makes the tools answer that the skill is unknown', async () => {
		const tools = skill.builtinsWithResolver({ ...none, hasFiles: true });
		const said = async (name: string) =>
			tools.find((tool) => tool.name === name)?.fn?.({ name: 'tone', path: 'a.md' }, { skillContext: {} });
		for (const name of ['read_skill', 'apply_skill', 'read_skill_file'])
			expect(await said(name)).toBe('Unknown skill: tone');
	});

	test('lets read_skill return a skill even if a skill that it requires is missing', async () => {
		const base = { ...one, name: 'base', requires: ['tone'] };
		const resolver = { ...none, readFn: (name: string) => (name === 'base' ? base : null) };
		const [, read] = skill.builtinsWithResolver(resolver);
		expect(await read?.fn?.({ name: 'base' }, { skillContext: {} })).toContain(
			'Not there, though this skill builds on it: tone',
		);
	});

	test('lets a run complete even if the run reads a missing skill', async () => {
		const call = { id: 'c', name: 'read_skill', input: { name: 'tone' } };
		const model = providers.scripted([{ toolCalls: [call], stopReason: 'tool_use' }, 'done']);
		const run = chat.run({ model: 'scripted', providers: [model], skillResolver: none }, [chat.userMessage('go')]);
		expect((await run.result).text).toBe('done');
	});
});
