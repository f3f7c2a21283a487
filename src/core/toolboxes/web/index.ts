import { assertKnownFields } from '../../base/check.ts';
import type { SearchService, Tool } from '../../tool/index.ts';
import { type FetchOptions, webFetchTool } from './fetch.ts';
import { webSearchTool } from './search.ts';

/** The options of the tools that read the web. */
export interface WebOptions extends FetchOptions {
	/** The search service. The default is the context's service, which a Worker reads from its environment. */
	readonly search?: SearchService;
}

const known: Readonly<Record<keyof WebOptions, true>> = {
	...{ robots: true, maxBytes: true, timeoutMs: true, maxRedirects: true, pageCharacters: true, readers: true },
	search: true,
};

export function webTools({ search, ...options }: WebOptions = {}): readonly Tool[] {
	assertKnownFields({ ...options, ...(search && { search }) }, Object.keys(known));
	return [webFetchTool(options), webSearchTool(search)];
}

/** Brave Search (https://api-dashboard.search.brave.com/app/documentation/web-search). */
export function braveSearch({ apiKey }: { readonly apiKey: string }): SearchService {
	return {
		url: 'https://api.search.brave.com/res/v1/web/search?q={query}&count={limit}',
		headers: { 'x-subscription-token': apiKey },
		results: 'web.results',
		fields: { snippet: 'description' },
	};
}

/** Tavily (https://docs.tavily.com/documentation/api-reference/endpoint/search). */
export function tavilySearch({ apiKey }: { readonly apiKey: string }): SearchService {
	return {
		url: 'https://api.tavily.com/search',
		headers: { authorization: `Bearer ${apiKey}` },
		body: { query: '{query}', max_results: '{limit}' },
		fields: { snippet: 'content' },
	};
}
