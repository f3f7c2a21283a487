import type { Context } from 'hono';
import { config, type Env } from '../config.ts';
import { RunletError } from '../errors.ts';

/** Refuses who may not change what is everybody's. Without API keys only this machine may. */
export function assertAdmin(c: Context<{ Bindings: Env }>): void {
	if (config(c.env).local) return;
	throw new RunletError('forbidden', 'Only an admin key may do this, and there are none yet. Use npm run skills.');
}
