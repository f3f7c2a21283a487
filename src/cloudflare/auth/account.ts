import * as v from 'valibot';
import { check } from '../../core/ground/check.ts';
import type { Env } from '../../core/ground/env.ts';
import { RunletError, toMessageText } from '../../core/ground/errors.ts';
import { withTimeLimit } from '../../core/ground/time-limit.ts';
import { type Identity, localIdentity, webhookOwner } from './identity.ts';
import { type Scope, scopes } from './key.ts';

/** An account of a product: the owner of its sessions, and what it may do. */
export interface Account {
	/** The account's id: 1 to 128 visible ASCII characters, without spaces. */
	readonly owner: string;
	/** As for API keys: `run` to run agents (the default), `admin` to read and change what all owners share. */
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

/** Whether an identity is that of an account, and not of an API key. */
export function isAccount({ keyId }: { readonly keyId: string }): boolean {
	return keyId === accountKeyId;
}

/** Owners that are no accounts: this machine, senders of webhooks, and the name for all owners in a list. */
const reserved: ReadonlySet<string> = new Set([localIdentity.owner, webhookOwner, '*']);

const schema = v.strictObject({
	owner: v.pipe(
		v.string(),
		v.regex(/^[\x21-\x7e]{1,128}$/, 'expected 1 to 128 visible ASCII characters without spaces'),
		v.check(
			(owner) => !reserved.has(owner),
			'this name is one of Runlet’s own. Put something before it, such as user:webhooks',
		),
	),
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
	return { kind: 'key', keyId: accountKeyId, ...checkAccount(given) };
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

function checkAccount(given: Account) {
	try {
		return check(schema, given, 'account', 'not_configured');
	} catch (error) {
		const message = `authenticate of createRunlet: ${toMessageText(error)}.`;
		throw new RunletError('not_configured', message.replace(/\.\.$/, '.'));
	}
}
