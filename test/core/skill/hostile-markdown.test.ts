import { describe, expect, test } from 'vitest';
import { skill } from '../../../src/core/index.ts';

const wrap = (lines: readonly string[]) => ['---', 'name: a', 'description: b', ...lines, '---', 'body'].join('\n');
const many = (count: number, line: (index: number) => string) =>
	Array.from({ length: count }, (_, index) => line(index));

describe('a hostile SKILL.md', () => {
	test.each<[string, readonly string[]]>([
		['very many lines with a mistake', many(20_000, (index) => `k${index}: a: b`)],
		['very many lists in lists', [`x: ${'['.repeat(200_000)}`]],
		['one key very often', many(50_000, () => 'k: b')],
		['very many colons', [`x: ${'a: '.repeat(300_000)}`]],
	])('with %s has only one violation, its length', (_, lines) => {
		const text = wrap(lines);
		expect(skill.validateMarkdown(text)).toEqual([
			{
				severity: 'error',
				field: 'frontMatter',
				line: 1,
				message: expect.stringMatching(/has \d+ characters, and 32000 are allowed/),
			},
		]);
		expect(() => skill.fromMarkdown(text)).toThrow(/32000 are allowed/);
	});

	test('with a mistake in every line is repaired in linear time', () => {
		const text = wrap(many(1_500, (index) => `k${index}: a: b`));
		expect(skill.fromMarkdown(text).frontMatter).toMatchObject({ k0: 'a: b', k1499: 'a: b' });
	});

	test('whose allowed-tools has many open parentheses is read', () => {
		const text = wrap([`allowed-tools: Read ${'('.repeat(30_000)}`]);
		expect(skill.fromMarkdown(text).name).toBe('a');
	});

	test('can have a long body', () => {
		expect(skill.fromMarkdown(wrap([]) + 'x'.repeat(500_000)).body).toHaveLength(500_004);
	});
});
