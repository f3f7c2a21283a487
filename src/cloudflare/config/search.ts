import { RunletError } from '../../core/base/errors.ts';
import { isRecord } from '../../core/base/json.ts';
import type { SearchService } from '../../core/tool/index.ts';
import { braveSearch, tavilySearch } from '../../core/toolboxes/index.ts';
import type { WorkerEnv } from './env.ts';
import { readOptional } from './variables.ts';

/** Reads the search service (docs/web.md): `SEARCH_URL`, otherwise Brave or Tavily. Throws `not_configured`. */
export function readSearch(env: WorkerEnv): SearchService | undefined {
	const read = (name: keyof WorkerEnv & string) => readOptional(env, name);
	const url = read('SEARCH_URL');
	const [brave, tavily] = [read('BRAVE_API_KEY'), read('TAVILY_API_KEY')];
	if (url !== undefined) {
		assertSearchUrl(url);
		const key = read('SEARCH_API_KEY');
		const header = read('SEARCH_HEADER')?.toLowerCase();
		return {
			url,
			headers: key === undefined ? {} : readHeader(header, key),
			body: readBody(read('SEARCH_BODY')),
			...readFields(read('SEARCH_FIELDS')),
		};
	}
	if (brave !== undefined) return braveSearch({ apiKey: brave });
	return tavily === undefined ? undefined : tavilySearch({ apiKey: tavily });
}

function assertSearchUrl(url: string): void {
	const isUrl = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
	if (!isUrl) throw createMistake('SEARCH_URL', 'must be a URL, such as https://search.example.com/api?q={query}');
}

function readHeader(name = 'authorization', key: string): Readonly<Record<string, string>> {
	if (!/^[\w-]{1,64}$/.test(name))
		throw createMistake('SEARCH_HEADER', 'must be the name of a header, such as x-api-key');
	return { [name]: name === 'authorization' ? `Bearer ${key}` : key };
}

function readBody(text: string | undefined): Readonly<Record<string, unknown>> | undefined {
	if (text === undefined) return undefined;
	try {
		const body: unknown = JSON.parse(text);
		if (isRecord(body)) return body;
	} catch {
		// Invalid JSON gets the same message as JSON of another type.
	}
	throw createMistake('SEARCH_BODY', 'must be a JSON object, such as {"q": "{query}", "num": "{limit}"}');
}

function readFields(text: string | undefined): Pick<SearchService, 'results' | 'fields'> {
	if (text === undefined) return {};
	const name = String.raw`\s{0,9}([\w.-]{1,99})\s{0,9}`;
	const [found, results, title, url, snippet] = new RegExp(`^${name}:${name},${name},${name}$`).exec(text) ?? [];
	if (found === undefined)
		throw createMistake('SEARCH_FIELDS', 'must be LIST: TITLE, URL, SNIPPET, such as items: title, link, snippet');
	return { results, fields: { title, url, snippet } };
}

function createMistake(name: string, what: string): RunletError {
	return new RunletError('not_configured', `${name}: ${what}.`);
}
