import {
	listProviderTools,
	type ProviderChoices,
	type ProviderContext,
	type ProviderTool,
	usualUses,
} from '../../../chat/provider-tool.ts';
import { searchName } from '../../../chat/tool-search.ts';
import { builtinNames } from '../../../skill/builtins.ts';
import { countMostInput, type Foreseen, listToolTypes, readUses } from '../../adapter/foresee.ts';
import { getNumber, getObject, getObjects, type Json } from '../../adapter/json.ts';
import { assertNoDomains, createNoTool } from '../../adapter/tools.ts';

/** Converts an agent's choices to fields of the Messages API. Throws `invalid_request` for a tool that it does not have. */
export function toMessagesChoices(choices: ProviderChoices): Json {
	const given = listProviderTools(choices);
	const servers = given.filter(({ type }) => type === 'mcp');
	const tools = given.map(toTool);
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

/** The least tokens at which the API sums up, and those that it leaves out at least: each time, the cache is written anew. */
const leastCompacted = 50_000;
const leastCleared = 8_000;

/** Converts what the API does to a long conversation. What a skill says and what tools were found stays. */
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

/** Returns the betas that a body needs for what the API does to a long conversation. */
export function listContextBetas(body: Json): string[] {
	const types = getObjects(getObject(body, 'context_management'), 'edits').map(({ type }) => `${type}`);
	return [
		...(types.some((type) => type.startsWith('clear_')) ? ['context-management-2025-06-27'] : []),
		...(types.some((type) => type.startsWith('compact_')) ? ['compact-2026-01-12'] : []),
	];
}

/** The newest versions that need no other tool and run with every model. */
const versions: Readonly<Record<string, string>> = {
	web_search: 'web_search_20250305',
	web_fetch: 'web_fetch_20250910',
	code_execution: 'code_execution_20250825',
};

function toTool(tool: ProviderTool): Json {
	const { type, maxUses, allowedDomains, blockedDomains, ...fields } = tool;
	if (type === 'file_search' || type === 'image_generation') throw createNoTool('Anthropic', type);
	const version = versions[type] ?? type;
	const isLimited = /^web_(search|fetch)/.test(version);
	if (!isLimited) assertNoDomains('Anthropic', tool);
	if (type === 'mcp') {
		const { name, configs, default_config } = fields;
		return { type: 'mcp_toolset', mcp_server_name: name, configs, default_config };
	}
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

/**
 * Returns what a body may bill besides its tokens. A compaction reads everything once more, and writes a text.
 *
 * @param inputTokens those that are sent
 */
export function foreseeMessages(body: Json, inputTokens: number): Foreseen {
	const tools = listToolTypes(body);
	const count = (kind: RegExp): number =>
		tools.filter(({ type }) => kind.test(type)).reduce((sum, { tool }) => sum + readUses(tool), 0);
	const searches = count(/^web_search/);
	const fetches = count(/^web_fetch/);
	const containers = tools.some(({ type }) => type.startsWith('code_execution')) ? 1 : 0;
	const remote = tools.filter(({ type }) => type === 'mcp_toolset').length;
	const uses = searches + fetches + usualUses * (containers + remote);
	const edit = getObjects(getObject(body, 'context_management'), 'edits').find(({ type }) =>
		/^compact_/.test(`${type}`),
	);
	const compactions = edit && countMostInput(inputTokens, uses) >= readTrigger(edit) ? 1 : 0;
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

/** Returns the tokens at which a conversation is summed up. */
function readTrigger(edit: Json): number {
	return getNumber(getObject(edit, 'trigger'), 'value') ?? leastCompacted;
}

/** Tools that cost nothing themselves, or that the client runs, and those whose price is known. */
const known =
	/^(custom|function|bash_|text_editor_|computer_|memory_|browser_|tool_search_|mcp_toolset|web_search|web_fetch|code_execution)/;
