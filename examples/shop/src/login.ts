/** Who is logged in: a cookie that the shop has signed. It stands for the login of your shop. */
import { sign, verify } from 'hono/jwt';
import { timingSafeEqual } from 'hono/utils/buffer';
import { parse } from 'hono/utils/cookie';
import { RunletError } from 'runlet';
import type { Account, Env } from 'runlet/cloudflare';
import * as v from 'valibot';

declare module 'runlet/cloudflare' {
	interface Env {
		/** Signs the logins: `openssl rand -hex 32`. */
		readonly LOGIN_SECRET?: string;
		/** Everybody's password in this demo. Without it nobody can log in. */
		readonly DEMO_PASSWORD?: string;
	}
}

type LoginEnv = Pick<Env, 'LOGIN_SECRET' | 'DEMO_PASSWORD'>;

export type Role = 'customer' | 'staff' | 'admin';

export interface Login {
	readonly user: string;
	readonly role: Role;
}

/** The owner of all sessions: the shop is one tenant, and each customer is a user in it. */
export const owner = 'shop';

/** The shop's own server. It has no password, so nobody logs in as it. */
export const server = 'shop-server';

/** The cookie of a login. */
export const cookieName = 'login';

const roles: ReadonlyMap<string, Role> = new Map<string, Role>([
	['ada', 'customer'],
	['ben', 'customer'],
	['kim', 'staff'],
	['lea', 'staff'],
	[server, 'admin'],
]);

export function isCustomer(user: string): boolean {
	return roles.get(user) === 'customer';
}

/** Checks a password. Returns `undefined` for a wrong one and for a person that the shop does not know. */
export async function checkPassword(env: LoginEnv, user: string, password: string): Promise<Login | undefined> {
	const role = roles.get(user);
	const { DEMO_PASSWORD: expected = '' } = env;
	const isRight = expected !== '' && (await timingSafeEqual(password, expected));
	return isRight && role !== undefined && role !== 'admin' ? { user, role } : undefined;
}

/** Makes the value of the cookie. It holds for so many seconds. */
export function signLogin(env: LoginEnv, user: string, seconds: number): Promise<string> {
	return sign({ sub: user, exp: Math.floor(Date.now() / 1_000) + seconds }, getSecret(env), 'HS256');
}

const claims = v.object({ sub: v.string() });

/**
 * Reads the login from the header `Cookie`. The cookie says only who it is. What the person may do is looked up each time,
 * so a change holds at once.
 */
export async function readLogin(env: LoginEnv, header: string | null): Promise<Login | undefined> {
	const secret = getSecret(env);
	const { [cookieName]: token = '' } = parse(header ?? '', cookieName);
	try {
		const { sub: user } = v.parse(claims, await verify(token, secret, 'HS256'));
		const role = roles.get(user);
		return role && { user, role };
	} catch {
		// Not signed by the shop, or over.
		return undefined;
	}
}

/**
 * Tells Runlet which account a request comes from: the staff, and the shop's own server. A customer comes with the token of
 * one conversation, so nobody of them begins one with an agent that is for the staff.
 */
export async function authenticate(request: Request, env: LoginEnv): Promise<Account | undefined> {
	const login = await readLogin(env, request.headers.get('cookie'));
	return login === undefined || login.role === 'customer' ? undefined : { owner, user: login.user, role: login.role };
}

function getSecret({ LOGIN_SECRET: secret = '' }: LoginEnv): string {
	if (secret !== '') return secret;
	throw new RunletError('not_configured', 'LOGIN_SECRET: not set. Run npx wrangler secret put LOGIN_SECRET.');
}
