import type { Context, MiddlewareHandler } from 'hono';
import type { Actor } from '../../core/base/actor.ts';
import { createFieldError, RunletError } from '../../core/base/errors.ts';
import { webAgent } from '../../core/toolboxes/web/robots.ts';
import type { Runtime } from '../agent/runtime.ts';
import {
	type Authenticate,
	type Identity,
	identify,
	identifyAccount,
	identifyLocal,
	isOwnCredential,
} from '../auth/identity.ts';
import type { KeyRecord, Scope } from '../auth/key.ts';
import { isFromThisMachine, isOwnPage, type LocalMode, localHeader } from '../auth/local.ts';
import { assertRight, findTokenScope, type Right, type Role } from '../auth/rights.ts';
import { readConfig, readDoor } from '../config/config.ts';
import type { WorkerEnv } from '../config/env.ts';
import { findOrigin } from '../config/environment.ts';
import { logThrown } from '../log.ts';
import type { Caller } from '../objects/session-api.ts';
import { assertRate, assertStrangerRate } from './rate.ts';

export type RouteEnv = {
	Bindings: WorkerEnv;
	Variables: {
		identity: Identity;
		/** The random part of the request's id. */
		requestId: string;
		/** The session that the request is about, once the session has answered. */
		session?: string;
		/** The run that the request began or joined. */
		runId?: string;
		bodyText?: string;
		/** The prefix of the addresses in answers. */
		basePath: string;
		/** The files that requests name by their ids. Missing without the plugin `files`. */
		uploads: Runtime['uploads'];
		/** Finds the account of a request, if the product has accounts. */
		accounts: Authenticate | undefined;
	};
};

export interface RouteOptions extends Pick<Runtime, 'uploads'> {
	/** Whether the page is served. By default it is. */
	readonly page?: boolean | undefined;
	/** The prefix of all paths, such as `/ai`. Empty by default. */
	readonly basePath?: string;
	/** Finds the account of a request. Without this function, there are only API keys. */
	readonly authenticate?: Authenticate;
}

export function setOptions({ basePath = '', authenticate, uploads }: RouteOptions): MiddlewareHandler<RouteEnv> {
	return async (c, next) => {
		c.set('basePath', basePath);
		c.set('accounts', authenticate);
		c.set('uploads', uploads);
		await next();
	};
}

export function isOnlyLocal(c: Context<RouteEnv>): boolean {
	return c.var.accounts === undefined && readDoor(c.env).keys.length === 0;
}

/**
 * Refuses requests if there are neither API keys nor accounts (docs/keys.md). In this case only the local mode of `npm
 * start` answers, and only requests through its proxy. This mode refuses pages that `isAllowedPage` does not allow.
 */
export const assertMayAnswer: MiddlewareHandler<RouteEnv> = async (c, next) => {
	const { local } = readConfig(c.env);
	if (isOnlyLocal(c)) {
		if (local === undefined) {
			throw new RunletError(
				'not_configured',
				'API_KEYS: not set, so this Worker answers nobody. Make a key: npm run keys -- make --remote. On your own machine npm start needs none.',
			);
		}
		assertLocal(c, local);
	}
	await next();
};

function assertLocal(c: Context<RouteEnv>, local: LocalMode): void {
	if (!isFromThisMachine(local, c.req.url, c.req.header(localHeader))) {
		throw new RunletError(
			'forbidden',
			'Without API keys only this machine is answered, at the address that npm start printed: http://127.0.0.1 or http://localhost with its port.',
		);
	}
	if (isFromWebTool(c))
		throw new RunletError('forbidden', 'The API of Runlet is not for web_fetch: a model would read other sessions.');
	assertOwnPage(c);
}

/** Whether a request comes from a tool that reads the web. Such requests come from this machine, too. */
function isFromWebTool(c: Context<RouteEnv>): boolean {
	return c.req.header('user-agent') === webAgent;
}

function assertOwnPage(c: Context<RouteEnv>): void {
	const origin = c.req.header('origin');
	if (origin === undefined ? isFromOtherSite(c) : !isAllowedPage(c, origin)) {
		throw new RunletError(
			'forbidden',
			`Origin: a page of ${(origin ?? 'another site').slice(0, 200)} may not call this address. If it is yours: CORS_ORIGINS=… in .dev.vars, with its origin.`,
			{ field: 'Origin' },
		);
	}
}

/** For a write without `Origin`: `Sec-Fetch-Site` shows whether a page of another site sent the write. */
function isFromOtherSite(c: Context<RouteEnv>): boolean {
	if (c.req.method === 'GET' || c.req.method === 'HEAD') return false;
	return !['same-origin', 'none', undefined].includes(c.req.header('sec-fetch-site'));
}

