import type { MiddlewareHandler } from 'hono';
import type { Identity } from '../auth/identity.ts';
import { createBusy } from '../objects/admission.ts';
import type { RouteEnv } from './identity.ts';

/** How many requests an isolate works on at once before it refuses some. An open stream is no work of it. */
const usualMost = 1_000;

/**
 * Refuses requests while an isolate works on too many: first those of an owner who has more than an equal share of them,
 * so that the burst of one owner is that owner's. To cancel is never refused.
 */
export function shedFairly(most = usualMost): MiddlewareHandler<RouteEnv> {
	const counts = new Map<string, number>();
	let total = 0;
	return async (c, next) => {
		const whose = toKey(c.var.identity);
		const own = counts.get(whose) ?? 0;
		const owners = counts.size + (own === 0 ? 1 : 0);
		if (total >= most && own >= most / owners && !c.req.path.endsWith('/cancel')) throw createBusy('This Worker');
		counts.set(whose, own + 1);
		total++;
		try {
			await next();
		} finally {
			const left = (counts.get(whose) ?? 1) - 1;
			if (left === 0) counts.delete(whose);
			else counts.set(whose, left);
			total--;
		}
	};
}

/** Whose a request is. The owner of a token is known only to its session. */
function toKey(identity: Identity): string {
	return identity.kind === 'person' ? `owner ${identity.by.owner}` : `session ${identity.session}`;
}
