import { toRunletError } from '../base/errors.ts';
import type { Tool } from '../tool/index.ts';
import { inMemoryAcceptance } from './acceptance.ts';
import { Caller } from './caller.ts';
import { isLoginNeeded } from './failure.ts';
import { createLink, type Link } from './link.ts';
import { assertServer, type ConnectionOptions, type McpProblem, type McpServer } from './server.ts';
import { acceptDefinitions, createLoginTool, createTools, describeCuts, readDefinitions } from './tools.ts';

/** A connection to a server. It opens on demand, and again after it was closed or lost. */
export interface McpConnection {
	/**
	 * Returns the current tools of the server. Requests the list once, and again after a change, after its time to live,
	 * or after `close`. If the server fails, the accepted tools are still offered, and their calls report the error.
	 */
	loadTools(): readonly Tool[] | Promise<readonly Tool[]>;
	/** Closes the connection and ends the calls that wait for a person. Never throws. `loadTools` opens it again. */
	close(): Promise<void>;
}

/** Milliseconds until the list of a failed server is requested again. */
const retryMs = 30_000;

/**
 * Makes a connection to a server. Nothing is sent before `loadTools`. Throws `invalid_request` for a wrong `server`.
 */
export function createConnection(server: McpServer, options: ConnectionOptions = {}): McpConnection {
	const { loadTools, close } = openConnection(server, options);
	return { loadTools, close };
}

function openConnection(server: McpServer, options: ConnectionOptions) {
	assertServer(server);
	const { acceptance = inMemoryAcceptance(), onProblem = () => {}, signal } = options;
	const report = (problem: Omit<McpProblem, 'server'>) => onProblem({ server: server.name, ...problem });
	let tools: readonly Tool[] | undefined;
	let freshUntil = 0;
	let loading: Promise<readonly Tool[]> | undefined;
	const link: Link = createLink(server, options, () => {
		freshUntil = 0;
	});
	const caller = new Caller(server, link);

	const refresh = async (): Promise<readonly Tool[]> => {
		const { definitions, ttlMs, leftOut } = readDefinitions(server, await link.list());
		if (leftOut.length > 0) report({ code: 'left_out', message: leftOut.join(' ') });
		const { usable, changed } = await acceptDefinitions(acceptance, definitions);
		if (changed.size > 0) {
			const names = [...changed.keys()].join(', ');
			const message = `Changed since they were accepted: ${names}. They are not called until they are accepted.`;
			report({ code: 'changed', message, changed: Object.fromEntries(changed) });
		}
		tools = createTools(server, caller, usable, changed);
		const cuts = describeCuts(server, usable);
		if (cuts !== undefined) report({ code: 'cut', message: cuts });
		freshUntil = Date.now() + ttlMs;
		return tools;
	};
	const refreshOrKeep = async (): Promise<readonly Tool[]> => {
		try {
			return await refresh();
		} catch (thrown) {
			const login = isLoginNeeded(thrown);
			const message = toRunletError(thrown).message;
			report({ code: login ? 'login' : 'unreachable', message });
			freshUntil = Date.now() + retryMs;
			const accepted = Object.values(await acceptance.read()).map(({ definition }) => definition);
			tools = createTools(server, caller, accepted);
			if (login && tools.length === 0) tools = [createLoginTool(server, caller)];
			return tools;
		}
	};
	const close = async (): Promise<void> => {
		freshUntil = 0;
		caller.close();
		await link.close();
	};
	signal?.addEventListener('abort', () => void close(), { once: true });
	return {
		/** Requests the list now. Throws if the request fails. */
		refresh,
		loadTools: (): readonly Tool[] | Promise<readonly Tool[]> => {
			if (tools !== undefined && Date.now() < freshUntil) return tools;
			loading ??= refreshOrKeep().finally(() => {
				loading = undefined;
			});
			return loading;
		},
		close,
	};
}

export interface FromServerOptions extends McpServer, Pick<ConnectionOptions, 'fetch' | 'acceptance' | 'onProblem'> {
	/** Logs in to the server (OAuth 2.1). */
	readonly auth?: ConnectionOptions['login'];
}

/** The connection to a server, with its first list of tools. */
export interface ServerTools extends McpConnection {
	readonly tools: readonly Tool[];
}

/**
 * Connects to a server, which may be on this machine, and lists its tools. Pass `tools` to an agent, or `loadTools` to
 * a run that follows changes. Rejects if the server cannot be reached, requires a login, or returns no list.
 */
export async function fromServer(options: FromServerOptions): Promise<ServerTools> {
	const { fetch, acceptance, onProblem, auth, ...server } = options;
	const connection = openConnection(server, { fetch, acceptance, onProblem, login: auth, allowLoopback: true });
	try {
		const tools = await connection.refresh();
		return { tools, loadTools: connection.loadTools, close: connection.close };
	} catch (thrown) {
		await connection.close();
		throw thrown;
	}
}
