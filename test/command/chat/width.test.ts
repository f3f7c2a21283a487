import { stripVTControlCharacters, styleText } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutLine, measure, wrap } from '../../../src/command/chat/width.ts';

const style = (format: Parameters<typeof styleText>[0], text: string) =>
	styleText(format, text, { validateStream: false });

test.for([
	['', 0],
	['abc', 3],
	['你好', 4],
	['ｶﾅ', 2],
	['한글', 4],
	['e\u0301', 1],
	['👨‍👩‍👧🎉', 4],
	['☀️', 2],
	['🇳🇴', 2],
	['a\u200bb', 2],
	[style('bold', 'abc'), 3],
] as const)('%j takes %i columns', ([text, columns]) => {
	expect(measure(text)).toBe(columns);
});

test('breaks lines at spaces and between wide characters, but not before their punctuation', () => {
	expect(wrap('one two three', 8)).toEqual(['one two', 'three']);
	expect(wrap('你好世界，你好。', 8)).toEqual(['你好世', '界，你', '好。']);
	expect(wrap('see https://example.com/long now', 10)).toEqual(['see', 'https://example.com/long', 'now']);
	expect(wrap('abcdef gh', 4, { isStrict: true })).toEqual(['abcd', 'ef', 'gh']);
	expect(wrap('a\n\n  b', 9)).toEqual(['a', '', '  b']);
});

test('ends the styles at the end of each line, and begins them again', () => {
	expect(wrap(`a ${style('bold', `bb ${style('cyan', 'cc')} dd`)} e`, 4)).toEqual([
		'a \u001b[1mbb\u001b[0m',
		'\u001b[1m\u001b[36mcc\u001b[39m\u001b[0m',
		'\u001b[1mdd\u001b[22m e',
	]);
});

const words = fc.array(
	fc.oneof(
		fc.constantFrom(
			'你好，世界',
			'「はい」',
			'👨‍👩‍👧',
			'e\u0301a',
			style('bold', 'bold words'),
			style(['red', 'italic'], '红 色'),
		),
		fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.replace(/\p{C}/gu, '')),
	),
);

test('no line is longer than it may be, no character is lost, and each line ends its styles', () => {
	fc.assert(
		fc.property(words, fc.integer({ min: 2, max: 30 }), fc.boolean(), (parts, columns, isStrict) => {
			const text = parts.join(' ');
			const lines = wrap(text, columns, { isStrict });
			const toInk = (value: string) => stripVTControlCharacters(value).replace(/\s/g, '');
			expect(toInk(lines.join('\n'))).toBe(toInk(text));
			for (const line of lines) {
				if (isStrict) expect(measure(line)).toBeLessThanOrEqual(columns);
				const codes = [...line.matchAll(/\[(\d+)m/g)].map(([, code]) => code);
				if (codes.length > 0) expect(['0', '22', '23', '39']).toContain(codes.at(-1));
			}
		}),
	);
});

test('a cut line ends in …, and no character of it is cut in half', () => {
	expect(cutLine('abc', 3)).toBe('abc');
	expect(cutLine('abcd', 3)).toBe('ab…');
	expect(cutLine('你好世界', 4)).toBe('你…');
	expect(cutLine('👨‍👩‍👧👨‍👩‍👧', 3)).toBe('👨‍👩‍👧…');
});
