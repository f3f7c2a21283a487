/** A shop with an agent for its customers. Runlet is mounted under /ai. */
import { type Context, Hono } from 'hono';
import { deleteCookie, setCookie } from 'hono/cookie';
import { csrf } from 'hono/csrf';
import { createMiddleware } from 'hono/factory';
import { secureHeaders } from 'hono/secure-headers';
import { createRunlet, type Env } from 'runlet/cloudflare';
import { links } from 'runlet/cloudflare/links';
import { schedules } from 'runlet/cloudflare/schedules';
import * as v from 'valibot';
import { agents } from './agents/index.ts';
import { authenticate, checkPassword, cookieName, type Login, readLogin, server, signLogin } from './login.ts';
import { chatPage, inboxPage, loginPage } from './views.ts';

const runlet = createRunlet({ agents, plugins: [schedules, links], authenticate, basePath: '/ai' });
export const { Session, Ledger, Directory, Publisher } = runlet;

type ShopEnv = { Bindings: Env; Variables: { login: Login } };

const loginSeconds = 7 * 86_400;
/** What a customer may spend on a day, whatever the shop as a whole may spend. */
const budget = { daily: { tokens: 200_000 } };

const shop = new Hono<ShopEnv>();

// Runlet sets its own headers, and checks its own requests. What follows holds for the pages of the shop.
shop.mount('/ai', runlet.fetch);
shop.use(
	secureHeaders({
		// The origin of a form comes along only where the referrer may.
		referrerPolicy: 'same-origin',
		contentSecurityPolicy: {
			defaultSrc: ["'none'"],
			scriptSrc: ["'self'"],
			styleSrc: ["'self'"],
			connectSrc: ["'self'"],
			formAction: ["'self'"],
			baseUri: ["'none'"],
			frameAncestors: ["'none'"],
		},
	}),
	csrf(),
);

/** Lets customers in, and nobody else. */
const customersOnly = createMiddleware<ShopEnv>(async (c, next) => {
	const login = await findLogin(c);
	if (login?.role !== 'customer') return c.text('Log in as a customer first.', 401);
	c.set('login', login);
	await next();
	return undefined;
});

shop.get('/', async (c) => {
	const login = await findLogin(c);
	if (login === undefined) return c.html(loginPage());
	return c.html(login.role === 'staff' ? inboxPage(login.user) : chatPage(login.user));
});

// A login of your own counts the attempts, and its logout ends the cookie, too. This one does neither.
shop.post('/login', async (c) => {
	const { user, password } = await c.req.parseBody();
	const login = await checkPassword(c.env, String(user), String(password));
	if (login === undefined) return c.html(loginPage('This name and this password do not belong together.'), 401);
	if (login.role === 'customer') {
		const set = await askAsServer(c, 'PUT', `/v1/users/${encodeURIComponent(login.user)}/budget`, budget);
		if (!set.ok) return set;
	}
	setCookie(c, cookieName, await signLogin(c.env, login.user, loginSeconds), {
		httpOnly: true,
		sameSite: 'Lax',
		secure: new URL(c.req.url).protocol === 'https:',
		path: '/',
		maxAge: loginSeconds,
	});
	return c.redirect('/', 303);
});

shop.post('/logout', (c) => {
	deleteCookie(c, cookieName, { path: '/' });
	return c.redirect('/', 303);
});

/** The conversations of the customer. */
shop.get('/chats', customersOnly, (c) => {
	return askAsServer(c, 'GET', `/v1/sessions?agent=support&user=${nameOf(c)}`);
});

/** A new conversation. The answer has its id, and a token for it. The token speaks for the customer. */
shop.post('/chats', customersOnly, (c) => {
	return askAsServer(c, 'POST', '/v1/sessions', { agent: 'support', user: c.var.login.user });
});

/** Another token for a conversation. Runlet refuses it where the conversation belongs to somebody else than `user`. */
shop.post('/chats/:id{[0-9a-f]{64}}/token', customersOnly, (c) => {
	return askAsServer(c, 'POST', `/v1/sessions/${c.req.param('id')}/token`, { user: c.var.login.user });
});

/** All that Runlet has of the customer. */
shop.get('/my-data', customersOnly, (c) => askAsServer(c, 'GET', `/v1/users/${nameOf(c)}`));

const erased = v.object({ isDone: v.boolean() });

/** Erases it. The orders stay: the law has the shop keep them. */
shop.post('/my-data/erase', customersOnly, async (c) => {
	for (;;) {
		const answer = await askAsServer(c, 'DELETE', `/v1/users/${nameOf(c)}`);
		if (!answer.ok) return answer;
		// A customer with very many sessions is erased in several requests.
		if (v.parse(erased, await answer.json()).isDone) return c.redirect('/', 303);
	}
});

/** The customer, for a path or a query: a name may have any signs, such as those of a mail address. */
function nameOf(c: Context<ShopEnv>): string {
	return encodeURIComponent(c.var.login.user);
}

function findLogin(c: Context<ShopEnv>): Promise<Login | undefined> {
	return readLogin(c.env, c.req.header('cookie') ?? null);
}

/** Asks Runlet as the shop's own server. Its login lives for a minute, and no browser gets it. */
async function askAsServer(c: Context<ShopEnv>, method: string, path: string, body?: object): Promise<Response> {
	const headers = {
		cookie: `${cookieName}=${await signLogin(c.env, server, 60)}`,
		'content-type': 'application/json',
	};
	const url = new URL(`/ai${path}`, c.req.url);
	return runlet.fetch(new Request(url, { method, headers, body: body && JSON.stringify(body) }), c.env, c.executionCtx);
}

export default shop;
