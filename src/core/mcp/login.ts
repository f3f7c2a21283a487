import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import { RunletError } from '../ground/errors.ts';
import { type AskUser, askUser } from '../tool/index.ts';
import { createServerFetch } from './fetch.ts';
import type { ConnectionOptions, McpLogin, McpServer } from './server.ts';

/** A login that comes back from its page. */
export interface FinishLoginOptions extends Pick<ConnectionOptions, 'fetch' | 'allowLoopback'> {
	readonly login: McpLogin;
	/** The query with which the page sent the person back. Compare its `state` with that of the link before. */
	readonly query: URLSearchParams;
}

/**
 * Finishes a login: exchanges the code for tokens, which the login keeps. Rejects if the page refused (`auth`), or if the
 * server or its page does not answer as OAuth 2.1 says (`network`).
 */
export async function finishLogin(server: McpServer, options: FinishLoginOptions): Promise<void> {
	const { name, url } = server;
	const { login, query } = options;
	const code = query.get('code');
	if (code === null)
		throw new RunletError('auth', `${name} was not logged in to: its login page refused it. Try again.`, {
			server: name,
		});
	const { auth } = await import('./sdk.ts');
	// SAFETY: what a login returns of a discovery is what it was given to keep.
	const provider = login as OAuthClientProvider;
	const iss = query.get('iss') ?? undefined;
	try {
		const fetchFn = createServerFetch(server, options).send;
		await auth(provider, { serverUrl: url, authorizationCode: code, iss, fetchFn });
	} catch (thrown) {
		throw toLoginFailure(server, thrown);
	}
}

/** Names the server whose login failed. What its login page says is not repeated: it may be anything. */
export function toLoginFailure({ name }: McpServer, thrown: unknown): RunletError {
	if (thrown instanceof RunletError) return thrown;
	const message = `${name}: the login failed. Its server or its login page did not answer as OAuth 2.1 says.`;
	return new RunletError('network', message, { server: name }, { cause: thrown });
}

/** Asks a person to log in. */
export function askForLogin(server: McpServer, url: string): AskUser {
	const question = `Log in to ${server.name} here, then answer "done": ${url}`;
	return askUser(question, { kind: 'login', server: server.name, url }, { kind: 'login' });
}
