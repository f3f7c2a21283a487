import { expect, test } from 'vitest';
import { createDocument } from '../../../src/cloudflare/openapi/document.ts';
import { operations } from '../../../src/cloudflare/openapi/operations.ts';
import { renderPage } from '../../../src/cloudflare/openapi/page.ts';

const page = renderPage(createDocument());

test('the page has every operation under its name, with a curl line', () => {
	for (const [id, { summary }] of Object.entries(operations)) {
		expect(page).toContain(`<article id="${id}" data-method="`);
		expect(page).toContain(`<a href="#${id}">${summary}</a>`);
	}
	expect(page.match(/<pre tabindex="0"><code>curl /g)).toHaveLength(Object.keys(operations).length);
	expect(page).toContain('curl &quot;$RUNLET_URL/v1/sessions&quot; \\');
});

test('every link of the page has a target', () => {
	const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
	for (const [, href = ''] of page.matchAll(/ href="([^"]+)"/g)) {
		if (href.startsWith('#')) expect(ids, href).toContain(href.slice(1));
		else expect(['./', 'data:,', './theme.css', './docs.css', './openapi.json']).toContain(href);
	}
});

test('the page runs only its own scripts, and loads nothing from other origins', () => {
	expect(page).toMatch(/^<!doctype html>/);
	const scripts = '<script src="./theme.js"></script>\n<script type="module" src="./docs.js"></script>';
	expect(page).toContain(scripts);
	expect(page.replace(scripts, '')).not.toMatch(/<script|<style| style=| on\w+=|https?:\/\/(?!example\.com)/);
});

test('the page escapes examples', () => {
	expect(page).toContain('-H &#39;content-type: application/json&#39;');
});
