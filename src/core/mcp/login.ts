import type { OAuthClientProvider } from '@modelcontextprotocol/client';
import { RunletError } from '../base/errors.ts';
import { type AskUser, askUser } from '../tool/index.ts';
import { createServerFetch } from './fetch.ts';
import type { ConnectionOptions, McpLogin, McpServer } from './server.ts';

/** The data that a person brings back from the login page. */
export interface FinishLoginOptions extends Pick<ConnectionOptions, 'fetch' | 'allowLoopback'> {
	readonly login: McpLogin;
	/** The query of the return address. Compare its `state` with the `state` of the link first. */
	readonly query: URLSearchParams;
}

/** Exchanges a login code for tokens. Rejects with `auth` after a refusal, or with `network` if the exchange fails. */
export async function finishLogin(server: McpServer, options: FinishLoginOptions): Promise<void> {
	const { name, url } = server;
	const { login, query } = options;
	const code = query.get('code');
	if (code === null)
		throw new RunletError('auth', `${name} was not logged in to: its login page refused it. Try again.`, {
			server: name,
		});
	const { auth } = await import('./sdk.ts');
	// SAFETY: a login returns the discovery that it stored.
	const provider = login as OAuthClientProvider;
	const iss = query.get('iss') ?? undefined;
	try {
		const fetchFn = createServerFetch(server, options).send;
		await auth(provider, { serverUrl: url, authorizationCode: code, iss, fetchFn });
	} catch (thrown) {
		throw toLoginFailure(server, thrown);
	}
}

/** Creates the error for a failed login. It does not repeat text of the login page. */
export function toLoginFailure({ name }: McpServer, thrown: unknown): RunletError {
	if (thrown instanceof RunletError) return thrown;
	const message = `${name}: the login failed. Its server or its login page did not answer as OAuth 2.1 says.`;
	return new RunletError('network', message, { server: name }, { cause: thrown });
}

export function askForLogin(server: McpServer, url: string): AskUser {
	const question = `Log in to ${server.name} here, then answer "done": ${url}`;
	return askUser(question, { kind: 'login', server: server.name, url }, { kind: 'login' });
}
