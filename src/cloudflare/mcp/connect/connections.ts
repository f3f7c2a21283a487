import { toRunletError } from '../../../core/base/errors.ts';
import { withTimeLimit } from '../../../core/base/promises.ts';
import type { Warn } from '../../../core/chat/options.ts';
import type { McpConnection } from '../../../core/mcp/connection.ts';
import type { Tool } from '../../../core/tool/index.ts';
import type { ConnectionsOptions, McpConnections } from '../../agent/mcp.ts';
import { log } from '../../log.ts';
import { type FoundServer, findServers } from '../servers/find.ts';
import { createAcceptance } from './accepted.ts';
import { openServer } from './open.ts';

/** How long a turn waits for the tools of a server, in milliseconds. It is asked on, and the next turn may have them. */
const patienceMs = 10_000;

/** A connection that is open, and what it was made of. */
interface Open {
	/** Tells a server that was registered again from what it was. */
	readonly made: string;
	readonly connection: Promise<McpConnection>;
}

/** Makes the connections of a session. */
export function createConnections(options: ConnectionsOptions): McpConnections {
	const open = new Map<string, Open>();
	let servers: Promise<readonly FoundServer[]> | undefined;
	/** What the readers of the run were told of each server, so that no turn repeats it. */
	const told = new Map<string, string>();
	/** Those with which something was wrong. The next run asks them anew: somebody may have mended it. */
	const troubled = new Set<string>();
	/** Those that a turn of this run has waited for in vain. */
	const late = new Set<string>();
	let warn: Warn = () => {};

	const tell = (server: string, code: string, message: string): void => {
		if (told.get(server) === message) return;
		told.set(server, message);
		log('warn', 'mcp.problem', { 'runlet.mcp.server': server, 'error.type': code });
		warn(`mcp_${code}`, message);
	};
	const connect = async (server: FoundServer): Promise<Open> => {
		const { config, session, user, isOwners } = options;
		const made = await describeServer(server);
		const known = open.get(server.name);
		if (known?.made === made) return known;
		void known?.connection.then((one) => one.close()).catch(() => {});
		const connection = openServer(server, {
			config,
			session,
			user,
			isOwners,
			mayLogIn: true,
			acceptance: createAcceptance(config, server),
			onProblem: ({ code, message }) => {
				if (code !== 'left_out' && code !== 'cut') troubled.add(server.name);
				tell(server.name, code, message);
			},
		});
		const opened = { made, connection };
		open.set(server.name, opened);
		connection.catch(() => open.delete(server.name));
		return opened;
	};
	const load = async (server: FoundServer): Promise<readonly Tool[]> => {
		try {
			const { connection } = await connect(server);
			const tools = (async () => (await connection).loadTools())();
			const patience = late.has(server.name) ? 0 : patienceMs;
			return await withTimeLimit(tools, patience, `The MCP server ${server.name}`);
		} catch (thrown) {
			const { code, message } = toRunletError(thrown);
			if (code === 'timeout') late.add(server.name);
			tell(server.name, 'unreachable', `${server.name}: ${message}`);
			return [];
		}
	};
	const drop = (names: readonly string[]): readonly Open[] =>
		names.flatMap((name) => {
			const dropped = open.get(name);
			open.delete(name);
			return dropped ?? [];
		});
	return {
		refresh: () => {
			void closeAll(drop([...troubled]));
			troubled.clear();
			servers = undefined;
			told.clear();
			late.clear();
		},
		loadTools: async (given) => {
			warn = given;
			servers ??= findServers(options.agent, options);
			servers.catch(() => {
				servers = undefined;
			});
			const found = await servers;
			void closeAll(drop([...open.keys()].filter((name) => !found.some((server) => server.name === name))));
			return (await Promise.all(found.map(load))).flat();
		},
		close: async () => {
			await closeAll(drop([...open.keys()]));
		},
	};
}

async function closeAll(all: readonly Open[]): Promise<void> {
	await Promise.all(all.map(({ connection }) => connection.then((one) => one.close()).catch(() => {})));
}

/** Describes all that a connection depends on. It is compared and not kept anywhere else. */
async function describeServer({ openSecrets, ...rest }: FoundServer): Promise<string> {
	return JSON.stringify([rest, await openSecrets()]);
}
