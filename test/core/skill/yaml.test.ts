import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { readYaml, writeYaml } from '../../../src/core/skill/yaml.ts';

/** Reads a map. Returns `undefined` if the text is not a map. */
function read(text: string): Record<string, unknown> | undefined {
	const { entries, problems } = readYaml(text);
	if (problems.length > 0) return undefined;
	return Object.fromEntries([...entries].map(([key, { value }]) => [key, value]));
}

/** Reads a text with another reader of YAML. */
function readElsewhere(text: string): unknown {
	const document = parseDocument(text, { stringKeys: true, uniqueKeys: true, logLevel: 'silent' });
	return document.errors.length > 0 ? undefined : (document.toJS() ?? {});
}

const lines = fc
	.array(fc.constantFrom('a', 'b: ', ' #', '- ', "'", '"', '\\', '|', '\n', '1', '0x1f', 'true', 'no', '~', '🙂'), {
		maxLength: 14,
	})
	.map((parts) => parts.join(''));

describe('reading YAML', () => {
	test('returns the text of each scalar, and the line of each key', () => {
		const { entries } = readYaml('a: 1.10\n\nb: "no"\nc:\n  d: ~\n__proto__: f\n404: .inf\ng: -0');
		expect([...entries].map(([key, { value, text, line }]) => [key, value, text, line])).toEqual([
			['a', 1.1, '1.10', 1],
			['b', 'no', 'no', 3],
			['c', { d: null }, undefined, 4],
			['__proto__', 'f', 'f', 6],
			['404', '.inf', '.inf', 7],
			['g', 0, '-0', 8],
		]);
		expect(entries.get('c')?.entries?.get('d')?.line).toBe(5);
	});

	test('returns no entries for an empty text', () => {
		for (const text of ['', '# a\n\n  # b']) expect(readYaml(text)).toEqual({ entries: new Map(), problems: [] });
	});

	test.each([
		['brackets', `a: ${'['.repeat(15_000)}${']'.repeat(15_000)}`],
		['maps', `a: ${'{a: '.repeat(7_000)}`],
		['items', `a:\n ${'- '.repeat(15_000)}b`],
		['explicit keys', '? '.repeat(15_000)],
	])('refuses %s that are nested too deep', (_, text) => {
		expect(readYaml(text).problems.length).toBeGreaterThan(0);
	});

	test.each([
		['an anchor', 'a: &b c', 1],
		['an alias', 'a: 1\nb: *a', 2],
		['a tag', 'a: !!str b', 1],
		['a directive', '%YAML 1.1\na: b', 1],
		['a second document', 'a: b\n--- c', 2],
		['a duplicate key', 'a: b\nc:\n  d: 1\n  d: 2', 4],
		['a tab as indentation', 'a:\n  b: 1\n\tc: 2', 3],
		['a bracket that is never closed', 'a: b\nc: [d,\ne: f', 3],
		['text behind a quote', 'a: b\nc: "d" e', 2],
		['a control character', 'a: b\nc: d\x07', 2],
		['lists nested without end', `a: ${'['.repeat(1_000)}`, 1],
		['items nested without end', `a:\n ${'- '.repeat(1_000)}b`, 2],
	])('reports %s at its line', (_, text, line) => {
		expect(readYaml(text).problems[0]).toMatchObject({ line });
	});
});

test('a key with the character DEL is read back, as YAML allows it in quotes', () => {
	expect(read(writeYaml({ 'a\x7f': ['b'] }))).toEqual({ 'a\x7f': ['b'] });
});

test('written YAML is read back unchanged, even by another YAML library', () => {
	// JSON writes no negative zero.
	const json = fc.jsonValue().map((value): unknown => JSON.parse(JSON.stringify(value)));
	const map = fc.dictionary(fc.string({ unit: 'binary' }), fc.oneof(json, lines));
	fc.assert(
		fc.property(map, (value) => {
			const text = writeYaml(value);
			expect(read(text)).toEqual(value);
			expect(readElsewhere(text)).toEqual(value);
		}),
		{ numRuns: 500 },
	);
});
