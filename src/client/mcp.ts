import type { Http, SignalOption } from './http.ts';
import type { McpServer, McpServerBody, McpServerDetails } from './types.ts';

export type McpClient = ReturnType<typeof createMcpClient>;

/** Creates the methods of `/v1/mcp`: the MCP servers of an owner. They need an API key. */
export function createMcpClient(http: Http) {
	return {
		/** Lists the servers of this owner and of the agents, by name. None of them is asked for anything. */
		async listMcpServers({ signal }: SignalOption = {}): Promise<McpServer[]> {
			return (await http.json<{ servers: McpServer[] }>('/v1/mcp', { signal })).servers;
		},

		/** Reads a server, and asks it for its tools. */
		getMcpServer(name: string, { signal }: SignalOption = {}): Promise<McpServerDetails> {
			return http.json(toPath(name), { signal });
		},

		/** Registers a server, or replaces it. Secrets that are left out are kept as long as the URL stays the same. */
		putMcpServer(name: string, body: McpServerBody, { signal }: SignalOption = {}): Promise<McpServer> {
			return http.json(toPath(name), { method: 'PUT', body, signal });
		},

		/** Removes a server, its secrets and its login. */
		deleteMcpServer(name: string, { signal }: SignalOption = {}): Promise<void> {
			return http.remove(toPath(name), signal);
		},

		/** Accepts changed tools, each by the hash that `getMcpServer` showed. */
		acceptMcpTools(
			name: string,
			tools: Readonly<Record<string, string>>,
			{ signal }: SignalOption = {},
		): Promise<McpServerDetails> {
			return http.json(`${toPath(name)}/accept`, { method: 'POST', body: { tools }, signal });
		},

		/** Begins a login. Open its `url` in a browser; there is none if there is a login already. */
		startMcpLogin(name: string, { signal }: SignalOption = {}): Promise<{ isLoggedIn: boolean; url?: string }> {
			return http.json(`${toPath(name)}/login`, { method: 'POST', body: {}, signal });
		},

		/** Logs out. */
		endMcpLogin(name: string, { signal }: SignalOption = {}): Promise<void> {
			return http.remove(`${toPath(name)}/login`, signal);
		},
	};
}

function toPath(name: string): string {
	return `/v1/mcp/${encodeURIComponent(name)}`;
}
