import { providerName } from '../tool/index.ts';
import type { McpServer } from './server.ts';

/**
 * Returns the name under which a tool of a server is offered: `NAME_TOOL`, if providers take that. Any other name
 * becomes a readable one with a hash, which is the same in every process.
 */
export function createToolName({ name }: Pick<McpServer, 'name'>, tool: string): string {
	return providerName(`${name}_${tool}`);
}
