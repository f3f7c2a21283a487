import * as v from 'valibot';
import type { Actor } from '../../core/base/actor.ts';
import { check } from '../../core/base/check.ts';
import type { Env } from '../../core/base/env.ts';
import { createFieldError, RunletError, toMessageText } from '../../core/base/errors.ts';
import { withTimeLimit } from '../../core/base/promises.ts';
import { type FindRecord, findMatch } from './find-key.ts';
import { isOver, readKeyId, type Scope, scopes } from './key.ts';
import { type Role, roles, userName } from './rights.ts';
import { readToken } from './token.ts';

/** The caller of a request: an actor with an API key or an account, or the holder of a session token. */
export type Identity =
	| {
			readonly kind: 'person';
			readonly by: Actor;
			/** Decides the caller's rights within the owner. */
			readonly role: Role;
			/** Rights for all owners. */
			readonly scopes: readonly Scope[];
			/** The name of a stored key. */
			readonly name?: string | undefined;
			/** The maximum number of requests in 10 seconds, if the key has its own limit. */
			readonly rate?: number | undefined;
	  }
	/** Only the session can verify its token. */
	| { readonly kind: 'token'; readonly session: string; readonly token: string };

export const localIdentity = {
	kind: 'person',
	by: { owner: 'local', via: 'key', id: 'local' },
	role: 'admin',
	scopes,
} satisfies Identity;

/** If there are API keys: the owner of webhook sessions for which the mapping names no owner. */
export const webhookOwner = 'webhooks';

/** If there are API keys: the owner of schedules that name no owner. */
export const scheduleOwner = 'schedules';

const tokenStart = 'rls_';

const bearer = /^Bearer +([\x21-\x7e]+) *$/i;

/** Identifies a caller. Throws `auth`, which does not reveal whether a key is unknown, revoked or misspelt. */
export async function identify(header: string | undefined, find: FindRecord): Promise<Identity> {
	if (header === undefined || header.trim() === '')
		throw createRefusal('missing. Send your API key, or a session token: Authorization: Bearer rl_…');
	const text = bearer.exec(header)?.[1];
	if (text === undefined) throw createRefusal('expected Bearer and an API key or a session token');
	const claims = readToken(text);
	if (claims !== undefined) return { kind: 'token', session: claims.session, token: text };
	const record = await findMatch(text, find);
	if (record === undefined)
		throw createRefusal(
			text.startsWith(tokenStart)
				? 'this session token is not valid. Ask for a new one'
				: 'this key is not known, or was revoked. npm run keys -- list has those that are; npm start -- --keys reads them when it starts',
			'invalid_token',
		);
	if (isOver(record))
		throw createRefusal(
			`this key ended on ${record.expiresAt}: another one of its owner took its place. Use that one`,
			'invalid_token',
		);
	const { id, name, owner, user, role = 'admin', scopes, rate } = record;
	const by: Actor = { owner, ...(user !== undefined && { user }), via: 'key', id };
	return { kind: 'person', by, role, scopes, name, rate };
}

/** Identifies a session token. Any other caller is this machine: OpenAI's clients always send some key. */
export async function identifyLocal(header: string | undefined): Promise<Identity> {
	const isToken = bearer.exec(header ?? '')?.[1]?.startsWith(tokenStart) === true;
	return isToken ? identify(header, async () => undefined) : localIdentity;
}

/** Whether a header has the form of an API key or a session token. Does not verify it. */
export function isOwnCredential(header: string | undefined): boolean {
	const text = bearer.exec(header ?? '')?.[1] ?? '';
	return readToken(text) !== undefined || readKeyId(text) !== undefined;
}

function createRefusal(why: string, challenge?: 'invalid_token'): RunletError {
	return new RunletError('auth', `Authorization: ${why}.`, { field: 'Authorization', ...(challenge && { challenge }) });
}

