import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makeTokenKey, readToken, signToken, verifyToken } from '../../../src/cloudflare/auth/token.ts';

const session = 'ab'.repeat(32);
const id = '0123456789abcdef';
const refused = (message: string) =>
	expect.objectContaining({ code: 'auth', message: expect.stringContaining(message) });

test('a token opens its session until it expires', async () => {
	const tokenKey = makeTokenKey();
	const claims = { session, id, expiresAt: 2_000_000_000 };
	const token = await signToken(claims, tokenKey);
	expect(readToken(token)).toEqual(claims);
	expect(await verifyToken(token, tokenKey, 1_999_999_999_999)).toEqual(claims);
	await expect(verifyToken(token, tokenKey, 2_000_000_000_000)).rejects.toThrow(refused('has expired'));
	expect(await signToken(claims, tokenKey)).toBe(token);
});

test('a token is invalid if another session signed it, or if its session has no key', async () => {
	const tokenKey = makeTokenKey();
	const token = await signToken({ session, id, expiresAt: 2_000_000_000 }, makeTokenKey());
	await expect(verifyToken(token, tokenKey, 0)).rejects.toThrow(refused('not valid'));
	await expect(verifyToken(token, undefined, 0)).rejects.toThrow(refused('not valid'));
});

test('a changed token opens nothing', async () => {
	const tokenKey = makeTokenKey();
	const token = await signToken({ session, id, expiresAt: 2_000_000_000 }, tokenKey);
	const places = fc.nat({ max: token.length - 1 });
	const property = fc.asyncProperty(places, fc.constantFrom(...'0123456789abcdefz_-A'), async (place, char) => {
		fc.pre(token[place] !== char);
		const changed = token.slice(0, place) + char + token.slice(place + 1);
		await expect(verifyToken(changed, tokenKey, 0)).rejects.toThrow(refused('not valid'));
	});
	await fc.assert(property);
});

test('refuses a token whose base64url is not canonical', async () => {
	const token = await signToken({ session, id, expiresAt: 2_000_000_000 }, makeTokenKey());
	const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
	const last = alphabet.indexOf(token.at(-1) ?? '');
	for (const more of [1, 2, 3]) {
		const other = token.slice(0, -1) + alphabet[last + more];
		expect(Buffer.from(other.slice(-43), 'base64url')).toEqual(Buffer.from(token.slice(-43), 'base64url'));
		expect(readToken(other)).toBeUndefined();
	}
	expect(readToken(`${token}=`)).toBeUndefined();
});

test('a malformed text is not read as a token', () => {
	const forms = [
		'',
		'rls_',
		`rls_${session}`,
		`rls_${session}_${id}_zz_${'a'.repeat(42)}`,
		`rls_${session}_zz_${'A'.repeat(43)}`,
		`rls_${session}_${id.toUpperCase()}_zz_${'A'.repeat(43)}`,
		`rl_${session}_${id}_zz_${'A'.repeat(43)}`,
	];
	for (const form of [
		...forms,
		`rls_${session}_${id}_00_${'A'.repeat(43)}`,
		`rls_${session}_${id}_zzzzzzzzzzz_${'A'.repeat(43)}`,
	])
		expect(readToken(form), form).toBeUndefined();
});
