import {
	isProviderToolType,
	listProviderTools,
	type ProviderChoices,
	type ProviderTool,
} from '../../../chat/provider-tool.ts';
import type { Foreseen } from '../../adapter/adapter.ts';
import { getString, type Json } from '../../adapter/json.ts';
import { assertNoDomains, createNoTool, listToolTypes } from '../../adapter/tools.ts';
import type { ChatQuirks } from './request.ts';

/** Converts an agent's choices to fields of Chat Completions. Throws `invalid_request` for an unknown tool. */
export function toChatChoices(
	choices: ProviderChoices,
	displayName: string,
	{ providerTools: types = {}, serviceTiers = usualTiers, endUser: endUserField = 'user' }: ChatQuirks = {},
): Json {
	const toTool = (tool: ProviderTool): Json => {
		const { type, maxUses: _, allowedDomains: __, blockedDomains: ___, ...fields } = tool;
		const own = types[type] ?? (isProviderToolType(type) ? undefined : type);
		if (own === undefined) throw createNoTool(displayName, type);
		assertNoDomains(displayName, tool);
		return { type: own, ...fields };
	};
	const tools = listProviderTools(choices).map(toTool);
	const { serviceTier, endUser } = choices;
	const tier = serviceTier && serviceTiers[serviceTier];
	return {
		...(tools.length > 0 && { tools }),
		...(tier !== undefined && { service_tier: tier }),
		...(endUser !== undefined && endUserField !== false && { [endUserField]: endUser }),
	};
}

const usualTiers: Readonly<Record<string, string>> = { flex: 'flex', priority: 'priority' };

export function foreseeChat(body: Json, model: string): Foreseen {
	const tools = listToolTypes(body).filter(({ type }) => type !== 'function' && type !== 'custom');
	const searches = body.web_search_options !== undefined || /search-(preview|api)/.test(model);
	const tier = getString(body, 'service_tier');
	return {
		units: { ...Object.fromEntries(tools.map(({ type }) => [type, 1])), ...(searches && { searched_requests: 1 }) },
		...(tier !== undefined && !/^(default|auto|standard|on_demand)$/.test(tier) && { serviceTier: tier }),
	};
}
