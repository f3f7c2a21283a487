import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readFullText, readVectors, toBytes, toSearchDocument } from '../../../../src/core/skill/kv/search.ts';
import type { Searched } from '../../../../src/core/skill/resolver.ts';

const all = () => true;
const find = (skills: readonly Searched[], query: string) =>
	readFullText(toSearchDocument(skills))(query, all).map(([name]) => name);

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
		['a misspelled word', 'custommers', 'tone'],
		['a word without its accents', 'Menus cafe', 'cafe'],
	])('%s finds the skill', (_, query, name) => {
		expect(find(skills, query)[0]).toBe(name);
	});

	test('stop words find nothing', () => {
		expect(find(skills, 'how do you use the')).toEqual([]);
	});

	test('finds only skills that the resolver serves', () => {
		const search = readFullText(toSearchDocument(skills));
		expect(search('forms customers', (name) => name !== 'tone').map(([name]) => name)).toEqual(['pdf-forms']);
	});

	test.each([null, 'text', {}, { serializationVersion: 99 }])('%j is refused as an index', (json) => {
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

const base64 = (rows: readonly Int8Array[]) =>
	btoa(rows.flatMap((row) => [...row].map((byte) => String.fromCharCode(byte & 255))).join(''));
const createVectors = (rows: readonly (readonly number[])[]) => {
	const names = rows.map((_, at) => String(at));
	return readVectors({ model: 'm', names, texts: names, values: base64(rows.map(toBytes)) });
};

describe('vectors', () => {
	test('the nearest skills come first, and opposite vectors are not found', () => {
		const find = createVectors([
			[1, 0],
			[1, 1],
			[-1, 0],
		]);
		expect(find([2, 0.1], () => true).map(([name]) => name)).toEqual(['0', '1']);
		expect(find([2, 0.1], (name) => name !== '0').map(([name]) => name)).toEqual(['1']);
	});

	test('storing each number in one byte changes the cosine by at most 0.01', () => {
		const vector = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { minLength: 64, maxLength: 64 });
		fc.assert(
			fc.property(vector, vector, (a, b) => {
				const dot = a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
				const exact = dot / (Math.hypot(...a) * Math.hypot(...b));
				fc.pre(exact > 0.02);
				expect(createVectors([a])(b, () => true)[0]?.[1]).toBeCloseTo(exact, 1.7);
			}),
		);
	});

	test('a vector of zeros is near no skill', () => {
		expect(createVectors([[0, 0]])([1, 1], () => true)).toEqual([]);
		expect(createVectors([[1, 1]])([0, 0], () => true)).toEqual([]);
	});

	test('vectors and queries with a wrong number of dimensions are refused', () => {
		expect(() => readVectors({ model: 'm', names: ['a', 'b'], texts: [], values: btoa('abc') })).toThrow('3 numbers');
		expect(() => createVectors([[1, 1]])([1], () => true)).toThrow('dimensions');
		expect(createVectors([])([1], () => true)).toEqual([]);
	});
});
