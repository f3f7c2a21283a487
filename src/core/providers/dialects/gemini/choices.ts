import { listProviderTools, type ProviderChoices, type ProviderTool, usualUses } from '../../../chat/provider-tool.ts';
import type { Foreseen } from '../../adapter/foresee.ts';
import { getObjects, getString, type Json } from '../../adapter/json.ts';
import { assertNoDomains, createNoTool } from '../../adapter/tools.ts';

/** Converts an agent's choices to fields of `generateContent`. Throws `invalid_request` for a tool that it does not have. */
export function toGeminiChoices(choices: ProviderChoices): Json {
	const tools = listProviderTools(choices).map(toTool);
	const { serviceTier } = choices;
	return {
		...(tools.length > 0 && { tools }),
		...(serviceTier !== undefined && serviceTier !== 'standard' && { serviceTier }),
	};
}

function toTool(tool: ProviderTool): Json {
	assertNoDomains('Gemini', tool);
	const { type, maxUses: _, allowedDomains: __, blockedDomains: ___, ...fields } = tool;
	switch (type) {
		case 'web_search':
			return { google_search: fields };
		case 'web_fetch':
			return { url_context: fields };
		case 'mcp':
			throw createNoTool('Gemini', type);
		case 'image_generation':
			throw createNoTool('Gemini', type, 'Choose a model that makes images, such as gemini-2.5-flash-image');
		default:
			return { [type]: fields };
	}
}

/** Returns what a body may bill besides its tokens. Nothing limits the queries of a model, so five are reserved. */
export function foreseeGemini(body: Json, model: string): Foreseen {
	const names = getObjects(body, 'tools').flatMap(Object.keys);
	const has = (...some: readonly string[]): boolean => some.some((name) => names.includes(name));
	const isNew = /gemini-[3-9]/.test(model);
	const tier = getString(body, 'serviceTier') ?? getString(body, 'service_tier');
	return {
		units: {
			...(has('google_search', 'googleSearch', 'google_search_retrieval') &&
				(isNew ? { web_searches: usualUses } : { searched_prompts: 1 })),
			...(has('google_maps', 'googleMaps') && (isNew ? { maps_queries: usualUses } : { maps_prompts: 1 })),
		},
		uses: has('url_context', 'urlContext', 'code_execution', 'codeExecution', 'file_search', 'fileSearch')
			? usualUses
			: 0,
		...(tier !== undefined && tier !== 'standard' && { serviceTier: tier.toLowerCase() }),
	};
}
