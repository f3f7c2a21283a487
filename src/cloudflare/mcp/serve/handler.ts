import { createMcpHandler } from './sdk.ts';
import type { ServedAgent } from './served.ts';
import { createAgentServer } from './server.ts';

/** Answers a request of an MCP client, of either revision. Each request has a server of its own. */
export function serveAgent(request: Request, served: ServedAgent): Promise<Response> {
	return createMcpHandler(() => createAgentServer(served)).fetch(request, { parsedBody: served.body });
}
