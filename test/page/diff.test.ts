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

const line = fc.constantFrom(
	...['', 'a', ' b', '-- a/x', '++ b/x', '@@ -1 +1 @@', 'diff --git a/x b/x', 'rename from x', '\\', '+', '-'],
);

test('shows every changed line, also if it looks like a header', async () => {
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
