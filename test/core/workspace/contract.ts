import { describe, expect, test } from 'vitest';
import type { Workspace } from '../../../src/core/index.ts';
import { refusal } from '../chat/support.ts';

/** Creates a workspace with these files. The files count as put there by people. */
export type CreateWorkspace = (files?: Readonly<Record<string, string | Uint8Array>>) => Promise<Workspace>;

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const paths = (entries: readonly { readonly path: string }[]) => entries.map(({ path }) => path);

/** Returns the current files. */
export async function snapshot(workspace: Workspace): Promise<Record<string, string>> {
	const { entries } = await workspace.list({ recursive: true, limit: 10_000 });
	const files = entries.filter(({ type }) => type === 'file');
	return Object.fromEntries(
		await Promise.all(files.map(async ({ path }) => [path, decode(await workspace.read(path))] as const)),
	);
}

/** Tests what every workspace must do. */
export function describeWorkspace(name: string, create: CreateWorkspace): void {
	describe(`${name}: files`, () => {
		test('a file is read back byte for byte', async () => {
			const bytes = Uint8Array.from({ length: 5_000_000 }, (_, at) => (at * 31) % 256);
			const workspace = await create();
			await workspace.write('data/big.bin', bytes);
			const read = await workspace.read('data/big.bin');
			expect([read.length, read.findIndex((byte, at) => byte !== bytes[at])]).toEqual([bytes.length, -1]);
			expect(await workspace.read('data/big.bin', { from: 1_000, to: 1_004 })).toEqual(bytes.slice(1_000, 1_004));
			expect(await workspace.read('data/big.bin', { from: 4_999_999, to: 9_000_000 })).toEqual(bytes.slice(4_999_999));
		});

		test('a caller cannot change stored bytes through an array that it wrote or read', async () => {
			const bytes = Uint8Array.of(1, 2, 3);
			const workspace = await create();
			await workspace.write('a.bin', bytes);
			bytes[0] = 9;
			(await workspace.read('a.bin'))[1] = 9;
			expect(await workspace.read('a.bin')).toEqual(Uint8Array.of(1, 2, 3));
		});

		test('a write reports whether it created or changed the file', async () => {
			const workspace = await create();
			expect(await workspace.write('a.txt', 'one')).toEqual({ path: 'a.txt', kind: 'created' });
			expect(await workspace.write('a.txt', 'two')).toEqual({ path: 'a.txt', kind: 'changed' });
			expect(decode(await workspace.read('a.txt'))).toBe('two');
		});

		test('stat returns size, media type, time and lines', async () => {
			const workspace = await create({ 'a.md': 'one\ntwo', 'b.png': Uint8Array.of(0x89, 0x50, 0), 'c/d.ts': 'x\n' });
			expect(await workspace.stat('a.md')).toMatchObject({
				path: 'a.md',
				type: 'file',
				size: 7,
				mime: 'text/markdown',
				lines: 2,
				modifiedAt: expect.stringMatching(/^\d{4}-.*Z$/),
			});
			expect(await workspace.stat('b.png')).toMatchObject({ mime: 'image/png', size: 3 });
			expect(await workspace.stat('b.png')).not.toHaveProperty('lines');
			expect(await workspace.stat('c/d.ts')).toMatchObject({ mime: 'text/plain', lines: 1 });
			expect(await workspace.stat('c')).toEqual({ path: 'c', type: 'folder' });
			expect(await workspace.stat('')).toEqual({ path: '', type: 'folder' });
			expect(await workspace.stat('gone')).toBeUndefined();
		});

		test('every write of a file changes its version, even with the same bytes', async () => {
			const workspace = await create({ 'a.txt': 'one' });
			const versions = new Set<unknown>();
			for (let n = 0; n < 4; n++) {
				versions.add(Reflect.get(Object(await workspace.stat('a.txt')), 'version'));
				if (n === 1) await workspace.delete('a.txt');
				await workspace.write('a.txt', 'one');
			}
			expect(versions.size).toBe(4);
		});

		test('the error for a missing file suggests a similar path', async () => {
			const workspace = await create({ 'src/index.ts': 'x', 'docs/readme.md': 'y' });
			for (const work of [
				() => workspace.read('src/indx.ts'),
				() => workspace.readLines('index.ts'),
				() => workspace.delete('src/indx.ts'),
				() => workspace.move('src/indx.ts', 'b'),
			])
				expect(await refusal(work())).toMatchObject({
					code: 'not_found',
					message: expect.stringContaining('Did you mean src/index.ts?'),
				});
			expect((await refusal(workspace.read('nothing'))).message).toContain('list_files');
		});

		test('a folder cannot be read, deleted or moved as a file', async () => {
			const workspace = await create({ 'a/b.txt': 'x' });
			for (const work of [() => workspace.read('a'), () => workspace.delete('a'), () => workspace.move('a', 'c')])
				expect(await refusal(work())).toMatchObject({ message: expect.stringContaining('folder') });
		});
	});

	describe(`${name}: lists`, () => {
		const files = { 'a-b': '1', 'a/x': '22', 'a/y/z': '333', b: '' };

		test('a list is sorted by path and contains the folders', async () => {
			const workspace = await create(files);
			expect(await workspace.list()).toEqual({
				entries: [
					{ path: 'a', type: 'folder' },
					{ path: 'a-b', type: 'file', size: 1 },
					{ path: 'b', type: 'file', size: 0 },
				],
				truncated: false,
			});
			expect(paths((await workspace.list({ recursive: true })).entries)).toEqual([
				'a',
				'a-b',
				'a/x',
				'a/y',
				'a/y/z',
				'b',
			]);
			expect(paths((await workspace.list({ path: 'a/' })).entries)).toEqual(['a/x', 'a/y']);
			expect(paths((await workspace.list({ path: 'a', recursive: true })).entries)).toEqual(['a/x', 'a/y', 'a/y/z']);
		});

		test('a long list is returned in parts', async () => {
			const workspace = await create(
				Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`f/${String(n).padStart(2, '0')}`, 'x'])),
			);
			const seen: string[] = [];
			for (let after: string | undefined; ; after = seen.at(-1)) {
				const { entries, truncated } = await workspace.list({ path: 'f', limit: 10, after });
				seen.push(...paths(entries));
				if (!truncated) break;
			}
			expect(seen).toEqual(Array.from({ length: 25 }, (_, n) => `f/${String(n).padStart(2, '0')}`));
		});

		test('a folder disappears with its last file', async () => {
			const workspace = await create({ 'a/b/c': 'x' });
			await workspace.delete('a/b/c');
			expect((await workspace.list({ recursive: true })).entries).toEqual([]);
			expect(await workspace.stat('a')).toBeUndefined();
		});

		test('a list of a missing folder or of a file is refused', async () => {
			const workspace = await create(files);
			expect((await refusal(workspace.list({ path: 'aa' }))).message).toContain('Did you mean a?');
			expect((await refusal(workspace.list({ path: 'b' }))).message).toContain('is a file');
		});
	});

	describe(`${name}: lines`, () => {
		test('returns lines with their line breaks', async () => {
			const workspace = await create({ a: 'one\r\ntwo\n\nfour' });
			expect(await workspace.readLines('a')).toEqual({
				text: 'one\r\ntwo\n\nfour',
				fromLine: 1,
				toLine: 4,
				lines: 4,
				isCut: false,
			});
			expect(await workspace.readLines('a', { fromLine: 2, toLine: 3 })).toMatchObject({
				text: 'two\n\n',
				fromLine: 2,
				toLine: 3,
				lines: 4,
			});
			expect(await workspace.readLines('a', { fromLine: 4, toLine: 99 })).toMatchObject({ text: 'four', toLine: 4 });
		});

		test('an empty file has no lines', async () => {
			const workspace = await create({ a: '' });
			expect(await workspace.readLines('a')).toMatchObject({ text: '', fromLine: 1, toLine: 0, lines: 0 });
		});

		test('returns any line of a long file', async () => {
			const lines = Array.from({ length: 3_000 }, (_, n) => `line ${n + 1} ${'é'.repeat(n % 7)}\n`);
			const workspace = await create({ a: lines.join('') });
			for (const at of [1, 2, 255, 256, 257, 258, 512, 513, 1_999, 3_000])
				expect(await workspace.readLines('a', { fromLine: at, toLine: at })).toMatchObject({ text: lines[at - 1] });
		});

		test('returns a part of a long text, with the number of the last line', async () => {
			const workspace = await create({ a: `${'x'.repeat(9)}\n`.repeat(100), wide: 'é'.repeat(100) });
			expect(await workspace.readLines('a', { fromLine: 5, maxBytes: 35 })).toEqual({
				text: `${'x'.repeat(9)}\n`.repeat(3),
				fromLine: 5,
				toLine: 7,
				lines: 100,
				isCut: false,
			});
			expect(await workspace.readLines('wide', { maxBytes: 11 })).toMatchObject({
				text: 'ééééé',
				toLine: 1,
				isCut: true,
			});
		});

		test('refuses a start after the end, a reversed range and a binary file', async () => {
			const workspace = await create({ a: 'one\ntwo\n', 'b.bin': Uint8Array.of(0, 1), c: Uint8Array.of(0xff, 0xfe) });
			expect((await refusal(workspace.readLines('a', { fromLine: 3 }))).message).toContain('has 2 lines');
			expect((await refusal(workspace.readLines('a', { fromLine: 2, toLine: 1 }))).message).toContain('toLine');
			expect((await refusal(workspace.readLines('b.bin'))).message).toMatch(/no text but application\/octet-stream/);
			expect((await refusal(workspace.readLines('c'))).message).toContain('no text');
		});
	});

	describeChanges(name, create);
	describeUndo(name, create);
}

