import type { Context } from 'hono';
import type { Hono } from 'hono/tiny';
import { RunletError } from '../../core/base/errors.ts';
import { readConfig } from '../config/config.ts';
import { getDocs, getDocument } from '../wire/endpoints/service.ts';
import type { RouteEnv } from './identity.ts';
import { mount } from './request.ts';

/** The files of the page alone. */
const ofPage = ['/app.js', '/style.css'];
/** The files of `/docs` and of the element `<runlet-chat>`, some of which the page has, too. */
const shared = ['/highlight.js', '/mathml.js', '/embed.js', '/docs.css', '/docs.js', '/theme.css', '/theme.js'];

export const pagePaths: readonly string[] = ['/', ...ofPage, ...shared];

/** Serves the page at `/` from the binding `PAGE`, unless Cloudflare serves its files as static assets. */
export function addPage(app: Hono<RouteEnv>, hasPage = true): void {
	app.on('GET', shared, fetchFile);
	if (hasPage) app.get('/', fetchHtml).on('GET', ofPage, fetchFile);
}

/** `/docs` and `/openapi.json`, from the binding `PAGE`. */
export const documentRoutes = [
	mount(getDocs, fetchHtml),
	mount(getDocument, async (c) => {
		const response = await fetchFile(c);
		const { basePath } = c.var;
		if (!response.ok || basePath === '') return response;
		return c.json({ ...Object(await response.json()), servers: [{ url: basePath }] });
	}),
];

async function fetchHtml(c: Context<RouteEnv>): Promise<Response> {
	const response = await fetchFile(c);
	const isHtml = response.headers.get('content-type')?.startsWith('text/html');
	return isHtml ? addBase(response, c.var.basePath) : response;
}

/** The content security policy of the page replaces the default, so that its script runs. */
async function fetchFile(c: Context<RouteEnv>): Promise<Response> {
	const bound = readConfig(c.env).page;
	if (bound === undefined)
		throw new RunletError('not_found', `There is no page here. ${describeRemedy(c.var.basePath)}`);
	const { method, headers } = c.req.raw;
	const response = await bound.fetch(new Request(new URL(c.req.path, c.req.url), { method, headers }));
	const policy = response.headers.get('content-security-policy');
	if (policy !== null) c.header('content-security-policy', policy);
	return response;
}

/** Describes the lines for `wrangler.toml`. Without `run_worker_first`, Cloudflare would also serve the page at `/`. */
function describeRemedy(basePath: string): string {
	const assets = '[assets] with directory = "node_modules/runlet/dist/page"';
	if (basePath === '') return `In wrangler.toml: ${assets}.`;
	return `In wrangler.toml: ${assets}, binding = "PAGE", run_worker_first = true. Or copy that folder into your own assets, as ${basePath.slice(1)}/.`;
}

/** Adds the base path to the addresses in a page, because the page can be at `/ai` and at `/ai/`. */
function addBase(response: Response, basePath: string): Response {
	const prefix = (name: string) => ({
		element(element: Element) {
			const address = element.getAttribute(name);
			if (address?.startsWith('./')) element.setAttribute(name, `${basePath}${address.slice(1)}`);
		},
	});
	return new HTMLRewriter().on('a, link', prefix('href')).on('script', prefix('src')).transform(response);
}
