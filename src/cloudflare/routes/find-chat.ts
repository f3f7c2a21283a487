import type { Context } from 'hono';
import { sessionIdForm } from '../auth/token.ts';
import { readConfig } from '../config/config.ts';
import type { Caller, CreateInput } from '../objects/session-api.ts';
import { getCaller, getPerson, type RouteEnv } from './identity.ts';
import { toSessionName } from './respond.ts';

interface Chat {
	readonly id: DurableObjectId;
	readonly caller: Caller;
	/** The values of a session that does not exist yet. Missing for the id of a session. */
	readonly create?: Pick<CreateInput, 'owner' | 'user' | 'by'>;
}

/** Finds the session of a chat: by the session's id, or by a name that the client of the protocol chose. */
export function findChat(c: Context<RouteEnv>, protocol: 'ui' | 'ag-ui' | 'a2a', id: string): Chat {
	const { sessions, placeSessions } = readConfig(c.env);
	if (sessionIdForm.test(id)) {
		const caller = getCaller(c, id);
		try {
			return { id: sessions.idFromString(id), caller };
		} catch {
			// The text looks like an object's id, but is not one. It is a name.
		}
	}
	const caller = getPerson(c);
	const agent = c.req.param('agent') ?? '';
	const { owner, by } = caller;
	const name = toSessionName({ owner, user: by.user }, protocol, agent, id);
	return { id: placeSessions({ owner, agent }).idFromName(name), caller, create: { owner, user: by.user, by } };
}
