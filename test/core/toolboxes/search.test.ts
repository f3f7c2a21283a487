import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { doNow, uncounted } from '../../../src/core/base/work.ts';
import { toolbox, workspace } from '../../../src/core/index.ts';
import { compileGlob } from '../../../src/core/toolboxes/glob.ts';
import { calling, finish } from '../chat/support.ts';
import { callOn, correct } from './support.ts';

const box = toolbox.basic();

describe('search_files', () => {
	const files = {
		'src/a.ts': 'const one = 1;\r\nconst two = 2;\r\n// one more\r\n',
		'src/b/c.md': '# One\none\n\nlast',
		'x.bin': Uint8Array.of(0, 111, 110, 101),
	};

	test('finds the lines that contain a text', async () => {
		expect(await callOn(box, files).call('search_files', { query: 'one' })).toEqual({
			matches: [
				{ path: 'src/a.ts', line: 1, text: 'const one = 1;' },
				{ path: 'src/a.ts', line: 3, text: '// one more' },
				{ path: 'src/b/c.md', line: 2, text: 'one' },
			],
			truncated: false,
		});
	});

	test('finds lines by a regular expression, which is matched against one line at a time', async () => {
		const { call } = callOn(box, files);
		expect(await call('search_files', { query: '^const \\w+ = [2-9];$', regex: true })).toEqual({
			matches: [{ path: 'src/a.ts', line: 2, text: 'const two = 2;' }],
			truncated: false,
		});
		expect(await call('search_files', { query: '^$', regex: true })).toMatchObject({
			matches: [{ path: 'src/b/c.md', line: 3 }],
		});
	});

	test('searches a folder, a file, or the files that match a glob', async () => {
		const { call } = callOn(box, files);
		const search = async (more: object) =>
			Object(await call('search_files', { query: 'one', ...more })).matches.map(
				({ path, line }: { path: string; line: number }) => `${path}:${line}`,
			);
		expect(await search({ path: 'src/b' })).toEqual(['src/b/c.md:2']);
		expect(await search({ path: 'src/a.ts' })).toEqual(['src/a.ts:1', 'src/a.ts:3']);
		expect(await search({ glob: '*.md' })).toEqual(['src/b/c.md:2']);
		expect(await search({ glob: 'src/*.ts' })).toEqual(['src/a.ts:1', 'src/a.ts:3']);
		expect(await search({ glob: '*.py' })).toEqual([]);
	});

	test('returns the lines around a match', async () => {
		const { call } = callOn(box, { a: '1\n2\n3\n4\n5\n' });
		expect(await call('search_files', { query: '3', context: 1 })).toMatchObject({
			matches: [{ line: 3, text: '3', before: ['2'], after: ['4'] }],
		});
		expect(await call('search_files', { query: '1', context: 2 })).toMatchObject({
			matches: [{ before: [], after: ['2', '3'] }],
		});
		expect(await call('search_files', { query: '5', context: 2 })).toMatchObject({
			matches: [{ before: ['3', '4'], after: [] }],
		});
	});

	test('a regular expression finds the same lines as in JavaScript', async () => {
		const lines = ['const a = 1;', 'xa.b', 'xaab', 'a', 'ab{2}', 'abb', 'tab\there', 'A+', '', 'é😀'];
		const { call } = callOn(box, { a: lines.join('\n') });
		for (const query of [
			'a',
			'xa\\.b',
			'xa*b',
			'xa?a',
			'ab{2}$',
			'ab\\{2\\}',
			'con(?:st) a',
			'\\x61b',
			'\\u0061b',
			'\\p{L}😀',
			'tab\\t',
			'A\\+',
			'a+',
			'^$',
			'x|é',
			'z*',
		]) {
			const expected = lines.flatMap((line, at) => (new RegExp(query, 'u').test(line) ? [at + 1] : []));
			const { matches } = Object(await call('search_files', { query, regex: true }));
			expect([query, matches.map(({ line }: { line: number }) => line)]).toEqual([query, expected]);
		}
	});

	test('reports that more matches exist', async () => {
		const { call } = callOn(box, { a: 'x\n'.repeat(60) });
		expect(Object(await call('search_files', { query: 'x' })).matches).toHaveLength(50);
		expect(await call('search_files', { query: 'x', limit: 2 })).toMatchObject({
			matches: [{ line: 1 }, { line: 2 }],
			truncated: true,
		});
		expect(await call('search_files', { query: 'x', limit: 60 })).toMatchObject({ truncated: false });
	});

	test('finds all lines of a long file', async () => {
		const { call } = callOn(box, { a: Array.from({ length: 50_000 }, (_, n) => `line ${n + 1}.\n`).join('') });
		for (const line of [1, 25_000, 50_000])
			expect(await call('search_files', { query: `line ${line}.` })).toMatchObject({
				matches: [{ line }],
				truncated: false,
			});
	});

	test('searches a very long line for a text, and then the next files', async () => {
		const [before, after] = ['a'.repeat(700_000), 'b'.repeat(600_000)];
		const { call } = callOn(box, {
			'dist/app.min.js': `${before}needle${after}\nshort needle\n`,
			'dist/open.min.js': `${'x'.repeat(262_143)}needle`,
			'src/a.ts': 'a needle\n',
		});
		const found = Object(await call('search_files', { query: 'needle' }));
		expect(found).toMatchObject({
			matches: [
				{ path: 'dist/app.min.js', line: 1 },
				{ path: 'dist/app.min.js', line: 2, text: 'short needle' },
				{ path: 'dist/open.min.js', line: 1 },
				{ path: 'src/a.ts', line: 1, text: 'a needle' },
			],
			truncated: false,
		});
		expect(found.matches[0].text).toMatch(/^…a+needleb+…$/);
		expect(found.matches[2].text).toMatch(/^…x+needle$/);
	});

	test('names a line that is too long for a regular expression, and searches the next files', async () => {
		const { call } = callOn(box, {
			'dist/app.min.js': `${'a'.repeat(700_000)}needle 1\nneedle 2\n`,
			'src/a.ts': 'needle 3\n',
		});
		expect(await call('search_files', { query: '^needle \\d$', regex: true })).toEqual({
			matches: [
				{ path: 'dist/app.min.js', line: 2, text: 'needle 2' },
				{ path: 'src/a.ts', line: 1, text: 'needle 3' },
			],
			truncated: false,
			note: expect.stringContaining('dist/app.min.js:1. Search them by a text, without regex.'),
		});
		expect(await call('search_files', { query: 'needles?', regex: true, path: 'src' })).not.toHaveProperty('note');
		expect(await call('search_files', { query: '[e]{2}dle', regex: true })).toMatchObject({
			note: expect.stringContaining('dist/app.min.js:1.'),
		});
	});

	test('shows the match in a long line, not the beginning of the line', async () => {
		const { call } = callOn(box, { a: `${'😀'.repeat(1_001)}x = 12;${'é'.repeat(1_000)}\n` });
		for (const query of [{ query: 'x = 12' }, { query: '[a-z] = \\d+', regex: true }]) {
			const [{ text }] = Object(await call('search_files', query)).matches;
			expect(text).toMatch(/^…(?:😀)+x = 12;é+…$/u);
			expect(text.length).toBeLessThanOrEqual(502);
		}
	});

	test('a regular expression that could backtrack exponentially takes linear time', async () => {
		const { call } = callOn(box, { a: `${'a'.repeat(20_000)}!\n` });
		expect(await call('search_files', { query: '^(a+)+$', regex: true })).toEqual({ matches: [], truncated: false });
	});

	test('ends a search that takes too long, and reports that more matches may exist', async () => {
		const { call } = callOn(box, { a: `${'ab'.repeat(50)}\n`.repeat(40_000) });
		expect(await call('search_files', { query: '(a{1,50}|b{1,50}){1,8}c', regex: true })).toEqual({
			matches: [],
			truncated: true,
		});
	});

	test('explains each wrong call, and accepts the corrected call', async () => {
		const found = await correct(
			box,
			workspace.inMemory(files),
			'search_files',
			{ query: '(one', regex: true },
			{ query: '(o)\\1', regex: true },
			{ query: 'one\ntwo' },
			{ query: 'one', glob: '[z-a].ts' },
			{ query: 'one', path: 'scr' },
			{ query: 'two', path: 'src' },
		);
		expect(found.map(({ output, isError }) => isError && output)).toEqual([
			expect.stringMatching(/^query: .*Invalid regular expression/),
			expect.stringMatching(/^query: has a back reference/),
			expect.stringMatching(/^query: has a line break/),
			expect.stringMatching(/^glob: /),
			expect.stringContaining('Did you mean src?'),
			false,
		]);
	});
});

