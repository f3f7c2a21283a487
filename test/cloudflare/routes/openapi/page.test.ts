import { expect, test } from 'vitest';
import { mcp } from '../../../../src/cloudflare/mcp/index.ts';
import { memory } from '../../../../src/cloudflare/memory/index.ts';
import { createApp } from '../../../../src/cloudflare/routes/app.ts';
import { schedules } from '../../../../src/cloudflare/schedules/index.ts';
import * as operations from './operations.ts';

const app = createApp({ agents: [], providers: () => [], mcp, memory, schedules });
const response = await app.request('https://runlet.example/docs', {}, {});
const page = await response.text();

test('the page has every operation under its name, with a line for the shell', () => {
	for (const { id, summary } of Object.values(operations)) {
		expect(page).toContain(`<article id="${id}">`);
		expect(page).toContain(`<a href="#${id}">${summary}</a>`);
	}
	expect(page.match(/<pre><code>curl /g)).toHaveLength(Object.keys(operations).length);
	expect(page).toContain('curl https://runlet.example/v1/sessions \\');
});

test('every link of the page leads somewhere on it, or to the API', () => {
	const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
	for (const [, href = ''] of page.matchAll(/ href="([^"]+)"/g)) {
		if (href.startsWith('#')) expect(ids, href).toContain(href.slice(1));
		else expect(['/', '/theme.css', '/docs.css', '/openapi.json']).toContain(href);
	}
});

test('the page runs no script and loads nothing from anywhere else', () => {
	expect(response.headers.get('content-type')).toBe('text/html; charset=UTF-8');
	expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'self';(?!.*unsafe)/);
	expect(page).not.toMatch(/<script|<style| style=| on\w+=|https?:\/\/(?!runlet\.example|example\.com)/);
});

test('the name that a request gives itself is text on the page', async () => {
	const odd = await app.request('http://x/docs', { headers: { host: '"><b>' } }, {});
	expect(await odd.text()).not.toContain('"><b>');
	expect(page).toContain('-H &#39;content-type: application/json&#39;');
});
