import type { ProviderCall, Source } from '../../../chat/provider-tool.ts';
import { getObjects, getString, type Json } from '../../adapter/json.ts';

/** Returns the call in a block of a server tool, or of one of an MCP server at Anthropic. */
export function readServerCall(block: Json, input: unknown): ProviderCall | undefined {
	const { type } = block;
	if (type !== 'server_tool_use' && type !== 'mcp_tool_use') return undefined;
	const name = getString(block, 'name') ?? '';
	const server = getString(block, 'server_name');
	return { id: getString(block, 'id') ?? '', name: server === undefined ? toName(name) : `${server}/${name}`, input };
}

/** Returns the result in a block of a server tool. */
export function readServerResult(block: Json): ProviderCall | undefined {
	const { type, content } = block;
	const id = getString(block, 'tool_use_id');
	if (id === undefined || typeof type !== 'string' || !type.endsWith('_tool_result')) return undefined;
	const isError = block.is_error === true || /error/.test(getString(toRecord(content), 'type') ?? '');
	const name = toName(type.replace(/_tool_result$/, ''));
	const results = getObjects(block, 'content').filter((one) => one.type === 'web_search_result');
	const output = results.length > 0 ? results.map(({ url, title, page_age }) => ({ url, title, page_age })) : content;
	return { id, name, output, isError };
}

/** Returns the source that a citation names. */
export function readCitation(citation: Json): Omit<Source, 'id'> | undefined {
	const url = getString(citation, 'url') ?? getString(citation, 'source');
	const title = getString(citation, 'title') ?? getString(citation, 'document_title');
	if (url === undefined && title === undefined) return undefined;
	return {
		url: url !== undefined && URL.canParse(url) ? url : undefined,
		title,
		quote: getString(citation, 'cited_text'),
	};
}

/** Code runs by several names. */
function toName(name: string): string {
	return name.endsWith('code_execution') ? 'code_execution' : name;
}

function toRecord(content: unknown): Json {
	return typeof content === 'object' && content !== null && !Array.isArray(content) ? { ...content } : {};
}