/** Whether a page is allowed to call: it is in `CORS_ORIGINS`, or it is the Worker's own page and needs no key. */
export function isAllowedPage(c: Context<RouteEnv>, origin: string): boolean {
	const { corsOrigins, local } = readConfig(c.env);
	const needsNoKey = c.var.accounts !== undefined || (isOnlyLocal(c) && local !== undefined);
	return corsOrigins.includes(origin) || (needsNoKey && isOwnPage(origin, c.req.url));
}

/** Throws `auth` for a caller without a valid key or token, and `rate_limited` for too many requests. */
export const authenticate: MiddlewareHandler<RouteEnv> = async (c, next) => {
	const identity: Identity = isOnlyLocal(c) ? await identifyLocal(findCredential(c)) : await identifyStranger(c);
	if (!isOnlyLocal(c))
		await assertRate(c, getRateKey(c, identity), identity.kind === 'person' ? identity.rate : undefined);
	c.set('identity', identity);
	await next();
	// Only the session can tell whether its token is valid.
	if (identity.kind === 'token' && c.res.status === 401 && !isOnlyLocal(c)) await assertStrangerRate(c);
};

async function identifyStranger(c: Context<RouteEnv>): Promise<Identity> {
	try {
		return await identifyCaller(c);
	} catch (error) {
		await assertStrangerRate(c);
		throw error;
	}
}

/** Identifies a caller by the API key or session token in the header. If there is none, uses an account. */
async function identifyCaller(c: Context<RouteEnv>): Promise<Identity> {
	const { accounts, basePath } = c.var;
	const header = findCredential(c);
	if (accounts === undefined || isOwnCredential(header)) return identify(header, (id) => findRecord(c.env, id));
	// Browsers send cookies with calls of any page, but an `authorization` header only for allowed pages.
	if (c.req.header('authorization') === undefined) assertOwnPage(c);
	const url = new URL(c.req.url);
	url.pathname = `${basePath}${url.pathname}`;
	const { method, headers } = c.req.raw;
	return identifyAccount(accounts, {
		request: new Request(url, { method, headers }),
		env: findOrigin(c.env).original,
		onThrow: (thrown) => logThrown('authenticate.threw', thrown, { local: readDoor(c.env).local !== undefined }),
	});
}

async function findRecord(env: WorkerEnv, id: string): Promise<KeyRecord | undefined> {
	const { keys, storedKeys } = readDoor(env);
	const known = keys.find((key) => key.id === id);
	if (known !== undefined || storedKeys === undefined) return known;
	await storedKeys.refreshKey(id);
	return storedKeys.find(id);
}

/**
 * Throws `forbidden` for a caller who is not allowed to see the problems of the setup. Allows `npm start`, keys with
 * the role admin, and the scope admin. Reads only the variables of the keys, because another variable can be wrong.
 */
export async function assertMayLook(c: Context<RouteEnv>): Promise<void> {
	if (isHere(c)) return;
	const identity = await identifyCaller(c);
	const isKey = identity.kind === 'person' && identity.by.via === 'key';
	if (isKey && identity.role === 'admin') return;
	if (identity.kind === 'person' && identity.scopes.includes('admin')) return;
	throw new RunletError('forbidden', 'This needs an API key with the role admin, or an account with the scope admin.');
}

/** Counts requests that need no key: CORS preflights and paths outside the API. */
export const limitStrangers: MiddlewareHandler<RouteEnv> = async (c, next) => {
	const isOpen = c.req.method === 'OPTIONS' || !/^\/(v1|mcp)\//.test(c.req.path);
	if (isOpen && !isOnlyLocal(c)) await assertStrangerRate(c);
	await next();
};

/**
 * Returns `Authorization`, or the key or token in `x-api-key` or `api-key`, which some clients send. Throws `auth` if both
 * have keys or tokens of Runlet, and they differ: one of them would be ignored.
 */
function findCredential(c: Context<RouteEnv>): string | undefined {
	const bearer = c.req.header('authorization')?.trim();
	const name = c.req.header('x-api-key') === undefined ? 'api-key' : 'x-api-key';
	const key = c.req.header(name)?.trim();
	const alone = key ? `Bearer ${key}` : undefined;
	if (!bearer || alone === undefined) return bearer || alone;
	if (bearer.slice(7).trim() !== key && isOwnCredential(alone) && isOwnCredential(bearer))
		throw createFieldError('auth', name, 'another key than in Authorization. Send only one of them.');
	return bearer;
}

