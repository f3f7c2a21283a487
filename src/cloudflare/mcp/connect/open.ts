import { createConnection, type McpConnection } from '../../../core/mcp/connection.ts';
import type { ConnectionOptions, McpServer } from '../../../core/mcp/server.ts';
import type { Config } from '../../config/config.ts';
import type { FoundServer } from '../servers/find.ts';
import { OwnerLogin } from './login.ts';
import { LoginStore } from './login-store.ts';

export interface OpenOptions extends Pick<ConnectionOptions, 'acceptance' | 'onProblem'> {
	readonly config: Config;
	readonly session?: string;
	readonly user?: string;
	/** Whether the owner itself is the person. Only then can a run begin the owner's login. */
	readonly isOwners?: boolean;
	readonly mayLogIn: boolean;
}

/** Prepares a connection to a server, and sends nothing yet. Throws for a missing secret. */
export async function openServer(
	server: FoundServer,
	{ config, session, user, isOwners = false, mayLogIn, ...options }: OpenOptions,
): Promise<McpConnection> {
	const { url, headers, named } = await server.openSecrets();
	const secrets = Object.values(named);
	const login = server.auth !== undefined && mayLogIn ? await createLogin() : undefined;
	const { allowLoopback } = server;
	return createConnection(toServer(server, url, headers), { ...options, allowLoopback, secrets, login });

	/** All sessions of an owner use the owner's login. If the owner has none, each person logs in. */
	async function createLogin(): Promise<OwnerLogin> {
		const ofOwner = user === undefined || (await new LoginStore(config, server).read()).tokens !== undefined;
		return new OwnerLogin({
			config,
			server,
			user: ofOwner ? undefined : user,
			session,
			mayBegin: !ofOwner || isOwners,
		});
	}
}

function toServer(server: FoundServer, url: string, headers: McpServer['headers']): McpServer {
	const { name, allow, needsApproval, safe, timeoutMs } = server;
	return { name, url, headers, allow, needsApproval, safe, timeoutMs };
}