/** The account of a request in your product (docs/customers.md). */
export interface Account {
	/** Your product, or a business customer of your product. 1 to 128 visible ASCII characters, without spaces. */
	readonly owner: string;
	/** A customer or a colleague. 1 to 200 characters. Without a user, the owner itself is the person. */
	readonly user?: string;
	/** `customer` (the default), `staff` or `admin` (docs/keys.md, "Roles"). */
	readonly role?: Role;
	/** Rights beyond the owner, with the same names as for API keys: `run` (the default), `admin`, `keys`. */
	readonly scopes?: readonly Scope[];
}

/** Finds the account of a request by the product's own cookie or token. The request is passed without its body. */
export type Authenticate = (
	request: Request,
	env: Env,
) => Account | undefined | null | Promise<Account | undefined | null>;

/** The key id of all accounts. It is shorter than any API key's id, so no API key can have this id. */
export const accountKeyId = 'account';

export function findKeyId({ via, id }: Actor): string {
	return via === 'account' ? accountKeyId : id;
}

/** Owners that no account can have: this machine, webhooks, schedules, and `*`, which means all owners. */
const reserved: ReadonlySet<string> = new Set([localIdentity.by.owner, webhookOwner, scheduleOwner, '*']);

const schema = v.strictObject({
	owner: v.pipe(
		v.string(),
		v.regex(/^[\x21-\x7e]{1,128}$/, 'expected 1 to 128 visible ASCII characters without spaces'),
		v.check(
			(owner) => !reserved.has(owner),
			'this name is one of Runlet’s own. Put something before it, such as user:webhooks',
		),
	),
	user: v.optional(userName),
	role: v.optional(v.picklist(roles), 'customer'),
	scopes: v.optional(v.pipe(v.array(v.picklist(scopes)), v.nonEmpty('must not be empty')), ['run']),
});

/** The time limit of `authenticate`, in milliseconds. */
const limitMs = 10_000;
/** Seconds after which a client should try again. */
const retryAfter = 5;

/**
 * Returns the identity of a request's account. Throws `auth` without an account, `not_configured` if
 * `authenticate` throws or returns a wrong value, and `overloaded` if it takes too long. A `RunletError` of
 * `authenticate` is thrown unchanged. `onThrow` logs any other error, whose message may hold a secret.
 */
export async function identifyAccount(
	authenticate: Authenticate,
	{ request, env, onThrow }: { readonly request: Request; readonly env: Env; onThrow(thrown: unknown): void },
): Promise<Identity> {
	const account = await callInTime(async () => {
		try {
			return await authenticate(request, env);
		} catch (thrown) {
			if (thrown instanceof RunletError) throw thrown;
			onThrow(thrown);
			const message = 'authenticate of createRunlet threw an error. The log has it, as authenticate.threw.';
			throw new RunletError('not_configured', message, undefined, { cause: thrown });
		}
	});
	if (account === undefined || account === null)
		throw createFieldError('auth', 'Authorization', 'this request is signed in to no account. Sign in first.');
	const { owner, user, role, scopes } = checkAccount(account, onThrow);
	const by: Actor = { owner, ...(user !== undefined && { user }), via: 'account', id: user ?? owner };
	return { kind: 'person', by, role, scopes };
}

async function callInTime<T>(call: () => Promise<T>): Promise<T> {
	let isOver = false;
	const answer = call().finally(() => {
		isOver = true;
	});
	try {
		return await withTimeLimit(answer, limitMs, 'authenticate of createRunlet');
	} catch (error) {
		if (isOver) throw error;
		const message = `${toMessageText(error)} Try again in a moment. If it lasts, look at what authenticate waits for.`;
		throw new RunletError('overloaded', message, { retryAfter }, { cause: error });
	}
}

function checkAccount(account: Account, onThrow: (thrown: unknown) => void) {
	try {
		return check(schema, account, 'account', 'not_configured');
	} catch (error) {
		onThrow(error);
		const message = `authenticate of createRunlet: ${toMessageText(error)}.`;
		throw new RunletError('not_configured', message.replace(/\.\.$/, '.'));
	}
}
