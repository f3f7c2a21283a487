import type { Context } from 'hono';
import { toBase64Url } from '../../core/ground/bytes.ts';
import { config } from '../config/config.ts';
import { log, toFailureFields } from '../log.ts';
import { askDirectory } from '../rpc/directory.ts';
import type { Once } from '../rpc/session.ts';
import type { RouteEnv } from './identity.ts';

/**
 * What tells a request that `openai` sends again from another one of the same words: it counts its tries in a header,
 * and has no key for them. Nothing for other clients, and where the request has an `Idempotency-Key`.
 */
export async function readResend(c: Context<RouteEnv>): Promise<Once | undefined> {
	const count = c.req.header('x-stainless-retry-count');
	const { identity, bodyText } = c.var;
	if (count === undefined || !/^\d{1,4}$/.test(count) || bodyText === undefined) return undefined;
	if (identity.kind !== 'key' || c.req.header('idempotency-key') !== undefined) return undefined;
	const bytes = new TextEncoder().encode(`${identity.keyId} ${c.req.path} ${bodyText}`);
	const request = toBase64Url(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
	// With a space, so that it is nobody's Idempotency-Key.
	return { key: `resent ${request}`, request, isFirst: Number(count) === 0 };
}

/**
 * The session that a request went to when it was sent before, by its id. A failure is thrown: a client that cannot be told
 * comes again, and a second run would have its effects twice.
 */
export async function findResent(
	c: Context<RouteEnv>,
	owner: string,
	{ request, isFirst }: Once,
): Promise<string | undefined> {
	if (isFirst) return undefined;
	return askDirectory(config(c.env).directories, owner, (one) => one.findSent(request));
}

/** Notes where a request goes that may be sent again. Never throws: then it would only be another request. */
export async function noteSent(c: Context<RouteEnv>, owner: string, { request }: Once, session: string): Promise<void> {
	try {
		await askDirectory(config(c.env).directories, owner, (one) => one.noteSent(request, session));
	} catch (cause) {
		log('warn', 'request.not_noted', toFailureFields(cause));
	}
}
