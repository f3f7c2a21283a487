import { expect, test } from 'vitest';
import { createSecretsBox, parseSecretsKey, type SecretsKey } from '../../../src/cloudflare/auth/secrets-box.ts';
import { toBase64 } from '../../../src/core/base/bytes.ts';

function makeKey(): SecretsKey {
	const key = parseSecretsKey(toBase64(crypto.getRandomValues(new Uint8Array(32))));
	if (key === undefined) throw new Error('no key');
	return key;
}
const [first, second] = [makeKey(), makeKey()];

test('a sealed text is unreadable, and can be opened with the same context', async () => {
	const box = createSecretsBox([first]);
	const sealed = await box.seal('a secret – ü', 'alice tool');
	expect(sealed).toMatch(/^v1\.[\w-]{11}\.[\w-]{16}\.[\w-]+$/);
	expect(atob(sealed.split('.')[3]?.replaceAll('-', '+').replaceAll('_', '/') ?? '')).not.toContain('secret');
	expect(await box.open(sealed, 'alice tool')).toBe('a secret – ü');
	expect(await createSecretsBox([first]).open(sealed, 'alice tool')).toBe('a secret – ü');
	expect(await box.seal('a secret – ü', 'alice tool')).not.toBe(sealed);
});

test('a sealed text cannot be opened with another context or key, or after a change', async () => {
	const box = createSecretsBox([first]);
	const sealed = await box.seal('a secret', 'alice tool');
	expect(await box.open(sealed, 'bob tool')).toBeUndefined();
	const last = sealed.at(-3) === 'A' ? 'B' : 'A';
	expect(await box.open(`${sealed.slice(0, -3)}${last}${sealed.slice(-2)}`, 'alice tool')).toBeUndefined();
	expect(await createSecretsBox([second]).open(sealed, 'alice tool')).toBeUndefined();
	for (const broken of ['', 'v1', 'v2.a.b.c', sealed.slice(0, -10), `${sealed}=`, 'v1.....'])
		expect(await box.open(broken, 'alice tool')).toBeUndefined();
});

test('a new text is sealed with the first key of the list, and the other keys still open older texts', async () => {
	const old = await createSecretsBox([first]).seal('a secret', 'x');
	const both = createSecretsBox([second, first]);
	expect(await both.open(old, 'x')).toBe('a secret');
	expect(await both.isCurrent(old)).toBe(false);
	const again = await both.seal('a secret', 'x');
	expect(await both.isCurrent(again)).toBe(true);
	expect(await createSecretsBox([second]).open(again, 'x')).toBe('a secret');
});

test('accepts only a key of 32 bytes as base64 or base64url', () => {
	const bytes = new Uint8Array(32).fill(251);
	const text = toBase64(bytes);
	expect(parseSecretsKey(text)).toEqual(bytes);
	expect(parseSecretsKey(text.replaceAll('+', '-').replaceAll('/', '_').replace('=', ''))).toEqual(bytes);
	for (const wrong of [
		'',
		'password',
		'x'.repeat(32),
		toBase64(bytes.subarray(1)),
		`${text}=`,
		`${text} `,
		'é'.repeat(43),
	])
		expect(parseSecretsKey(wrong), wrong).toBeUndefined();
});
