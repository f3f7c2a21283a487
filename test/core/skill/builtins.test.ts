import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import {
	chat,
	fn,
	providers,
	type Skill,
	type SkillResolver,
	skill,
	type Tool,
	tool,
} from '../../../src/core/index.ts';

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

	test('include search_skills as the fourth tool if the resolver can search', () => {
		expect(names(skill.builtinsWithResolver(skill.inMemoryResolver(skills)))).toHaveLength(3);
		expect(names(skill.builtinsWithResolver(skill.searchableResolver(skills)))[3]).toBe('search_skills');
	});

	test('have descriptions and schemas for providers', () => {
		for (const own of skill.builtinsWithResolver(skill.searchableResolver(skills))) {
			expect(own.description).not.toBe('');
			expect(own.inputSchema).toMatchObject({ type: 'object' });
		}
	});
});

describe('list_skills', () => {
	test('lists `name`, `description` and `when` of each skill', async () => {
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

	test('returns the body verbatim', async () => {
		expect(await output(read, 'read_skill', { name: 'tone' })).toBe('Be warm. {{x}}');
	});

	test('answers an unknown name with a result, not an error', async () => {
		expect(await call(read, 'read_skill', { name: 'no' })).toMatchObject({
			output: 'Unknown skill: no',
			isError: false,
		});
	});

	test('reads a skill that the resolver never lists', async () => {
		const store: SkillResolver = { listFn: () => [], readFn: async (name) => (name === 'tone' ? tone : undefined) };
		expect(await output(skill.builtinReadSkillR(store), 'read_skill', { name: 'tone' })).toBe('Be warm. {{x}}');
	});

	test('names required skills, missing skills and circular requirements', async () => {
		const voice = { name: 'voice', description: 'Voice', body: 'V', requires: ['tone'] };
		const own = skill.builtinReadSkill([{ ...tone, requires: ['voice', 'grammar'] }, voice]);
		expect(String(await output(own, 'read_skill', { name: 'tone' })).split('\n\n')).toEqual([
			'Be warm. {{x}}',
			'This skill builds on others. Read them too: voice.',
			'Not there, though this skill builds on it: grammar.',
			'These build on each other in a circle: tone → voice → tone.',
		]);
	});

	test('returns an error result if bodyFn throws', async () => {
		const bodyFn = () => Promise.reject(new Error('no data'));
		const own = skill.builtinReadSkill([{ ...tone, bodyFn }]);
		expect(await call(own, 'read_skill', { name: 'tone' })).toMatchObject({ output: 'no data', isError: true });
	});
});

describe('apply_skill', () => {
	const apply = (ctx: unknown, skillContext?: Record<string, unknown>, context = {}) =>
		output(skill.builtinApplySkill(skills, skillContext), 'apply_skill', { name: 'echo', ctx }, context);

	test("passes the model's ctx to bodyFn", async () => {
		expect(await apply({ topic: 'refund' })).toBe('{"topic":"refund"}');
	});

	test('accepts a missing or null ctx', async () => {
		expect(await apply(undefined)).toBe('{}');
		expect(await apply(null)).toBe('{}');
	});

	test("prefers the run's values to the model's values, so the model cannot forge attachments", async () => {
		expect(await apply({ topic: 'refund', attachments: ['fake'] }, { attachments: ['real'] })).toBe(
			'{"topic":"refund","attachments":["real"]}',
		);
		expect(await apply({ attachments: ['fake'] }, undefined, { skillContext: { attachments: ['real'] } })).toBe(
			'{"attachments":["real"]}',
		);
	});

	test("prefers the run's value even if it is null", async () => {
		expect(await apply({ attachments: ['fake'] }, { attachments: null })).toBe('{"attachments":null}');
	});

	test('gets the skillContext from builtins and builtinsWithResolver', async () => {
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

	test('passes only the declared parameters to a bodyFn made with fn', async () => {
		const bodyFn = fn(
			{ name: 'b', params: [['attachments', v.array(v.string())]] },
			(files) => `${files.length} file(s)`,
		);
		const own = skill.builtinApplySkill([{ ...tone, bodyFn }], { attachments: ['a', 'b'] });
		expect(await output(own, 'apply_skill', { name: 'tone', ctx: {} })).toBe('2 file(s)');
	});
});

describe('search_skills', () => {
	test('lists the results of the resolver', async () => {
		const own = skill.builtinSearchSkillsR(skill.searchableResolver(skills));
		expect(await output(own, 'search_skills', { query: 'REPLY' })).toEqual(skill.listSkillsOf([tone]));
	});

	test('passes query and limit to searchFn, which can be async', async () => {
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

describe('read_skill_file', () => {
	const files = {
		'references/api.md': 'The API.',
		'assets/a b.txt': '',
		'../secret': 'no',
		'/etc/x': 'no',
		'a\\b': 'no',
	};
	const own = skill.builtinReadSkillFileR(skill.inMemoryResolver([{ ...tone, files }, echo]));
	const read = (path: unknown, name = 'tone') => call(own, 'read_skill_file', { name, path });

	test('is offered only if a skill can have files', () => {
		const offered = (resolver: SkillResolver) =>
			names(skill.builtinsWithResolver(resolver)).includes('read_skill_file');
		expect(offered(skill.inMemoryResolver(skills))).toBe(false);
		expect(offered(skill.inMemoryResolver([{ ...tone, files: {} }]))).toBe(false);
		expect(offered(skill.inMemoryResolver([{ ...tone, files }]))).toBe(true);
		expect(offered(skill.searchableResolver([{ ...tone, files }]))).toBe(true);
		expect(own.retry).toBe('safe');
	});

	test('returns a file unchanged, even if it is empty', async () => {
		expect(await read('references/api.md')).toMatchObject({ output: 'The API.', isError: false });
		expect(await read('assets/a b.txt')).toMatchObject({ output: '', isError: false });
	});

	test.for([
		...[
			'../secret',
			'references/../../secret',
			'/etc/x',
			'/references/api.md',
			'./references/api.md',
			'references//api.md',
		],
		...['references\\api.md', 'a\\b', 'references%2Fapi.md', '%2e%2e/secret', '..%2fsecret', 'references/api.md\0', ''],
		...[
			'References/api.md',
			'references/API.md',
			'references/api.md/',
			'references',
			'constructor',
			'__proto__',
			'toString',
		],
		...['references/api.md ', '\uFF0E\uFF0E/secret', '....//secret', 'file:///etc/x'],
	])('reads no file outside the folder, and guesses no path: %j', async (path) => {
		const expected = `The skill tone has no file ${JSON.stringify(path)}. Its files: references/api.md, assets/a b.txt.`;
		expect(await read(path)).toMatchObject({ output: expected, isError: false });
	});

	test('reports an unknown skill, and a skill without files', async () => {
		expect((await read('a', 'nope')).output).toBe('Unknown skill: nope');
		expect((await read('a', 'echo')).output).toBe('The skill echo has no files.');
	});

	test('lists a limited number of files', async () => {
		const many = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`references/${n}.md`, '']));
		const large = skill.builtinReadSkillFileR(skill.inMemoryResolver([{ ...tone, files: many }]));
		const text = String((await call(large, 'read_skill_file', { name: 'tone', path: 'x' })).output);
		expect(text).toMatch(/references\/199\.md, and 100 more\.$/);
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
