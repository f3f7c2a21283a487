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
export {
	createConnection,
	type FromServerOptions,
	fromServer,
	type McpConnection,
	type ServerTools,
} from './connection.ts';
export { type FinishLoginOptions, finishLogin } from './login.ts';
export type {
	ConnectionOptions,
	LoginClient,
	LoginClientMetadata,
	LoginContext,
	LoginDiscovery,
	LoginTokens,
	McpLogin,
	McpProblem,
	McpServer,
} from './server.ts';
