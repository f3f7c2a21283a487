import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { readYaml } from '../../../src/core/skill/yaml/read.ts';
import { writeYaml } from '../../../src/core/skill/yaml/write.ts';

/** Reads a map, or `undefined` if it is none. */
function read(text: string): Record<string, unknown> | undefined {
	const { entries, problems } = readYaml(text);
	if (problems.length > 0) return undefined;
	return Object.fromEntries([...entries].map(([key, { value }]) => [key, value]));
}

/** What another reader says that it is. */
function readElsewhere(text: string): unknown {
	const document = parseDocument(text, { stringKeys: true, uniqueKeys: true, logLevel: 'silent' });
	return document.errors.length > 0 ? undefined : (document.toJS() ?? {});
}

const pieces = [
	...['a', 'b:', 'c: ', ' d', '- ', '-', ':', ': ', ',', ', ', '#', ' #', '[', ']', '{', '}', '"', "'", "''", '\\n'],
	...['\\', '|', '>', '|-', '>+', '|2', '\n', '\n', '\n  ', '\n    ', '\n- ', '\n  - ', '\t', '1', '-1.5', '0x1f'],
	...[
		'true',
		'no',
		'~',
		'null',
		'.5',
		'?',
		'&a',
		'*a',
		'!t',
		'%',
		'@',
		'`',
		'---',
		'...',
		'é',
		'🙂',
		'\u00a0',
		'$',
		'()',
	],
];
const lines = fc.array(fc.constantFrom(...pieces), { maxLength: 14 }).map((parts) => parts.join(''));
const files = fc.oneof(
	lines,
	lines.map((text) => `k: ${text}`),
	fc
		.array(
			fc.tuple(fc.constantFrom('a: ', 'b:\n  c: ', 'd:\n  - ', 'e: |\n  ', 'f: >-\n  ', 'g: "', 'h: [', '- '), lines),
			{ maxLength: 4 },
		)
		.map((all) => all.map((line) => line.join('')).join('\n')),
);

describe('what is read of YAML', () => {
	test('is what another reader reads, or it is refused', () => {
		let taken = 0;
		// The other reader minds tabs in blank lines, and adds the blanks of a last line to a text.
		const trimmed = files.map((text) => text.replace(/[ \t]+$/gm, ''));
		fc.assert(
			fc.property(trimmed, (text) => {
				const found = read(text);
				if (found === undefined) return;
				taken++;
				expect(found).toEqual(readElsewhere(text));
			}),
			{ numRuns: 3_000 },
		);
		expect(taken).toBeGreaterThan(300);
	});

	test.each([
		['nothing', ''],
		['a comment', '# a\n\n  # b'],
		['maps in maps', 'a:\n  b:\n    c: 1\n  d: 2\ne: 3'],
		['lists in lists', 'a:\n- - 1\n  - 2\n-\n  - 3\nb:\n  - c: 1\n    d: 2\n  - e:\n    - 4'],
		[
			'numbers, booleans and nothing',
			'a: [1, -2.5, 1e3, 0x1f, 0o17, .5, 007]\nb: [true, False, ~, null, Null]\nc:\nd: no',
		],
		['plain text over lines', 'a: one\n  two\n\n  three # four\nb: x:y #z'],
		['text in quotes', `a: "one\\ttwo \\u00e9 \\x41 \\"\\\n    three\n\n  four"\nb: 'it''s\n  so'\n"c d": 1\n'e': 2`],
		[
			'blocks of text',
			'a: |\n  one\n\n   two\n\nb: >-\n  one\n  two\n\n  three\n   four\n  five\nc: |+\n  one\n\nd: |2\n    x\ne: >\n\n  y\n',
		],
		['brackets over lines', 'a: [one two,\n  "three", # four\n  {b: c, "d": [e], f: , g}\n]\nh: {i: j\n  k, l: []}'],
		['keys of odd names', '404: a\ntrue: b\na b: c\n-x: d\n"": e\n__proto__: f'],
	])('can be %s', (_, text) => {
		expect(read(text)).toEqual(readElsewhere(text));
	});

	test.each([
		['an anchor', 'a: &b c', 1],
		['an alias', 'a: 1\nb: *a', 2],
		['a tag', 'a: !!str b', 1],
		['a directive', '%YAML 1.1\na: b', 1],
		['a second document', 'a: b\n--- c', 2],
		['a key that stands twice', 'a: b\nc:\n  d: 1\n  d: 2', 4],
		['a tab as indentation', 'a:\n  b: 1\n\tc: 2', 3],
		['a bracket that is never closed', 'a: b\nc: [d,\ne: f', 2],
		['text behind a quote', 'a: b\nc: "d" e', 2],
		['a control character', 'a: b\nc: d\x07', 2],
		['lists nested without end', `a: ${'['.repeat(1_000)}`, 1],
		['items nested without end', `a:\n ${'- '.repeat(1_000)}b`, 2],
	])('is never %s, which is reported at its line', (_, text, line) => {
		expect(readYaml(text).problems[0]).toMatchObject({ line });
	});
});

test('what is written is read again as it was, here and elsewhere', () => {
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