describe('a glob', () => {
	test.each([
		['*.ts', ['a.ts', 'src/a.ts', 'a.ts.ts'], ['a.tsx', 'ts']],
		['src/*.ts', ['src/a.ts'], ['src/b/a.ts', 'a.ts', 'x/src/a.ts']],
		['src/**/*.ts', ['src/a.ts', 'src/b/c/a.ts'], ['a.ts']],
		['**/test/**', ['test/a', 'x/test/y/z'], ['x/tests/y']],
		['./src/*', ['src/a'], ['a']],
		['?.md', ['a.md', 'é.md', '😀.md'], ['ab.md']],
		['*.{ts,js}', ['a.ts', 'a.js'], ['a.tjs']],
		['[a-c]*', ['a', 'bx'], ['d']],
		['[!a]*', ['b'], ['a']],
		['a+(b).c$', ['a+(b).c$'], ['aab.c']],
		['a[1', ['a[1'], ['a1']],
	] as const)('%s matches exactly the expected paths', (glob, matched, others) => {
		const test = compileGlob(glob);
		const matches = (path: string): boolean => doNow(test(path, uncounted));
		for (const path of matched) expect([path, matches(path)]).toEqual([path, true]);
		for (const path of others) expect([path, matches(path)]).toEqual([path, false]);
	});

	test('of any characters is either compiled or refused with an error that names the field', () => {
		fc.assert(
			fc.property(
				fc.string({ unit: fc.constantFrom('a', '*', '?', '/', '[', ']', '{', '}', ',', '!', '^', '-', '\\', '.') }),
				(glob) => {
					try {
						doNow(compileGlob(glob)('a/b', uncounted));
					} catch (error) {
						expect(String(error)).toMatch(/glob: /);
					}
				},
			),
			{ numRuns: 2_000 },
		);
	});
});

