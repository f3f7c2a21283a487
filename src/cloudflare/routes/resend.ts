import type { Context } from 'hono';
import { toBase64Url } from '../../core/ground/bytes.ts';
import { findKeyId } from '../auth/account.ts';
import { readConfig } from '../config/config.ts';
import { log, toFailureFields } from '../log.ts';
import { askDirectory } from '../objects/directory/api.ts';
import type { Once } from '../objects/once.ts';
import type { RouteEnv } from './identity.ts';

/**
 * Returns a key for a request that the `openai` package may retry. The package counts its retries in a header and sends
 * no key for them. Returns undefined for other clients, and for a request with an `Idempotency-Key`.
 */
export async function readResend(c: Context<RouteEnv>): Promise<Once | undefined> {
	const count = c.req.header('x-stainless-retry-count');
	const { identity, bodyText } = c.var;
	if (count === undefined || !/^\d{1,4}$/.test(count) || bodyText === undefined) return undefined;
	if (identity.kind !== 'person' || c.req.header('idempotency-key') !== undefined) return undefined;
	const bytes = new TextEncoder().encode(
		`${findKeyId(identity.by)} ${JSON.stringify(identity.by.user ?? null)} ${c.req.path} ${bodyText}`,
	);
	const request = toBase64Url(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
	// No Idempotency-Key has a space, so this is never one.
	return { key: `resent ${request}`, request, isFirst: Number(count) === 0 };
}

/**
 * Finds the id of the session that an earlier try of the request reached. Throws a failure, so that the client tries
 * again: a second run would repeat the effects of the first.
 */
export async function findResent(
	c: Context<RouteEnv>,
	owner: string,
	{ request, isFirst }: Once,
): Promise<string | undefined> {
	if (isFirst) return undefined;
	return askDirectory(readConfig(c.env).directories, owner, (one) => one.findSent(request));
}

/** Stores the session of a request that may be retried. Never throws: without the entry a retry is a new request. */
export async function noteSent(c: Context<RouteEnv>, owner: string, { request }: Once, session: string): Promise<void> {
	try {
		await askDirectory(readConfig(c.env).directories, owner, (one) => one.noteSent(request, session));
	} catch (cause) {
		log('warn', 'request.not_noted', toFailureFields(cause));
	}
}
