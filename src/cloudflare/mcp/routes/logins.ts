import { RunletError } from '../../../core/base/errors.ts';
import type { Runtime } from '../../agent/runtime.ts';
import { readConfig } from '../../config/config.ts';
import { log, toFailureFields } from '../../log.ts';
import { reach, takeValue } from '../../objects/reach.ts';
import { assertStrangerRate } from '../../routes/rate.ts';
import { mount } from '../../routes/request.ts';
import { writePage } from '../../routes/respond.ts';
import { finishLogin, getClientMetadata } from '../../wire/endpoints/mcp.ts';
import { describeClient } from '../connect/client-metadata.ts';
import { findServer } from '../servers/find.ts';

/** The maximum length of the query from a login page. */
const longestQuery = 8_000;

/**
 * The OAuth client metadata, and the return from a login page. A returning browser has no key. Its `state` names the
 * login, and only this Worker can make a valid `state`.
 */
export function createLoginRoutes({ agents }: Runtime) {
	return [
		mount(getClientMetadata, async (c) => {
			const described = describeClient(readConfig(c.env));
			if (described === undefined)
				throw new RunletError(
					'not_found',
					'There is no such document on a laptop, where no login page could read it, and without PUBLIC_URL.',
				);
			return c.json(described);
		}),
		mount(finishLogin, async (c) => {
			const config = readConfig(c.env);
			const { searchParams: query, search } = new URL(c.req.url);
			// Limits the rate, because the caller has no key.
			await assertStrangerRate(c);
			c.header('cache-control', 'no-store');
			if (search.length > longestQuery) return c.html(writePage('The address is too long.'), 400);
			const { endLogin } = await import('../connect/logins.ts');
			const finished = await endLogin(config, query, (owner, name) => findServer(name, { config, agents, owner }));
			if ('problem' in finished) return c.html(writePage(finished.problem), 400);
			const { owner, server, sessions } = finished;
			await Promise.all(sessions.map((session) => continueSession(config, { session, owner, server })));
			return c.html(writePage(`You are logged in to ${server}. You can close this window.`));
		}),
	];
}

/** Continues a session that waits for the login. Only logs a failure, which the session also reports. */
async function continueSession(
	{ sessions }: ReturnType<typeof readConfig>,
	{ session, owner, server }: { readonly session: string; readonly owner: string; readonly server: string },
): Promise<void> {
	try {
		const tell = () => sessions.get(sessions.idFromString(session)).loggedIn({ owner }, server);
		takeValue(await reach(tell, { what: 'This session', isSafe: true }));
	} catch (error) {
		log('warn', 'mcp.session_not_told', { 'runlet.mcp.server': server, ...toFailureFields(error) });
	}
}
