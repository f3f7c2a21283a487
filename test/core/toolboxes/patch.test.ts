import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toolbox, workspace } from '../../../src/core/index.ts';
import { createDiff } from '../../../src/core/workspace/diff.ts';
import { snapshot } from '../workspace/contract.ts';
import { callOn, correct } from './support.ts';

const box = toolbox.withFiles();

/** Applies a patch. Returns the files after it and the changes that it reports. */
async function patch(files: Readonly<Record<string, string>>, text: string) {
	const own = callOn(box, files);
	const { changed } = Object(await own.call('apply_patch', { patch: text }));
	return { files: await snapshot(own.files), changed };
}

/** Returns the message of a patch that is refused, and checks that nothing changed. */
async function refuse(files: Readonly<Record<string, string | Uint8Array>>, text: string): Promise<string> {
	const own = callOn(box, files);
	const before = await snapshot(own.files);
	const message = await own.fail('apply_patch', { patch: text });
	expect(await snapshot(own.files)).toEqual(before);
	return message;
}

const ten = Array.from({ length: 10 }, (_, n) => `line ${n + 1}\n`).join('');

describe('a unified diff', () => {
	test('changes, creates, deletes and renames files', async () => {
		const text = `diff --git a/a.txt b/a.txt
index 1..2 100644
--- a/a.txt
+++ b/a.txt
@@ -1,2 +1,2 @@
 one
-two
+TWO
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,2 @@
+hello
+world
diff --git a/old.txt b/old.txt
deleted file mode 100644
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git a/x.txt b/dir/y.txt
similarity index 80%
rename from x.txt
rename to dir/y.txt
--- a/x.txt
+++ b/dir/y.txt
@@ -1 +1 @@
-x
+y
`;
		expect(await patch({ 'a.txt': 'one\ntwo\n', 'old.txt': 'bye\n', 'x.txt': 'x\n' }, text)).toEqual({
			files: { 'a.txt': 'one\nTWO\n', 'new.txt': 'hello\nworld\n', 'dir/y.txt': 'y\n' },
			changed: [
				{ path: 'a.txt', kind: 'changed' },
				{ path: 'new.txt', kind: 'created' },
				{ path: 'old.txt', kind: 'deleted' },
				{ path: 'dir/y.txt', kind: 'moved' },
			],
		});
	});

	test.each([
		['shifted line numbers', '--- a/a\n+++ b/a\n@@ -90,2 +90,2 @@\n line 5\n-line 6\n+LINE 6\n'],
		['paths without a/ and b/', '--- a\n+++ a\n@@ -5,2 +5,2 @@\n line 5\n-line 6\n+LINE 6\n'],
		[
			'prose before and after the patch',
			'Here it is:\n\n```diff\n--- a/a\n+++ b/a\n@@ -5,2 +5,2 @@\n line 5\n-line 6\n+LINE 6\n```\nDone.\n',
		],
		[
			'times after the paths',
			'--- a/a\t2026-01-01 10:00:00\n+++ b/a\t2026-01-01 10:00:01\n@@ -6 +6 @@\n-line 6\n+LINE 6\n',
		],
		['a heading after the line numbers', '--- a/a\n+++ b/a\n@@ -6,1 +6,1 @@ function f() {\n-line 6\n+LINE 6\n'],
		['line endings of Windows', '--- a/a\r\n+++ b/a\r\n@@ -5,2 +5,2 @@\r\n line 5\r\n-line 6\r\n+LINE 6\r\n'],
		[
			'a signature of git format-patch',
			'From 1 Mon\nSubject: x\n---\n a | 1 +\n\n--- a/a\n+++ b/a\n@@ -6 +6 @@\n-line 6\n+LINE 6\n-- \n2.40.0\n',
		],
	])('is accepted with %s', async (_, text) => {
		expect(await patch({ a: ten }, text)).toMatchObject({ files: { a: ten.replace('line 6', 'LINE 6') } });
	});

	test('is accepted with paths that git quotes, and with a folder whose name is the git prefix `a`', async () => {
		expect(
			await patch(
				{ 'ü "1".txt': 'a\n' },
				'--- "a/\\303\\274 \\"1\\".txt"\n+++ "b/\\303\\274 \\"1\\".txt"\n@@ -1 +1 @@\n-a\n+b\n',
			),
		).toMatchObject({
			files: { 'ü "1".txt': 'b\n' },
		});
		expect(await patch({ 'a/x': 'a\n' }, '--- a/x\n+++ a/x\n@@ -1 +1 @@\n-a\n+b\n')).toMatchObject({
			files: { 'a/x': 'b\n' },
		});
		expect(await patch({ 'a/x': 'a\n' }, '--- a/a/x\n+++ b/a/x\n@@ -1 +1 @@\n-a\n+b\n')).toMatchObject({
			files: { 'a/x': 'b\n' },
		});
	});

	test('changes the match that is nearest to the line number of the hunk', async () => {
		const text = 'x\n1\nx\n2\nx\n3\n';
		expect(await patch({ a: text }, '--- a/a\n+++ b/a\n@@ -5 +5 @@\n-x\n+y\n')).toMatchObject({
			files: { a: 'x\n1\nx\n2\ny\n3\n' },
		});
		expect(
			await patch({ a: text }, '--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n-x\n+y\n+y\n@@ -3 +4 @@\n-x\n+z\n'),
		).toMatchObject({
			files: { a: 'y\ny\n1\nz\n2\nx\n3\n' },
		});
	});

	test('keeps the line endings, and adds or removes the newline at the end of the file', async () => {
		expect(await patch({ a: '1\r\n2\r\n' }, '--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n 1\n+x\n 2\n')).toMatchObject({
			files: { a: '1\r\nx\r\n2\r\n' },
		});
		expect(
			await patch({ a: '1' }, '--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n-1\n\\ No newline at end of file\n+1\n+2\n'),
		).toMatchObject({ files: { a: '1\n2\n' } });
		expect(
			await patch({ a: '1\n' }, '--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n\\ No newline at end of file\n'),
		).toMatchObject({ files: { a: '2' } });
	});

	test.each([
		['a new file at an existing path', '--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n', /a exists already/],
		['a hunk that stops midway', '--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n line 1\n-line 2\n', /Write every hunk whole/],
		[
			'a hunk with more lines than its header says',
			'--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-line 1\n+x\n+y\n',
			/more lines than expected/,
		],
		['a hunk without numbers', '--- a/a\n+++ b/a\n@@ something @@\n-line 1\n+x\n', /patch: /],
		['a binary file', 'diff --git a/a b/a\nindex 1..2\nBinary files a/a and b/a differ\n', /binary.*write_file/],
		['binary data', 'diff --git a/a b/a\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n', /binary/],
		['a text without a change', 'I changed nothing.', /no change is in it/],
		['a missing file', '--- a/b\n+++ b/b\n@@ -1 +1 @@\n-x\n+y\n', /there is no file b. Did you mean a\?/],
		['a path that leaves the workspace', '--- a/../a\n+++ b/../a\n@@ -1 +1 @@\n-x\n+y\n', /leaves the workspace/],
		[
			'lines that the file does not contain',
			'--- a/a\n+++ b/a\n@@ -1 +1 @@\n-line eleven\n+y\n',
			/hunk 1 of a does not fit[\s\S]*1: line 1/,
		],
		['a deletion of only a part of the file', '--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-line 1\n', /more lines/],
		[
			'a second file that does not fit',
			'--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-no\n+y\n',
			/does not fit/,
		],
	])('is refused for %s, and changes nothing', async (_, text, message) => {
		expect(await refuse({ a: ten }, text)).toMatch(message);
		expect(await refuse({ a: ten }, text)).toContain('Nothing was changed.');
	});

	test('of any two texts changes the first text into the second', async () => {
		const line = fc.constantFrom('a', 'b', 'c', '', ' x', '\t', '+', '-', '\\ no', '@@ -1 +1 @@');
		const anyText = fc
			.tuple(fc.array(line, { maxLength: 12 }), fc.boolean())
			.map(([lines, ends]) => lines.join('\n') + (ends ? '\n' : ''));
		await fc.assert(
			fc.asyncProperty(anyText, anyText, async (before, after) => {
				const diff = await createDiff({ path: 'a', before, after });
				if (diff === '') return;
				expect((await patch({ a: before }, diff)).files).toEqual({ a: after });
			}),
			{ numRuns: 300 },
		);
	});
});

