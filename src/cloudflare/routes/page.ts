import type { Context } from 'hono';
import { Hono } from 'hono/tiny';
import { RunletError } from '../../core/ground/errors.ts';
import { readConfig } from '../config/config.ts';
import { getDocs, getDocument } from '../wire/operations/service.ts';
import type { RouteEnv } from './identity.ts';
import { serveOperation } from './operation.ts';
import { refuseMethod } from './request.ts';

const files = ['/app.js', '/docs.css', '/docs.js', '/style.css', '/theme.css'];

/** The page, and what it and `/docs` load. */
export const pagePaths: readonly string[] = ['/', ...files];

/**
 * `/`: the page, and `/docs` and `/openapi.json`, for a Worker that serves them itself. Their files come from the binding
 * `PAGE`. If they are static assets of the Worker, Cloudflare serves them, and nothing comes here.
 */
export const page = new Hono<RouteEnv>()
	.get('/', fetchHtml)
	.on('GET', files, fetchFile)
	.get(getDocs.path, serveOperation(getDocs), fetchHtml)
	.all(getDocs.path, refuseMethod('GET'))
	.get(getDocument.path, serveOperation(getDocument), async (c) => {
		const response = await fetchFile(c);
		const { basePath } = c.var;
		if (!response.ok || basePath === '') return response;
		return c.json({ ...Object(await response.json()), servers: [{ url: basePath }] });
	})
	.all(getDocument.path, refuseMethod('GET'));

async function fetchHtml(c: Context<RouteEnv>): Promise<Response> {
	const response = await fetchFile(c);
	const isHtml = response.headers.get('content-type')?.startsWith('text/html');
	return isHtml ? addBase(response, c.var.basePath) : response;
}

/** Fetches a file of the page. Its own headers win, such as the policy that lets the page run its script. */
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

/** Without `run_worker_first` the page would be served at `/` of the host, too. */
function describeRemedy(basePath: string): string {
	const assets = '[assets] with directory = "node_modules/runlet/dist/page"';
	if (basePath === '') return `In wrangler.toml: ${assets}.`;
	return `In wrangler.toml: ${assets}, binding = "PAGE", run_worker_first = true. Or copy that folder into your own assets, as ${basePath.slice(1)}/.`;
}

/** Lets the addresses in a page begin with the base path, because it may be at `/ai` and at `/ai/`. */
function addBase(response: Response, basePath: string): Response {
	const prefix = (name: string) => ({
		element(element: Element) {
			const address = element.getAttribute(name);
			if (address?.startsWith('./')) element.setAttribute(name, `${basePath}${address.slice(1)}`);
		},
	});
	return new HTMLRewriter().on('a, link', prefix('href')).on('script', prefix('src')).transform(response);
}
