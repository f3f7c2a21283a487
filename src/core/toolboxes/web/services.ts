import type { SearchService } from '../../tool/index.ts';

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
