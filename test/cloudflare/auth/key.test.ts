import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hashKey, makeKey, parseKeys, readKeyId } from '../../../src/cloudflare/auth/key.ts';
import { fromBase64Url, toBase64Url } from '../../../src/core/base/bytes.ts';

test('a key consists of a public id and 32 random bytes', async () => {
	const made = Array.from({ length: 100 }, makeKey);
	for (const { key, id } of made) {
		expect(key).toMatch(/^rl_[a-z0-9]{12}_[\w-]{43}$/);
		expect(readKeyId(key)).toBe(id);
		expect(await hashKey(key)).toMatch(/^[\w-]{43}$/);
	}
	expect(new Set(made.map(({ key }) => key)).size).toBe(100);
	expect(new Set(made.map(({ id }) => id)).size).toBe(100);
});

test('the hash of a key is its SHA-256', async () => {
	expect(await hashKey('abc')).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0');
});

test('by default, a key in API_KEYS has its own id as its owner, and the scope `run`', () => {
	const hash = 'a'.repeat(43);
	expect(parseKeys(JSON.stringify([{ id: 'abcdefgh', hash }]))).toEqual([
		{ id: 'abcdefgh', owner: 'abcdefgh', hash, scopes: ['run'] },
	]);
	const whole = { id: 'abcdefgh', name: 'ci', owner: 'acme', hash, scopes: ['run', 'admin'], budget: { usd: 5 } };
	expect(parseKeys(JSON.stringify([whole]))).toEqual([whole]);
});

test.each([
	['{', 'not valid JSON'],
	['{}', 'the list'],
	['"rl_abcdefgh_aaaa"', 'the list'],
	['["rl_abcdefgh_aaaa"]', '0 '],
	['[{"rl_abcdefgh_aaaa":1}]', '0'],
	['[{}]', '0.id'],
	['[{"id":"x"}]', '0.id'],
	['[{"id":"abcdefgh","hash":"short"}]', '0.hash'],
	[`[{"id":"abcdefgh","hash":"${'a'.repeat(43)}","scopes":["root"]}]`, '0.scopes'],
	[`[{"id":"abcdefgh","hash":"${'a'.repeat(43)}","scopes":[]}]`, '0.scopes'],
	[`[{"id":"abcdefgh","hash":"${'a'.repeat(43)}","budget":{"usd":0}}]`, '0.budget.usd'],
	[`[{"id":"abcdefgh","hash":"${'a'.repeat(43)}","secret":"x"}]`, '0 '],
	[`[{"id":"abcdefgh","hash":"${'a'.repeat(43)}","scopes":"rl_aaaa"}]`, '0.scopes'],
	[`[{"id":"abcdefgh","hash":"${'a'.repeat(43)}","createdAt":["rl_aaaa"]}]`, '0.createdAt'],
	[`[{"id":"abcdefgh","hash":"${'a'.repeat(43)}","budget":{"rl_aaaa":1}}]`, '0.budget '],
	[`[${[1, 2].map(() => `{"id":"abcdefgh","hash":"${'a'.repeat(43)}"}`).join(',')}]`, 'two keys have the id abcdefgh'],
])('the error for an invalid list of keys names the invalid field, and does not quote the list: %s', (text, place) => {
	expect(() => parseKeys(text)).toThrow(
		expect.objectContaining({ code: 'not_configured', message: expect.stringContaining(place) }),
	);
	expect(() => parseKeys(text)).not.toThrow(expect.objectContaining({ message: expect.stringContaining('aaaa') }));
});

test('base64url round-trips bytes', () => {
	fc.assert(
		fc.property(fc.uint8Array(), (bytes) => {
			const text = toBase64Url(bytes);
			expect(text).toMatch(/^[\w-]*$/);
			expect(fromBase64Url(text)).toEqual(bytes);
		}),
	);
});
