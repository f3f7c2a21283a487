import type { Http, SignalOption } from './http.ts';
import type { UserTool, UserToolBody } from './types.ts';

export type ToolClient = ReturnType<typeof createToolClient>;

/** Creates the methods of `/v1/tools`: the HTTP tools of an owner. They need an API key. */
export function createToolClient(http: Http) {
	return {
		/** Lists the tools that this owner has defined, by name. */
		async listTools({ signal }: SignalOption = {}): Promise<UserTool[]> {
			return (await http.json<{ tools: UserTool[] }>('/v1/tools', { signal })).tools;
		},

		getTool(name: string, { signal }: SignalOption = {}): Promise<UserTool> {
			return http.json(toPath(name), { signal });
		},

		/** Defines a tool, or replaces it. Secrets that are left out are kept as long as the URL stays the same. */
		putTool(name: string, body: UserToolBody, { signal }: SignalOption = {}): Promise<UserTool> {
			return http.json(toPath(name), { method: 'PUT', body, signal });
		},

		/** Removes a tool and its secrets. */
		deleteTool(name: string, { signal }: SignalOption = {}): Promise<void> {
			return http.remove(toPath(name), signal);
		},
	};
}

function toPath(name: string): string {
	return `/v1/tools/${encodeURIComponent(name)}`;
}
