import { toRunletError } from '../../../core/base/errors.ts';
import { withTimeLimit } from '../../../core/base/promises.ts';
import type { NamedSecret } from '../../../core/base/secrets.ts';
import type { Warn } from '../../../core/chat/options.ts';
import type { McpConnection } from '../../../core/mcp/connection.ts';
import type { Tool } from '../../../core/tool/index.ts';
import type { ConnectionsOptions, McpConnections } from '../../agent/mcp.ts';
import { log } from '../../log.ts';
import { type FoundServer, findServers, type ServerSecrets } from '../servers/find.ts';
import { createAcceptance } from './accepted.ts';
import { openServer } from './open.ts';

/** How many milliseconds a turn waits at most for the tools of a server. A later turn can still get the tools. */
const patienceMs = 10_000;

interface Open {
	/** The server's definition and secrets that the connection was made with, as JSON. */
	readonly made: string;
	readonly connection: Promise<McpConnection>;
}

export function createConnections(options: ConnectionsOptions): McpConnections {
	const open = new Map<string, Open>();
	let servers: Promise<readonly FoundServer[]> | undefined;
	/** The last reported problem of each server in this run, so that it is reported only once. */
	const reported = new Map<string, string>();
	/** Servers with a problem. The next run connects again. */
	const troubled = new Set<string>();
	/** Servers whose tools did not arrive in time in this run. */
	const late = new Set<string>();
	let secrets: readonly NamedSecret[] = [];
	let warn: Warn = () => {};

	const report = (server: string, code: string, message: string): void => {
		if (reported.get(server) === message) return;
		reported.set(server, message);
		log('warn', 'mcp.problem', { 'runlet.mcp.server': server, 'error.type': code });
		warn(`mcp_${code}`, message);
	};
	const connect = async (server: FoundServer): Promise<Open> => {
		const { config, session, user, isOwners } = options;
		const { openSecrets, ...rest } = server;
		const opening = await openSecrets();
		const made = JSON.stringify([rest, opening]);
		const known = open.get(server.name);
		if (known?.made === made) return known;
		const isDeclared = options.agent.mcp?.some(({ name }) => name === server.name) === true;
		if (!isDeclared) secrets = addSecrets(secrets, opening.named);
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
				report(server.name, code, message);
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
			report(server.name, 'unreachable', `${server.name}: ${message}`);
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
		get secrets() {
			return secrets;
		},
		refresh: () => {
			void closeAll(drop([...troubled]));
			troubled.clear();
			servers = undefined;
			reported.clear();
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

/** Returns the same array if it has all of them already. */
function addSecrets(known: readonly NamedSecret[], named: ServerSecrets['named']): readonly NamedSecret[] {
	const more = Object.entries(named)
		.map(([name, value]) => ({ name, value }))
		.filter(({ name, value }) => !known.some((one) => one.name === name && one.value === value));
	return more.length === 0 ? known : [...known, ...more];
}

async function closeAll(all: readonly Open[]): Promise<void> {
	await Promise.all(all.map(({ connection }) => connection.then((one) => one.close()).catch(() => {})));
}
