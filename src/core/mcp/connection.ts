import { toRunletError } from '../ground/errors.ts';
import type { Tool } from '../tool/index.ts';
import { inMemoryAcceptance } from './acceptance.ts';
import { Caller } from './caller.ts';
import { isLoginNeeded } from './failure.ts';
import { createLink, type Link } from './link.ts';
import { assertServer, type ConnectionOptions, type McpProblem, type McpServer } from './server.ts';
import { acceptDefinitions, createLoginTool, createTools, describeCuts, readDefinitions } from './tools.ts';

/** A connection to a server. It opens when it is needed, and again after it was closed or lost. */
export interface McpConnection {
	/**
	 * Returns the tools of the server as they are now. The list is asked for once, and again only after the server said
	 * that it changed, after its time to live, or after `close`. It never throws for a server that fails: the accepted
	 * tools are still offered then, and their calls say what is wrong.
	 */
	loadTools(): readonly Tool[] | Promise<readonly Tool[]>;
	/** Ends the connection and the calls that wait for a person. Never throws. A later `loadTools` opens it again. */
	close(): Promise<void>;
}

/** Milliseconds until a server that failed is asked for its list again. */
const retryMs = 30_000;

/** Makes a connection to a server. Nothing is sent before `loadTools`. Throws `invalid_request` for a wrong `server`. */
export function createConnection(server: McpServer, options: ConnectionOptions = {}): McpConnection {
	return openConnection(server, options);
}

/** A connection whose first list may be required to succeed. */
interface OpenConnection extends McpConnection {
	/** Asks for the list now. Throws if that fails. */
	refresh(): Promise<readonly Tool[]>;
}

function openConnection(server: McpServer, options: ConnectionOptions): OpenConnection {
	assertServer(server);
	const { acceptance = inMemoryAcceptance(), onProblem = () => {}, signal } = options;
	const tell = (problem: Omit<McpProblem, 'server'>) => onProblem({ server: server.name, ...problem });
	let tools: readonly Tool[] | undefined;
	let freshUntil = 0;
	let loading: Promise<readonly Tool[]> | undefined;
	const link: Link = createLink(server, options, () => {
		freshUntil = 0;
	});
	const caller = new Caller(server, link);

	const refresh = async (): Promise<readonly Tool[]> => {
		const { definitions, ttlMs, leftOut } = readDefinitions(server, await link.list());
		if (leftOut.length > 0) tell({ code: 'left_out', message: leftOut.join(' ') });
		const { usable, changed } = await acceptDefinitions(acceptance, definitions);
		if (changed.size > 0) {
			const names = [...changed.keys()].join(', ');
			const message = `Changed since they were accepted: ${names}. They are not called until they are accepted.`;
			tell({ code: 'changed', message, changed: Object.fromEntries(changed) });
		}
		tools = createTools(server, caller, usable, changed);
		const cuts = describeCuts(server, usable);
		if (cuts !== undefined) tell({ code: 'cut', message: cuts });
		freshUntil = Date.now() + ttlMs;
		return tools;
	};
	const refreshOrKeep = async (): Promise<readonly Tool[]> => {
		try {
			return await refresh();
		} catch (thrown) {
			const login = isLoginNeeded(thrown);
			const message = toRunletError(thrown).message;
			tell({ code: login ? 'login' : 'unreachable', message });
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
		refresh,
		loadTools: () => {
			if (tools !== undefined && Date.now() < freshUntil) return tools;
			loading ??= refreshOrKeep().finally(() => {
				loading = undefined;
			});
			return loading;
		},
		close,
	};
}

/** A server, and how it is reached. */
export interface FromServerOptions extends McpServer, Pick<ConnectionOptions, 'fetch' | 'acceptance' | 'onProblem'> {
	/** Logs in to the server (OAuth 2.1). */
	readonly auth?: ConnectionOptions['login'];
}

/** The tools of a server, as they were listed first, and its connection. */
export interface ServerTools extends McpConnection {
	readonly tools: readonly Tool[];
}

/**
 * Connects to a server and lists its tools. Give `tools` to an agent, or `loadTools` to a run that takes up what changes
 * meanwhile. A server on this machine may be named. Rejects where the server cannot be reached, wants a login, or gives
 * no list.
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
