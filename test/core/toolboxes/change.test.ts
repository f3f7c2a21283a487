import { describe, expect, test } from 'vitest';
import { toolbox, workspace } from '../../../src/core/index.ts';
import { calling, finish } from '../chat/support.ts';
import { snapshot } from '../workspace/contract.ts';
import { callOn, correct } from './support.ts';

const box = toolbox.withFiles();

describe('write_file', () => {
	test('creates a file, or replaces the whole content of a file', async () => {
		const { call, files } = callOn(box);
		expect(await call('write_file', { path: './a/b.txt', text: 'é' })).toEqual({
			path: 'a/b.txt',
			size: 2,
			created: true,
		});
		expect(await call('write_file', { path: 'a/b.txt', text: '' })).toEqual({
			path: 'a/b.txt',
			size: 0,
			created: false,
		});
		expect(await call('write_file', { path: 'c.bin', base64: 'AAH/' })).toEqual({
			path: 'c.bin',
			size: 3,
			created: true,
		});
		expect(await files.read('c.bin')).toEqual(Uint8Array.of(0, 1, 255));
		expect(await files.stat('a/b.txt')).toMatchObject({ size: 0 });
	});

	test('accepts exactly one of text and base64', async () => {
		const written = await correct(
			box,
			workspace.inMemory({ dir: '' }),
			'write_file',
			{ path: 'a' },
			{ path: 'a', text: 'x', base64: 'eA==' },
			{ path: 'a', base64: 'x' },
			{ path: 'dir/a', text: 'x' },
			{ path: '../a', text: 'x' },
			{ path: 'a', text: 'x' },
		);
		expect(written.map(({ output, isError }) => isError && output)).toEqual([
			expect.stringContaining('exactly one of them'),
			expect.stringContaining('exactly one of them'),
			expect.stringContaining('not base64'),
			expect.stringContaining('below dir, which is a file'),
			expect.stringContaining('leaves the workspace'),
			false,
		]);
	});
});

