import type { Acceptance, Difference } from './acceptance.ts';
import type { McpLogin } from './server-login.ts';

/** What went wrong with a server, for its owner. Texts of the server are in `changed` only. */
export interface McpProblem {
	readonly server: string;
	/** `unreachable`, `login` (somebody has to log in), `changed` (definitions wait for acceptance) or `left_out`. */
	readonly code: 'unreachable' | 'login' | 'changed' | 'left_out' | 'cut';
	readonly message: string;
	/** The changed tools, by the server's own names. */
	readonly changed?: Readonly<Record<string, readonly Difference[]>>;
}

/** How a connection is made. */
export interface ConnectionOptions {
	/** Sends the requests as they are. The default checks each address (`publicFetch`): public names only. */
	readonly fetch?: typeof globalThis.fetch;
	/** Whether the server may be on this machine. Only a server that its author named there may reach it. */
	readonly allowLoopback?: boolean;
	/** Where accepted definitions are kept. The default is the memory of this connection. */
	readonly acceptance?: Acceptance;
	/** Texts that nothing which comes from the server may show, besides those of its secret headers. */
	readonly secrets?: readonly string[];
	/** Logs in to the server (OAuth 2.1). */
	readonly login?: McpLogin;
	/** Called with each problem. It must not throw. */
	readonly onProblem?: (problem: McpProblem) => void;
	/** Ends the connection. */
	readonly signal?: AbortSignal;
}
