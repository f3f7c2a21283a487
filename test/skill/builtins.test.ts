import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { chat, fn, providers, type Skill, type SkillResolver, skill, type Tool, tool } from '../../src/index.ts';

const echo: Skill = { name: 'echo', description: 'Echoes', bodyFn: (context: object) => JSON.stringify(context) };
const tone: Skill = { name: 'tone', description: 'Our voice', when: ['reply'], body: 'Be warm. {{x}}' };
const skills = [tone, echo];

/** Calls one of these tools, as a model would. */
async function call(tools: Tool | readonly Tool[], name: string, input: unknown, context = {}) {
	return tool.dispatch([tools].flat(), { id: 'c', name, input }, context);
}
const output = async (...args: Parameters<typeof call>) => (await call(...args)).output;
const names = (tools: readonly Tool[]) => tools.map(({ name }) => name);

describe('builtins', () => {
	test('are list_skills, read_skill and apply_skill', () => {
		expect(names(skill.builtins(skills))).toEqual(['list_skills', 'read_skill', 'apply_skill']);
	});

	test('over a resolver that can search, search_skills comes fourth', () => {
		expect(names(skill.builtinsWithResolver(skill.inMemoryResolver(skills)))).toHaveLength(3);
		expect(names(skill.builtinsWithResolver(skill.searchableResolver(skills)))[3]).toBe('search_skills');
	});

	test('each has a description and a schema that providers can be shown', () => {
		for (const own of skill.builtinsWithResolver(skill.searchableResolver(skills))) {
			expect(own.description).not.toBe('');
			expect(own.inputSchema).toMatchObject({ type: 'object' });
		}
	});
});

describe('list_skills', () => {
	test('gives name, description and when of each', async () => {
		expect(await output(skill.builtinListSkills(skills), 'list_skills', {})).toEqual(skill.listSkillsOf(skills));
	});

	test('asks the resolver at every call', async () => {
		let listed: readonly Skill[] = [];
		const own = skill.builtinListSkillsR({ listFn: async () => listed, readFn: () => undefined });
		expect(await output(own, 'list_skills', {})).toEqual([]);
		listed = [tone];
		expect(await output(own, 'list_skills', {})).toEqual(skill.listSkillsOf([tone]));
	});
});

describe('read_skill', () => {
	const read = skill.builtinReadSkill(skills);

	test('gives the body verbatim', async () => {
		expect(await output(read, 'read_skill', { name: 'tone' })).toBe('Be warm. {{x}}');
	});

	test('answers an unknown name with a result, not an error', async () => {
		expect(await call(read, 'read_skill', { name: 'no' })).toMatchObject({
			output: 'Unknown skill: no',
			isError: false,
		});
	});

	test('a resolver may serve a skill that it never lists', async () => {
		const store: SkillResolver = { listFn: () => [], readFn: async (name) => (name === 'tone' ? tone : undefined) };
		expect(await output(skill.builtinReadSkillR(store), 'read_skill', { name: 'tone' })).toBe('Be warm. {{x}}');
	});

	test('names what the skill requires', async () => {
		const own = skill.builtinReadSkill([{ ...tone, requires: ['voice', 'grammar'] }]);
		const text = await output(own, 'read_skill', { name: 'tone' });
		expect(text).toMatch(/^Be warm\. \{\{x\}\}/);
		expect(text).toContain('voice');
		expect(text).toContain('grammar');
	});

	test('a bodyFn that throws is an error result', async () => {
		const bodyFn = () => Promise.reject(new Error('no data'));
		const own = skill.builtinReadSkill([{ ...tone, bodyFn }]);
		expect(await call(own, 'read_skill', { name: 'tone' })).toMatchObject({ output: 'no data', isError: true });
	});
});

describe('apply_skill', () => {
	const apply = (ctx: unknown, skillContext?: Record<string, unknown>, context = {}) =>
		output(skill.builtinApplySkill(skills, skillContext), 'apply_skill', { name: 'echo', ctx }, context);

	test("the model's ctx reaches bodyFn", async () => {
		expect(await apply({ topic: 'refund' })).toBe('{"topic":"refund"}');
	});

	test('ctx may be left out, or null', async () => {
		expect(await apply(undefined)).toBe('{}');
		expect(await apply(null)).toBe('{}');
	});

	test('the harness wins: the model cannot spoof attachments', async () => {
		expect(await apply({ topic: 'refund', attachments: ['fake'] }, { attachments: ['real'] })).toBe(
			'{"topic":"refund","attachments":["real"]}',
		);
		expect(await apply({ attachments: ['fake'] }, undefined, { skillContext: { attachments: ['real'] } })).toBe(
			'{"attachments":["real"]}',
		);
	});

	test('the harness wins where its value is empty', async () => {
		expect(await apply({ attachments: ['fake'] }, { attachments: null })).toBe('{"attachments":null}');
	});

	test('builtins and builtinsWithResolver hand the skillContext on', async () => {
		const input = { name: 'echo', ctx: { a: 'fake' } };
		expect(await output(skill.builtins(skills, { a: 1 }), 'apply_skill', input)).toBe('{"a":1}');
		const resolver = skill.inMemoryResolver(skills);
		expect(await output(skill.builtinsWithResolver(resolver, { a: 2 }), 'apply_skill', input)).toBe('{"a":2}');
		expect(await output(skill.builtinApplySkillR(resolver, { a: 3 }), 'apply_skill', input)).toBe('{"a":3}');
	});

	test('answers an unknown name with a result, not an error', async () => {
		const result = await call(skill.builtinApplySkill(skills), 'apply_skill', { name: 'no' });
		expect(result).toMatchObject({ output: 'Unknown skill: no', isError: false });
	});

	test('a bodyFn made with fn declares what it wants to see', async () => {
		const bodyFn = fn(
			{ name: 'b', params: [['attachments', v.array(v.string())]] },
			(files) => `${files.length} file(s)`,
		);
		const own = skill.builtinApplySkill([{ ...tone, bodyFn }], { attachments: ['a', 'b'] });
		expect(await output(own, 'apply_skill', { name: 'tone', ctx: {} })).toBe('2 file(s)');
	});
});

describe('search_skills', () => {
	test('gives what the resolver finds, as a listing', async () => {
		const own = skill.builtinSearchSkillsR(skill.searchableResolver(skills));
		expect(await output(own, 'search_skills', { query: 'REPLY' })).toEqual(skill.listSkillsOf([tone]));
	});

	test('hands query and limit to any searchFn, an async one too', async () => {
		const asked: unknown[] = [];
		const own = skill.builtinSearchSkillsR({
			...skill.inMemoryResolver(skills),
			searchFn: async (query, options) => {
				asked.push(query, options?.limit);
				return [echo];
			},
		});
		expect(await output(own, 'search_skills', { query: 'anything', limit: 3 })).toEqual(skill.listSkillsOf([echo]));
		expect(asked).toEqual(['anything', 3]);
	});
});

describe('in a run', () => {
	const add = fn({ name: 'add' }, () => 'added');
	const sums = { name: 'sums', description: 'Adds', body: 'Use add.', tools: tool.forAgent([add]) };

	test('the index of the skills is in the system prompt', async () => {
		const model = providers.scripted(['hi']);
		await chat.run({ model: 'scripted', providers: [model], skills: [sums] }, [chat.userMessage('go')]).result;
		expect(model.requests[0]?.system).toContain(skill.buildIndex([sums]));
	});
});