describe('edit_file', () => {
	const edit = async (text: string, args: object) => {
		const { call, files } = callOn(box, { a: text });
		const result = await call('edit_file', { path: 'a', ...args });
		return [result, (await snapshot(files)).a];
	};
	const refuse = (text: string, args: object) => callOn(box, { a: text }).fail('edit_file', { path: 'a', ...args });

	test('replaces the only match, or all matches', async () => {
		expect(await edit('one two', { oldText: 'two', newText: 'three' })).toEqual([
			{ path: 'a', replaced: 1 },
			'one three',
		]);
		expect(await edit('x x', { oldText: 'x', newText: 'y', all: true })).toEqual([{ path: 'a', replaced: 2 }, 'y y']);
		expect(await edit('one two', { oldText: ' two', newText: '' })).toEqual([{ path: 'a', replaced: 1 }, 'one']);
		expect(await edit('$1', { oldText: '$1', newText: '$& $$' })).toEqual([{ path: 'a', replaced: 1 }, '$& $$']);
	});

	test('prefers an exact match to a match that differs in blanks', async () => {
		expect(await edit('if (a)  b\nif (a) b\n', { oldText: 'if (a) b', newText: 'c' })).toEqual([
			{ path: 'a', replaced: 1 },
			'if (a)  b\nc\n',
		]);
	});

	test('accepts a match that differs in blanks, and keeps the indentation of the file', async () => {
		expect(
			await edit('class A {\n\tf() {\n\t\treturn 1;\n\t}\n}\n', {
				oldText: 'f() {\n  return  1;\n}',
				newText: 'f() {\n  return 2;\n}',
			}),
		).toEqual([{ path: 'a', replaced: 1 }, 'class A {\n\tf() {\n\t  return 2;\n\t}\n}\n']);
	});

	test('refuses two matches that each differ from `oldText` in blanks, even if `all` is set', async () => {
		for (const all of [false, true])
			expect(await refuse('f( a )\nf(  a )\n', { oldText: 'f(   a )', newText: 'g', all })).toMatch(
				/fits at 2 places of a .*\n1: f\( a \)\n2: f\( {2}a \)\n/,
			);
	});

	test('keeps the line endings of the file', async () => {
		expect(await edit('a\r\nb\r\nc\r\n', { oldText: 'a\nb', newText: 'x\ny\nz' })).toEqual([
			{ path: 'a', replaced: 1 },
			'x\r\ny\r\nz\r\nc\r\n',
		]);
		expect(await edit('a\nb\n', { oldText: 'a\r\nb', newText: 'x\r\ny' })).toEqual([
			{ path: 'a', replaced: 1 },
			'x\ny\n',
		]);
	});

	test('refuses two matches, and names their lines', async () => {
		expect(await refuse('one\ntwo\none\n', { oldText: 'one', newText: 'x' })).toBe(
			'oldText: stands at 2 places of a: \n1: one\n3: one\nGive more of the text around the one that is meant, or all: true.',
		);
		expect(await refuse('aaa', { oldText: 'aa', newText: 'x' })).toContain('2 places');
	});

	test('refuses a text that the file does not contain, and shows the most similar text', async () => {
		expect(
			await refuse('import a from "a";\nconst total = price * count;\n', {
				oldText: 'const total = price * amount;',
				newText: '',
			}),
		).toBe(
			'oldText: stands nowhere in a. The nearest text is:\n2: const total = price * count;\nGive it exactly as it stands there.',
		);
		expect(await refuse('abc', { oldText: 'something else', newText: '' })).toContain('read the file');
	});

	test('refuses an edit whose new text equals the old text, and records no change', async () => {
		const { fail, files: own } = callOn(box, { a: 'one\r\ntwo\r\n' });
		for (const [oldText, newText] of [
			['one', 'one'],
			['one\r\ntwo', 'one\ntwo'],
		])
			expect(await fail('edit_file', { path: 'a', oldText, newText })).toMatch(
				/^newText: changes nothing.* in a already/,
			);
		expect((await own.changes()).changes).toMatchObject([{ kind: 'created' }]);
	});

	test('explains each wrong call, and accepts the corrected call', async () => {
		const files = workspace.inMemory({ 'a.ts': 'const one = 1;\n', 'b.bin': Uint8Array.of(0) });
		const edits = await correct(
			box,
			files,
			'edit_file',
			{ path: 'b.ts', oldText: 'x', newText: '' },
			{ path: 'b.bin', oldText: 'x', newText: '' },
			{ path: 'a.ts', oldText: 'one = 1' },
			{ path: 'a.ts', oldText: 'const two = 1;', newText: 'const two = 2;' },
			{ path: 'a.ts', oldText: 'const one = 1;', newText: 'const two = 2;' },
		);
		expect(edits.map(({ output, isError }) => isError && output)).toEqual([
			expect.stringContaining('Did you mean a.ts?'),
			expect.stringContaining('no text'),
			expect.stringMatching(/^newText: missing/),
			expect.stringContaining('1: const one = 1;'),
			false,
		]);
		expect(await snapshot(files)).toMatchObject({ 'a.ts': 'const two = 2;\n' });
	});

	test('does not overwrite a file that changed since it was read', async () => {
		const files = workspace.inMemory({ a: 'one' });
		const racing: typeof files = {
			...files,
			forCall: (callId) => {
				const own = files.forCall(callId);
				return {
					...own,
					read: async (path) => {
						const bytes = await own.read(path);
						await files.write('a', 'of a person');
						return bytes;
					},
				};
			},
		};
		const outcome = await toolbox.perform('edit_file', { path: 'a', oldText: 'one', newText: 'two' }, box, {
			workspace: racing,
		});
		expect(outcome).toMatchObject({ ok: false, error: { message: expect.stringContaining('changed meanwhile') } });
		expect(await snapshot(files)).toEqual({ a: 'of a person' });
	});
});

describe('delete_file and move_file', () => {
	test('delete or move a file, and return its path', async () => {
		const { call, files } = callOn(box, { a: '1', b: '2' });
		expect(await call('delete_file', { path: 'a' })).toEqual({ path: 'a' });
		expect(await call('move_file', { from: 'b', to: 'c/d' })).toEqual({ path: 'c/d' });
		expect(await snapshot(files)).toEqual({ 'c/d': '2' });
	});

	test('refuse folders, missing files and an existing target', async () => {
		const { fail, files } = callOn(box, { 'a/b': '1', c: '2' });
		expect(await fail('delete_file', { path: 'a' })).toMatch(/is a folder/);
		expect(await fail('delete_file', { path: 'a/x' })).toMatch(/Did you mean a\/b\?/);
		expect(await fail('move_file', { from: 'c', to: 'a/b' })).toMatch(/is a file already/);
		expect(await fail('move_file', { from: 'c', to: 'a' })).toMatch(/is a folder/);
		expect(await fail('move_file', { from: 'a', to: 'd' })).toMatch(/is a folder/);
		expect(await fail('move_file', { from: 'x', to: 'd' })).toMatch(/there is no file x/);
		expect(await snapshot(files)).toEqual({ 'a/b': '1', c: '2' });
	});
});

