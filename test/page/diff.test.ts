/** What a person sees of a diff before they allow a change. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDiff } from '../../src/core/workspace/diff.ts';
import { readRows } from '../../src/page/parts/diff.ts';

const none = { added: 0, removed: 0 };

test('shows the name of each file, what happens to it, and its lines, in place of the header', async () => {
	const [made, changed, gone, moved] = [
		await createDiff({ path: 'new.txt', before: undefined, after: 'one\ntwo\n' }),
		await createDiff({ path: 'b c.txt', before: 'one\ntwo\n', after: 'one\n2\n' }),
		await createDiff({ path: 'gone.txt', before: 'one', after: undefined }),
		await createDiff({ path: 'to.txt', from: 'from.txt', before: 'same\n', after: 'same\n' }),
	];
	expect(readRows(made + changed + gone + moved)).toEqual([
		{ old: undefined, name: 'new.txt', added: 2, removed: 0 },
		...['+one', '+two'],
		{ old: 'b c.txt', name: 'b c.txt', added: 1, removed: 1 },
		...['@@ -1,2 +1,2 @@', ' one', '-two', '+2'],
		{ old: 'gone.txt', name: undefined, added: 0, removed: 1 },
		...['-one', '\\ No newline at end of file'],
		{ old: 'from.txt', name: 'to.txt', ...none },
	]);
});

describe('shows as it is', () => {
	test.each([
		['a text around the diff', 'Careful:\n', 'and more\n'],
		['another mode', 'old mode 100644\nnew mode 100755\n', ''],
		['a header that names two files', 'diff --git a/harmless.txt b/harmless.txt\n', ''],
		['a header that is cut', '--- a/x\n', ''],
		['a header without a change', '--- a/x\n+++ b/x\n', ''],
		['a move outside of a header of git', 'rename from x\nrename to secret.txt\n', ''],
		['other words behind index', 'index is what I say\n', ''],
	])('%s', (_, before, after) => {
		const lines = (text: string) => text.split('\n').slice(0, -1);
		const hunk = ['@@ -1 +1 @@', '-a', '+b'];
		const text = `${before}--- a/secret.txt\n+++ b/secret.txt\n${hunk.join('\n')}\n${after}`;
		const file = { old: 'secret.txt', name: 'secret.txt', added: 1, removed: 1 };
		expect(readRows(text)).toEqual([...lines(before), file, ...hunk, ...lines(after)]);
	});

	test.each([
		['a new file that has an old name', 'new file mode 100644\n--- a/x\n+++ b/x\n'],
		['a deleted file that has a new name', 'deleted file mode 100644\n--- a/x\n+++ b/x\n'],
		['a program', 'diff --git a/x b/x\nnew file mode 100755\n'],
		['a move that names other files', 'rename from y\nrename to x\n--- a/x\n+++ b/x\n'],
		['a file that is no text', 'diff --git a/x b/x\nBinary files a/x and b/x differ\n'],
		['a file without a name', '--- /dev/null\n+++ /dev/null\n'],
	])('%s', (_, text) => {
		const shown = readRows(text).map((row) => (typeof row === 'string' ? row : `--- a/${row.old}\n+++ b/${row.name}`));
		expect(shown.join('\n')).toBe(text.trimEnd());
	});
});

const hunk = '@@ -1 +1 @@\n-a\n+b\n';
const toFile = (name: string) => ({ old: name, name, added: 1, removed: 1 });

test.each(['größe.txt', 'say "hi".txt', 'x b/x', 'two  blanks.txt'])('reads the name %s', async (path) => {
	const changed = await createDiff({ path, before: 'a\n', after: 'b\n' });
	const moved = await createDiff({ path, from: `from ${path}`, before: 'a\n', after: 'a\n' });
	const expected = [toFile(path), '@@ -1,1 +1,1 @@', '-a', '+b', { old: `from ${path}`, name: path, ...none }];
	expect(readRows(changed + moved)).toEqual(expected);
});

test('leaves out the time behind a name, and no other text', () => {
	const [time, words] = ['\t2026-01-02 03:04:05.678 +0100', '\trm -rf /'];
	expect(readRows(`--- a/x${time}\n+++ b/x${time}\n${hunk}`)[0]).toEqual(toFile('x'));
	expect(readRows(`--- a/x${words}\n+++ b/x\n${hunk}`)[0]).toBe(`--- a/x${words}`);
	const made = '--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@';
	expect(readRows(`${made}\n+a\n`)).toEqual([{ old: undefined, name: 'x', added: 1, removed: 0 }, '+a']);
	expect(readRows(`${made} rm -rf /\n+a\n`)).toContain('@@ -0,0 +1 @@ rm -rf /');
});

test('counts an empty line that ends in a carriage return as a line of its hunk', () => {
	const text = '--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n\r\n-a\r\n+b\r\n';
	expect(readRows(text + text.replaceAll('/x', '/y')).filter((row) => typeof row !== 'string')).toEqual([
		toFile('x'),
		toFile('y'),
	]);
});

test.each([
	['a hunk whose numbers are not at its begin', '@@ x @@ -1 +1 @@\n--- a/y\n+++ b/y\n@@ -5 +5 @@\n-a\n+b\n'],
	['a line without a sign', '@@ -1,3 +1,3 @@\n\ta\n--- a/y\n+++ b/y\n@@ -5 +5 @@\n-a\n+b\n'],
	['more lines than a hunk says', '@@ -1 +1,3 @@\n-a\n-b\n+a\n+b\n+c\n--- a/y\n+++ b/y\n@@ -5 +5 @@\n-a\n+b\n'],
	['a hunk that is cut', '@@ -1,9 +1,9 @@\n-a\n+b\n+c\n'],
])('names no further file and counts nothing behind %s', (_, text) => {
	const [file, ...rows] = readRows(`--- a/x\n+++ b/x\n${text}`);
	expect(file).toEqual({ old: 'x', name: 'x', ...none });
	expect(rows.join('\n')).toBe(text.trimEnd());
});

const line = fc.constantFrom(
	...['', 'a', ' b', '-- a/x', '++ b/x', '@@ -1 +1 @@', 'diff --git a/x b/x', 'rename from x', '\\', '+', '-'],
);

test('shows every changed line, even a line that looks like a header', async () => {
	const lines = fc.array(line);
	await fc.assert(
		fc.asyncProperty(lines, lines, async (before, after) => {
			const text = await createDiff({ path: 'x', before: before.join('\n'), after: after.join('\n') });
			fc.pre(text !== '');
			const [file, ...rows] = readRows(text);
			const count = (sign: string) => rows.filter((row) => typeof row === 'string' && row.startsWith(sign)).length;
			expect(file).toEqual({ old: 'x', name: 'x', added: count('+'), removed: count('-') });
			expect(rows).toEqual(text.slice(text.indexOf('@@'), -1).split('\n'));
		}),
	);
});
