import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readFullText, writeFullText } from '../../../../src/core/skill/kv/search.ts';
import type { Searched } from '../../../../src/core/skill/resolver.ts';

const all = () => true;
const find = (skills: readonly Searched[], query: string) =>
	readFullText(JSON.parse(writeFullText(skills)))(query, all).map(([name]) => name);

const skills = [
	{ name: 'pdf-forms', description: 'Fills in forms.', when: ['tax return'] },
	{ name: 'tone', description: 'How to write to customers about testing.' },
	{ name: 'cafe', description: 'Menüs for a café.' },
];

describe('full text', () => {
	test.each([
		['a word of the name', 'forms', 'pdf-forms'],
		['a word of a trigger', 'my taxes', 'pdf-forms'],
		['another form of a word', 'a customer tested it', 'tone'],
		['the beginning of a word', 'custom', 'tone'],
		['a slip of the pen', 'custommers', 'tone'],
		['a word without its accents', 'Menus cafe', 'cafe'],
	])('%s finds the skill', (_, query, name) => {
		expect(find(skills, query)[0]).toBe(name);
	});

	test('words that every text has find nothing', () => {
		expect(find(skills, 'how do you use the')).toEqual([]);
	});

	test('what is not served is not found', () => {
		const search = readFullText(JSON.parse(writeFullText(skills)));
		expect(search('forms customers', (name) => name !== 'tone').map(([name]) => name)).toEqual(['pdf-forms']);
	});

	test.each([null, 'text', {}, { serializationVersion: 99 }])('%j is no index', (json) => {
		expect(() => readFullText(json)).toThrow();
	});

	test('any text can be indexed and searched', () => {
		const text = fc.string({ unit: 'grapheme' });
		const skill = fc.record({ name: text, description: text, when: fc.array(text) });
		const some = fc.uniqueArray(skill, { selector: ({ name }) => name, maxLength: 8 });
		fc.assert(
			fc.property(some, text, (any, query) => {
				const names = any.map(({ name }) => name);
				expect(find(any, query).every((name) => names.includes(name))).toBe(true);
			}),
		);
	});
});
