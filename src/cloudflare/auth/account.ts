import * as v from 'valibot';
import type { Actor } from '../../core/base/actor.ts';
import { check } from '../../core/base/check.ts';
import type { Env } from '../../core/base/env.ts';
import { RunletError, toMessageText } from '../../core/base/errors.ts';
import { withTimeLimit } from '../../core/base/promises.ts';
import { userName } from './actor.ts';
import { type Identity, localIdentity, scheduleOwner, webhookOwner } from './identity.ts';
import { type Scope, scopes } from './key.ts';
import { type Role, roles } from './rights.ts';

/** Who is signed in to your product (docs/customers.md). */
export interface Account {
	/** The tenant: your product, or one of your business customers. 1 to 128 visible ASCII characters, without spaces. */
	readonly owner: string;
	/** The person in it: a customer, a colleague. 1 to 200 characters. Without it the owner is the person. */
	readonly user?: string;
	/** `customer` (the default), `staff` or `admin` (docs/keys.md, "Roles"). */
	readonly role?: Role;
	/** What all owners share, as for API keys: `run` (the default) for nothing of it, `admin`, `keys`. */
	readonly scopes?: readonly Scope[];
}

/**
 * Says which account a request comes from, by a cookie or a token of the product; `undefined` for none. The request has
 * no body.
 */
export type Authenticate = (
	request: Request,
	env: Env,
) => Account | undefined | null | Promise<Account | undefined | null>;

/** The key id of all accounts. No API key has it: ids of keys are longer. */
export const accountKeyId = 'account';

/** Returns the key with which whatever an actor makes ends. */
export function findKeyId({ via, id }: Actor): string {
	return via === 'account' ? accountKeyId : id;
}

/** Owners that are no accounts: this machine, webhooks and schedules without an owner, and the name of all owners. */
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

/** How long `authenticate` may take, in milliseconds. */
const limitMs = 10_000;
/** When a client should try again, in seconds. */
const retryAfter = 5;

/**
 * Returns the identity of a request's account. Throws `auth` if there is none, `not_configured` if `authenticate` gives
 * something else than an account or throws, and `overloaded` if it takes too long. A `RunletError` that it throws passes.
 *
 * @param onThrow gets what it throws, for the log: the message may hold a secret
 */
export async function identifyAccount(
	authenticate: Authenticate,
	{ request, env, onThrow }: { readonly request: Request; readonly env: Env; onThrow(thrown: unknown): void },
): Promise<Identity> {
	const given = await callInTime(async () => {
		try {
			return await authenticate(request, env);
		} catch (thrown) {
			if (thrown instanceof RunletError) throw thrown;
			onThrow(thrown);
			const message = 'authenticate of createRunlet threw an error. The log has it, as authenticate.threw.';
			throw new RunletError('not_configured', message, undefined, { cause: thrown });
		}
	});
	if (given === undefined || given === null)
		throw new RunletError('auth', 'Authorization: this request is signed in to no account. Sign in first.', {
			field: 'Authorization',
		});
	const { owner, user, role, scopes } = checkAccount(given, onThrow);
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

function checkAccount(given: Account, onThrow: (thrown: unknown) => void) {
	try {
		return check(schema, given, 'account', 'not_configured');
	} catch (error) {
		onThrow(error);
		const message = `authenticate of createRunlet: ${toMessageText(error)}.`;
		throw new RunletError('not_configured', message.replace(/\.\.$/, '.'));
	}
}
