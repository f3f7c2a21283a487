import type { Context } from 'hono';
import { RunletError } from '../../core/ground/errors.ts';
import { config } from '../config/config.ts';
import type { Env } from '../config/env.ts';

/** Seconds that `wrangler.toml` counts requests over, and how many it allows. */
const period = 10;
const most = 200;

/**
 * Throws `rate_limited` for whoever asks more often than the binding allows. It counts loosely, by place: it stops
 * bursts, and budgets stop spending (README, "Deploy"). Without the binding nothing is counted.
 */
export async function assertRate<E extends { Bindings: Env }>(c: Context<E>, who: string): Promise<void> {
	const { rateLimiter } = config(c.env);
	if (rateLimiter === undefined || (await rateLimiter.limit({ key: who })).success) return;
	throw tooMany();
}

/**
 * The same for those who cannot say who they are, by their address: asked for what is open to anybody, and where somebody
 * was refused. Without the binding each isolate counts by itself. Who is known is never counted here, so nobody who shares
 * an address with a stranger is shut out by what that one does. At Cloudflare every request has an address, which its
 * sender cannot choose; one without is not counted.
 */
export async function assertStrangerRate<E extends { Bindings: Env }>(c: Context<E>): Promise<void> {
	const address = toAddressKey(c.req.header('cf-connecting-ip'));
	if (address === undefined) return;
	const key = `address ${address}`;
	// Asked for where another variable may be wrong, too.
	const { RATE_LIMITER: rateLimiter } = c.env;
	if (rateLimiter === undefined ? isWithin(key, Date.now()) : (await rateLimiter.limit({ key })).success) return;
	throw tooMany();
}

/**
 * What an address is counted under. One customer has a whole /64 of IPv6 (RFC 6177), so its first four groups count; an
 * IPv4 address counts, in whichever way it is written.
 */
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

/** Addresses that one isolate counts at most. */
const mostCounted = 10_000;
const counts = new Map<string, { asked: number; readonly until: number }>();

/** Counts one more, in a window of `period` seconds from the first on. */
function isWithin(key: string, now: number): boolean {
	const count = counts.get(key);
	if (count !== undefined && count.until > now) return ++count.asked <= most;
	// Whoever came first is forgotten first, so the memory stays bounded.
	counts.delete(key);
	for (const oldest of counts.keys()) {
		if (counts.size < mostCounted) break;
		counts.delete(oldest);
	}
	counts.set(key, { asked: 1, until: now + period * 1_000 });
	return true;
}

function tooMany(): RunletError {
	return new RunletError('rate_limited', `Too many requests. Wait ${period} seconds, then try again.`, {
		retryAfter: period,
	});
}
