import type { Context } from 'hono';
import { Hono } from 'hono/tiny';
import { RunletError } from '../../../core/base/errors.ts';
import { parseJson } from '../../../core/base/json.ts';
import { findAgent } from '../../agent/define.ts';
import { createResolver } from '../../agent/resolver.ts';
import type { Runtime } from '../../agent/runtime.ts';
import { readConfig } from '../../config/config.ts';
import { assertMay, getPerson, isAllowedPage, type PersonCaller, type RouteEnv } from '../../routes/identity.ts';
import { getReader } from '../../routes/reader.ts';
import { readOrigin, readText } from '../../routes/request.ts';
import { assertSessionName, findToolSession } from '../../routes/tool-session.ts';

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
		if (sessionName !== undefined) assertSessionName(sessionName);
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
			findSession: (name) => findToolSession(c, { caller, creator: person.by, agent, name }),
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
