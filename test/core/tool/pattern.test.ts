import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compilePattern } from '../../../src/core/tool/pattern/pattern.ts';

const patterns = [
	...[
		'a',
		'',
		'^$',
		'^a$',
		'a|b',
		'^(?:a|b)*c?$',
		'^a{2,3}$',
		'^a{2}$',
		'^a{2,}b?$',
		'a+?b',
		'(?<name>a)b',
		'^(a|b|)+$',
	],
	...[
		'\\d',
		'^\\w+\\s\\W$',
		'\\bab\\b',
		'\\Ba',
		'[^a-c]',
		'^[\\]\\-a]+$',
		'^.$',
		'^.+$',
		'\\u0061',
		'\\u{62}',
		'\\x61',
		'\\p{L}',
	],
	...[
		'^(?=.*a)(?=.*b).{2,}$',
		'^(?!a)',
		'a(?!b)',
		'(?=a)b',
		'(?=(a|b)+c)a',
		'^(?:(?=a).)*$',
		'^(?!.*(?!a).b)',
		'\\.',
		'\\/a',
		'^(a*)*$',
	],
	...[
		'^((a?){3}){2}$',
		'(?<=a)b',
		'(?<![ab])c',
		'(?<=.{2})a$',
		'(?:)',
		'(?:|a)b',
		'a{0}b',
		'^(?:a{0,2}b){1,2}$',
		'\\ud83d\\ude00',
		'^😀?$',
		'[😀a]',
		'$^',
		'a^',
		'\\n',
	],
];

describe('a pattern of a schema', () => {
	test.each(patterns)('%s matches the same texts as the RegExp with this source', (source) => {
		const { matches } = compilePattern(source);
		const form = new RegExp(source, 'u');
		const text = fc.string({
			unit: fc.constantFrom('a', 'b', 'c', '-', ']', ' ', '.', '/', '1', '\n', '😀', '\ud83d', 'é'),
		});
		fc.assert(
			fc.property(text, (given) => {
				expect(matches(given)).toBe(form.test(given));
			}),
			{ numRuns: 300 },
		);
	});

	test('accepts needless escapes', () => {
		expect(compilePattern('^\\-\\@[a\\-c\\_]\\:$').matches('-@-:')).toBe(true);
		expect(compilePattern('^[a\\-c]$').matches('b')).toBe(false);
	});

	test.each([
		['(', /Invalid regular expression/],
		['a{2,1}', /Invalid regular expression/],
		['(a)\\1', /back reference/],
		['(?<n>a)\\k<n>', /back reference/],
		['(?<=a+)b', /looks behind/],
		['(?<!a|bc)b', /looks behind/],
		['(?<=.{500})b', /looks behind/],
		['(?:a{1000}){1000}', /too large/],
		['(?:){1000000000}', /too large/],
		['a'.repeat(10_000), /longer than/],
		[`${'('.repeat(60)}${')'.repeat(60)}`, /groups/],
	])('%s is refused', (source, why) => {
		expect(() => compilePattern(source)).toThrow(why);
	});
});

/** A matcher that tries every way would need longer than the age of the universe for any of these patterns. */
const bombs = [
	'^(a+)+$',
	'^(a|a)*$',
	'^(a*)*b',
	'(x+x+)+y',
	'^(\\w+\\s?)*$',
	'^(a?){50}a{50}$',
	'(.*)*x',
	'^(?=(a+)+$)',
	'^(?!(a+)+$)b',
];

test.each(bombs)('%s is matched in linear time', (source) => {
	const { matches } = compilePattern(source);
	expect(matches(`${'a'.repeat(20_000)}!`)).toBe(false);
});
