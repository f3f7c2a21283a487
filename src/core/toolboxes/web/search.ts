import * as v from 'valibot';
import { RunletError } from '../../base/errors.ts';
import { isRecord } from '../../base/json.ts';
import { publicFetch } from '../../base/public-fetch.ts';
import { replaceControls, truncateText } from '../../base/text.ts';
import { define } from '../../tool/define.ts';
import type { SearchService, Tool, ToolContext } from '../../tool/index.ts';
import { createNotice } from './fetch.ts';
import { agentName } from './robots.ts';

export interface SearchResult {
	readonly title: string;
	readonly url: string;
	readonly snippet: string;
}

/** The time limit of a search in milliseconds. */
const timeoutMs = 20_000;
/** The maximum size of a response in bytes. */
const maxBytes = 2_000_000;
/** The maximum length of a title or a snippet in characters. */
const longestText = 1_000;

/** Makes the search tool. Without `own`, it uses the search service of the context. */
export function webSearchTool(own?: SearchService): Tool {
	return define({
		name: 'web_search',
		description: 'Search the web. Gives addresses with titles and short texts; read a page with web_fetch.',
		inputSchema: v.object({
			query: v.pipe(v.string(), v.trim(), v.minLength(1), v.maxLength(400), v.description('A few words')),
			limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(20), v.description('5'))),
		}),
		passInput: true,
		retry: 'safe',
		reads: 'outside',
		writes: 'outside',
		isAvailable: ({ web }) => (own ?? web?.search) !== undefined,
		onRequest: ({ query }) => ['Searching the web', query],
		onResult: (_, { results }) => `${results.length} ${results.length === 1 ? 'page' : 'pages'} found`,
		fn: async ({ query, limit = 5 }, context) => {
			const service = own ?? context.web?.search;
			if (service === undefined)
				throw new RunletError('not_configured', 'There is no search here. Answer with what you know, or read a page.');
			const results = await searchWeb(service, { query, limit }, context);
			return { notice: createNotice(`a search for "${query}"`), results };
		},
	});
}

async function searchWeb(
	service: SearchService,
	request: { readonly query: string; readonly limit: number },
	{ signal, fetch }: ToolContext,
): Promise<readonly SearchResult[]> {
	const { url, init } = createRequest(service, request);
	const send = fetch && ((input: URL, sent: RequestInit) => fetch(input.href, sent));
	// Allow an address on the same machine, because the operator configures it.
	const limits = { field: 'search', allowLoopback: true, maxRedirects: 0, maxBytes, timeoutMs, fetch: send };
	const response = await publicFetch(url, { ...init, signal }, limits);
	const text = await response.text();
	if (!response.ok) throw createFailure(response.status);
	const found = readPath(parseAnswer(text), service.results ?? 'results');
	if (!Array.isArray(found))
		throw new RunletError('network', 'search: the service answered without a list of results. Try other words.');
	return found.flatMap((one) => readResult(one, service.fields) ?? []).slice(0, request.limit);
}

function createRequest(
	{ url, headers, body }: SearchService,
	{ query, limit }: { readonly query: string; readonly limit: number },
): { url: string; init: RequestInit } {
	const fill = (text: string, encode: (value: string) => string) =>
		text.replaceAll('{limit}', String(limit)).replaceAll('{query}', () => encode(query));
	const fillIn = (value: unknown): unknown => {
		if (value === '{limit}') return limit;
		if (typeof value === 'string') return fill(value, String);
		if (Array.isArray(value)) return value.map(fillIn);
		return isRecord(value)
			? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fillIn(one)]))
			: value;
	};
	const sent = { accept: 'application/json', 'user-agent': agentName, ...headers };
	const address = fill(url, encodeURIComponent);
	if (body === undefined) return { url: address, init: { headers: sent } };
	const json = {
		method: 'POST',
		headers: { 'content-type': 'application/json', ...sent },
		body: JSON.stringify(fillIn(body)),
	};
	return { url: address, init: json };
}

function readResult(one: unknown, names: SearchService['fields'] = {}): SearchResult | undefined {
	const url = readPath(one, names.url ?? 'url');
	if (typeof url !== 'string' || !/^https?:/i.test(url) || !URL.canParse(url)) return undefined;
	const title = toPlainText(readPath(one, names.title ?? 'title'));
	return { title: title || url, url, snippet: toPlainText(readPath(one, names.snippet ?? 'snippet')) };
}

/** Removes the `<strong>` tags around the words that match. */
function toPlainText(value: unknown): string {
	if (typeof value !== 'string') return '';
	const plain = value
		.replace(/<\/?(?:strong|b|em)>/gi, '')
		.replace(/\s+/g, ' ')
		.trim();
	return replaceControls(truncateText(plain, longestText));
}

function parseAnswer(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

function readPath(value: unknown, path: string): unknown {
	return path
		.split('.')
		.reduce((inner, name) => (isRecord(inner) && Object.hasOwn(inner, name) ? inner[name] : undefined), value);
}

/** Creates the error of a failed search. The error does not show the key, which belongs to the operator. */
function createFailure(status: number): RunletError {
	const isWrong = status === 401 || status === 403;
	const remedy = isWrong
		? 'Its key is wrong. Go on without a search.'
		: 'Try it again later, or go on without a search.';
	return new RunletError('network', `search: the service answered with status ${status}. ${remedy}`);
}
