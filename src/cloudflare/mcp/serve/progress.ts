import type { ServerContext } from '@modelcontextprotocol/server';

/** Tells the client what goes on during its request. */
export type Tell = (label: string, detail?: string) => Promise<void>;

/**
 * Makes the function that passes a note on: as progress if the client has asked for it, and as a message of the log.
 *
 * @param tool the name of the tool that works
 */
export function createTell({ mcpReq }: ServerContext, tool: string): Tell {
	const progressToken = mcpReq._meta?.progressToken;
	let progress = 0;
	return async (label, detail) => {
		const message = detail === undefined ? label : `${label}: ${detail}`;
		await mcpReq.log('info', message, tool);
		if (progressToken === undefined) return;
		progress++;
		await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } });
	};
}
