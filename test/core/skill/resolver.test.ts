import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fn, type Skill, type SkillResolver, skill } from '../../../src/core/index.ts';
import { joinResolvers } from '../../../src/core/skill/resolver.ts';

const [tone, refunds, audit]: [Skill, Skill, Skill] = [
	{ name: 'tone', description: 'Our voice', body: 'Be warm.' },
	{ name: 'refunds', description: 'Money back', when: ['refund'], body: 'Ask why.' },
	{ name: 'audit', description: 'Check the books', body: 'Count.' },
];
const all = [tone, refunds, audit];
const turn = { messages: [], system: undefined, model: 'm' };

describe('inMemoryResolver', () => {
	const resolver = skill.inMemoryResolver(all);

	test('lists all skills in each turn', async () => {
		expect(await resolver.listFn(turn)).toEqual(all);
		expect(await resolver.listFn(turn)).toEqual(all);
	});

	test('reads a skill by its name, and returns undefined for an unknown name', async () => {
		expect(await resolver.readFn('audit')).toBe(audit);
		expect(await resolver.readFn('constructor')).toBeUndefined();
	});

	test('has no searchFn', () => {
		expect(resolver.searchFn).toBeUndefined();
	});

	test('accepts functions', async () => {
		const f = fn({ name: 'f', skill: { description: 'd', body: 'b' } }, () => ({}));
		expect(await skill.inMemoryResolver([f]).readFn('f')).toMatchObject({ name: 'f', body: 'b' });
	});
});

describe('searchableResolver', () => {
	test('lists only the skills of alwaysOn, and lists none by default', async () => {
		expect(await skill.searchableResolver(all).listFn(turn)).toEqual([]);
		expect(await skill.searchableResolver(all, { alwaysOn: [tone] }).listFn(turn)).toEqual([tone]);
	});

	test('reads skills that it does not list', async () => {
		expect(await skill.searchableResolver(all, { alwaysOn: [tone] }).readFn('audit')).toBe(audit);
	});

	test('reads a skill that only alwaysOn contains', async () => {
		expect(await skill.searchableResolver([refunds], { alwaysOn: [tone] }).readFn('tone')).toBe(tone);
	});

	test('finds the same skills as searchSkillsOf', async () => {
		const resolver = skill.searchableResolver(all);
		expect(await resolver.searchFn?.('REFUND', {})).toEqual([refunds]);
		expect(await resolver.searchFn?.('o', { limit: 1 })).toEqual(skill.searchSkillsOf(all, 'o', { limit: 1 }));
	});

	test('ignores an unknown alwaysOn name', async () => {
		expect(await skill.searchableResolver(all, { alwaysOn: ['tone', 'gone'] }).listFn(turn)).toEqual([tone]);
	});
});

describe('effectiveResolver', () => {
	test('prefers an explicit resolver to the skills', () => {
		const own: SkillResolver = { listFn: () => [], readFn: () => undefined };
		expect(skill.effectiveResolver(own, all)).toBe(own);
		expect(skill.effectiveResolver(own, undefined)).toBe(own);
	});

	test('resolves the skills in memory if no resolver is set', async () => {
		expect(await skill.effectiveResolver(undefined, all)?.listFn(turn)).toEqual(all);
	});

	test('returns undefined if there is no resolver and no skill', () => {
		expect(skill.effectiveResolver(undefined, undefined)).toBeUndefined();
		expect(skill.effectiveResolver(undefined, [])).toBeUndefined();
	});
});

const context = { messages: [], model: 'demo' };
const own = skill.inMemoryResolver([{ name: 'tone', description: 'Ours.', body: 'Be warm.' }]);
const published = skill.searchableResolver(
	[
		{ name: 'tone', description: 'Theirs.', body: 'Be cold.' },
		{ name: 'law', description: 'When to call legal.', body: 'Call.' },
	],
	{ alwaysOn: ['tone', 'law'] },
);

test('a joined resolver uses the earlier resolver for a skill that two resolvers have', async () => {
	const joined = joinResolvers([own, published]);
	expect((await joined.listFn(context)).map(({ name, description }) => [name, description])).toEqual([
		['tone', 'Ours.'],
		['law', 'When to call legal.'],
	]);
	expect((await joined.readFn('tone'))?.body).toBe('Be warm.');
	expect((await joined.readFn('law'))?.body).toBe('Call.');
	expect(await joined.readFn('none')).toBeUndefined();
});

test('a joined resolver can search if one of its resolvers can search', async () => {
	expect((await joinResolvers([own, published]).searchFn?.('legal'))?.map(({ name }) => name)).toEqual(['law']);
	expect(joinResolvers([own]).searchFn).toBeUndefined();
});

test("a joined resolver adds up its resolvers' numbers of unlisted skills", async () => {
	const counting = (more: number) => ({ ...published, moreFn: () => more });
	expect(await joinResolvers([own, counting(2), counting(3)]).moreFn?.(context)).toBe(5);
	expect(joinResolvers([own, published]).moreFn).toBeUndefined();
});

test('a joined resolver has findFn and hasFiles if one of its resolvers has them', async () => {
	const found = { ...published, findFn: () => ({ name: 'law', description: 'Found.' }), hasFiles: true };
	expect((await joinResolvers([own, found]).findFn?.('law'))?.description).toBe('Found.');
	expect((await joinResolvers([own, found]).findFn?.('tone'))?.description).toBe('Ours.');
	expect([joinResolvers([own]).hasFiles, joinResolvers([own, found]).hasFiles]).toEqual([false, true]);
});

