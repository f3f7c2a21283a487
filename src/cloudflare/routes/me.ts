import type { Context } from 'hono';
import type { Actor } from '../../core/base/actor.ts';
import { localIdentity } from '../auth/identity.ts';
import { listRights } from '../auth/rights.ts';
import { readToken } from '../auth/token.ts';
import { getMe } from '../wire/endpoints/service.ts';
import type { me } from '../wire/me.ts';
import type { Shown } from '../wire/operation.ts';
import { getCaller, type RouteEnv } from './identity.ts';
import { mount } from './request.ts';
import { askSession, toSessionId } from './respond.ts';

/** `/v1/me`: shows who the caller is, and what the caller may do. */
export const meRoute = mount(getMe, async (c) => c.json(await showCaller(c), 200, { 'cache-control': 'no-store' }));

async function showCaller(c: Context<RouteEnv>): Promise<Shown<typeof me>> {
	const { identity } = c.var;
	if (identity.kind === 'token') {
		const { session, token } = identity;
		const holder = await askSession(c, toSessionId(c, session), (one) => one.holder(getCaller(c, session)));
		const expiresAt = new Date((readToken(token)?.expiresAt ?? 0) * 1_000).toISOString();
		const { by, scopes } = holder;
		return {
			kind: 'token',
			...showActor(by),
			scopes: [...scopes],
			rights: [...listRights(holder)],
			session,
			expiresAt,
		};
	}
	const { by, role, scopes, name } = identity;
	const kind = identity === localIdentity ? 'local' : by.via === 'account' ? 'account' : 'key';
	// A key without the scope `run` has no rights in its owner, except that it sees what every owner has.
	const isOpen = (right: string): boolean => scopes.includes('run') || right === 'seeAgents' || right === 'seeSkills';
	const rights = listRights({ role }).filter(isOpen);
	return { kind, ...showActor(by), ...(name && { name }), role, scopes: [...scopes], rights };
}

function showActor({ id, owner, user }: Actor) {
	return { id, owner, ...(user !== undefined && { user }) };
}
