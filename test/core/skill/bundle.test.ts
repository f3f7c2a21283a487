import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fn, type Skill, skill, tool } from '../../../src/core/index.ts';
import { createBundle, loadRequired } from '../../../src/core/skill/bundle.ts';
import { providerName } from '../../../src/core/tool/define.ts';

const named = (name: string) => fn({ name }, () => name);
const [pay, post] = tool.forAgent([named('pay'), named('post')]);
const readTool = (name: string) => ({ name, inputSchema: { type: 'object' } });
const make = (name: string, more: Partial<Skill> = {}): Skill => ({ name, description: `About ${name}`, ...more });
const allowing = (name: string, text: string) => make(name, { frontMatter: { 'allowed-tools': text } });
const load = (skills: readonly Skill[]) =>
	loadRequired(skill.inMemoryResolver(skills), skills[0] ?? make('none')).then(({ skills, ...rest }) => ({
		names: skills.map(({ name }) => name),
		...rest,
	}));
const names = (there: Parameters<typeof createBundle>[0], skills: readonly Skill[], offered = there) => {
	const { tools, taken } = createBundle(there, skills, offered);
	const shown = (list: typeof tools) => list.map(({ tool, skill }) => `${skill}.${tool.name}`);
	return { tools: shown(tools), taken: shown(taken) };
};

describe('the required skills of a skill', () => {
	test('are loaded at any depth, each skill once', async () => {
		const skills = [
			make('a', { requires: ['b', 'c'] }),
			make('b', { requires: ['d'] }),
			make('c', { requires: ['d'] }),
		];
		expect(await load([...skills, make('d')])).toEqual({ names: ['a', 'b', 'd', 'c'], missing: [], circles: [] });
	});

	test('can be missing, and the missing names are reported', async () => {
		expect(await load([make('a', { requires: ['gone'] })])).toEqual({ names: ['a'], missing: ['gone'], circles: [] });
	});

	test('can be circular, and the circle is named', async () => {
		const skills = [
			make('a', { requires: ['b'] }),
			make('b', { requires: ['c'] }),
			make('c', { requires: ['b', 'c'] }),
		];
		const circles = [
			['b', 'c', 'b'],
			['c', 'c'],
		];
		expect(await load(skills)).toEqual({ names: ['a', 'b', 'c'], missing: [], circles });
	});

	test('include every reachable skill, for any graph', async () => {
		const name = fc.integer({ min: 0, max: 6 }).map(String);
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.uniqueArray(name, { maxLength: 4 }), { minLength: 1, maxLength: 6 }),
				async (graph) => {
					const reached = new Set(['0']);
					for (const one of reached) for (const next of graph[Number(one)] ?? []) reached.add(next);
					const { names, missing } = await load(graph.map((requires, n) => make(String(n), { requires })));
					expect(new Set(names)).toEqual(new Set([...reached].filter((one) => Number(one) < graph.length)));
					expect(new Set(missing)).toEqual(new Set([...reached].filter((one) => Number(one) >= graph.length)));
				},
			),
		);
	});

	test('are found without reading their texts if the resolver has findFn', async () => {
		const resolver = skill.inMemoryResolver([]);
		const read = { ...resolver, readFn: () => Promise.reject(new Error('read')), findFn: (name: string) => make(name) };
		expect((await loadRequired(read, make('a', { requires: ['b'] }))).skills).toEqual([
			make('a', { requires: ['b'] }),
			make('b'),
		]);
	});
});

describe('the tools of skills', () => {
	test('are each skill’s own tools, and the tools listed in its allowed-tools', () => {
		const skills = [
			make('a', { tools: tool.forAgent([named('own')]) }),
			allowing('b', 'Read pay(x y, post) Bash(post)'),
		];
		expect(
			names(
				[],
				skills,
				[pay, post].flatMap((one) => one ?? []),
			),
		).toEqual({ tools: ['a.own', 'b.pay'], taken: [] });
	});

	test('are left out if the run has a tool with the same name or alias', () => {
		const skills = [make('a', { tools: tool.forAgent([named('pay'), named('get it')]) })];
		const there = tool.forAgent([named('pay'), named(providerName('get it'))]);
		expect(names(there, skills, [])).toEqual({ tools: [], taken: ['a.pay', 'a.get it'] });
	});

	test('come from the earlier skill if two skills have a tool with the same name', () => {
		const skills = [
			make('a', { tools: tool.forAgent([named('pay')]) }),
			make('b', { tools: tool.forAgent([named('pay')]) }),
		];
		expect(names([], skills, [])).toEqual({ tools: ['a.pay'], taken: ['b.pay'] });
	});

	test('are listed once if two skills share them, or if a skill is read twice', () => {
		const shared = tool.forAgent([named('pay')]);
		const skills = [make('a', { tools: shared }), make('b', { tools: shared }), make('a', { tools: shared })];
		expect(names([], skills, [])).toEqual({ tools: ['a.pay'], taken: [] });
	});

	test('can belong to a skill made from a function', () => {
		const one: Skill = skill.fromFn(fn({ name: 'f', skill: { description: 'F', tools: [named('pay')] } }, () => ''));
		expect(names([], [one], [])).toEqual({ tools: ['f.pay'], taken: [] });
	});

	test.each([
		['a list', ['pay', 'Read', 'Bash(git diff:*)']],
		['spaces', 'Read pay Bash(git diff:*)'],
		['commas', 'Read,pay,Bash(cut -d, *)'],
		['commas and spaces', 'Bash(git diff:*), pay'],
		['a list of texts with several tools each', ['Read, pay', 'Bash']],
		['patterns without a space between', 'Bash(a)pay(b)Read'],
		['a pattern that is never closed', 'pay Bash(pay'],
	])('are read from allowed-tools in this form: %s', (_, allowed) => {
		const one = make('a', { frontMatter: { 'allowed-tools': allowed } });
		const offered = ['pay', 'Other', 'git', 'cut', 'diff:*'].map(readTool);
		expect(names([], [one], offered)).toEqual({ tools: ['a.pay'], taken: [] });
	});

	test.each([[undefined], [7], [{ pay: true }], [['pay', 7]], ['']])(
		'are an empty list if allowed-tools is %j',
		(allowed) => {
			const odd = make('a', { frontMatter: { 'allowed-tools': allowed } });
			expect(names([], [odd], [readTool('pay')])).toEqual({ tools: [], taken: [] });
		},
	);

	test('are found in linear time even if allowed-tools has a megabyte of parentheses', () => {
		const odd = make('a', { frontMatter: { 'allowed-tools': `pay ${'('.repeat(1_000_000)}` } });
		expect(names([], [odd], [readTool('pay')])).toEqual({ tools: ['a.pay'], taken: [] });
	});
});
