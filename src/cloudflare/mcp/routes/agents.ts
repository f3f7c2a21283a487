import type { Context } from 'hono';
import { Hono } from 'hono/tiny';
import type { Actor } from '../../../core/base/actor.ts';
import { createFieldError, RunletError } from '../../../core/base/errors.ts';
import { parseJson } from '../../../core/base/json.ts';
import { type Agent, findAgent } from '../../agent/define.ts';
import { createResolver } from '../../agent/resolver.ts';
import type { Runtime } from '../../agent/runtime.ts';
import { readConfig } from '../../config/config.ts';
import type { SessionNamespace } from '../../objects/session-api.ts';
import { assertMay, getPerson, isAllowedPage, type PersonCaller, type RouteEnv } from '../../routes/identity.ts';
import { getReader } from '../../routes/reader.ts';
import { readOrigin, readText } from '../../routes/request.ts';
import { askSession, toSessionName } from '../../routes/respond.ts';
import type { ServedSession } from '../serve/served.ts';

/** `/mcp/:agent`: serves agents to MCP clients (docs/mcp.md). */
export function createAgentsRoute({ agents, skills }: Runtime) {
	return new Hono<RouteEnv>().all('/:agent', async (c) => {
		assertOrigin(c);
		assertMay(c, 'createSession');
		const person = getPerson(c);
		// Marks the origin of the message as `mcp`, because a model possibly wrote it.
		const caller: PersonCaller = { ...person, by: { ...person.by, via: 'mcp' } };
		const agent = findAgent(agents, c.req.param('agent'));
		const config = readConfig(c.env);
		const sessionName = c.req.query('session');
		if (sessionName !== undefined) assertName(sessionName);
		const { serveAgent } = await import('../serve/server.ts');
		return serveAgent(c.req.raw, {
			agent,
			skills: createResolver(agent, {
				runtime: { skills },
				config,
				reader: { ...caller.by, metadata: {}, askedBy: caller.by },
			}),
			caller,
			reader: getReader(c),
			origin: readOrigin(c),
			body: c.req.method === 'POST' ? parseJson(await readText(c.req.raw)) : undefined,
			sessionName,
			findSession: (name) => findSession(c, { caller, agent, name, creator: person.by }),
		});
	});
}

/** Refuses pages of other sites, which could reach a server of this machine through a browser (DNS rebinding). */
function assertOrigin(c: Context<RouteEnv>): void {
	const origin = c.req.header('origin');
	if (origin === undefined || isAllowedPage(c, origin)) return;
	throw new RunletError(
		'forbidden',
		`Origin: a page of ${origin.slice(0, 200)} may not call this address. If it is yours: CORS_ORIGINS=… with its origin.`,
		{ field: 'Origin' },
	);
}

/** Milliseconds from the last activity to the removal, for a session without a name. */
const fleetingMs = 86_400_000;

interface SessionRequest {
	/** The actor who creates the session. */
	readonly creator: Actor;
	readonly caller: PersonCaller;
	readonly agent: Agent;
	readonly name: string | undefined;
}

function findSession(c: Context<RouteEnv>, { caller, agent, name, creator }: SessionRequest): ServedSession {
	if (name !== undefined) assertName(name);
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

/** Returns the id in a text. Returns undefined if the text is a name that the client chose. */
function readId(sessions: Pick<SessionNamespace, 'idFromString'>, text: string): DurableObjectId | undefined {
	try {
		return sessions.idFromString(text);
	} catch {
		return undefined;
	}
}

function assertName(name: string): void {
	if (name !== '' && name.length <= 200) return;
	const message = 'expected the id of a session, or a name of your own with 1 to 200 characters.';
	throw createFieldError('invalid_request', 'session', message);
}
