import type { ServerContext } from '@modelcontextprotocol/server';

/** Reports the progress of a request. */
export type Tell = (label: string, detail?: string) => Promise<void>;

/** Reports notes of a tool as progress, if the client has asked for it, and as messages of the log. */
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
