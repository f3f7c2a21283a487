import { describe, expect, test } from 'vitest';
import { skill } from '../../../src/core/index.ts';

const bare = { name: 'tone', description: 'Apply our voice' };

describe('indexLine', () => {
	test('gives name and description, with two spaces in front', () => {
		expect(skill.indexLine(bare)).toBe('  - tone: Apply our voice');
	});

	test('gives when and modalities in their own clauses', () => {
		expect(skill.indexLine({ ...bare, when: ['reply', 'marketing'], modalities: ['image', 'pdf'] })).toBe(
			'  - tone: Apply our voice (when: reply, marketing) (modalities: image, pdf)',
		);
		expect(skill.indexLine({ ...bare, modalities: ['image'] })).toBe('  - tone: Apply our voice (modalities: image)');
	});

	test('an empty list has no clause', () => {
		expect(skill.indexLine({ ...bare, when: [], modalities: [] })).toBe('  - tone: Apply our voice');
	});
});

describe('buildIndex', () => {
	test('gives an empty text for no skills', () => {
		expect(skill.buildIndex([])).toBe('');
	});

	test('begins with a header, and has a line for each skill, in order', () => {
		expect(skill.buildIndex([bare, { name: 'escalation', description: 'Decide', when: ['refund'] }])).toBe(
			[
				'Available skills you can read with read_skill(name):',
				'  - tone: Apply our voice',
				'  - escalation: Decide (when: refund)',
			].join('\n'),
		);
	});
});

describe('buildIndex where there are more skills than those listed', () => {
	const how = 'available: find one with search_skills(query), then read it with read_skill(name).';

	test.each([
		['none is listed', [], 1, `1 skill is ${how}`],
		['none of several is listed', [], 250, `250 skills are ${how}`],
		['some are listed', [bare], 2, `${skill.buildIndex([bare])}\n2 more skills are ${how}`],
	])('a last line says how many and how to find them: %s', (_, listed, more, text) => {
		expect(skill.buildIndex(listed, more)).toBe(text);
	});
});

describe('listSkillsOf', () => {
	test('gives name, description and when, and nothing else', () => {
		expect(skill.listSkillsOf([{ ...bare, body: 'secret', when: ['reply'] }, bare])).toEqual([
			{ ...bare, when: ['reply'] },
			{ ...bare, when: [] },
		]);
	});
});
