import type { SkillResolver } from '../../../core/skill/index.ts';
import type { Agent } from '../../agent/define.ts';
import type { RpcResult } from '../../objects/result.ts';
import type { CreateInput, SessionApi } from '../../objects/session-api.ts';
import type { PersonCaller } from '../../routes/identity.ts';
import type { Reader } from '../../wire/shown-error.ts';

/** An agent that is served, and for whom. The route has identified the caller, and has read the body. */
export interface ServedAgent {
	readonly agent: Agent;
	/** Its skills, as a run of the caller has them. */
	readonly skills: SkillResolver | undefined;
	readonly caller: PersonCaller;
	/** Who reads the errors. */
	readonly reader: Reader;
	/** The body of the request, parsed. */
	readonly body?: unknown;
	/** The session that the address names. */
	readonly sessionName?: string;
	/** Returns a session of the caller: one by its id or by a name of the client, or else a new one. */
	findSession(name: string | undefined): ServedSession;
}

/** A session of a served agent. */
export interface ServedSession {
	readonly id: string;
	/** The values of the session, if it may be created. */
	readonly create?: CreateInput;
	/** @param isSafe whether the operation may be asked again if the session was not reached */
	ask<T>(call: (one: SessionApi) => Promise<RpcResult<T>>, isSafe?: boolean): Promise<T>;
}
