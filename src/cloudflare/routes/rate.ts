import type { Context } from 'hono';
import { RunletError } from '../../core/base/errors.ts';
import { readConfig } from '../config/config.ts';
import type { WorkerEnv } from '../config/env.ts';

/** The period in seconds, and the maximum number of requests in a period. `wrangler.toml` has the same values. */
const period = 10;
const most = 200;

/**
 * Throws `rate_limited` if a caller sends too many requests. For a key with its own `rate`, each isolate counts. For
 * other callers the binding counts, approximately and separately in each location (docs/deploy.md, "Rate limit").
 * Without the binding, other callers are not limited.
 */
export async function assertRate<E extends { Bindings: WorkerEnv }>(
	c: Context<E>,
	who: string,
	rate?: number,
): Promise<void> {
	const { rateLimiter } = readConfig(c.env);
	if (rate !== undefined) {
		if (isWithin(who, Date.now(), rate)) return;
		throw tooMany();
	}
	if (rateLimiter === undefined || (await rateLimiter.limit({ key: who })).success) return;
	throw tooMany();
}

/**
 * Counts public and refused requests of callers without a valid key, by address. Without the binding, each isolate
 * counts separately. A caller with a key is not counted, so a stranger with the same address cannot block this caller.
 * Cloudflare sets the address of every request.
 */
export async function assertStrangerRate<E extends { Bindings: WorkerEnv }>(c: Context<E>): Promise<void> {
	const address = toAddressKey(c.req.header('cf-connecting-ip'));
	if (address === undefined) return;
	const key = `address ${address}`;
	// Not `readConfig`, because this must work even if another variable is wrong.
	const { RATE_LIMITER: rateLimiter } = c.env;
	if (rateLimiter === undefined ? isWithin(key, Date.now()) : (await rateLimiter.limit({ key })).success) return;
	throw tooMany();
}

/** Returns the IPv4 address, or the first four groups of IPv6, because a customer has a whole /64 (RFC 6177). */
export function toAddressKey(address: string | undefined): string | undefined {
	const text = (address ?? '').trim().toLowerCase().slice(0, 64);
	const v4 = /^(?:(?:0{0,4}:){0,6}:?ffff:)?(\d{1,3}(?:\.\d{1,3}){3})$/.exec(text)?.[1];
	if (v4 !== undefined) return v4;
	if (!text.includes(':')) return text || undefined;
	const [front = '', back] = text.split('::');
	const groups = front === '' ? [] : front.split(':');
	const rest = back === undefined || back === '' ? [] : back.split(':');
	const zeros = back === undefined ? 0 : Math.max(0, 8 - groups.length - rest.length);
	const all = [...groups, ...Array.from({ length: zeros }, () => '0'), ...rest];
	return `${all
		.slice(0, 4)
		.map((group) => group.replace(/^0+(?=.)/, ''))
		.join(':')}::/64`;
}

/** The maximum number of counted callers. It limits the memory of an isolate. */
const mostCounted = 10_000;
const counts = new Map<string, { requests: number; readonly until: number }>();

/** The window of `period` seconds starts with its first request. */
function isWithin(key: string, now: number, limit = most): boolean {
	const count = counts.get(key);
	if (count !== undefined && count.until > now) return ++count.requests <= limit;
	counts.delete(key);
	for (const oldest of counts.keys()) {
		if (counts.size < mostCounted) break;
		counts.delete(oldest);
	}
	counts.set(key, { requests: 1, until: now + period * 1_000 });
	return true;
}

function tooMany(): RunletError {
	return new RunletError('rate_limited', `Too many requests. Wait ${period} seconds, then try again.`, {
		retryAfter: period,
	});
}
