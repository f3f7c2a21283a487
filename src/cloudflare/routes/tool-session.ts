import type { Context } from 'hono';
import { createFieldError } from '../../core/base/errors.ts';
import type { Agent } from '../agent/define.ts';
import { readConfig } from '../config/config.ts';
import type { RpcResult } from '../objects/reach.ts';
import type { CreateInput, SessionApi, SessionNamespace } from '../objects/session-api.ts';
import type { PersonCaller, RouteEnv } from './identity.ts';
import { askSession, toSessionName } from './respond.ts';

/** A session in which tools are called without a run. */
export interface ToolSession {
	readonly id: string;
	/** The input for a new session. Missing for an existing session. */
	readonly create?: CreateInput;
	/** @param isSafe whether the call is safe to repeat */
	ask<T>(call: (one: SessionApi) => Promise<RpcResult<T>>, isSafe?: boolean): Promise<T>;
}

/** The name of a caller's session for calls, if the caller names no session. */
export const usualSession = 'mcp';

/** Milliseconds from the last activity to the removal, for a session without a name. */
const fleetingMs = 86_400_000;

interface SessionRequest {
	readonly caller: PersonCaller;
	/** The actor who creates the session. */
	readonly creator?: PersonCaller['by'];
	readonly agent: Agent;
	/** An id, or a name of the caller's own. Without it, the session is new. */
	readonly name: string | undefined;
}

/** Finds a session of the caller by its id or its name, or makes a new one. The session need not exist yet. */
export function findToolSession(
	c: Context<RouteEnv>,
	{ caller, creator = caller.by, agent, name }: SessionRequest,
): ToolSession {
	if (name !== undefined) assertSessionName(name);
	const { sessions, placeSessions } = readConfig(c.env);
	const { expiresAfterMs = fleetingMs } = agent;
	const known = name === undefined ? undefined : readId(sessions, name);
	const { owner, by } = caller;
	const ids = placeSessions({ owner, agent: agent.name });
	const named = () => ids.idFromName(toSessionName({ owner, user: by.user }, 'mcp', agent.name, name ?? ''));
	const id = known ?? (name === undefined ? ids.newUniqueId() : named());
	return {
		id: id.toString(),
		...(known === undefined && {
			create: { agent: agent.name, owner, user: by.user, by: creator, ...(name === undefined && { expiresAfterMs }) },
		}),
		ask: (call, isSafe = false) => askSession(c, id, call, isSafe),
	};
}

/** Returns the id in a text. Returns undefined if the text is a name that the caller chose. */
function readId(sessions: Pick<SessionNamespace, 'idFromString'>, text: string): DurableObjectId | undefined {
	try {
		return sessions.idFromString(text);
	} catch {
		return undefined;
	}
}

export function assertSessionName(name: string): void {
	if (name !== '' && name.length <= 200) return;
	const message = 'expected the id of a session, or a name of your own with 1 to 200 characters.';
	throw createFieldError('invalid_request', 'session', message);
}
