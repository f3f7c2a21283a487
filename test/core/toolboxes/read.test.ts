import { describe, expect, test } from 'vitest';
import { chat, toolbox, workspace } from '../../../src/core/index.ts';
import { calling, finish } from '../chat/support.ts';
import { callOn, correct } from './support.ts';

const box = toolbox.basic();
const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0);

describe('list_files', () => {
	const files = { 'src/b.ts': '12', 'src/a/c.ts': '1', 'readme.md': '' };

	test('lists a folder, sorted by path', async () => {
		const { call } = callOn(box, files);
		expect(await call('list_files', {})).toEqual({
			entries: [
				{ path: 'readme.md', type: 'file', size: 0 },
				{ path: 'src', type: 'folder' },
			],
			truncated: false,
		});
		expect(await call('list_files', { path: 'src', recursive: true })).toEqual({
			entries: [
				{ path: 'src/a', type: 'folder' },
				{ path: 'src/a/c.ts', type: 'file', size: 1 },
				{ path: 'src/b.ts', type: 'file', size: 2 },
			],
			truncated: false,
		});
		for (const path of ['.', './', '']) expect(await call('list_files', { path })).toMatchObject({ truncated: false });
	});

	test('reports that more entries follow', async () => {
		expect(await callOn(box, files).call('list_files', { recursive: true, limit: 2 })).toEqual({
			entries: [
				{ path: 'readme.md', type: 'file', size: 0 },
				{ path: 'src', type: 'folder' },
			],
			truncated: true,
		});
	});

	test('suggests a similar folder for a mistyped folder', async () => {
		expect(
			await correct(box, workspace.inMemory(files), 'list_files', { path: 'scr' }, { path: 'src', limit: 1 }),
		).toEqual([
			{ output: 'path: there is no folder scr. Did you mean src?', isError: true },
			{ output: { entries: [{ path: 'src/a', type: 'folder' }], truncated: true }, isError: false },
		]);
	});
});

describe('read_file', () => {
	test('returns the raw text with its line endings, and the range of its lines', async () => {
		expect(await callOn(box, { a: '\ufeffone\r\ntwo\n' }).call('read_file', { path: 'a' })).toEqual({
			path: 'a',
			text: '\ufeffone\r\ntwo\n',
			fromLine: 1,
			toLine: 2,
			lines: 2,
		});
	});

	test('returns the lines from fromLine to toLine, or to the last line if the file ends earlier', async () => {
		const { call } = callOn(box, { a: '1\n2\n3\n4' });
		expect(await call('read_file', { path: 'a', fromLine: 2, toLine: 3 })).toMatchObject({ text: '2\n3\n', toLine: 3 });
		expect(await call('read_file', { path: 'a', fromLine: 4, toLine: 40 })).toMatchObject({
			text: '4',
			toLine: 4,
			lines: 4,
		});
	});

	test('returns a long file in parts, and toLine is the last line of each part', async () => {
		const line = `${'x'.repeat(99)}\n`;
		const { call } = callOn(box, { a: line.repeat(2_500) });
		const seen: string[] = [];
		for (let fromLine = 1; fromLine <= 2_500; ) {
			const part = Object(await call('read_file', { path: 'a', fromLine }));
			expect(part.text).toHaveLength(100 * (part.toLine - fromLine + 1));
			seen.push(part.text);
			fromLine = part.toLine + 1;
		}
		expect(seen).toHaveLength(3);
		expect(seen.join('')).toBe(line.repeat(2_500));
	});

	test('cuts a line that is too long, and marks the result as truncated', async () => {
		const read = Object(await callOn(box, { a: 'x'.repeat(300_000) }).call('read_file', { path: 'a' }));
		expect(read).toMatchObject({ toLine: 1, lines: 1, truncated: true });
		expect(read.text).toHaveLength(100_000);
	});

	test('returns an image as an image part', async () => {
		const { result, requests } = await finish(
			[calling({ id: 'c', name: 'read_file', input: { path: 'a.png' } }), 'A picture.'],
			{ tools: box, context: { workspace: workspace.inMemory({ 'a.png': png }) } },
		);
		const answer = result.messages.find((message) => message.role === 'tool');
		expect(answer).toMatchObject({
			isError: false,
			parts: [
				chat.textPart('a.png: image/png, 9 bytes'),
				{ kind: 'image', mime: 'image/png', data: btoa(String.fromCharCode(...png)) },
			],
		});
		expect(requests).toHaveLength(2);
	});

	test('refuses a binary file, and names its type', async () => {
		expect(await callOn(box, { 'a.zip': Uint8Array.of(0) }).fail('read_file', { path: 'a.zip' })).toBe(
			'path: a.zip is no text but application/zip of 1 bytes. file_info describes it.',
		);
	});

	test('refuses an image that is too large', async () => {
		const { fail } = callOn(box, { 'a.png': new Uint8Array(3_000_000) });
		expect(await fail('read_file', { path: 'a.png' })).toMatch(/3000000 bytes/);
	});

	test('explains each wrong call, and accepts the corrected call', async () => {
		const files = workspace.inMemory({ 'notes/plan.md': 'one\ntwo\n', 'notes/x/y': '' });
		const read = await correct(
			box,
			files,
			'read_file',
			{ path: 'notes/pla.md' },
			{ path: 'notes/x' },
			{ path: '/notes/plan.md' },
			{ path: 'notes/plan.md', fromLine: 9 },
			{ path: 'notes/plan.md', fromLine: 2 },
		);
		expect(read.map(({ output, isError }) => isError && output)).toEqual([
			'path: there is no file notes/pla.md. Did you mean notes/plan.md?',
			'path: notes/x is a folder. Use list_files to see what is in it.',
			expect.stringContaining('is absolute'),
			'fromLine: notes/plan.md has 2 lines. Begin at 2 or before.',
			false,
		]);
		expect(read.at(-1)?.output).toMatchObject({ text: 'two\n' });
	});
});

