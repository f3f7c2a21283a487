/** What people fill in for calls, as `GET /v1/agents` describes it. */

import type { Agent, WaitingCall } from '../../client/index.ts';

/** Finds the JSON Schema for a call: of its arguments if it has to be allowed, else of its result. */
export type FindSchema = (call: Pick<WaitingCall, 'name' | 'kind'>, agent?: string) => unknown;

export function findCallSchema(
	agents: readonly Agent[],
	agent: string,
	{ name, kind }: Pick<WaitingCall, 'name' | 'kind'>,
): unknown {
	const tool = agents.find((one) => one.name === agent)?.tools.find((one) => one.name === name);
	return kind === 'approval' ? tool?.inputSchema : tool?.outputSchema;
}
