import type { MiddlewareHandler } from 'hono';
import type { Identity } from '../auth/identity.ts';
import { createBusy } from '../objects/admission.ts';
import type { RouteEnv } from './identity.ts';

/** The most requests that an isolate works on at once. Open streams do not count. */
const usualMost = 1_000;

/**
 * Refuses requests while an isolate works on too many: those of owners that have more than an equal share. So the burst
 * of one owner does not block the others. A cancellation is never refused.
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

/** Returns the name that a request is counted under. Only the session knows the owner of a token. */
function toKey(identity: Identity): string {
	return identity.kind === 'person' ? `owner ${identity.by.owner}` : `session ${identity.session}`;
}
