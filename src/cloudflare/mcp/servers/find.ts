import * as v from 'valibot';
import { isLoopback } from '../../../core/base/public-fetch.ts';
import type { Agent } from '../../agent/define.ts';
import { type AgentMcpServer, findClientSecret, listVariables } from '../../agent/mcp-servers.ts';
import { openOrRefuse, resealSecrets, type Secrets } from '../../agent/registered-secrets.ts';
import { fillHeaders, fillUrl, toOrigin } from '../../agent/user-tools/headers.ts';
import type { Config } from '../../config/config.ts';
import { log, toFailureFields } from '../../log.ts';
import { askRegistry, type Entry } from '../../objects/directory/registry.ts';
import { readStoredServer } from './definition.ts';

/** The parts of each request that can contain secrets. */
export interface ServerSecrets {
	readonly headers: Readonly<Record<string, string>>;
	readonly url: string;
	/** The client secret for `auth.clientId`. */
	readonly clientSecret?: string;
	/** All secrets by name. Their texts are removed from results. */
	readonly named: Secrets;
}

export interface FoundServer extends Omit<AgentMcpServer, 'headers'> {
	readonly owner: string;
	/** Whether the server is allowed to be on this machine. */
	readonly allowLoopback: boolean;
	/** Throws `not_configured` or `conflict` for a missing secret. */
	readonly openSecrets: () => Promise<ServerSecrets>;
}

/** Finds the servers for an agent's sessions: the servers in its code and, with `userMcp`, the owner's servers. */
export async function findServers(
	agent: Agent,
	{ config, agents, owner }: { readonly config: Config; readonly agents: readonly Agent[]; readonly owner: string },
): Promise<readonly FoundServer[]> {
	const declared = (agent.mcp ?? []).map((server) => toDeclared(config, owner, server));
	if (agent.userMcp !== true) return declared;
	const entries = await askRegistry(config.directories, owner, (one) => one.listEntries('mcp'));
	const own = entries.filter(({ name }) => listDeclarers(agents, name).length === 0);
	await Promise.all(own.map((entry) => resealSecrets(config, { owner, kind: 'mcp', name: entry.name }, entry)));
	return [...declared, ...own.flatMap((entry) => readOrLeave(config, owner, entry))];
}

export async function findServer(
	name: string,
	{ config, agents, owner }: { readonly config: Config; readonly agents: readonly Agent[]; readonly owner: string },
): Promise<FoundServer | undefined> {
	const declared = agents.flatMap(({ mcp = [] }) => mcp).find((server) => server.name === name);
	if (declared !== undefined) return toDeclared(config, owner, declared);
	const entry = await askRegistry(config.directories, owner, (one) => one.getEntry('mcp', name));
	return entry === undefined ? undefined : toOwn(config, owner, entry);
}

export function listDeclarers(agents: readonly Agent[], name: string): readonly string[] {
	return agents.filter(({ mcp = [] }) => mcp.some((server) => server.name === name)).map((agent) => agent.name);
}

function toDeclared(config: Config, owner: string, { headers = {}, ...server }: AgentMcpServer): FoundServer {
	const clientSecret = findClientSecret(server);
	return {
		...server,
		owner,
		allowLoopback: config.local !== undefined && isLoopback(new URL(toOrigin(server.url))),
		openSecrets: async () => {
			const names = listVariables({ ...server, headers });
			const secrets = Object.fromEntries(names.map((name) => [name, config.readText(name)]));
			return fill({ headers, url: server.url }, clientSecret, secrets);
		},
	};
}

function toOwn(config: Config, owner: string, entry: Entry): FoundServer {
	const { headers, secretNames: _, ...server } = readStoredServer(entry);
	const { name } = entry;
	return {
		...server,
		name,
		owner,
		allowLoopback: false,
		openSecrets: async () => {
			const secrets = await openOrRefuse(config, { owner, kind: 'mcp', name }, entry);
			return fill({ headers, url: server.url }, findClientSecret(server), secrets);
		},
	};
}

function readOrLeave(config: Config, owner: string, entry: Entry): readonly FoundServer[] {
	try {
		return [toOwn(config, owner, entry)];
	} catch (error) {
		log('warn', 'mcp.not_usable', { 'runlet.mcp.server': entry.name, ...toFailureFields(error) });
		return [];
	}
}

function fill(
	{ headers, url }: Pick<ServerSecrets, 'headers' | 'url'>,
	clientSecret: string | undefined,
	secrets: Secrets,
): ServerSecrets {
	return {
		headers: fillHeaders(headers, secrets),
		url: fillUrl(url, secrets),
		...(clientSecret !== undefined && { clientSecret: secrets[clientSecret] }),
		named: secrets,
	};
}

/** The public part of a stored login. */
export const loginHead = v.object({ url: v.string(), isLoggedIn: v.boolean() });

/** A login with the same name but another address does not count. */
export function isLoggedIn(entry: Pick<Entry, 'definition'> | undefined, { url }: { readonly url: string }): boolean {
	if (entry === undefined) return false;
	const head = v.parse(loginHead, JSON.parse(entry.definition));
	return head.url === url && head.isLoggedIn;
}
