import { describe, expect, test } from 'vitest';
import type { WorkerEnv } from '../../../src/cloudflare/config/env.ts';
import { readSearch } from '../../../src/cloudflare/config/search.ts';

const read = (env: WorkerEnv) => readSearch(env);

describe('the service of web_search', () => {
	test('is undefined if its variables are missing or empty', () => {
		expect(read({})).toBeUndefined();
		expect(read({ BRAVE_API_KEY: ' ', SEARCH_URL: '', SEARCH_API_KEY: 'k' })).toBeUndefined();
	});

	test('is Brave if its key is set, else Tavily if its key is set', () => {
		expect(read({ BRAVE_API_KEY: 'b', TAVILY_API_KEY: 't' })).toMatchObject({
			headers: { 'x-subscription-token': 'b' },
		});
		expect(read({ TAVILY_API_KEY: 't' })).toMatchObject({ headers: { authorization: 'Bearer t' } });
	});

	test('is the service at SEARCH_URL if this variable is set, even if the key of Brave is set', () => {
		const url = 'https://s.example/?q={query}';
		expect(read({ SEARCH_URL: url, BRAVE_API_KEY: 'b' })).toEqual({ url, headers: {}, body: undefined });
	});

	test('is configured by the variables for its key, header, body and fields', () => {
		const described = read({
			SEARCH_URL: 'http://localhost:8888/find',
			SEARCH_API_KEY: 'k',
			SEARCH_HEADER: 'X-Key',
			SEARCH_BODY: '{"q": "{query}"}',
			SEARCH_FIELDS: 'data.items: name, link.href, about',
		});
		expect(described).toEqual({
			url: 'http://localhost:8888/find',
			headers: { 'x-key': 'k' },
			body: { q: '{query}' },
			results: 'data.items',
			fields: { title: 'name', url: 'link.href', snippet: 'about' },
		});
		expect(read({ SEARCH_URL: 'https://s.example/', SEARCH_API_KEY: 'k' })?.headers).toEqual({
			authorization: 'Bearer k',
		});
	});

	test.each<[keyof WorkerEnv & string, WorkerEnv]>([
		['SEARCH_URL', { SEARCH_URL: 'search.example.com' }],
		['SEARCH_URL', { SEARCH_URL: 'file:///etc/passwd' }],
		['SEARCH_HEADER', { SEARCH_URL: 'https://s.example/', SEARCH_API_KEY: 'k', SEARCH_HEADER: 'x y' }],
		['SEARCH_BODY', { SEARCH_URL: 'https://s.example/', SEARCH_BODY: '[1]' }],
		['SEARCH_BODY', { SEARCH_URL: 'https://s.example/', SEARCH_BODY: '{' }],
		['SEARCH_FIELDS', { SEARCH_URL: 'https://s.example/', SEARCH_FIELDS: 'items' }],
	])('throws an error with an example if %s is invalid', (name, env) => {
		expect(() => read(env)).toThrow(
			expect.objectContaining({
				code: 'not_configured',
				message: expect.stringMatching(new RegExp(`^${name}: must be .*such as `)),
			}),
		);
	});
});
