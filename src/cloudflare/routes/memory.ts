import type { Hono } from 'hono/tiny';
import type { MemorySupport } from '../agent/memory.ts';
import type { RouteEnv } from './identity.ts';

/** What `runlet/cloudflare/memory` gives: what agents remember beyond a session (docs/memory.md). */
export interface Remembrance extends MemorySupport {
	/** `/v1/memories`. */
	readonly routes: Hono<RouteEnv>;
}