describe('a V4A patch', () => {
	test('changes, creates, deletes and moves files', async () => {
		const text = `*** Begin Patch
*** Update File: src/a.py
@@ class A:
@@     def f(self):
-        return 1
+        return 2
*** Add File: new.txt
+hello
+
*** Delete File: old.txt
*** Update File: x.txt
*** Move to: dir/y.txt
@@
-x
+y
*** End Patch`;
		const before = 'def f(self):\n        return 1\nclass A:\n    def f(self):\n        return 1\n';
		expect(await patch({ 'src/a.py': before, 'old.txt': '', 'x.txt': 'x' }, text)).toEqual({
			files: {
				'src/a.py': 'def f(self):\n        return 1\nclass A:\n    def f(self):\n        return 2\n',
				'new.txt': 'hello\n\n',
				'dir/y.txt': 'y',
			},
			changed: [
				{ path: 'src/a.py', kind: 'changed' },
				{ path: 'new.txt', kind: 'created' },
				{ path: 'old.txt', kind: 'deleted' },
				{ path: 'dir/y.txt', kind: 'moved' },
			],
		});
	});

	test('changes the end of a file, applies several hunks, and ignores differences in blanks', async () => {
		expect(
			await patch(
				{ a: 'x\n1\nx\n' },
				'*** Begin Patch\n*** Update File: a\n@@\n x\n+y\n*** End of File\n*** End Patch',
			),
		).toMatchObject({ files: { a: 'x\n1\nx\ny\n' } });
		expect(
			await patch(
				{ a: ten },
				'Prose.\n*** Begin Patch\n*** Update File: a\n@@\n-line 2\n+2\n@@\n line 8\n-line 9\n+9\n*** End Patch\n',
			),
		).toMatchObject({
			files: { a: ten.replace('line 2', '2').replace('line 9', '9') },
		});
		expect(
			await patch({ a: '\tif a  \n' }, '*** Begin Patch\n*** Update File: a\n-  if a\n+b\n*** End Patch'),
		).toMatchObject({ files: { a: 'b\n' } });
	});

	test.each([
		['an end marker', '*** Begin Patch\n*** Update File: a\n-line 1\n+x', /stops midway/],
		['a free path for a new file', '*** Begin Patch\n*** Add File: a\n+x\n*** End Patch', /exists already/],
		['a file', '*** Begin Patch\n*** End Patch', /no file is in it/],
		['a prefix on each line', '*** Begin Patch\n*** Update File: a\nline 1\n*** End Patch', /begins with none of/],
		['a file header', '*** Begin Patch\n-line 1\n*** End Patch', /begins no file/],
		['matching lines', '*** Begin Patch\n*** Update File: a\n-line eleven\n+x\n*** End Patch', /does not fit/],
		[
			'a heading that the file contains',
			'*** Begin Patch\n*** Update File: a\n@@ nowhere\n-line 1\n+x\n*** End Patch',
			/does not fit/,
		],
		['lines after a heading', '*** Begin Patch\n*** Update File: a\n@@ line 1\n*** End Patch', /no lines follow/],
	])('is refused without %s', async (_, text, message) => {
		expect(await refuse({ a: ten }, text)).toMatch(message);
	});
});

