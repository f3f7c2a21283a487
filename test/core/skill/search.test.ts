import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Skill, skill } from '../../../src/core/index.ts';

const text = fc.string({ unit: fc.constantFrom('a', 'B', 'c'), maxLength: 4 });
const anySkill: fc.Arbitrary<Skill> = fc.record(
	{ name: text, description: text, when: fc.array(text, { maxLength: 4 }) },
	{ requiredKeys: ['name', 'description'] },
);
const skills = fc.array(anySkill, { maxLength: 25 });
const query = fc.string({ unit: fc.constantFrom('A', 'b', 'C'), minLength: 1, maxLength: 2 });

/** The score as the contract words it: name 3, description 2, each matching `when` 1. */
function score({ name, description, when = [] }: Skill, needle: string): number {
	const points = [[name, 3] as const, [description, 2] as const, ...when.map((phrase) => [phrase, 1] as const)];
	return points.reduce(
		(sum, [where, worth]) => sum + (where.toUpperCase().includes(needle.toUpperCase()) ? worth : 0),
		0,
	);
}

describe('searchSkillsOf', () => {
	test('gives the best first, ties in input order, 10 at most', () => {
		fc.assert(
			fc.property(skills, query, (all, needle) => {
				const expected = [3 + 2 + 4, 8, 7, 6, 5, 4, 3, 2, 1].flatMap((points) =>
					all.filter((one) => score(one, needle) === points),
				);
				expect(skill.searchSkillsOf(all, needle, {})).toEqual(expected.slice(0, 10));
			}),
		);
	});

	test('limit cuts the list, and only the list', () => {
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

	test('a query without a match finds nothing, whatever minScore', () => {
		expect(skill.searchSkillsOf([{ name: 'tone', description: 'd' }], 'zzz', { minScore: 0 })).toEqual([]);
	});

	test('letters of any case and any script match', () => {
		const found = skill.searchSkillsOf([{ name: 'ton', description: 'Für ÄRGER' }], 'ärger', {});
		expect(found).toHaveLength(1);
	});

	test('does not change the list that it searches', () => {
		const all = [
			{ name: 'x', description: 'a' },
			{ name: 'a', description: 'x' },
		];
		const before = structuredClone(all);
		skill.searchSkillsOf(all, 'a', {});
		expect(all).toEqual(before);
	});
});
