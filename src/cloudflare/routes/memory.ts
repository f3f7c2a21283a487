import { Hono } from 'hono/tiny';
import { RunletError } from '../../core/ground/errors.ts';
import type { MemorySupport } from '../agent/memory.ts';
import type { RouteEnv } from './identity.ts';

/** What `runlet/cloudflare/memory` gives: what agents remember beyond a session (docs/memory.md). */
export interface Remembrance extends MemorySupport {
	/** `/v1/memories`. */
	readonly routes: Hono<RouteEnv>;
}

const remedy =
	"Add to src/worker.ts: import { memory } from 'runlet/cloudflare/memory'; and createRunlet({ agents, memory }). Export the class Memory of it, too (docs/memory.md).";

/** Creates the error of a Worker without memory. It says how to add it. */
export function createNoMemory(code: string, what: string, data?: RunletError['data']): RunletError {
	return new RunletError(code, `${what} ${remedy}`, data);
}

/** Makes the routes of a Worker without memory. */
export function createForgetfulRoutes(): Hono<RouteEnv> {
	return new Hono<RouteEnv>().all('*', () => {
		throw createNoMemory('not_found', 'This Worker has no memory.');
	});
}
