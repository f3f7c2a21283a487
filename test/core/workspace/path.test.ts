import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { workspace } from '../../../src/core/index.ts';
import { checkFolder, checkPath } from '../../../src/core/workspace/path.ts';
import { refusal } from '../chat/support.ts';

const refused: readonly [name: string, path: string][] = [
	['a step out of the workspace', '..'],
	['a step out of the workspace through a folder', 'a/../../b'],
	['a step into a folder and back out', 'a/../b'],
	['an absolute path', '/etc/passwd'],
	['the root of the machine', '/'],
	['a drive', 'C:/x'],
	['a drive without a slash', 'c:x'],
	['a drive behind a dot', './c:x'],
	['a backslash', 'a\\..\\b'],
	['a share', '\\\\server\\x'],
	['an address', 'https://example.com/x'],
	['NUL', 'a\0b'],
	['a line feed', 'a\nb'],
	['DEL', 'a\u007fb'],
	['a C1 control character', 'a\u0085b'],
	['a zero-width space', 'a\u200bb'],
	['a zero-width joiner', '.\u200d.'],
	['a byte order mark', '\ufeffa'],
	['a soft hyphen', 'a\u00adb'],
	['a right-to-left override', 'a\u202efdp.exe'],
	['a directional isolate', 'a\u2066b'],
	['a line separator', 'a\u2028b'],
	['a tag character', 'a\u{e0041}'],
	['full-width dots', '\uff0e\uff0e/a'],
	['a full-width slash', 'a\uff0fb'],
	['a full-width backslash', 'a\uff3cb'],
	['a full-width colon', 'c\uff1ax'],
	['a one-dot leader', '\u2024\u2024/a'],
	['a two-dot leader', '\u2025/a'],
	['a division slash', 'a\u2215b'],
	['a fraction slash', 'a\u2044b'],
	['a high surrogate alone', 'a\ud800'],
	['a low surrogate alone', '\udc00a'],
	['a device', 'NUL'],
	['a device in small letters', 'a/con'],
	['a device with an extension', 'com1.txt'],
	['a device with a superscript digit', 'lpt\u00b2'],
	['a blank path', ' '],
	['a blank name', 'a/ /b'],
	['an ideographic space', 'a/\u3000/b'],
	['a Hangul filler', 'a/\u3164/b'],
	['two slashes', 'a//b'],
	['a name that ends with a space', 'a /b'],
	['two dots and a space', '.. /a'],
	['three dots', '.../a'],
	['a name that ends with a dot', 'a.'],
	['an empty path', ''],
	['the folder itself', '.'],
	['a path that ends with a slash', 'a/'],
	['a name of 256 bytes', 'a'.repeat(256)],
	['a name of 256 bytes in fewer characters', 'é'.repeat(128)],
	['5,000 characters', 'a/'.repeat(2_500)],
];

describe('a path', () => {
	test.each(refused)('%s is refused, and the error names a remedy', (_, path) => {
		expect(() => checkPath(path)).toThrow(/^path: .*\. ?\S/s);
		expect(() => checkPath(path)).not.toThrow(/[\p{C}\p{Zl}\p{Zp}]/u);
	});

	test.each([
		'a',
		'src/index.ts',
		'.gitignore',
		'a b/c (1).txt',
		'Überblick.md',
		'naïve/日本語/😀.txt',
		'a..b',
		'cons',
		'a~',
		'é'.repeat(127),
	])('%s is not changed', (path) => {
		expect(checkPath(path)).toBe(path);
	});

	test('is normalized to NFC, so that two spellings name one file', async () => {
		const files = workspace.inMemory({ 'cafe\u0301.txt': 'x' });
		expect(await files.stat('caf\u00e9.txt')).toMatchObject({ type: 'file', path: 'caf\u00e9.txt' });
	});

	test('can begin with ./', () => {
		expect(checkPath('./a/./b')).toBe('a/b');
		expect([checkFolder('.'), checkFolder('./'), checkFolder(''), checkFolder('a/')]).toEqual(['', '', '', 'a']);
	});

	test('is checked by every method', async () => {
		const files = workspace.inMemory({ a: 'x' });
		for (const work of [
			() => files.list({ path: '../a' }),
			() => files.stat('../a'),
			() => files.read('../a'),
			() => files.readLines('../a'),
			() => files.write('../a', ''),
			() => files.delete('../a'),
			() => files.move('a', '../a'),
			() => files.move('../a', 'b'),
			() => files.change([{ type: 'write', path: '../a', content: '' }]),
		])
			expect(await refusal(work())).toMatchObject({ code: 'invalid_argument' });
	});

	const tricks = [
		'.',
		'..',
		'/',
		'\\',
		':',
		'\0',
		' ',
		'\u200b',
		'\u202e',
		'\uff0e',
		'\uff0f',
		'\u2024',
		'\ud800',
		'a',
		'é',
		'con',
		'~',
		'%2e',
	];

	test('that is accepted is within the workspace and already normalized', () => {
		fc.assert(
			fc.property(
				fc.array(fc.oneof(fc.constantFrom(...tricks), fc.string({ unit: 'binary', maxLength: 3 }))),
				(pieces) => {
					let taken: string;
					try {
						taken = checkPath(pieces.join(''));
					} catch {
						return;
					}
					expect(checkPath(taken)).toBe(taken);
					expect(taken).toBe(taken.normalize('NFC'));
					expect(taken).not.toMatch(/^\/|\\|\/\/|\/$|[\p{Cc}\p{Cf}\p{Cs}]/u);
					for (const form of [taken, taken.normalize('NFKC')]) {
						const names = form.split('/');
						expect(names.map((name) => name.trim())).not.toContain('..');
						expect(names).toHaveLength(taken.split('/').length);
					}
				},
			),
			{ numRuns: 3_000 },
		);
	});
});