function describeChanges(name: string, create: CreateWorkspace): void {
	describe(`${name}: changes`, () => {
		test('several edits are made in one change', async () => {
			const workspace = await create({ a: 'a', b: 'b', 'old/c': 'c' });
			expect(
				await workspace.change([
					{ type: 'write', path: 'a', content: 'A' },
					{ type: 'delete', path: 'b' },
					{ type: 'move', from: 'old/c', to: 'new/c' },
					{ type: 'write', path: 'new/c', content: 'C' },
					{ type: 'write', path: 'd', content: 'D' },
				]),
			).toEqual([
				{ path: 'a', kind: 'changed' },
				{ path: 'b', kind: 'deleted' },
				{ path: 'new/c', kind: 'moved', from: 'old/c' },
				{ path: 'd', kind: 'created' },
			]);
			expect(await snapshot(workspace)).toEqual({ a: 'A', d: 'D', 'new/c': 'C' });
		});

		test('no edit of a change is made if one edit is impossible', async () => {
			const workspace = await create({ a: 'a', 'b/c': 'c' });
			const before = await snapshot(workspace);
			const first = { type: 'write', path: 'a', content: 'A' } as const;
			for (const last of [
				{ type: 'delete', path: 'gone' },
				{ type: 'move', from: 'a', to: 'b/c' },
				{ type: 'move', from: 'a', to: 'a' },
				{ type: 'write', path: 'a/below', content: '' },
				{ type: 'write', path: 'b', content: '' },
				{ type: 'write', path: 'a', content: '', ifVersion: null },
				{ type: 'write', path: 'b/c', content: '', ifVersion: -1 },
				{ type: 'delete', path: 'b/c', ifVersion: -1 },
			] as const)
				await refusal(workspace.change([first, last]));
			expect(await snapshot(workspace)).toEqual(before);
			expect((await workspace.changes()).changes.filter(({ kind }) => kind !== 'created')).toEqual([]);
		});

		test('a file replaces a folder that the same change empties', async () => {
			const workspace = await create({ 'a/b': 'b' });
			await workspace.change([
				{ type: 'delete', path: 'a/b' },
				{ type: 'write', path: 'a', content: 'file' },
			]);
			expect(await snapshot(workspace)).toEqual({ a: 'file' });
		});

		test('an outdated version is a conflict', async () => {
			const workspace = await create({ a: 'a' });
			const version = Number(Reflect.get(Object(await workspace.stat('a')), 'version'));
			await workspace.write('a', 'of somebody else');
			expect(
				await refusal(workspace.change([{ type: 'write', path: 'a', content: 'A', ifVersion: version }])),
			).toMatchObject({ code: 'conflict', message: expect.stringContaining('Read it again') });
			expect(await snapshot(workspace)).toEqual({ a: 'of somebody else' });
		});

		test('the journal lists the newest change first, with calls and diffs', async () => {
			const workspace = await create();
			await workspace.write('a.txt', 'one\n');
			await workspace.forCall('c1').write('a.txt', 'two\n');
			await workspace.forCall('c2').change([
				{ type: 'move', from: 'a.txt', to: 'b.txt' },
				{ type: 'write', path: 'c.bin', content: Uint8Array.of(0) },
			]);
			const { changes, cursor } = await workspace.changes({ limit: 3 });
			expect(changes.map(({ path, kind, callId }) => [path, kind, callId])).toEqual([
				['b.txt', 'moved', 'c2'],
				['c.bin', 'created', 'c2'],
				['a.txt', 'changed', 'c1'],
			]);
			expect(changes[2]).toMatchObject({ diff: expect.stringContaining('-one\n+two\n') });
			expect(changes[0]?.diff).toContain('rename from a.txt');
			expect(changes[1]).not.toHaveProperty('diff');
			expect(new Set(changes.map(({ id }) => id)).size).toBe(3);
			const older = await workspace.changes({ cursor });
			expect(older.changes.map(({ path, kind }) => [path, kind])).toEqual([['a.txt', 'created']]);
			expect(older.changes[0]).not.toHaveProperty('callId');
			expect(older).not.toHaveProperty('cursor');
		});

		test('a note is stored only if the whole change succeeds', async () => {
			const workspace = await create({ a: 'a' });
			await workspace.change([{ type: 'note', key: 'plan', value: { steps: ['x'] } }]);
			expect(await workspace.readNote('plan')).toEqual({ steps: ['x'] });
			await refusal(
				workspace.change([
					{ type: 'note', key: 'plan', value: undefined },
					{ type: 'delete', path: 'gone' },
				]),
			);
			expect(await workspace.readNote('plan')).toEqual({ steps: ['x'] });
			await workspace.change([{ type: 'note', key: 'plan', value: undefined }]);
			expect(await workspace.readNote('plan')).toBeUndefined();
			expect(await snapshot(workspace)).toEqual({ a: 'a' });
		});

		test('recall() returns the result of the change that the same call made', async () => {
			const workspace = await create();
			const call = workspace.forCall('c1');
			expect(await call.recall()).toBeUndefined();
			await call.change([{ type: 'write', path: 'a', content: 'x' }], { path: 'a', size: 1 });
			expect(await call.recall()).toEqual({ path: 'a', size: 1 });
			expect(await workspace.forCall('c2').recall()).toBeUndefined();
			expect(await workspace.recall()).toBeUndefined();
		});

		test('an ended call cannot change files', async () => {
			const workspace = await create({ a: 'a' });
			const ended = new AbortController();
			const call = workspace.forCall('c1', ended.signal);
			await call.write('a', 'A');
			ended.abort();
			for (const work of [() => call.write('a', 'late'), () => call.undo()])
				expect(await refusal(work())).toMatchObject({ code: 'cancelled', message: /this call has ended/ });
			expect(await snapshot(workspace)).toEqual({ a: 'A' });
		});
	});
}

