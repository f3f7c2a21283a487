import { RunletError, toRunletError } from '../../../core/base/errors.ts';
import { createServerFetch } from '../../../core/mcp/fetch.ts';
import { finishLogin, toLoginFailure } from '../../../core/mcp/login.ts';
import { auth } from '../../../core/mcp/sdk.ts';
import type { Config } from '../../config/config.ts';
import { log, toFailureFields } from '../../log.ts';
import type { FoundServer } from '../servers/find.ts';
import { OwnerLogin } from './login.ts';
import { type BegunLogin, LoginStore } from './login-store.ts';
import { openState } from './state.ts';

type FindServer = (owner: string, name: string) => Promise<FoundServer | undefined>;

export type FinishedLogin =
	/** The sessions that wait for the login. */
	| { readonly server: string; readonly owner: string; readonly sessions: readonly string[] }
	| { readonly problem: string };

/** Begins a login outside of a run, and returns its page. Returns undefined if the stored login is valid. */
export async function beginLogin(config: Config, server: FoundServer): Promise<URL | undefined> {
	if (server.auth === undefined)
		throw new RunletError('conflict', `${server.name} has no login. Register it with auth: 'oauth'.`);
	const login = new OwnerLogin({ config, server });
	const { url: serverUrl } = await server.openSecrets();
	try {
		await auth(login, { serverUrl, fetchFn: createServerFetch(server, server).send });
	} catch (thrown) {
		throw toLoginFailure(server, thrown);
	}
	return login.link;
}

/** Uses up the link of a login, and exchanges the code for tokens. */
export async function endLogin(config: Config, query: URLSearchParams, findServer: FindServer): Promise<FinishedLogin> {
	const over = { problem: 'This link is used or too old. Ask for a new one.' };
	const returning = await openState(config, query.get('state') ?? '');
	if (returning === undefined) return { problem: 'This link was not made by this server. Ask for a new one.' };
	const { owner, user, name, id } = returning;
	const server = await findServer(owner, name);
	if (server === undefined) return { problem: `The server ${name} was removed.` };
	const { url } = await server.openSecrets();
	const { begun, all } = await takeLink(new LoginStore(config, { owner, user, name, url: server.url }), id);
	if (begun === undefined) return over;
	try {
		await finishLogin({ name, url }, { ...server, login: new OwnerLogin({ config, server, user, begun }), query });
		return { server: name, owner, sessions: [...new Set(all.flatMap(({ session }) => session ?? []))] };
	} catch (thrown) {
		log('warn', 'mcp.login_failed', { 'runlet.mcp.server': name, ...toFailureFields(thrown) });
		return { problem: toRunletError(thrown).message };
	}
}

async function takeLink(store: LoginStore, id: string) {
	let begun: BegunLogin | undefined;
	let all: readonly BegunLogin[] = [];
	await store.change((state) => {
		all = state.begun;
		begun = state.begun.find((login) => login.id === id);
		return begun === undefined ? undefined : { ...state, begun: state.begun.filter((login) => login.id !== id) };
	});
	return { begun: begun !== undefined && begun.expiresAt > Date.now() ? begun : undefined, all };
}
