import {
	listProviderTools,
	type ProviderCall,
	type ProviderChoices,
	type ProviderTool,
	type Source,
	usualUses,
} from '../../../chat/provider-tool.ts';
import type { Foreseen } from '../../adapter/adapter.ts';
import { getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import { assertNoDomains, assertOwnType, createNoTool } from '../../adapter/tools.ts';

/** Converts an agent's choices to fields of `generateContent`. Throws `invalid_request` for an unknown tool. */
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
		case 'code_execution':
		case 'file_search':
			return { [type]: fields };
		case 'image_generation':
			throw createNoTool('Gemini', type, 'Choose a model that makes images, such as gemini-2.5-flash-image');
		default:
			assertOwnType('Gemini', type);
			return { [type]: fields };
	}
}

/** Reserves five queries, because nothing limits the queries of a model. */
export function foreseeGemini(body: Json, model: string): Foreseen {
	const names = getObjects(body, 'tools').flatMap(Object.keys);
	const has = (...wanted: readonly string[]): boolean => wanted.some((name) => names.includes(name));
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

/** Reads the code that Google ran, or its result, from a part. */
export function readCodeCall(part: Json, number: number): ProviderCall | undefined {
	const { executableCode: code, codeExecutionResult: result } = part;
	const call = { id: `code_execution_${number}`, name: 'code_execution' };
	if (code !== undefined) return { ...call, input: code };
	if (result === undefined) return undefined;
	const outcome = getString(getObject(part, 'codeExecutionResult'), 'outcome') ?? '';
	return { ...call, output: result, isError: !outcome.endsWith('OK') };
}

/** Lists the searches and fetches that the end of an answer reports. */
export function listWebCalls(ending: Json): readonly ProviderCall[] {
	const { webSearchQueries: queries } = getObject(ending, 'groundingMetadata');
	const hasSearched = Array.isArray(queries) && queries.length > 0;
	const fetched = getObjects(getObject(ending, 'urlContextMetadata'), 'urlMetadata');
	return [
		...(hasSearched ? [{ id: 'web_search_1', name: 'web_search', input: { queries }, output: listPages(ending) }] : []),
		...fetched.map(({ retrievedUrl: url, urlRetrievalStatus: status }, at) => {
			const isError = !`${status}`.endsWith('SUCCESS');
			return { id: `web_fetch_${at + 1}`, name: 'web_fetch', input: { url }, output: { status }, isError };
		}),
	];
}

/** Lists the pages and documents that an answer uses. */
export function listPages(ending: Json): readonly Omit<Source, 'id'>[] {
	return getObjects(getObject(ending, 'groundingMetadata'), 'groundingChunks').flatMap((chunk) => {
		const kind = ['web', 'retrievedContext', 'maps'].find((key) => chunk[key] !== undefined) ?? 'web';
		const page = getObject(chunk, kind);
		const [url, title] = [getString(page, 'uri'), getString(page, 'title')];
		return url === undefined && title === undefined ? [] : [{ url, title }];
	});
}
