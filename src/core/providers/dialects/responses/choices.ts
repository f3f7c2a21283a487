import type { AskedCall } from '../../../chat/provider.ts';
import { listProviderTools, type ProviderChoices, type ProviderTool, usualUses } from '../../../chat/provider-tool.ts';
import { countMostInput, type Foreseen, listToolTypes } from '../../adapter/foresee.ts';
import { getNumber, getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import { assertNoDomains, createNoTool } from '../../adapter/tools.ts';

type Variant = 'openai' | 'xai';

/** Converts an agent's choices to fields of the Responses API. Throws `invalid_request` for a tool that it does not have. */
export function toResponsesChoices(choices: ProviderChoices, variant: Variant): Json {
	const given = listProviderTools(choices);
	const tools = given.map((tool) => toTool(tool, variant));
	const { serviceTier, speed, providerContext, endUser } = choices;
	const at = variant === 'openai' ? providerContext?.compactAt : undefined;
	const tier = speed === 'fast' ? 'priority' : serviceTier === 'standard' ? 'default' : serviceTier;
	const include = variant === 'openai' ? tools.flatMap(({ type }) => included[`${type}`] ?? []) : [];
	return {
		...(tools.length > 0 && { tools, ...(variant === 'openai' && { max_tool_calls: countUses(given) }) }),
		...(include.length > 0 && { include: [...new Set(include)] }),
		// xAI knows no flex, and as usual what is not priority.
		...(tier !== undefined && (variant === 'openai' || tier === 'priority') && { service_tier: tier }),
		...(at !== undefined && { context_management: [{ type: 'compaction', compact_threshold: at }] }),
		...(endUser !== undefined && (variant === 'openai' ? { safety_identifier: endUser } : { user: endUser })),
	};
}

/** The most uses of all tools together. */
function countUses(tools: readonly ProviderTool[]): number {
	return tools.reduce((sum, { maxUses = usualUses }) => sum + maxUses, 0);
}

/** What came of a call is left out unless it is asked for. */
const included: Readonly<Record<string, string>> = {
	web_search: 'web_search_call.action.sources',
	file_search: 'file_search_call.results',
	code_interpreter: 'code_interpreter_call.outputs',
};

function toTool(tool: ProviderTool, variant: Variant): Json {
	const { type, maxUses: _, allowedDomains, blockedDomains, ...fields } = tool;
	const name = variant === 'openai' ? 'OpenAI' : 'xAI';
	if (!type.startsWith('web_search')) assertNoDomains(name, tool);
	switch (type) {
		case 'web_search': {
			const filters = {
				...(allowedDomains && { allowed_domains: allowedDomains }),
				...(blockedDomains && { [variant === 'openai' ? 'blocked_domains' : 'excluded_domains']: blockedDomains }),
			};
			return { type, ...(Object.keys(filters).length > 0 && { filters }), ...fields };
		}
		case 'web_fetch':
			throw createNoTool(name, type, 'Use web_search, which opens pages too');
		case 'code_execution':
			return { type: 'code_interpreter', ...(variant === 'openai' && { container: { type: 'auto' } }), ...fields };
		case 'mcp': {
			const { name: server_label, url: server_url, ...rest } = fields;
			return { type, server_label, server_url, ...(variant === 'openai' && { require_approval: 'never' }), ...rest };
		}
		case 'image_generation':
			if (variant === 'xai') throw createNoTool(name, type);
			return { type, ...fields };
		default:
			return { type, ...fields };
	}
}

/**
 * Returns what a body may bill besides its tokens. A compaction reads everything once more, and writes a text.
 *
 * @param asked the choices and the tokens that are sent
 */
export function foreseeResponses(body: Json, variant: Variant, { inputTokens, ...choices }: AskedCall): Foreseen {
	const tools = listToolTypes(body).filter(({ type }) => !free.test(type));
	// xAI limits no calls, so what the agent expects is reserved.
	const given = listProviderTools(choices);
	const expected = countUses(given) + usualUses * Math.max(0, tools.length - given.length);
	const uses = getNumber(body, 'max_tool_calls') ?? expected;
	const units: Record<string, number> = {};
	for (const { type, tool } of tools) {
		const [unit, most] = toUnit(type, tool, variant);
		if (unit !== undefined) units[unit] = (units[unit] ?? 0) + (most ?? uses);
	}
	const tier = getString(body, 'service_tier');
	const most = tools.length === 0 ? 0 : uses;
	const [edit] = getObjects(body, 'context_management');
	const compactions = edit && countMostInput(inputTokens, most) >= (getNumber(edit, 'compact_threshold') ?? 0) ? 1 : 0;
	return {
		units,
		uses: most + compactions,
		texts: compactions,
		...(tier !== undefined &&
			!['default', 'auto', 'standard'].includes(tier) && { serviceTier: tier === 'fast' ? 'priority' : tier }),
	};
}

/** Tools that the client runs. */
const free = /^(function|custom|computer|local_shell|apply_patch|tool_search|namespace)/;

/** Returns the unit that a tool bills, and the most of it if that is not its uses. */
function toUnit(type: string, tool: Json, variant: Variant): readonly [unit?: string, most?: number] {
	if (type.startsWith('web_search_preview')) return ['preview_searches'];
	if (type.startsWith('web_search')) return ['web_searches'];
	switch (type) {
		case 'mcp':
			return [];
		case 'file_search':
			return ['file_searches'];
		case 'x_search':
			return ['x_searches'];
		case 'code_interpreter':
		case 'shell': {
			if (variant === 'xai') return ['code_executions'];
			const container = getObject(tool, type === 'shell' ? 'environment' : 'container');
			// Without a container the client runs the commands.
			if (type === 'shell' && !getString(container, 'type')?.startsWith('container')) return [];
			const memory = getString(container, 'memory_limit') ?? '1g';
			return [memory === '1g' ? 'containers' : `containers_${memory}`, 1];
		}
		default:
			return [type];
	}
}
