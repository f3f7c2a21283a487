import { describe, expect, test } from 'vitest';
import { workspace } from '../../../src/core/index.ts';
import { refusal } from '../chat/support.ts';
import { describeWorkspace, snapshot } from './contract.ts';

describeWorkspace('in memory', async (files) => workspace.inMemory(files));

describe('inMemory', () => {
	test('creates files from a record of paths and contents', async () => {
		expect(await snapshot(workspace.inMemory({ 'a/b.txt': 'text', c: new TextEncoder().encode('bytes') }))).toEqual({
			'a/b.txt': 'text',
			c: 'bytes',
		});
	});

	test('refuses an unsafe path, and content that is not a file', () => {
		expect(() => workspace.inMemory({ '../a': '' })).toThrow(/leaves the workspace/);
		expect(() => workspace.inMemory({ a: '', 'a/b': '' })).toThrow(/is a file/);
		// @ts-expect-error: A number is not a file.
		expect(() => workspace.inMemory({ a: 1 })).toThrow(/a text or a Uint8Array/);
	});

	test('enforces the quota, and lets a change use the space that the same change frees', async () => {
		const small = workspace.inMemory({ a: 'aaaa' }, { quota: { files: 2, bytes: 8, fileBytes: 5 } });
		expect((await refusal(small.write('b', '666666'))).message).toMatch(/a file at most 5/);
		await small.write('b', 'bbbb');
		expect(await refusal(small.write('c', ''))).toMatchObject({ code: 'too_large', message: /at most 2 files/ });
		expect((await refusal(small.write('a', 'aaaaa'))).message).toMatch(/at most 8 bytes/);
		await small.change([
			{ type: 'delete', path: 'b' },
			{ type: 'write', path: 'c', content: 'cccc' },
		]);
		expect(await snapshot(small)).toEqual({ a: 'aaaa', c: 'cccc' });
	});

	test('list, stat and read stay fast with 10,000 files', async () => {
		const files = Array.from({ length: 10_000 }, (_, n) => [`d${n % 100}/f${n}.txt`, 'x'.repeat(100)] as const);
		const large = workspace.inMemory(Object.fromEntries(files));
		const begun = performance.now();
		for (let n = 0; n < 1_000; n++) {
			await large.list({ path: `d${n % 100}`, limit: 10 });
			await large.list({ limit: 10 });
			await large.list({ recursive: true, limit: 10 });
			await large.stat(`d${n % 100}/f${n}.txt`);
			await large.read(`d${n % 100}/f${n}.txt`, { to: 10 });
		}
		// These are 5,000 calls. A call that looked at every file would take about a millisecond.
		expect(performance.now() - begun).toBeLessThan(1_500);
	});
});
