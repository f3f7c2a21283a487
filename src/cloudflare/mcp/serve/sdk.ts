/** The part of the protocol's server that is used. The package holds a copy of it (scripts/pack/copies.ts). */
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