describe('search_conversation', () => {
	test('finds earlier messages by their text, the newest first', async () => {
		const { result } = await finish(
			[
				{ ...calling({ id: 'c1', name: 'search_conversation', input: { query: 'BLUE' } }), text: 'I look it up.' },
				calling({ id: 'c2', name: 'search_conversation', input: { query: 'blue', limit: 1 } }),
				'done',
			],
			{ tools: box },
			[
				{ role: 'user', content: 'My favourite colour is blue.' },
				{ role: 'assistant', content: 'Blue it is.' },
				{ role: 'user', content: 'What did I like?' },
			],
		);
		const found = result.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : []));
		expect(found).toEqual([
			{
				matches: [
					{ role: 'assistant', text: 'Blue it is.' },
					{ role: 'user', text: 'My favourite colour is blue.' },
				],
			},
			{ matches: [{ role: 'tool', text: expect.stringContaining('Blue it is.') }] },
		]);
	});

	test('cuts a long message around the match', async () => {
		const context = {
			readConversation: () => [{ role: 'user', text: `${'a'.repeat(9_000)}needle${'b'.repeat(9_000)}` }],
		};
		const outcome = await toolbox.perform('search_conversation', { query: 'needle' }, box, context);
		expect(outcome).toEqual({
			ok: true,
			value: { matches: [{ role: 'user', text: expect.stringMatching(/^…a{1000}needleb+…$/) }] },
		});
	});

	test('is unavailable without a conversation', async () => {
		expect(await toolbox.perform('search_conversation', { query: 'a' }, toolbox.basic({}), {})).toMatchObject({
			error: { kind: 'unknown_tool' },
		});
	});
});