describe('undo_changes', () => {
	test('restores the files of one step or of several steps', async () => {
		const { call, files } = callOn(box, { a: '1' });
		await call('write_file', { path: 'a', text: '2' });
		await call('move_file', { from: 'a', to: 'b' });
		await call('delete_file', { path: 'b' });
		expect(await call('undo_changes', {})).toEqual({ undone: [{ path: 'b', kind: 'deleted' }] });
		expect(await snapshot(files)).toEqual({ b: '2' });
		expect(await call('undo_changes', { steps: 2 })).toEqual({
			undone: [
				{ path: 'b', kind: 'moved', from: 'a' },
				{ path: 'a', kind: 'changed' },
			],
		});
		expect(await snapshot(files)).toEqual({ a: '1' });
	});

	test('reports how many steps can be undone', async () => {
		const { call, fail } = callOn(box);
		expect(await fail('undo_changes', {})).toContain('nothing to undo');
		await call('write_file', { path: 'a', text: '' });
		expect(await fail('undo_changes', { steps: 3 })).toContain('Only 1');
	});
});

describe('tools that change files', () => {
	const names = ['write_file', 'edit_file', 'delete_file', 'move_file', 'apply_patch', 'undo_changes'];

	test('run alone, can run again after a crash, and are offered only with a workspace', () => {
		expect(Object.keys(box)).toEqual(names);
		for (const tool of Object.values(box)) expect(tool).toMatchObject({ sequential: true, retry: 'safe' });
		expect(toolbox.withFiles({}, {})).toEqual({});
		expect(Object.keys(toolbox.withFiles({}, { workspace: workspace.inMemory() }))).toEqual(names);
	});

	test.each([
		['write_file', { path: 'a', text: 'new' }, { path: 'a', size: 3, created: false }],
		['edit_file', { path: 'a', oldText: 'one', newText: 'new' }, { path: 'a', replaced: 1 }],
		['delete_file', { path: 'a' }, { path: 'a' }],
		['move_file', { from: 'a', to: 'b' }, { path: 'b' }],
		[
			'apply_patch',
			{ patch: '--- a\n+++ a\n@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+two\n' },
			{ changed: [{ path: 'a', kind: 'changed' }] },
		],
	])(
		'%s that runs again after a crash repeats none of its changes, and returns the first result',
		async (name, args, result) => {
			const files = workspace.inMemory({ a: 'one' });
			// The store recognizes the call, like a store that outlives the process.
			const own = files.forCall('c');
			const again: typeof files = { ...files, forCall: () => own };
			expect(await toolbox.perform(name, args, box, { workspace: again })).toEqual({ ok: true, value: result });
			const after = await snapshot(files);
			expect(await toolbox.perform(name, args, box, { workspace: again })).toEqual({ ok: true, value: result });
			expect(await snapshot(files)).toEqual(after);
			expect((await files.changes()).changes.filter(({ callId }) => callId === 'c')).toHaveLength(1);
		},
	);

	test('show notes of the call and of its result', async () => {
		const calls = [
			['write_file', { path: 'a', text: 'xx' }],
			['edit_file', { path: 'a', oldText: 'xx', newText: 'y' }],
			['move_file', { from: 'a', to: 'b' }],
			['delete_file', { path: 'b' }],
			['undo_changes', { steps: 2 }],
			['delete_file', { path: 'gone' }],
		] as const;
		const { events } = await finish(
			[calling(...calls.map(([name, input], at) => ({ id: `c${at}`, name, input }))), 'done'],
			{ tools: box, context: { workspace: workspace.inMemory() } },
		);
		expect(events.flatMap((event) => (event.type === 'note' ? [`${event.label}: ${event.detail}`] : []))).toEqual([
			'Writing: a',
			'Created: a, 2 bytes',
			'Editing: a',
			'Edited: a, 1 place',
			'Moving: a to b',
			'Moved: b',
			'Deleting: b',
			'Deleted: b',
			'Undoing: 2 steps',
			'Undone: b, b',
			'Deleting: gone',
			expect.stringMatching(/^delete_file failed: path: there is no file gone/),
		]);
	});
});