function describeUndo(name: string, create: CreateWorkspace): void {
	describe(`${name}: undo`, () => {
		test('a step consists of all changes of one call', async () => {
			const workspace = await create({ a: 'a', b: 'b' });
			const call = workspace.forCall('c1');
			await call.write('a', 'A');
			await call.move('b', 'c');
			await call.write('c', 'C');
			expect(await workspace.forCall('u').undo()).toEqual([
				{ path: 'c', kind: 'changed' },
				{ path: 'c', kind: 'moved', from: 'b' },
				{ path: 'a', kind: 'changed' },
			]);
			expect(await snapshot(workspace)).toEqual({ a: 'a', b: 'b' });
		});

		test('two calls with the same id are two steps', async () => {
			const workspace = await create();
			await workspace.forCall('c').write('a', '1');
			await workspace.forCall('c').write('a', '2');
			await workspace.forCall('u').undo();
			expect(await snapshot(workspace)).toEqual({ a: '1' });
		});

		test('an undo skips steps that are already undone', async () => {
			const workspace = await create({ a: '0' });
			for (const text of ['1', '2', '3']) await workspace.forCall(text).write('a', text);
			await workspace.forCall('u1').undo();
			expect(await snapshot(workspace)).toEqual({ a: '2' });
			await workspace.forCall('u2').undo(2);
			expect(await snapshot(workspace)).toEqual({ a: '0' });
			expect((await refusal(workspace.undo())).message).toContain('nothing to undo');
		});

		test('changes by people are not steps', async () => {
			const workspace = await create();
			await workspace.forCall('c1').write('a', 'a');
			await workspace.write('upload', 'of a person');
			await workspace.forCall('u').undo();
			expect(await snapshot(workspace)).toEqual({ upload: 'of a person' });
		});

		test('an undo does not overwrite a later change by somebody else', async () => {
			const workspace = await create({ a: 'a', b: 'b' });
			await workspace.forCall('c1').change([
				{ type: 'write', path: 'a', content: 'A' },
				{ type: 'write', path: 'b', content: 'B' },
			]);
			await workspace.write('a', 'of a person');
			expect(await refusal(workspace.undo())).toMatchObject({
				code: 'conflict',
				message: expect.stringContaining('a was'),
			});
			expect(await snapshot(workspace)).toEqual({ a: 'of a person', b: 'B' });
		});

		test('an undo of too many steps changes nothing', async () => {
			const workspace = await create();
			await workspace.forCall('c1').write('a', 'a');
			expect((await refusal(workspace.undo(2))).message).toContain('Only 1 can be undone');
			expect(await snapshot(workspace)).toEqual({ a: 'a' });
		});

		test('recall() returns the result of the undo that the same call made', async () => {
			const workspace = await create();
			await workspace.forCall('c1').write('a', 'a');
			const call = workspace.forCall('u');
			const undone = await call.undo();
			expect(await call.recall()).toEqual({ undone });
		});

		test('the undo of a step restores exactly the earlier files', async () => {
			const workspace = await create({ a: 'a', 'd/e': 'e' });
			const states = [await snapshot(workspace)];
			const edits = [
				[{ type: 'move', from: 'a', to: 'd/a' }],
				[{ type: 'delete', path: 'd/e' }],
				[
					{ type: 'write', path: 'd/e', content: 'again' },
					{ type: 'move', from: 'd/a', to: 'a' },
				],
				[
					{ type: 'delete', path: 'a' },
					{ type: 'write', path: 'a/b', content: 'deep' },
				],
				[{ type: 'move', from: 'a/b', to: 'a-b' }],
			] as const;
			for (const [at, some] of edits.entries()) {
				await workspace.forCall(`c${at}`).change(some);
				states.push(await snapshot(workspace));
			}
			for (let left = edits.length; left > 0; left--) {
				expect(await snapshot(workspace)).toEqual(states[left]);
				await workspace.forCall(`u${left}`).undo();
			}
			expect(await snapshot(workspace)).toEqual(states[0]);
		});
	});
}
