import { sign } from 'hono/jwt';
import { describe, expect, test } from 'vitest';
import { authenticate, checkPassword, cookieName, readLogin, server, signLogin } from '../src/login.ts';

const env = { LOGIN_SECRET: 'secret-of-the-test', DEMO_PASSWORD: 'tea' };
const toCookie = (token: string) => `other=1; ${cookieName}=${token}`;

describe('a login', () => {
	test('gives Runlet the owner, the user and the role', async () => {
		const cookie = toCookie(await signLogin(env, 'kim', 60));
		const request = new Request('https://shop.example.com/', { headers: { cookie } });
		expect(await authenticate(request, env)).toEqual({ owner: 'shop', user: 'kim', role: 'staff' });
	});

	test('of a customer is no account: customers come with the token of a conversation', async () => {
		const headers = { cookie: toCookie(await signLogin(env, 'ada', 60)) };
		expect(await authenticate(new Request('https://shop.example.com/', { headers }), env)).toBe(undefined);
	});

	test('is nobody without a cookie, with a signature of somebody else, and once it is over', async () => {
		const foreign = await sign({ sub: 'kim', exp: Math.floor(Date.now() / 1_000) + 60 }, 'another secret', 'HS256');
		const unsigned = `${btoa('{"alg":"none"}')}.${btoa('{"sub":"kim"}')}.`.replaceAll('=', '');
		const cookies = [
			null,
			'',
			toCookie('kim'),
			toCookie(foreign),
			toCookie(unsigned),
			toCookie(await signLogin(env, 'kim', -1)),
		];
		for (const cookie of cookies) expect([cookie, await readLogin(env, cookie)]).toEqual([cookie, undefined]);
	});

	test('needs the secret', async () => {
		await expect(readLogin({ ...env, LOGIN_SECRET: '' }, null)).rejects.toThrow('LOGIN_SECRET: not set');
	});
});

describe('a password', () => {
	test('lets customers and staff in', async () => {
		expect(await checkPassword(env, 'ada', 'tea')).toEqual({ user: 'ada', role: 'customer' });
		expect(await checkPassword(env, 'kim', 'tea')).toEqual({ user: 'kim', role: 'staff' });
	});

	test('lets nobody in as the server, as somebody unknown, or where no password is set', async () => {
		for (const [user, password] of [
			[server, 'tea'],
			['eve', 'tea'],
			['ada', 'coffee'],
			['constructor', 'tea'],
		] as const)
			expect([user, await checkPassword(env, user, password)]).toEqual([user, undefined]);
		expect(await checkPassword({ ...env, DEMO_PASSWORD: '' }, 'ada', '')).toBeUndefined();
	});
});