/** Returns the name for counting requests. A token is not verified yet, so its name contains the caller's address. */
function getRateKey(c: Context<RouteEnv>, identity: Identity): string {
	if (identity.kind === 'person') {
		const { via, owner, user, id } = identity.by;
		return via === 'account' ? `account ${user === undefined ? owner : JSON.stringify([owner, user])}` : `key ${id}`;
	}
	return `session ${identity.session} ${c.req.header('cf-connecting-ip') ?? ''}`;
}

export interface PersonCaller {
	readonly owner: string;
	readonly by: Actor;
	readonly role: Role;
}

/** Throws `not_found` for a token of another session. */
export function getCaller(c: Context<RouteEnv>, session: string): Caller {
	const { identity } = c.var;
	if (identity.kind === 'token') {
		if (identity.session !== session) throw new RunletError('not_found', 'There is no such session.');
		return { token: identity.token };
	}
	return getPerson(c);
}

/** Throws `forbidden` for a session token. */
export function getPerson(c: Context<RouteEnv>): PersonCaller {
	const { by, role } = assertScope(c, 'run');
	return { owner: by.owner, by, role };
}

/** Returns the caller. The scope admin allows a caller to use the sessions of all owners. */
export function getCallerOrAdmin(c: Context<RouteEnv>, session: string): Caller {
	const { identity } = c.var;
	if (identity.kind !== 'person' || !isAdmin(c)) return getCaller(c, session);
	const { by, role } = identity;
	return { owner: by.owner, by, role, isAdmin: true };
}

export function isAdmin(c: Context<RouteEnv>): boolean {
	const { identity } = c.var;
	return identity?.kind === 'person' && identity.scopes.includes('admin');
}

export function isHere(c: Context<RouteEnv>): boolean {
	const { local } = readDoor(c.env);
	return !isFromWebTool(c) && local !== undefined && isFromThisMachine(local, c.req.url, c.req.header(localHeader));
}

/** Whether the caller has a key with the role admin. Reads only the variables of the keys. */
export async function hasAdminKey(c: Context<RouteEnv>): Promise<boolean> {
	const header = findCredential(c);
	if (!isOwnCredential(header)) return false;
	const identity = await identify(header, (id) => findRecord(c.env, id));
	return identity.kind === 'person' && identity.role === 'admin';
}

export function getActor(c: Context<RouteEnv>): Actor {
	return findPerson(c).by;
}

/** Returns the owner, which names the ledger and the directory. Throws `forbidden` for a session token. */
export function getOwner(c: Context<RouteEnv>): string {
	return findPerson(c).by.owner;
}

/**
 * Returns the user whose sessions a list contains: a customer gets only their own sessions. Others get the sessions of
 * all users, or of the requested user. Throws `forbidden` for a customer who names somebody else.
 */
export function getListedUser(c: Context<RouteEnv>, requested: string | undefined): { readonly user?: string | null } {
	const { by, role } = findPerson(c);
	if (role !== 'customer') return requested === undefined ? {} : { user: requested };
	if (requested !== undefined && requested !== by.user) assertRight(role, 'seeUsers', 'user');
	return { user: by.user ?? null };
}

/** Returns the owner of a list. Throws `forbidden` for another owner, unless the caller has the scope admin. */
export function getListedOwner(c: Context<RouteEnv>, requested: string | undefined): string {
	const { owner } = findPerson(c).by;
	if (requested === undefined || requested === owner) return owner;
	assertScope(c, 'admin');
	return requested;
}

/** Throws `forbidden` for a caller without this right. The session itself verifies its tokens and their scopes. */
export function assertMay(c: Context<RouteEnv>, right: Right, isOfSession = false): void {
	const { identity } = c.var;
	if (identity.kind === 'token') {
		if (findTokenScope(right) === undefined && !isOfSession) findPerson(c);
		return;
	}
	// A key with any scope can list agents and skills.
	if (right !== 'seeAgents' && right !== 'seeSkills') assertScope(c, 'run');
	assertRight(identity.role, right);
}

/** Returns the caller. Throws `forbidden` if the caller does not have the scope. */
export function assertScope(c: Context<RouteEnv>, scope: Scope) {
	const person = findPerson(c);
	if (person.scopes.includes(scope)) return person;
	const needs = (what: string) =>
		`This needs ${what} with the scope ${scope}; this one has ${person.scopes.join(', ')}.`;
	const message =
		person.by.via === 'account'
			? needs('an account')
			: `${needs('a key')} Make one: npm run keys -- make --scope ${scope}.`;
	throw new RunletError('forbidden', message, { scope });
}

function findPerson(c: Context<RouteEnv>) {
	const { identity } = c.var;
	if (identity.kind === 'person') return identity;
	throw new RunletError('forbidden', 'A session token opens its session and nothing else. This needs an API key.');
}
