import { listProviderTools, type ProviderChoices, type ProviderTool } from '../../../chat/provider-tool.ts';
import { type Foreseen, listToolTypes } from '../../adapter/foresee.ts';
import { getString, type Json } from '../../adapter/json.ts';
import { createNoTool } from '../../adapter/no-tool.ts';

/** An endpoint, and its own `type` of each tool that it runs itself. */
export interface ChatTools {
	readonly displayName: string;
	readonly types?: Readonly<Record<string, string>>;
}

/** Converts an agent's choices to fields of Chat Completions. Throws `invalid_request` for a tool that the endpoint does not have. */
export function toChatChoices(choices: ProviderChoices, { displayName, types = {} }: ChatTools): Json {
	const toTool = ({ type, maxUses: _, allowedDomains: __, blockedDomains: ___, ...fields }: ProviderTool): Json => {
		const own = types[type] ?? (common.test(type) ? undefined : type);
		if (own === undefined) throw createNoTool(displayName, type);
		return { type: own, ...fields };
	};
	const tools = listProviderTools(choices).map(toTool);
	const { serviceTier, endUser } = choices;
	return {
		...(tools.length > 0 && { tools }),
		...(serviceTier !== undefined && serviceTier !== 'standard' && { service_tier: serviceTier }),
		...(endUser !== undefined && { user: endUser }),
	};
}

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
