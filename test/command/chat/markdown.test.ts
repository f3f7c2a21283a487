import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { createMarkdownWriter } from '../../../src/command/chat/markdown.ts';

function render(markdown: string, columns?: number): string {
	let written = '';
	const writer = createMarkdownWriter(
		(text) => {
			written += text;
		},
		columns === undefined ? undefined : () => columns,
	);
	writer.write(markdown);
	writer.end();
	return written;
}

const show = (markdown: string, columns?: number) => stripVTControlCharacters(render(markdown, columns)).split('\n');

test('wraps paragraphs, quotes and lists at the width of the terminal, under their own text', () => {
	const words = 'one two three four five six';
	expect(show(`${words}\n\n> ${words}\n\n- ${words}\n  1. ${words}\n`, 24)).toEqual([
		...['one two three four five', 'six', ''],
		...['│ one two three four', '│ five six', ''],
		...['• one two three four', '  five six'],
		...['  1. one two three four', '     five six', ''],
	]);
});

test('leaves the lines of code and long addresses whole', () => {
	const code = 'const answer = compute(first, second, third);';
	expect(show(`\`\`\`ts\n${code}\n\`\`\`\n`, 20)).toEqual([`    ${code}`, '']);
	expect(show('see https://example.com/a/long/path here\n', 20)).toEqual([
		...['see', 'https://example.com/a/long/path', 'here', ''],
	]);
});

const table = `| city | about |
|--:|---|
| 東京 | 日本の首都で、とても長い説明 |
| Oslo | the capital of Norway |
`;

test('folds the cells of a table that is wider than the terminal', () => {
	expect(show(table)).toEqual([
		...['city  about', '────  ────────────────────────────', '東京  日本の首都で、とても長い説明'],
		...['Oslo  the capital of Norway', ''],
	]);
	expect(show(table, 20)).toEqual([
		...['city  about', '────  ──────────────', '東京  日本の首都で、', '      とても長い説明'],
		...['────  ──────────────', 'Oslo  the capital of', '      Norway', ''],
	]);
});

test('writes a table of many columns as a list of its cells', () => {
	const row = (cell: string) => `|${` ${cell} |`.repeat(4)}\n`;
	const shown = show(`${row('a long head')}${row('---')}${row('a long cell')}${row('another cell')}`, 30);
	expect(shown).toEqual([
		...Array<string>(4).fill('a long head: a long cell'),
		'────────────────────',
		...Array<string>(4).fill('a long head: another cell'),
		'',
	]);
});

test('colours code of a known language, and leaves its text as it is', () => {
	const code = '// says it\nconst text = "a";';
	const coloured = render(`\`\`\`ts\n${code}\n\`\`\`\n`);
	expect(coloured).toContain('\u001b[35mconst\u001b[39m');
	expect(coloured).toContain('\u001b[2m// says it\u001b[22m');
	expect(stripVTControlCharacters(coloured)).toBe(`    ${code.replace('\n', '\n    ')}\n`);
	expect(render('```unknown\na b\n```\n')).toBe('    \u001b[36ma b\u001b[39m\n');
});
