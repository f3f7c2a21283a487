/** The part of the MCP server SDK that Runlet uses. The package holds a copy of it (scripts/pack/copies.ts). */
export {
	createMcpHandler,
	inputRequired,
	inputResponse,
	McpServer,
	MissingRequiredClientCapabilityError,
	ProtocolError,
	ProtocolErrorCode,
} from '@modelcontextprotocol/server';
export { SkillsExtension } from '@modelcontextprotocol/server/ext/skills';
