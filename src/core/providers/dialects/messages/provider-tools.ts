import { isRecord } from '../../../base/json.ts';
import {
	listProviderTools,
	type ProviderCall,
	type ProviderChoices,
	type ProviderContext,
	type ProviderTool,
	type Source,
	usualUses,
} from '../../../chat/provider-tool.ts';
import { searchName } from '../../../chat/tool-search.ts';
import { builtinNames } from '../../../skill/builtins.ts';
import type { Foreseen } from '../../adapter/adapter.ts';
import { getNumber, getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import { assertNoDomains, assertOwnType, countMostInput, listToolTypes } from '../../adapter/tools.ts';

/** Converts an agent's choices to fields of the Messages API. Throws `invalid_request` for an unknown tool. */
export function toMessagesChoices(choices: ProviderChoices): Json {
	const chosen = listProviderTools(choices);
	const servers = chosen.filter(({ type }) => type === 'mcp');
	const tools = chosen.map(toTool);
	const { serviceTier, speed, region, providerContext = {}, endUser } = choices;
	const edits = listEdits(providerContext);
	return {
		...(tools.length > 0 && { tools }),
		...(servers.length > 0 && { mcp_servers: servers.map(toServer) }),
		...(serviceTier === 'standard' && { service_tier: 'standard_only' }),
		...(serviceTier === 'priority' && { service_tier: 'auto' }),
		...(speed !== undefined && { speed }),
		...(region !== undefined && { inference_geo: region }),
		...(edits.length > 0 && { context_management: { edits } }),
		...(endUser !== undefined && { metadata: { user_id: endUser } }),
	};
}

/** The minimum tokens to compact, and the minimum tokens to clear. Both rewrite the cache, so they must be rare. */
const leastCompacted = 50_000;
const leastCleared = 8_000;

/** Returns how the API shortens a long conversation. The texts of skills and the found tools are kept. */
function listEdits({ clearResultsAt, compactAt }: ProviderContext): Json[] {
	const at = (value: number): Json => ({ type: 'input_tokens', value });
	const clearing = {
		type: 'clear_tool_uses_20250919',
		keep: { type: 'tool_uses', value: 5 },
		clear_at_least: at(leastCleared),
		exclude_tools: [...builtinNames, searchName],
	};
	return [
		...(clearResultsAt === undefined ? [] : [{ ...clearing, trigger: at(clearResultsAt) }]),
		...(compactAt === undefined
			? []
			: [{ type: 'compact_20260112', trigger: at(Math.max(leastCompacted, compactAt)) }]),
	];
}

/** Returns the betas that the edits of a body need. */
export function listContextBetas(body: Json): string[] {
	const types = getObjects(getObject(body, 'context_management'), 'edits').map(({ type }) => `${type}`);
	return [
		...(types.some((type) => type.startsWith('clear_')) ? ['context-management-2025-06-27'] : []),
		...(types.some((type) => type.startsWith('compact_')) ? ['compact-2026-01-12'] : []),
	];
}

/** The newest version of each tool that needs no other tool and works with all models. */
const versions: Readonly<Record<string, string>> = {
	web_search: 'web_search_20250305',
	web_fetch: 'web_fetch_20250910',
	code_execution: 'code_execution_20250825',
};

function toTool(tool: ProviderTool): Json {
	const { type, maxUses, allowedDomains, blockedDomains, ...fields } = tool;
	const version = versions[type] ?? type;
	const isLimited = /^web_(search|fetch)/.test(version);
	if (!isLimited) assertNoDomains('Anthropic', tool);
	if (type === 'mcp') {
		const { name, configs, default_config } = fields;
		return { type: 'mcp_toolset', mcp_server_name: name, configs, default_config };
	}
	if (version === type) assertOwnType('Anthropic', type);
	return {
		type: version,
		name: version.replace(/_\d{8}$/, ''),
		...(isLimited && { max_uses: maxUses ?? usualUses }),
		...(allowedDomains && { allowed_domains: allowedDomains }),
		...(blockedDomains && { blocked_domains: blockedDomains }),
		...fields,
	};
}

function toServer({ type: _, maxUses: __, configs: ___, default_config: ____, ...fields }: ProviderTool): Json {
	return { type: 'url', ...fields };
}

/** Returns the highest possible bill beyond the tokens. A compaction adds one reading of the input and one output. */
export function foreseeMessages(body: Json, inputTokens: number): Foreseen {
	const tools = listToolTypes(body);
	const count = (kind: RegExp): number =>
		tools
			.filter(({ type }) => kind.test(type))
			.reduce((sum, { tool }) => sum + (getNumber(tool, 'max_uses') ?? usualUses), 0);
	const searches = count(/^web_search/);
	const fetches = count(/^web_fetch/);
	const containers = tools.some(({ type }) => type.startsWith('code_execution')) ? 1 : 0;
	const remote = tools.filter(({ type }) => type === 'mcp_toolset').length;
	const uses = searches + fetches + usualUses * (containers + remote);
	const edit = getObjects(getObject(body, 'context_management'), 'edits').find(({ type }) =>
		/^compact_/.test(`${type}`),
	);
	const trigger = edit && (getNumber(getObject(edit, 'trigger'), 'value') ?? leastCompacted);
	const compactions = trigger !== undefined && countMostInput(inputTokens, uses) >= trigger ? 1 : 0;
	const unknown = tools.filter(({ type }) => !known.test(type)).map(({ type }) => [type, 1] as const);
	return {
		units: {
			web_searches: searches,
			web_fetches: fetches,
			container_minutes: 60 * containers,
			...Object.fromEntries(unknown),
		},
		uses: uses + compactions,
		texts: compactions,
		...(body.speed === 'fast' && { speed: 'fast' }),
		...(typeof body.inference_geo === 'string' && body.inference_geo !== 'global' && { region: body.inference_geo }),
	};
}

/** Tools that cost nothing, tools that the client runs, and tools with a known price. */
const known =
	/^(custom|function|bash_|text_editor_|computer_|memory_|browser_|tool_search_|mcp_toolset|web_search|web_fetch|code_execution)/;

/** Reads the call from a block of a server tool, or of a tool of an MCP server. */
export function readServerCall(block: Json, input: unknown): ProviderCall | undefined {
	const { type } = block;
	if (type !== 'server_tool_use' && type !== 'mcp_tool_use') return undefined;
	const name = getString(block, 'name') ?? '';
	const server = getString(block, 'server_name');
	return { id: getString(block, 'id') ?? '', name: server === undefined ? toName(name) : `${server}/${name}`, input };
}

export function readServerResult(block: Json): ProviderCall | undefined {
	const { type, content } = block;
	const id = getString(block, 'tool_use_id');
	if (id === undefined || typeof type !== 'string' || !type.endsWith('_tool_result')) return undefined;
	const isError = block.is_error === true || (isRecord(content) && /error/.test(getString(content, 'type') ?? ''));
	const name = toName(type.replace(/_tool_result$/, ''));
	const results = getObjects(block, 'content').filter((result) => result.type === 'web_search_result');
	const output = results.length > 0 ? results.map(({ url, title, page_age }) => ({ url, title, page_age })) : content;
	return { id, name, output, isError };
}

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

/** Converts the name of a tool. Code execution has several names. */
function toName(name: string): string {
	return name.endsWith('code_execution') ? 'code_execution' : name;
}
