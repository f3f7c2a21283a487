import type { SkillResolver } from '../../../core/skill/index.ts';
import type { Agent } from '../../agent/define.ts';
import type { RequestOrigin } from '../../objects/session-api.ts';
import type { PersonCaller } from '../../routes/identity.ts';
import type { ToolSession } from '../../routes/tool-session.ts';
import type { Reader } from '../../wire/shown-error.ts';

/** An agent that is served to a caller, whom the route has already identified. */
export interface ServedAgent {
	readonly agent: Agent;
	readonly skills: SkillResolver | undefined;
	readonly caller: PersonCaller;
	readonly reader: Reader;
	readonly origin: RequestOrigin;
	readonly body?: unknown;
	/** The name of the session in the address. */
	readonly sessionName?: string;
	/** Returns a session of the caller by its id or its name, or a new one. */
	findSession(name: string | undefined): ToolSession;
}
