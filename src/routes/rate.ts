import type { Context } from 'hono';
import { config, type Env } from '../config.ts';
import { RunletError } from '../errors.ts';

/** Seconds that `wrangler.toml` counts requests over. */
const period = 10;

/**
 * Throws `rate_limited` for whoever asks more often than the binding allows. It counts loosely, by place: it stops
 * bursts, and budgets stop spending (hardening.md, "The platform"). Without the binding nothing is counted.
 */
export async function assertRate<E extends { Bindings: Env }>(c: Context<E>, who: string): Promise<void> {
	const { rateLimiter } = config(c.env);
	if (rateLimiter === undefined || (await rateLimiter.limit({ key: who })).success) return;
	throw new RunletError('rate_limited', `Too many requests. Wait ${period} seconds, then try again.`, {
		retryAfter: period,
	});
}
