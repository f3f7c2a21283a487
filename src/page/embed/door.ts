/** How the element gets in: by the token of a session, which it asks for again when it has expired, or without one. */

import { ClientError } from '../../client/index.ts';

/** Returns a token of this session. Without a session, or if it is not the visitor's, returns one of a new session. */
export type GetToken = (session: string | undefined) => Promise<string> | string;

interface Options {
	readonly token?: string;
	readonly getToken?: GetToken;
	/** Returns the session that is shown. */
	readonly readSession: () => string | undefined;
}

/** Returns the session of a token. Undefined for a text that is no token. */
export function findSession(token: string | undefined): string | undefined {
	return /^rls_([0-9a-f]{64})_/.exec(token ?? '')?.[1];
}

export function createDoor({ token, getToken, readSession }: Options) {
	let asking: Promise<string> | undefined;

	async function ask(session: string | undefined): Promise<string> {
		if (getToken === undefined) throw createSignedOut();
		try {
			token = await getToken(session);
		} catch (cause) {
			throw createSignedOut(cause);
		}
		if (findSession(token) === undefined) throw createSignedOut();
		return token;
	}

	/** Returns the token. Requests that need one at the same time share it. */
	function read(): Promise<string> | string | undefined {
		if (token !== undefined || getToken === undefined) return token;
		asking ??= ask(readSession()).finally(() => {
			asking = undefined;
		});
		return asking;
	}

	return {
		/** Whether a token is needed. Without one, this machine or a login lets the visitor in. */
		needsToken: token !== undefined || getToken !== undefined,
		ask,
		forget(): void {
			if (getToken !== undefined) token = undefined;
		},
		/** Sends the token with each request. If it has expired, asks for another one, once. */
		fetch: async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
			const send = (bearer: string | undefined): Promise<Response> => {
				const headers = new Headers(init.headers);
				if (bearer !== undefined) headers.set('authorization', `Bearer ${bearer}`);
				return fetch(input, { ...init, headers });
			};
			const first = await read();
			const response = await send(first);
			if (response.status !== 401) return response;
			// Another request may already have asked for a token.
			if (token === first && getToken !== undefined) token = undefined;
			const next = await read();
			if (next === first) throw createSignedOut();
			const again = await send(next);
			if (again.status === 401) throw createSignedOut();
			return again;
		},
	};
}

/** The visitor is told in words, and never asked for a key. */
function createSignedOut(cause?: unknown): ClientError {
	return new ClientError('signed_out', 'You are signed out here. Reload the page to go on.', { cause });
}
