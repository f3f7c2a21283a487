import type { Context } from 'hono';
import { RunletError } from '../../core/base/errors.ts';
import { readConfig } from '../config/config.ts';
import type { LinkedCall } from '../objects/link-api.ts';
import type { RouteEnv } from '../routes/identity.ts';
import { assertStrangerRate } from '../routes/rate.ts';
import { mount } from '../routes/request.ts';
import { askSession, askSessionInPath, findCaller, writePage } from '../routes/respond.ts';
import { createLinks, decide, showDecision } from '../wire/endpoints/links.ts';
import { readLink } from './link.ts';
import { writeQuestion } from './page.ts';

const policy = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** With this referrer policy a browser sends `Origin` with the form, but never sends the address to other sites. */
const headers = {
	'cache-control': 'no-store',
	'referrer-policy': 'same-origin',
} as const;

/** Decision links (docs/people.md). Only a `POST` decides, because mail scanners open links. */
export const linkRoutes = [
	mount(createLinks, async (c) => {
		const made = await askSessionInPath(c, (one) => one.links(findCaller(c), c.req.valid('json')), true);
		return Response.json(made, { status: 201, headers: { 'cache-control': 'no-store' } });
	}),
	mount(showDecision, (c) => answer(c, c.req.param('link'), 'show', writeQuestion)),
	mount(decide, (c) => answer(c, c.req.param('link'), 'decide', writeDecision)),
];

async function answer(
	c: Context<RouteEnv>,
	link: string,
	how: 'show' | 'decide',
	write: (call: LinkedCall, nonce: string) => unknown,
): Promise<Response> {
	await assertStrangerRate(c);
	for (const [name, value] of Object.entries(headers)) c.header(name, value);
	const nonce = crypto.randomUUID();
	c.header('content-security-policy', `${policy}; style-src 'nonce-${nonce}'`);
	try {
		const call = await askSession(c, findSession(c, link), (one) => one.followLink(link, how), false);
		return c.html(writePage(write(call, nonce)));
	} catch (error) {
		if (!(error instanceof RunletError)) throw error;
		if (error.code === 'not_found') return c.html(writePage(error.message), 404);
		if (error.code === 'conflict') return c.html(writePage(error.message), 409);
		if (error.code === 'forbidden') return c.html(writePage(writeRefusal(error)), 403);
		throw error;
	}
}

function findSession(c: Context<RouteEnv>, link: string) {
	try {
		return readConfig(c.env).sessions.idFromString(readLink(link)?.session ?? '');
	} catch {
		throw new RunletError('not_found', 'This link is not valid.');
	}
}

function writeDecision({ approve, tool }: LinkedCall): string {
	return approve ? `Approved. The call of ${tool} runs.` : `Denied. The call of ${tool} does not run.`;
}

function writeRefusal({ data }: RunletError): string {
	const reason = typeof data?.reason === 'string' ? `: ${data.reason}` : '';
	return `You may not decide about this call${reason}. It waits on for somebody else.`;
}
