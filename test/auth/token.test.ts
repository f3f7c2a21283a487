import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makeTokenKey, readToken, signToken, verifyToken } from '../../src/auth/token.ts';

const session = 'ab'.repeat(32);
const refused = (message: string) =>
	expect.objectContaining({ code: 'auth', message: expect.stringContaining(message) });

test('a token says which session it opens and until when, and opens it until then', async () => {
	const tokenKey = makeTokenKey();
	const claims = { session, expiresAt: 2_000_000_000 };
	const token = await signToken(claims, tokenKey);
	expect(readToken(token)).toEqual(claims);
	await verifyToken(token, tokenKey, 1_999_999_999_999);
	await expect(verifyToken(token, tokenKey, 2_000_000_000_000)).rejects.toThrow(refused('has expired'));
	expect(await signToken(claims, tokenKey)).toBe(token);
});

test('a token that another session signed, or that nobody did, opens nothing', async () => {
	const tokenKey = makeTokenKey();
	const token = await signToken({ session, expiresAt: 2_000_000_000 }, makeTokenKey());
	await expect(verifyToken(token, tokenKey, 0)).rejects.toThrow(refused('not valid'));
	await expect(verifyToken(token, undefined, 0)).rejects.toThrow(refused('not valid'));
});

test('whatever is changed in a token, it opens nothing', async () => {
	const tokenKey = makeTokenKey();
	const token = await signToken({ session, expiresAt: 2_000_000_000 }, tokenKey);
	// The last character of the signature holds two bits that no byte has.
	const places = fc.nat({ max: token.length - 2 });
	const property = fc.asyncProperty(places, fc.constantFrom(...'0123456789abcdefz_-A'), async (place, char) => {
		fc.pre(token[place] !== char);
		const changed = token.slice(0, place) + char + token.slice(place + 1);
		await expect(verifyToken(changed, tokenKey, 0)).rejects.toThrow(refused('not valid'));
	});
	await fc.assert(property);
});

test('what has not the form of a token is none', () => {
	const forms = [
		'',
		'rls_',
		`rls_${session}`,
		`rls_${session}_zz_${'a'.repeat(42)}`,
		`rl_${session}_zz_${'a'.repeat(43)}`,
	];
	for (const form of [...forms, `rls_${session}_00_${'a'.repeat(43)}`, `rls_${session}_zzzzzzzzzzz_${'a'.repeat(43)}`])
		expect(readToken(form), form).toBeUndefined();
});
