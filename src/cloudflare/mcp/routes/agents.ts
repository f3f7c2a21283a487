import type { Context } from 'hono';
import { Hono } from 'hono/tiny';
import type { Actor } from '../../../core/base/actor.ts';
import { RunletError } from '../../../core/base/errors.ts';
import { parseJson } from '../../../core/base/json.ts';
import { type Agent, findAgent } from '../../agent/define.ts';
import { createResolver } from '../../agent/resolver.ts';
import type { Runtime } from '../../agent/runtime.ts';
import { readConfig } from '../../config/config.ts';
import type { SessionNamespace } from '../../objects/session-api.ts';
import { askSession, toSessionName } from '../../routes/ask-session.ts';
import { assertMay, getPerson, isAllowedPage, type PersonCaller, type RouteEnv } from '../../routes/identity.ts';
import { getReader } from '../../routes/reader.ts';
import { readBytes } from '../../routes/request.ts';
import type { ServedSession } from '../serve/served.ts';

/** `/mcp/:agent`: serves agents to MCP clients (docs/mcp.md). */
export function createAgentsRoute({ agents, skills }: Runtime) {
	return new Hono<RouteEnv>().all('/:agent', async (c) => {
		assertOrigin(c);
		assertMay(c, 'createSession');
		const person = getPerson(c);
		// Whatever comes this way, a model may have written.
		const caller: PersonCaller = { ...person, by: { ...person.by, via: 'mcp' } };
		const agent = findAgent(agents, c.req.param('agent'));
		const config = readConfig(c.env);
		const sessionName = c.req.query('session');
		if (sessionName !== undefined) assertName(sessionName);
		const { serveAgent } = await import('../serve/handler.ts');
		return serveAgent(c.req.raw, {
			agent,
			skills: createResolver(agent, {
				runtime: { skills },
				config,
				reader: { ...caller.by, metadata: {}, askedBy: caller.by },
			}),
			caller,
			reader: getReader(c),
			body: c.req.method === 'POST' ? parseJson(await readText(c.req.raw)) : undefined,
			sessionName,
			findSession: (name) => findSession(c, { caller, agent, name, creator: person.by }),
		});
	});
}

/** Refuses a page of another site, so that no browser is led to a server of this machine (DNS rebinding). */
function assertOrigin(c: Context<RouteEnv>): void {
	const origin = c.req.header('origin');
	if (origin === undefined || isAllowedPage(c, origin)) return;
	throw new RunletError(
		'forbidden',
		`Origin: a page of ${origin.slice(0, 200)} may not call this address. If it is yours: CORS_ORIGINS=… with its origin.`,
		{ field: 'Origin' },
	);
}

/** How long after its last activity a session is removed that its client gave no name, in milliseconds. */
const fleetingMs = 86_400_000;

interface Wanted {
	/** Who calls, as the session keeps them who creates it. */
	readonly creator: Actor;
	readonly caller: PersonCaller;
	readonly agent: Agent;
	readonly name: string | undefined;
}

function findSession(c: Context<RouteEnv>, { caller, agent, name, creator }: Wanted): ServedSession {
	if (name !== undefined) assertName(name);
	const { sessions } = readConfig(c.env);
	const { expiresAfterMs = fleetingMs } = agent;
	const given = name === undefined ? undefined : readId(sessions, name);
	const { owner, by } = caller;
	const named = () => sessions.idFromName(toSessionName({ owner, user: by.user }, 'mcp', agent.name, name ?? ''));
	const id = given ?? (name === undefined ? sessions.newUniqueId() : named());
	return {
		id: id.toString(),
		...(given === undefined && {
			create: { agent: agent.name, owner, user: by.user, by: creator, ...(name === undefined && { expiresAfterMs }) },
		}),
		ask: (call, isSafe = false) => askSession(c, id, call, isSafe),
	};
}

/** Reads the id of a session. Nothing for a name of the client's. */
function readId(sessions: SessionNamespace, text: string): DurableObjectId | undefined {
	try {
		return sessions.idFromString(text);
	} catch {
		return undefined;
	}
}

function assertName(name: string): void {
	if (name !== '' && name.length <= 200) return;
	const message = 'session: expected the id of a session, or a name of your own with 1 to 200 characters.';
	throw new RunletError('invalid_request', message, { field: 'session' });
}

async function readText(request: Request): Promise<string> {
	return new TextDecoder().decode(await readBytes(request));
}