describe('file_info', () => {
	test('describes a file, and recognizes a folder', async () => {
		const { call } = callOn(box, { 'a/b.json': '{}\n', 'a/c.png': png });
		expect(await call('file_info', { path: 'a/b.json' })).toEqual({
			path: 'a/b.json',
			type: 'file',
			size: 3,
			mime: 'application/json',
			modifiedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
			lines: 1,
		});
		expect(await call('file_info', { path: 'a/c.png' })).not.toHaveProperty('lines');
		expect(await call('file_info', { path: 'a' })).toEqual({ path: 'a', type: 'folder' });
		expect(await call('file_info', { path: '.' })).toEqual({ path: '.', type: 'folder' });
	});

	test('suggests a similar path for a missing file', async () => {
		expect(await callOn(box, { 'a.txt': '' }).fail('file_info', { path: 'b.txt' })).toContain('Did you mean a.txt?');
	});
});

test('each tool shows a note of its call and a note of its result', async () => {
	const { events } = await finish(
		[
			calling(
				{ id: 'c1', name: 'list_files', input: {} },
				{ id: 'c2', name: 'read_file', input: { path: 'a', fromLine: 1 } },
				{ id: 'c3', name: 'file_info', input: { path: 'a' } },
				{ id: 'c4', name: 'read_file', input: { path: 'b' } },
			),
			'done',
		],
		{ tools: box, context: { workspace: workspace.inMemory({ a: '1\n2\n' }) } },
	);
	const notes = events.flatMap((event) =>
		event.type === 'note' ? [`${event.id} ${event.label}: ${event.detail}`] : [],
	);
	expect(notes.toSorted()).toEqual([
		'c1 1 entries: undefined',
		'c1 Listing files: all',
		'c2 Reading: a, lines 1 to the end',
		'c2 a: lines 1 to 2 of 2',
		'c3 Looking at: a',
		'c3 a: file, 4 bytes',
		'c4 Reading: b',
		'c4 read_file failed: path: there is no file b. Did you mean a?',
	]);
});

test('the file tools are offered and run only with a workspace', async () => {
	const names = ['list_files', 'read_file', 'file_info', 'search_files'];
	expect(Object.keys(toolbox.basic())).toEqual(expect.arrayContaining(names));
	for (const name of names) expect(Object.keys(toolbox.basic({}))).not.toContain(name);
	expect(Object.keys(toolbox.basic({ workspace: workspace.inMemory() }))).toEqual(expect.arrayContaining(names));
	for (const name of names)
		expect(await toolbox.perform(name, { path: 'a', query: 'a' }, box)).toMatchObject({
			ok: false,
			error: { kind: 'unknown_tool' },
		});
	const { requests } = await finish(['done'], { tools: box });
	expect(JSON.stringify(requests[0]?.tools)).not.toContain('read_file');
});
