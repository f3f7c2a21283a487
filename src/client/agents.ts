/** The methods for calls of an agent's tools without a run (docs/tools.md, "Call one alone"). */

import { ClientError } from './error.ts';
import { type Http, type SignalOption, toQuery } from './http.ts';
import type { AgentTool, ToolCallBody, ToolCallEnd } from './types.ts';

export type AgentClient = ReturnType<typeof createAgentClient>;

/** The result of a call, or what the call waits for. */
export type CalledTool = Exclude<ToolCallEnd, { readonly type: 'failed' }>;

interface CallPlace extends SignalOption {
	/** The id of a session, or a name of your own. The tool has the files and the state of the session. */
	readonly session?: string;
}

export function createAgentClient(http: Http) {
	const toPath = (agent: string) => `/v1/agents/${encodeURIComponent(agent)}`;
	return {
		/** Lists the tools that `callTool` can call. Needs an API key of staff. */
		async listAgentTools(agent: string, { signal, ...query }: CallPlace = {}): Promise<AgentTool[]> {
			const path = `${toPath(agent)}/tools${toQuery(query)}`;
			return (await http.json<{ tools: AgentTool[] }>(path, { signal })).tools;
		},

		/**
		 * Calls a tool without a run. If the call waits for a person, send the same call with the answer. Two requests are
		 * two calls, so a failed request is not repeated. An abort of the signal aborts the call. Needs an API key of staff.
		 */
		async callTool(agent: string, body: ToolCallBody, { signal }: SignalOption = {}): Promise<CalledTool> {
			const end = await http.once<ToolCallEnd>(`${toPath(agent)}/calls`, body, signal);
			if (end.type !== 'failed') return end;
			const { code, message, data } = end.error;
			throw new ClientError(code, message, { data });
		},
	};
}