const bare = { name: 'tone', description: 'Apply our voice' };

describe('indexLine', () => {
	test('indents the name and the description by two spaces', () => {
		expect(skill.indexLine(bare)).toBe('  - tone: Apply our voice');
	});

	test('writes the fields `when` and `modalities` in parentheses', () => {
		expect(skill.indexLine({ ...bare, when: ['reply', 'marketing'], modalities: ['image', 'pdf'] })).toBe(
			'  - tone: Apply our voice (when: reply, marketing) (modalities: image, pdf)',
		);
		expect(skill.indexLine({ ...bare, modalities: ['image'] })).toBe('  - tone: Apply our voice (modalities: image)');
	});

	test('leaves out a field whose list is empty', () => {
		expect(skill.indexLine({ ...bare, when: [], modalities: [] })).toBe('  - tone: Apply our voice');
	});
});

describe('buildIndex', () => {
	test('returns an empty text for no skills', () => {
		expect(skill.buildIndex([])).toBe('');
	});

	test('writes a header, and then a line for each skill in the given order', () => {
		expect(skill.buildIndex([bare, { name: 'escalation', description: 'Decide', when: ['refund'] }])).toBe(
			[
				'Available skills you can read with read_skill(name):',
				'  - tone: Apply our voice',
				'  - escalation: Decide (when: refund)',
			].join('\n'),
		);
	});
});

describe('buildIndex with unlisted skills', () => {
	const how = 'available: find one with search_skills(query), then read it with read_skill(name).';

	test.each([
		['none is listed', [], 1, `1 skill is ${how}`],
		['none of several is listed', [], 250, `250 skills are ${how}`],
		['some are listed', [bare], 2, `${skill.buildIndex([bare])}\n2 more skills are ${how}`],
	])('ends with a sentence that counts the unlisted skills and says how to find them: %s', (_, listed, more, text) => {
		expect(skill.buildIndex(listed, more)).toBe(text);
	});
});

describe('listSkillsOf', () => {
	test('returns only `name`, `description` and `when`', () => {
		expect(skill.listSkillsOf([{ ...bare, body: 'secret', when: ['reply'] }, bare])).toEqual([
			{ ...bare, when: ['reply'] },
			{ ...bare, when: [] },
		]);
	});
});

const text = fc.string({ unit: fc.constantFrom('a', 'B', 'c'), maxLength: 4 });
const anySkill: fc.Arbitrary<Skill> = fc.record(
	{ name: text, description: text, when: fc.array(text, { maxLength: 4 }) },
	{ requiredKeys: ['name', 'description'] },
);
const skills = fc.array(anySkill, { maxLength: 25 });
const query = fc.string({ unit: fc.constantFrom('A', 'b', 'C'), minLength: 1, maxLength: 2 });

/** The score by the contract: 3 for the name, 2 for the description, and 1 for each matching `when`. */
function score({ name, description, when = [] }: Skill, needle: string): number {
	const points = [[name, 3] as const, [description, 2] as const, ...when.map((phrase) => [phrase, 1] as const)];
	return points.reduce(
		(sum, [where, worth]) => sum + (where.toUpperCase().includes(needle.toUpperCase()) ? worth : 0),
		0,
	);
}

describe('searchSkillsOf', () => {
	test('returns at most 10 skills, the best first, and keeps the input order for equal scores', () => {
		fc.assert(
			fc.property(skills, query, (all, needle) => {
				const expected = [3 + 2 + 4, 8, 7, 6, 5, 4, 3, 2, 1].flatMap((points) =>
					all.filter((one) => score(one, needle) === points),
				);
				expect(skill.searchSkillsOf(all, needle, {})).toEqual(expected.slice(0, 10));
			}),
		);
	});

	test('cuts the list of results at `limit`, and changes nothing else', () => {
		fc.assert(
			fc.property(skills, query, fc.nat(30), (all, needle, limit) => {
				const whole = skill.searchSkillsOf(all, needle, { limit: 1_000 });
				expect(skill.searchSkillsOf(all, needle, { limit })).toEqual(whole.slice(0, limit));
			}),
		);
	});

	test('leaves out hits below minScore', () => {
		fc.assert(
			fc.property(skills, query, fc.integer({ min: 1, max: 9 }), (all, needle, minScore) => {
				const whole = skill.searchSkillsOf(all, needle, { limit: 1_000 });
				const found = skill.searchSkillsOf(all, needle, { limit: 1_000, minScore });
				expect(found).toEqual(whole.filter((one) => score(one, needle) >= minScore));
			}),
		);
	});

	test('finds nothing for an empty query', () => {
		fc.assert(fc.property(skills, (all) => skill.searchSkillsOf(all, '', { minScore: 0 }).length === 0));
	});

	test('finds nothing for a query that matches no skill, even with minScore 0', () => {
		expect(skill.searchSkillsOf([{ name: 'tone', description: 'd' }], 'zzz', { minScore: 0 })).toEqual([]);
	});

	test('matches letters of any case and script', () => {
		const found = skill.searchSkillsOf([{ name: 'ton', description: 'Für ÄRGER' }], 'ärger', {});
		expect(found).toHaveLength(1);
	});

	test('does not change the searched list', () => {
		const all = [
			{ name: 'x', description: 'a' },
			{ name: 'a', description: 'x' },
		];
		const before = structuredClone(all);
		skill.searchSkillsOf(all, 'a', {});
		expect(all).toEqual(before);
	});
});