test('the error for a hunk shows the most similar place, and the nearest if several are equally similar', async () => {
	const block = 'if (a) {\n\tfirst();\n\tsecond();\n\tthird();\n\tfourth();\n\tfifth();\n}\n';
	const text = `${block}// two\n${block}${block}`;
	const lines = block.trimEnd().split('\n');
	const hunk = ['@@ -17,7 +17,7 @@', ...lines.map((line) => ` ${line === '\tsecond();' ? '\tsekond();' : line}`)];
	const wrong = `--- a/a\n+++ b/a\n${[...hunk.slice(0, 4), '-\tthird();', '+\tTHIRD();', ...hunk.slice(5)].join('\n')}\n`;
	const message = await refuse({ a: text }, wrong);
	expect(message).toContain('16: if (a) {\n17: \tfirst();\n18: \tsecond();');
	expect(message).not.toContain('1: if (a)\n2:');
	const once = await refuse({ a: `${'}\n\n'.repeat(8)}${block}` }, wrong.replace('-17,7 +17,7', '-1,7 +1,7'));
	expect(once).toContain('17: if (a) {\n18: \tfirst();');
});

test('refuses a patch that changes only line endings, and suggests write_file', async () => {
	const text = '--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-one\r\n-two\r\n+one\n+two\n';
	expect(await refuse({ a: 'one\r\ntwo\r\n' }, text)).toMatch(/a stays as it is.*write_file/);
	expect(await refuse({ a: 'one\n' }, '*** Begin Patch\n*** Update File: a\n one\n*** End Patch')).toContain(
		'stays as it is',
	);
});

test('undo_changes undoes a whole patch as one step', async () => {
	const { call, files } = callOn(box, { a: '1\n', b: '2\n' });
	await call('apply_patch', {
		patch: '--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+x\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-2\n+y\n',
	});
	expect(await call('undo_changes', {})).toMatchObject({ undone: [{ path: 'b' }, { path: 'a' }] });
	expect(await snapshot(files)).toEqual({ a: '1\n', b: '2\n' });
});

test('shows the most similar text for a wrong patch, and accepts the corrected patch', async () => {
	const files = workspace.inMemory({ a: 'const one = 1;\nconst two = 2;\n' });
	const patched = await correct(
		box,
		files,
		'apply_patch',
		{ patch: '--- a/a\n+++ b/a\n@@ -1 +1 @@\n-let one = 1;\n+let one = 2;\n' },
		{ patch: '--- a/a\n+++ b/a\n@@ -1 +1 @@\n-const one = 1;\n+const one = 2;\n' },
	);
	expect(patched).toEqual([
		{ output: expect.stringContaining('1: const one = 1;'), isError: true },
		{ output: { changed: [{ path: 'a', kind: 'changed' }] }, isError: false },
	]);
});
