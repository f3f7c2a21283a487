import { listProviderTools, type ProviderChoices, type ProviderTool } from '../../../chat/provider-tool.ts';
import { type Foreseen, listToolTypes } from '../../adapter/foresee.ts';
import { getString, type Json } from '../../adapter/json.ts';
import { assertNoDomains, createNoTool } from '../../adapter/tools.ts';

/** An endpoint, and its own words for what an agent chooses. */
export interface ChatTools {
	readonly displayName: string;
	/** Its `type` of each tool that it runs itself. */
	readonly types?: Readonly<Record<string, string>>;
	/** Its word for each tier. One that is missing here is left out. The default is the same word. */
	readonly tiers?: Readonly<Record<string, string>>;
	/** Its field for the end user, or `false` if it refuses one. The default is `user`. */
	readonly endUserField?: string | false;
}

/** Converts an agent's choices to fields of Chat Completions. Throws `invalid_request` for a tool that the endpoint does not have. */
export function toChatChoices(choices: ProviderChoices, endpoint: ChatTools): Json {
	const { displayName, types = {}, tiers = usualTiers, endUserField = 'user' } = endpoint;
	const toTool = (tool: ProviderTool): Json => {
		const { type, maxUses: _, allowedDomains: __, blockedDomains: ___, ...fields } = tool;
		const own = types[type] ?? (common.test(type) ? undefined : type);
		if (own === undefined) throw createNoTool(displayName, type);
		assertNoDomains(displayName, tool);
		return { type: own, ...fields };
	};
	const tools = listProviderTools(choices).map(toTool);
	const { serviceTier, endUser } = choices;
	const tier = serviceTier && tiers[serviceTier];
	return {
		...(tools.length > 0 && { tools }),
		...(tier !== undefined && { service_tier: tier }),
		...(endUser !== undefined && endUserField !== false && { [endUserField]: endUser }),
	};
}

const usualTiers: Readonly<Record<string, string>> = { flex: 'flex', priority: 'priority' };

/** Runlet's names of tools. Another name is the endpoint's own. */
const common = /^(web_search|web_fetch|code_execution|file_search|mcp|image_generation)$/;

/** Returns what a body may bill besides its tokens. */
export function foreseeChat(body: Json, model: string): Foreseen {
	const tools = listToolTypes(body).filter(({ type }) => type !== 'function' && type !== 'custom');
	const searches = body.web_search_options !== undefined || /search-(preview|api)/.test(model);
	const tier = getString(body, 'service_tier');
	return {
		units: { ...Object.fromEntries(tools.map(({ type }) => [type, 1])), ...(searches && { searched_requests: 1 }) },
		...(tier !== undefined && !/^(default|auto|standard|on_demand)$/.test(tier) && { serviceTier: tier }),
	};
}
