import { describe, expect, test } from 'vitest';
import { type SearchService, toolbox } from '../../../../src/core/index.ts';
import { calling, finish, results } from '../../chat/support.ts';
import { createWeb } from './web.ts';

const json = (value: unknown, status = 200) => new Response(JSON.stringify(value), { status });
const found = (n: number) => ({ title: `T${n}`, url: `https://a.example/${n}`, snippet: `s${n}` });

async function search(service: SearchService, url: string, answer: Response, args: object = { query: 'tea & milk' }) {
	const { fetch, asked } = createWeb({ [url]: answer });
	const outcome = await toolbox.perform('web_search', { ...args }, toolbox.withWeb(), {
		fetch,
		web: { search: service },
	});
	return { outcome, asked, headers: new Headers(asked[0]?.init?.headers), body: asked[0]?.init?.body };
}

describe('web_search', () => {
	test('searches Brave with its key, and returns titles, addresses and snippets', async () => {
		const answer = json({
			web: { results: [{ title: '<strong>Tea</strong>', url: 'https://tea.example/', description: 'All  about tea' }] },
		});
		const url = 'https://api.search.brave.com/res/v1/web/search?q=tea%20%26%20milk&count=5';
		const { outcome, headers } = await search(toolbox.braveSearch({ apiKey: 'KEY' }), url, answer);
		expect(outcome).toEqual({
			ok: true,
			value: {
				notice: expect.stringMatching(/^Untrusted content from a search for "tea & milk"/),
				results: [{ title: 'Tea', url: 'https://tea.example/', snippet: 'All about tea' }],
			},
		});
		expect(headers.get('x-subscription-token')).toBe('KEY');
	});

	test('searches Tavily by a POST request with its key', async () => {
		const answer = json({ results: [{ title: 'Tea', url: 'https://tea.example/', content: 'About' }] });
		const service = toolbox.tavilySearch({ apiKey: 'KEY' });
		const args = { query: 'tea "green"', limit: 3 };
		const { outcome, headers, body } = await search(service, 'https://api.tavily.com/search', answer, args);
		expect(outcome).toMatchObject({
			value: { results: [{ title: 'Tea', url: 'https://tea.example/', snippet: 'About' }] },
		});
		expect(headers.get('authorization')).toBe('Bearer KEY');
		expect(JSON.parse(String(body))).toEqual({ query: 'tea "green"', max_results: 3 });
	});

	test('searches any other service that the options describe, even if it runs on the same machine', async () => {
		const service = {
			url: 'http://localhost:8888/find?n={limit}&q={query}',
			headers: { 'x-key': 'KEY' },
			results: 'data.items',
			fields: { title: 'name', url: 'link.href', snippet: 'about' },
		};
		const answer = json({ data: { items: [{ name: 'Tea', link: { href: 'https://tea.example/' }, about: 'A' }] } });
		const { outcome, headers } = await search(service, 'http://localhost:8888/find?n=5&q=tea%20%26%20milk', answer);
		expect(outcome).toMatchObject({
			value: { results: [{ title: 'Tea', url: 'https://tea.example/', snippet: 'A' }] },
		});
		expect(headers.get('x-key')).toBe('KEY');
	});

	test('returns at most the limit, and only results with a web address', async () => {
		const results = [
			{ ...found(0), url: 'javascript:1' },
			7,
			{ title: 'x' },
			...[1, 2, 3].map(found),
			{ url: 'https://b.example/' },
		];
		const service = { url: 'https://s.example/?{query}' };
		const two = await search(service, 'https://s.example/?x', json({ results }), { query: 'x', limit: 2 });
		expect(two.outcome).toMatchObject({ value: { results: [found(1), found(2)] } });
		const all = await search(service, 'https://s.example/?x', json({ results }), { query: 'x' });
		expect(all.outcome).toMatchObject({
			value: {
				results: [
					found(1),
					found(2),
					found(3),
					{ title: 'https://b.example/', url: 'https://b.example/', snippet: '' },
				],
			},
		});
	});

	test('is offered only with a configured service', async () => {
		expect(Object.keys(toolbox.withWeb({}, {}))).toEqual(['web_fetch']);
		expect(Object.keys(toolbox.withWeb({}, { web: { search: { url: 'https://s.example/' } } }))).toEqual([
			'web_fetch',
			'web_search',
		]);
		expect(Object.keys(toolbox.withWeb())).toEqual(['web_fetch', 'web_search']);
		expect(await toolbox.perform('web_search', { query: 'x' }, toolbox.withWeb())).toMatchObject({
			error: { kind: 'unknown_tool' },
		});
		const own = toolbox.webTools({ search: { url: 'https://s.example/' } });
		expect(Object.keys(toolbox.build(own, {}))).toEqual(['web_fetch', 'web_search']);
	});

	test.each([
		[json({}, 401), /^search: the service answered with status 401\. Its key is wrong\. Go on without a search\.$/],
		[json({}, 429), /^search: the service answered with status 429\. Try it again later, or go on without/],
		[json({}), /^search: the service answered without a list of results\. Try other words\.$/],
		[new Response('<html>'), /^search: the service answered without a list/],
		[
			new Response(null, { status: 302, headers: { location: 'https://evil.example/' } }),
			/^search: redirects too often/,
		],
	])('reports a failure of the service with a remedy, but without the key', async (answer, message) => {
		const service = { url: 'https://s.example/?{query}', headers: { authorization: 'Bearer KEY-1' } };
		const { fetch, urls } = createWeb({ 'https://s.example/?x': answer });
		const call = calling({ id: 'a', name: 'web_search', input: { query: 'x' } });
		const context = { fetch, web: { search: service } };
		const { result } = await finish([call, 'I go on without.'], { tools: toolbox.withWeb(), context });
		const [[, output] = []] = results(result.messages);
		expect(output).toMatch(message);
		expect(JSON.stringify(result.messages)).not.toContain('KEY-1');
		expect(urls()).toEqual(['https://s.example/?x']);
	});

	test('refuses an empty query, and accepts the corrected query', async () => {
		const { fetch } = createWeb({ 'https://s.example/?tea': json({ results: [found(1)] }) });
		const call = (id: string, query: string) => calling({ id, name: 'web_search', input: { query } });
		const context = { fetch, web: { search: { url: 'https://s.example/?{query}' } } };
		const { result } = await finish([call('a', ' '), call('b', 'tea'), 'done'], { tools: toolbox.withWeb(), context });
		const [[, first] = [], [, second] = []] = results(result.messages);
		expect(first).toMatch(/^query: /);
		expect(second).toMatchObject({ results: [found(1)] });
	});

	test('refuses a misspelled option, and names it', () => {
		// @ts-expect-error There is no such option.
		expect(() => toolbox.webTools({ robot: true })).toThrow(/^robot: no such field.*Did you mean robots\?/);
	});
});
