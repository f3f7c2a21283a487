import type { Context } from 'hono';
import { createFieldError, RunletError } from '../../../core/base/errors.ts';
import { openKept, sealSecrets } from '../../agent/registered-secrets.ts';
import type { Runtime } from '../../agent/runtime.ts';
import { toOrigin } from '../../agent/user-tools/headers.ts';
import { readConfig } from '../../config/config.ts';
import { askRegistry, changeEntry, type Entry, type RegistryApi } from '../../objects/directory/registry.ts';
import { getOwner, type RouteEnv } from '../../routes/identity.ts';
import { getReader } from '../../routes/reader.ts';
import { mount } from '../../routes/request.ts';
import * as endpoints from '../../wire/endpoints/mcp.ts';
import type { shownServer, shownServerDetails } from '../../wire/mcp.ts';
import type { Shown } from '../../wire/operation.ts';
import { showError } from '../../wire/shown-error.ts';
import {
	assertServerName,
	listKeptServerSecrets,
	readStoredServer,
	type ServerBody,
	toStoredServer,
} from '../servers/definition.ts';
import { type FoundServer, findServer, isLoggedIn, listDeclarers } from '../servers/find.ts';

type Ctx = Context<RouteEnv>;

const mostServers = 50;

/** `/v1/mcp`: the MCP servers of an owner and of the agents, their tools and logins (docs/mcp.md). */
export function createServerRoutes(runtime: Runtime) {
	const { agents } = runtime;
	const about = (c: Ctx) => ({ config: readConfig(c.env), agents, owner: getOwner(c) });
	const find = async (c: Ctx, name: string): Promise<FoundServer> => {
		const server = await findServer(name, about(c));
		if (server === undefined) throw noSuchServer();
		return server;
	};
	const show = async (c: Ctx, name: string) => {
		const shown = (await listShown(c, agents)).find((one) => one.name === name);
		if (shown === undefined) throw noSuchServer();
		return shown;
	};
	const showDetails = async (c: Ctx, name: string): Promise<Shown<typeof shownServerDetails>> => {
		const server = await find(c, name);
		const shown = await show(c, name);
		const { inspectServer } = await import('../connect/inspect.ts');
		const inspected = await inspectServer(readConfig(c.env), server);
		if ('problem' in inspected) return { ...shown, problem: showError(inspected.problem, getReader(c)).message };
		return {
			...shown,
			tools: inspected.tools.map((tool) => ({ ...tool, isChanged: tool.differences !== undefined })),
		};
	};
	return [
		mount(endpoints.listServers, async (c) => c.json({ servers: await listShown(c, agents) })),
		mount(endpoints.getServer, async (c) => c.json(await showDetails(c, c.req.param('name')))),
		mount(endpoints.putServer, async (c) => {
			const name = c.req.param('name');
			assertServerName(name);
			assertOwn(runtime, name);
			const isNew = await putServer(c, name, c.req.valid('json'));
			return c.json(await show(c, name), isNew ? 201 : 200);
		}),
		mount(endpoints.deleteServer, async (c) => {
			const name = c.req.param('name');
			assertOwn(runtime, name);
			const removed = await ask(c, (one) => one.removeEntry('mcp', name));
			await forget(c, name);
			if (!removed) throw noSuchServer();
			return c.body(null, 204);
		}),
		mount(endpoints.acceptTools, async (c) => {
			const name = c.req.param('name');
			const server = await find(c, name);
			const { acceptOffered } = await import('../connect/inspect.ts');
			await acceptOffered(readConfig(c.env), server, c.req.valid('json').tools);
			return c.json(await showDetails(c, name));
		}),
		mount(endpoints.startLogin, async (c) => {
			const server = await find(c, c.req.param('name'));
			const { beginLogin } = await import('../connect/logins.ts');
			const url = await beginLogin(readConfig(c.env), server);
			c.header('cache-control', 'no-store');
			return c.json(url === undefined ? { isLoggedIn: true } : { url: url.href, isLoggedIn: false });
		}),
		mount(endpoints.endLogin, async (c) => {
			const server = await find(c, c.req.param('name'));
			await ask(c, (one) => one.removeEntry('mcp-login', server.name));
			return c.body(null, 204);
		}),
	];
}

function ask<T>(c: Ctx, call: (one: RegistryApi) => Promise<T>): Promise<T> {
	return askRegistry(readConfig(c.env).directories, getOwner(c), call);
}

/** Throws `conflict` for the name of an agent's server, because every owner has the agents' servers. */
function assertOwn({ agents }: Runtime, name: string): void {
	const [agent] = listDeclarers(agents, name);
	if (agent === undefined) return;
	const message = `${name} is a server of the agent ${agent}. Choose another name.`;
	throw createFieldError('conflict', 'name', message);
}

/** Removes the login and the accepted tools of a server. */
async function forget(c: Ctx, name: string): Promise<void> {
	await ask(c, (one) => one.removeEntry('mcp-login', name));
	await ask(c, (one) => one.removeEntry('mcp-tools', name));
}

/** Stores a server. Returns whether the name is new. */
async function putServer(c: Ctx, name: string, body: ServerBody): Promise<boolean> {
	const config = readConfig(c.env);
	const about = { owner: getOwner(c), kind: 'mcp', name } as const;
	let isNew = false;
	await changeEntry(config.directories, about.owner, { ...about, most: mostServers }, async (before) => {
		isNew = before === undefined;
		const stored = before && readStoredServer(before);
		const wanted = stored === undefined ? [] : listKeptServerSecrets(stored, body);
		const secrets = { ...(await openKept(config, about, before, wanted)), ...body.secrets };
		const definition = JSON.stringify(toStoredServer(body, secrets));
		const sealed = await sealSecrets(config, about, secrets);
		// With a new URL, the stored login and the accepted tools belong to another server.
		if (stored?.url !== body.url) await forget(c, name);
		return { definition, sealed };
	});
	return isNew;
}

/** Lists the servers by name, without secrets. */
async function listShown(c: Ctx, agents: Runtime['agents']): Promise<Shown<typeof shownServer>[]> {
	const [entries, logins] = await Promise.all([
		ask(c, (one) => one.listEntries('mcp')),
		ask(c, (one) => one.listEntries('mcp-login')),
	]);
	const login = (server: { readonly name: string; readonly url: string; readonly auth?: unknown }) => {
		if (server.auth === undefined) return {};
		const entry = logins.find(({ name }) => name === server.name);
		return { isLoggedIn: isLoggedIn(entry, server) };
	};
	const declared = new Map(agents.flatMap(({ mcp = [] }) => mcp).map((server) => [server.name, server]));
	// Shows only the origin, because the path, query and headers in an agent's code can contain secrets.
	const ofAgents = [...declared.values()].map((server) => ({
		name: server.name,
		url: toOrigin(server.url),
		from: 'agent' as const,
		agents: listDeclarers(agents, server.name),
		...login(server),
	}));
	const own = entries
		.filter(({ name }) => !declared.has(name))
		.map((entry) => ({ ...toShown(entry), ...login({ name: entry.name, ...readStoredServer(entry) }) }));
	return [...ofAgents, ...own].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function toShown(entry: Entry) {
	const { name, createdAt, updatedAt } = entry;
	return {
		name,
		from: 'owner' as const,
		...readStoredServer(entry),
		createdAt: new Date(createdAt).toISOString(),
		updatedAt: new Date(updatedAt).toISOString(),
	};
}

function noSuchServer(): RunletError {
	return new RunletError('not_found', 'There is no such server.');
}
