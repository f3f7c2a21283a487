import { describe, expect, test } from 'vitest';
import { fn, type Skill, type SkillResolver, skill } from '../../../src/core/index.ts';

const [tone, refunds, audit]: [Skill, Skill, Skill] = [
	{ name: 'tone', description: 'Our voice', body: 'Be warm.' },
	{ name: 'refunds', description: 'Money back', when: ['refund'], body: 'Ask why.' },
	{ name: 'audit', description: 'Check the books', body: 'Count.' },
];
const all = [tone, refunds, audit];
const turn = { messages: [], system: undefined, model: 'm' };

describe('inMemoryResolver', () => {
	const resolver = skill.inMemoryResolver(all);

	test('lists every skill every turn', async () => {
		expect(await resolver.listFn(turn)).toEqual(all);
		expect(await resolver.listFn(turn)).toEqual(all);
	});

	test('reads by name, and gives undefined for an unknown one', async () => {
		expect(await resolver.readFn('audit')).toBe(audit);
		expect(await resolver.readFn('constructor')).toBeUndefined();
	});

	test('has no search of its own', () => {
		expect(resolver.searchFn).toBeUndefined();
	});

	test('takes functions as well', async () => {
		const f = fn({ name: 'f', skill: { description: 'd', body: 'b' } }, () => ({}));
		expect(await skill.inMemoryResolver([f]).readFn('f')).toMatchObject({ name: 'f', body: 'b' });
	});
});

describe('searchableResolver', () => {
	test('lists only alwaysOn, and nothing by default', async () => {
		expect(await skill.searchableResolver(all).listFn(turn)).toEqual([]);
		expect(await skill.searchableResolver(all, { alwaysOn: [tone] }).listFn(turn)).toEqual([tone]);
	});

	test('reads skills that it does not list', async () => {
		expect(await skill.searchableResolver(all, { alwaysOn: [tone] }).readFn('audit')).toBe(audit);
	});

	test('reads an alwaysOn skill that is not in the list', async () => {
		expect(await skill.searchableResolver([refunds], { alwaysOn: [tone] }).readFn('tone')).toBe(tone);
	});

	test('searches them all, as searchSkillsOf does', async () => {
		const resolver = skill.searchableResolver(all);
		expect(await resolver.searchFn?.('REFUND', {})).toEqual([refunds]);
		expect(await resolver.searchFn?.('o', { limit: 1 })).toEqual(skill.searchSkillsOf(all, 'o', { limit: 1 }));
	});

	test('an alwaysOn name that is no skill is left out', async () => {
		expect(await skill.searchableResolver(all, { alwaysOn: ['tone', 'gone'] }).listFn(turn)).toEqual([tone]);
	});
});

describe('effectiveResolver', () => {
	test('an explicit resolver wins over the skills', () => {
		const own: SkillResolver = { listFn: () => [], readFn: () => undefined };
		expect(skill.effectiveResolver(own, all)).toBe(own);
		expect(skill.effectiveResolver(own, undefined)).toBe(own);
	});

	test('skills alone are resolved from memory', async () => {
		expect(await skill.effectiveResolver(undefined, all)?.listFn(turn)).toEqual(all);
	});

	test('gives undefined for undefined and for no skills', () => {
		expect(skill.effectiveResolver(undefined, undefined)).toBeUndefined();
		expect(skill.effectiveResolver(undefined, [])).toBeUndefined();
	});
});
