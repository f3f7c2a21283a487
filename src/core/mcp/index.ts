/** `mcp`: the tools of servers of the Model Context Protocol. */

export {
	type Acceptance,
	type AcceptedTool,
	type AcceptedTools,
	type Difference,
	hashDefinition,
	inMemoryAcceptance,
	type ToolDefinition,
} from './acceptance.ts';
export { createConnection, type McpConnection } from './connection.ts';
export type { ConnectionOptions, McpProblem } from './connection-options.ts';
export { type FinishLoginOptions, finishLogin } from './finish-login.ts';
export { type FromServerOptions, fromServer, type ServerTools } from './from-server.ts';
export type { McpServer } from './server.ts';
export type {
	LoginClient,
	LoginClientMetadata,
	LoginContext,
	LoginDiscovery,
	LoginTokens,
	McpLogin,
} from './server-login.ts';
