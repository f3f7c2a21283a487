import { assertKnownFields } from '../../ground/check.ts';
import type { SearchService, Tool } from '../../tool/index.ts';
import { type FetchOptions, webFetchTool } from './fetch.ts';
import { webSearchTool } from './search.ts';

/** The options of the tools that read the web. */
export interface WebOptions extends FetchOptions {
	/** The service that searches. The default is the one of the context: in a Worker that of its environment. */
	readonly search?: SearchService;
}

const known: Readonly<Record<keyof WebOptions, true>> = {
	...{ robots: true, maxBytes: true, timeoutMs: true, maxRedirects: true, pageCharacters: true, readers: true },
	search: true,
};

/** Makes the tools `web_fetch` and `web_search`. */
export function webTools({ search, ...options }: WebOptions = {}): readonly Tool[] {
	assertKnownFields({ ...options, ...(search && { search }) }, Object.keys(known));
	return [webFetchTool(options), webSearchTool(search)];
}
