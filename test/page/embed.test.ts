/** `<runlet-chat>` in pages of another origin, whose policy is as strict as docs/embed.md says. */
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import axe from 'axe-core';
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { root } from '../../scripts/root.ts';
import { findBlock } from '../docs.ts';
import { call, reasoning, type Stage, startStage, text } from '../e2e/ui/stage.ts';
import { claimPort } from '../port.ts';
import { startRunlet } from '../runlet.ts';
import { type Browser, startBrowser, watchComplaints } from './browser.ts';
import { startSite } from './site.ts';

let browser: Browser;
let page: Page;
let stage: Stage;
/** The server of the agents, with the script of the element. */
let runlet: Awaited<ReturnType<typeof startSite>>;
/** The server of the page around the element, at another origin. */
let shop: Server;
let shopUrl: string;
let html = '';
let script = '';
let policy = '';
/** Answers the page that asks for a token. */
let giveToken: (session: string | undefined) => Promise<string>;
let complaints: string[];

const shots = join(root, 'build/screenshots');

/** The policy of docs/embed.md, with the directive that forbids scripts to make HTML of texts. */
const makePolicy = (): string =>
	[
		"default-src 'none'",
		`script-src 'self' ${runlet.url}`,
		`connect-src 'self' ${runlet.url}`,
		"img-src 'self' data:",
		"base-uri 'none'",
		"form-action 'none'",
		"require-trusted-types-for 'script'",
	].join('; ');

async function answer(
	url: string,
): Promise<{ readonly status?: number; readonly type: string; readonly body: string }> {
	const { pathname, searchParams } = new URL(url, shopUrl);
	if (pathname === '/') return { type: 'text/html; charset=utf-8', body: html };
	if (pathname === '/shop.js') return { type: 'text/javascript', body: script };
	if (pathname === '/shop.css') return { type: 'text/css', body: strangeStyles };
	if (pathname === '/logo.svg')
		return {
			type: 'image/svg+xml',
			body: '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4.5" cy="4.5" r="4.5" fill="#c2410c"/></svg>',
		};
	if (pathname.startsWith('/chats')) {
		const [, , session] = pathname.split('/');
		return { type: 'application/json', body: JSON.stringify({ token: await giveToken(session) }) };
	}
	if (pathname !== '/token') return { status: 404, type: 'text/plain', body: '' };
	const session = searchParams.get('session') || undefined;
	return giveToken(session).then(
		(body) => ({ type: 'text/plain', body }),
		() => ({ status: 403, type: 'text/plain', body: '' }),
	);
}

beforeAll(async () => {
	const port = await claimPort();
	shopUrl = `http://127.0.0.1:${port}`;
	[browser, stage] = await Promise.all([
		startBrowser({ width: 900, height: 720 }),
		startStage({ LOCAL: 'true', CORS_ORIGINS: shopUrl }),
		mkdir(shots, { recursive: true }),
	]);
	runlet = await startSite(stage.url);
	page = await browser.openPage();
	shop = createServer(async ({ url = '/' }, response) => {
		const { status = 200, type, body } = await answer(url);
		response.writeHead(status, { 'content-type': type, 'content-security-policy': policy });
		response.end(body);
	}).listen(port, '127.0.0.1');
	await once(shop, 'listening');
});
afterAll(async () => {
	shop?.closeAllConnections();
	shop?.close();
	runlet?.close();
	await Promise.all([browser?.close(), stage?.close()]);
});
beforeEach(() => {
	complaints = [];
	script = '';
	watchComplaints(page, complaints);
});
afterEach(async () => {
	if (page.url().startsWith(shopUrl)) await page.evaluate(() => localStorage.clear());
	await browser.clearPage(page);
	expect(complaints).toEqual([]);
});

interface ShowOptions {
	/** The attributes of `<html>`. */
	readonly attributes?: string;
	readonly head?: string;
	/** A directive of the page's policy besides. */
	readonly directive?: string;
}

/** Opens a page with this body and one script tag. */
async function show(
	body: string,
	{ attributes = 'lang="en"', head = '', directive = '' }: ShowOptions = {},
): Promise<void> {
	html = [
		`<!doctype html><html ${attributes}><head><meta charset="utf-8"><title>A shop</title><link rel="icon" href="data:,">`,
		'<meta name="viewport" content="width=device-width, initial-scale=1">',
		`${head}<script type="module" src="${runlet.url}/embed.js"></script></head>`,
		`<body><main><h1>A shop</h1>${body}</main><script src="/shop.js"></script></body></html>`,
	].join('');
	policy = `${makePolicy()}; ${directive}`;
	await page.goto(shopUrl);
	await page.locator('runlet-chat textarea').first().waitFor({ state: 'attached' });
}

const lines = (word: string): string => Array.from({ length: 60 }, (_, at) => `${word} ${at}`).join('\n\n');

const plain = '<runlet-chat agent="desk"></runlet-chat>';
/** The script of a page whose server makes the tokens. */
const asksForTokens = `document.querySelector('runlet-chat').getToken = async (session = '') => {
	const answer = await fetch('/token?session=' + session);
	if (!answer.ok) throw new Error('no token');
	return answer.text();
};`;
/** The script of a page that keeps what the element tells. */
const listens = `window.told = [];
for (const name of ['runlet-session', 'runlet-done', 'runlet-error'])
	document.addEventListener(name, ({ type, detail }) => told.push([type, detail]));`;

const readTold = (): Promise<[string, Record<string, string>][]> => page.evaluate('told');
const chat = (at = 0): Locator => page.locator('runlet-chat').nth(at);
const box = (at = 0): Locator => chat(at).locator('#text');

async function say(message: string, at = 0): Promise<void> {
	await box(at).fill(message);
	await box(at).press('Enter');
}

const sees = (selector: string, hasText: string | RegExp, at = 0): Promise<void> =>
	chat(at).locator(selector, { hasText }).last().waitFor();
const runEnds = (at = 0): Promise<void> => chat(at).locator('#send').waitFor();
const readTexts = (selector: string, at = 0): Promise<string[]> => chat(at).locator(selector).allTextContents();

/** Removes the complaints of the browser about responses with this status. */
function forgive(status: number): void {
	complaints = complaints.filter((line) => !line.includes(`${status}`));
}

async function ask(method: string, path: string, body?: object): Promise<Record<string, string>> {
	const response = await fetch(`${stage.url}/v1/sessions${path}`, {
		method,
		headers: { 'content-type': 'application/json', prefer: 'respond-async' },
		body: body === undefined ? null : JSON.stringify(body),
	});
	const answered = await response.text();
	return answered === '' ? {} : JSON.parse(answered);
}

const createSession = (agent = 'desk') => ask('POST', '', { agent });
const makeToken = async (id: string): Promise<string> => (await ask('POST', `/${id}/token`, {})).token ?? '';

async function revoke(token: string): Promise<void> {
	const [, session = '', id = ''] = token.split('_');
	await ask('DELETE', `/${session}/token/${id}`);
}

/** Counts the requests of the page to the server of the agents. */
function countRequests(): { readonly all: string[] } {
	const all: string[] = [];
	page.on('request', (request) => {
		const { pathname } = new URL(request.url());
		if (request.url().startsWith(runlet.url) && pathname.startsWith('/v1/'))
			all.push(`${request.method()} ${pathname}`);
	});
	return { all };
}

/** Finds serious and critical barriers in the page. */
async function findBarriers(): Promise<string[]> {
	await page.evaluate(axe.source);
	const { violations } = await page.evaluate<axe.AxeResults>("axe.run(document, { resultTypes: ['violations'] })");
	const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
	return serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(', ')}`);
}

async function shoot(name: string): Promise<void> {
	for (const colorScheme of ['light', 'dark'] as const) {
		await page.emulateMedia({ colorScheme });
		await page.screenshot({ path: join(shots, `embed-${name}-${colorScheme}.png`) });
	}
	await page.emulateMedia({ colorScheme: null });
}

test('a page with one script tag streams an answer with its calls, and hears of the session and the answer', async () => {
	script = listens;
	await show(plain);
	await sees('#welcome-name', 'How can I help?');
	const end = Promise.withResolvers<void>();
	stage.play([reasoning('A sum.'), text('Let me **add**.'), call('a1', 'add', { x: 2, y: 3 })], async (turn) => {
		turn.say(text('It is '));
		await end.promise;
		turn.say(text('*five*.\n\n```ts\nconst sum = 5;\n```\n'));
	});
	await say('What is 2 + 3?');
	await sees('.prose', 'It is');
	end.resolve();
	await sees('.prose', 'five');
	await runEnds();
	expect(await readTexts('.message')).toEqual(['You: What is 2 + 3?']);
	expect(await readTexts('.turn > .prose')).toEqual(['Let me add.', 'It is five.const sum = 5;']);
	expect(await readTexts('.call .name')).toEqual(['Add']);
	await chat().locator('.hljs-keyword').waitFor();
	const told = await readTold();
	expect(told.map(([name]) => name)).toEqual(['runlet-session', 'runlet-done']);
	expect(told[1]?.[1]).toEqual({ session: told[0]?.[1].id, text: expect.stringContaining('It is *five*.') });
	// A reload shows the answer again, and tells of it no more.
	await page.reload();
	await sees('.prose', 'five');
	await runEnds();
	expect((await readTold()).map(([name]) => name)).toEqual(['runlet-session']);
});

test('the HTML file of docs/embed.md talks to an agent of npm start', async () => {
	const server = await startRunlet('--var', `CORS_ORIGINS:${shopUrl}`);
	try {
		html = findBlock('docs/embed.md', '<!doctype html>').replace('http://127.0.0.1:8787', server.url);
		policy = makePolicy().replaceAll(runlet.url, server.url);
		await page.goto(shopUrl);
		await chat().getByRole('button', { name: 'What is 17 + 25?' }).click();
		await sees('.prose', '42');
		await runEnds();
		await sees('header h2', 'Ask us');
		// The file has no icon.
		forgive(404);
	} finally {
		await server.close();
	}
});

test('the script of docs/embed.md gets tokens of the page’s server', async () => {
	const block = findBlock('docs/embed.md', '<runlet-chat heading');
	script = /<script>(.*)<\/script>/s.exec(block)?.[1] ?? '';
	const asked: (string | undefined)[] = [];
	giveToken = async (session) => {
		asked.push(session);
		return session === undefined ? ((await createSession()).token ?? '') : makeToken(session);
	};
	await show(block.slice(0, block.indexOf('<script>')));
	stage.play([text('Hello.')]);
	await say('Hi.');
	await sees('.prose', 'Hello.');
	await runEnds();
	await page.reload();
	await sees('.prose', 'Hello.');
	expect(asked).toEqual([undefined, expect.stringMatching(/^[0-9a-f]{64}$/)]);
});

test('the script has at most 67 KB, compressed', async () => {
	expect(gzipSync(await readFile(join(root, 'build/page/embed.js'))).length).toBeLessThan(68_200);
});

test('with a token it opens that session, asks for nothing else, and shows no costs and no other session', async () => {
	const { id = '', token = '' } = await createSession();
	stage.play([call('d1', 'add', { x: 1, y: 1 })], [text('Two.')]);
	await ask('POST', `/${id}/messages`, { text: 'One and one?' });
	const { all } = countRequests();
	await show(`<runlet-chat token="${token}"></runlet-chat>`);
	await sees('.prose', 'Two.');
	await runEnds();
	stage.play([text('Three.'), { type: 'usage', inputTokens: 900, outputTokens: 40, costUsd: 1 }]);
	await say('And one more?');
	await sees('.prose', 'Three.');
	await runEnds();
	expect(await readTexts('.usage, [data-tab=money], a')).toEqual([]);
	expect(await chat().locator('#money').count()).toBe(0);
	expect(await chat().locator('.embedded > header button').count()).toBe(0);
	expect(all.filter((path) => !path.includes(`/v1/sessions/${id}`))).toEqual([]);
	expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain('rls_');
});

test('asks the page for a token with the first message, and for another one when it has expired', async () => {
	const asked: (string | undefined)[] = [];
	let token = '';
	giveToken = async (session) => {
		asked.push(session);
		token = session === undefined ? ((await createSession()).token ?? '') : await makeToken(session);
		return token;
	};
	script = asksForTokens;
	const { all } = countRequests();
	await show(plain);
	await sees('#welcome-name', 'How can I help?');
	expect(all).toEqual([]);
	const requests = stage.play([text('Hello.')], [text('Hello again.')]);
	await say('Hi.');
	await sees('.prose', 'Hello.');
	await runEnds();
	const session = token.split('_')[1];
	await revoke(token);
	await say('Hi again.');
	await sees('.prose', 'Hello again.');
	await runEnds();
	expect(asked[0]).toBeUndefined();
	expect(new Set(asked.slice(1))).toEqual(new Set([session]));
	expect(requests).toHaveLength(2);
	expect(await readTexts('.prose')).toEqual(['Hello.', 'Hello again.']);
	// After a reload it is the same conversation.
	await page.reload();
	await sees('.prose', 'Hello again.');
	expect(await readTexts('.prose')).toEqual(['Hello.', 'Hello again.']);
	forgive(401);
});

test('goes on with an answer whose token ends in the middle of it', async () => {
	let token = '';
	giveToken = async (session) => {
		token = session === undefined ? ((await createSession()).token ?? '') : await makeToken(session);
		return token;
	};
	script = asksForTokens;
	await show(plain);
	const end = Promise.withResolvers<void>();
	stage.play(async (turn) => {
		turn.say(text('One, '));
		await end.promise;
		turn.say(text('two.'));
	});
	await say('Count.');
	await sees('.prose', 'One,');
	const first = token;
	await revoke(first);
	await expect.poll(() => token).not.toBe(first);
	await sees('.prose', 'One,');
	end.resolve();
	await sees('.prose', 'two.');
	await runEnds();
	expect(await readTexts('.prose')).toEqual(['One, two.']);
	expect(await readTexts('.message')).toHaveLength(1);
	forgive(401);
});

test('says in words that there is no token, asks for no key, and goes on when there is one', async () => {
	giveToken = () => Promise.reject(new Error('not logged in'));
	script = `${asksForTokens}${listens}`;
	await show(plain);
	await say('Hi.');
	await sees('.failure', 'You are signed out here. Reload the page to go on.');
	expect(await chat().locator('input[type="password"]').count()).toBe(0);
	expect(await box().inputValue()).toBe('Hi.');
	expect((await readTold()).at(-1)).toEqual(['runlet-error', expect.objectContaining({ code: 'signed_out' })]);
	giveToken = async () => (await createSession()).token ?? '';
	stage.play([text('Hello.')]);
	await box().press('Enter');
	await sees('.prose', 'Hello.');
	forgive(403);
});

test('begins a new chat where the session of before is gone, and by startNew', async () => {
	script = listens;
	await show(plain);
	stage.play([text('Hello.')], [text('Anew.')]);
	await say('Hi.');
	await sees('.prose', 'Hello.');
	await runEnds();
	const first = (await readTold())[0]?.[1].id ?? '';
	await ask('DELETE', `/${first}`);
	await page.reload();
	await sees('#welcome-name', 'How can I help?');
	await say('Hi again.');
	await sees('.prose', 'Anew.');
	await runEnds();
	await page.evaluate("document.querySelector('runlet-chat').startNew()");
	await sees('#welcome-name', 'How can I help?');
	expect(await readTexts('.prose')).toEqual([]);
	expect((await readTold()).at(-1)).toEqual(['runlet-session', {}]);
	forgive(404);
});

test('a person allows a call, and denies another one', async () => {
	await show(plain);
	stage.play(
		[call('p1', 'pay', { amount: 5 })],
		[text('Paid.')],
		[call('p2', 'pay', { amount: 6 })],
		[text('Not paid.')],
	);
	await say('Pay five.');
	await chat().getByRole('button', { name: 'Allow' }).click();
	await sees('.prose', 'Paid.');
	await runEnds();
	await say('Pay six.');
	await chat().getByRole('button', { name: 'Deny' }).click();
	await sees('.prose', 'Not paid.');
	await runEnds();
	expect(await readTexts('.message')).toEqual(['You: Pay five.', 'You: Pay six.']);
	expect(await readTexts('.call .answer')).toEqual(['payment 1: 5', 'Denied']);
	expect(await readTexts('.question')).toEqual([]);
});

test('with a token a visitor is told that somebody has to allow a call, and sees what came of it', async () => {
	const { id = '', token = '' } = await createSession();
	await show(`<runlet-chat token="${token}"></runlet-chat>`);
	stage.play([call('p1', 'pay', { amount: 5 })], [text('Paid.')]);
	await say('Pay five.');
	await sees('.question', 'The run waits for somebody to allow pay.');
	await runEnds();
	expect(await chat().locator('.open-call').count()).toBe(0);
	await ask('POST', `/${id}/tool-results`, [{ id: 'p1', approve: true }] as object);
	await page.evaluate(() => dispatchEvent(new Event('focus')));
	await sees('.prose', 'Paid.');
});

test('sends a message that a person wrote while the session was loading', async () => {
	const { token = '' } = await createSession();
	const mayGoOn = Promise.withResolvers<void>();
	await page.route('**/messages?*', (route) => mayGoOn.promise.then(() => route.continue()), { times: 1 });
	const asked = page.waitForRequest('**/messages?*');
	await show(`<runlet-chat token="${token}"></runlet-chat>`);
	stage.play([text('Hello.')]);
	await asked;
	await say('Hi.');
	mayGoOn.resolve();
	await sees('.prose', 'Hello.');
});

test('with a token a visitor has no form for a call of another agent that somebody has to allow', async () => {
	const { token = '' } = await createSession('chief');
	await show(`<runlet-chat token="${token}"></runlet-chat>`);
	stage.play([call('d1', 'desk', { task: 'Pay five.' })], [call('p1', 'pay', { amount: 5 })]);
	await say('Have five paid.');
	await sees('.question', 'pay');
	await runEnds();
	expect(await chat().locator('.open-call, a').count()).toBe(0);
});

test('a person answers a question by a choice, and by a text', async () => {
	await show(plain);
	stage.play(
		[call('q1', 'choose', { question: 'Which size?' })],
		[call('q2', 'ask', { question: 'For which day?' })],
		[text('Booked.')],
	);
	await say('Book it.');
	await chat().getByRole('button', { name: 'M', exact: true }).click();
	await sees('.question', 'For which day?');
	await runEnds();
	await say('Friday');
	await sees('.prose', 'Booked.');
	await runEnds();
	expect(await readTexts('.message')).toEqual(['You: Book it.', 'You: M', 'You: Friday']);
});

test('stops an answer', async () => {
	await show(plain);
	stage.play(async (turn) => {
		turn.say(text('One, '));
		await turn.left;
	});
	await say('Count.');
	await sees('.prose', 'One,');
	await chat().getByRole('button', { name: 'Stop' }).click();
	await sees('.note', 'Stopped.');
	await runEnds();
});

test('sends a file', async () => {
	await show(plain);
	const requests = stage.play([text('Read.')]);
	await chat()
		.locator('#picker')
		.setInputFiles({ name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('Tea') });
	await sees('.file', 'note.txt');
	await say('Read this.');
	await sees('.prose', 'Read.');
	expect(await readTexts('.message .file-name')).toEqual(['note.txt']);
	expect(JSON.stringify(requests[0])).toContain('note.txt');
});

/** Begins an answer, and returns the function that ends it. */
async function beginCounting(): Promise<() => void> {
	const end = Promise.withResolvers<void>();
	stage.play(async (turn) => {
		turn.say(text('One, '), text('two, '));
		await end.promise;
		turn.say(text('three.'));
	});
	await say('Count.');
	await sees('.prose', 'One, two,');
	return end.resolve;
}

test('shows the names of files as text, and a download button for each file', async () => {
	const { id = '' } = await createSession();
	await fetch(`${stage.url}/v1/sessions/${id}/files/notes/list.md`, { method: 'PUT', body: 'bread' });
	await show(`<runlet-chat session="${id}"></runlet-chat>`);
	await chat().locator('[data-tab=workspace]').click();
	await sees('.file-row .path', 'notes/list.md');
	expect(await readTexts('.file-row button')).toEqual(['Download']);
	const [file] = await Promise.all([
		page.waitForEvent('download'),
		chat().getByRole('button', { name: 'Download notes/list.md' }).click(),
	]);
	expect(file.suggestedFilename()).toBe('list.md');
});

test('after a reload in the middle of an answer, the answer goes on with nothing lost or doubled', async () => {
	await show(plain);
	const end = await beginCounting();
	await page.reload();
	await sees('.prose', 'One, two,');
	await chat().getByRole('button', { name: 'Stop' }).waitFor();
	end();
	await runEnds();
	expect(await readTexts('.prose')).toEqual(['One, two, three.']);
	expect(await readTexts('.message')).toEqual(['You: Count.']);
});

test('after the server was killed in the middle of an answer, the answer comes once', async () => {
	await show(plain);
	await beginCounting();
	stage.play([text('One, two, three.')]);
	await stage.restart();
	await sees('.prose', 'three.');
	await runEnds();
	expect(await readTexts('.prose')).toEqual(['One, two, three.']);
	expect(await readTexts('.failure')).toEqual([]);
	complaints = [];
});

test('says that the device is offline', async () => {
	await show(plain);
	await page.context().setOffline(true);
	await sees('.offline', 'This device is offline.');
	await page.context().setOffline(false);
	await chat().locator('.offline').waitFor({ state: 'hidden' });
});

/** Styles that a page of somebody else can have. */
const strangeStyles = `html { font-size: 40px } * { letter-spacing: 9px; text-transform: uppercase; color: red; line-height: 3 }
button, textarea, .message, h2 { background: yellow !important; padding: 99px } :root { --accent: red; --line: red }
.themed { --runlet-accent: rgb(194, 65, 12); --runlet-background: rgb(255, 247, 237); --runlet-radius: 4px; --runlet-font: serif; --runlet-font-size: 18px; --runlet-calls: none }
.sized { width: 320px; height: 400px }`;

const readStyles = (selector: string, ...names: readonly string[]): Promise<string[]> =>
	chat()
		.locator(selector)
		.first()
		.evaluate((node, all) => all.map((name) => getComputedStyle(node).getPropertyValue(name)), [...names]);

test('no style of the page comes in, and none goes out', async () => {
	const looks = ['letter-spacing', 'text-transform', 'color', 'background-color', 'padding', 'font-size', 'height'];
	await show(plain);
	const before = await Promise.all(['#send', '#text', 'header h2'].map((selector) => readStyles(selector, ...looks)));
	const outside = await page.evaluate(() => getComputedStyle(document.querySelector('h1') ?? document.body).margin);
	const plainPage = html;
	html = plainPage.replace(/<script type.*?<\/script>/, '');
	await page.goto(shopUrl);
	expect(await page.evaluate(() => getComputedStyle(document.querySelector('h1') ?? document.body).margin)).toBe(
		outside,
	);
	await show(plain, { head: '<link rel="stylesheet" href="/shop.css">', directive: "style-src 'self'" });
	const after = await Promise.all(['#send', '#text', 'header h2'].map((selector) => readStyles(selector, ...looks)));
	expect(after).toEqual(before);
	await page.evaluate(() => document.querySelector('runlet-chat')?.classList.add('themed'));
	expect(await readStyles('.primary', 'background-color', 'font-family')).toEqual(['rgb(194, 65, 12)', 'serif']);
	expect(await readStyles('.embedded', 'background-color', 'font-size')).toEqual(['rgb(255, 247, 237)', '18px']);
});

test('is light or dark as the page, or as its attribute says', async () => {
	await show(plain);
	await page.emulateMedia({ colorScheme: 'dark' });
	const readPaper = () => readStyles('.embedded', 'background-color');
	const [light, dark] = ['rgb(252, 251, 249)', 'rgb(21, 24, 26)'];
	const change = (theme: string) =>
		page.evaluate((name) => document.querySelector('runlet-chat')?.setAttribute('theme', name), theme);
	// The page says nothing about dark colours, so it is light.
	expect(await readPaper()).toEqual([light]);
	await change('dark');
	expect(await readPaper()).toEqual([dark]);
	await change('system');
	expect(await readPaper()).toEqual([dark]);
	await page.emulateMedia({ colorScheme: 'light' });
	expect(await readPaper()).toEqual([light]);
});

test('shows the logo, the heading, the welcome and the start messages of its attributes', async () => {
	await show(
		'<runlet-chat agent="desk" heading="Tea Shop" logo="/logo.svg" welcome="Tea?" start="Where is my order?| What is in stock?"></runlet-chat>',
	);
	await sees('header h2', 'Tea Shop');
	await sees('#welcome-name', 'Tea?');
	expect(
		await chat()
			.locator('header img')
			.evaluate((node) => 'naturalWidth' in node && node.naturalWidth),
	).toBeGreaterThan(0);
	expect(await readTexts('#examples button')).toEqual(['Where is my order?', 'What is in stock?']);
	stage.play([text('On its way.')]);
	await chat().getByRole('button', { name: 'Where is my order?' }).click();
	await sees('.prose', 'On its way.');
	expect(await readTexts('.message')).toEqual(['You: Where is my order?']);
});

/** Texts and names of the element that are neither of a person nor of the agent, and were not replaced. */
const readEnglish = (): Promise<string[]> =>
	chat().evaluate((host) => {
		const foreign =
			'.message, .prose, .name, .brief, .answer, .took, .file-name, pre, code, kbd, b, bdi, h2, #examples button';
		const found: string[] = [];
		for (const node of host.shadowRoot?.querySelectorAll('*') ?? []) {
			const names = ['aria-label', 'title', 'placeholder', 'data-label'].map((name) => node.getAttribute(name) ?? '');
			const own = [...node.childNodes].flatMap((child) => (child instanceof Text ? child.data : []));
			found.push(...names, ...(node.closest(foreign) === null ? own : []));
		}
		return [...new Set(found)].filter((text) => /\p{L}/u.test(text) && !text.includes('«'));
	});

test('all words can be replaced, those of errors by their codes', async () => {
	script = `document.querySelector('runlet-chat').texts = new Proxy({}, {
		get: (_, key) => '«' + String(key) + '»',
		getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true, value: '' }),
	});`;
	await show('<runlet-chat popup open agent="desk"></runlet-chat>');
	await sees('#welcome-name', '«How can I help?»');
	const found = await readEnglish();
	await chat()
		.locator('#picker')
		.setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('Tea') });
	await sees('.file', 'a.txt');
	found.push(...(await readEnglish()));
	const goOn = Promise.withResolvers<void>();
	stage.play(
		[reasoning('Hm.'), text('| a |\n|--|\n| b |\n\n- [x] c\n\n```ts\nd\n```'), call('f1', 'fail')],
		[call('p1', 'pay', { amount: 5 })],
		[call('q1', 'ask', { question: 'For which day?' })],
		async (turn) => {
			await goOn.promise;
			turn.say({ type: 'fail', message: 'The model is busy.' });
		},
	);
	await say('Go.');
	await chat().getByRole('button', { name: '«Allow»' }).waitFor();
	await chat().locator('.edit summary').click();
	found.push(...(await readEnglish()));
	await chat().getByRole('button', { name: '«Allow»' }).click();
	await sees('.question', 'For which day?');
	await runEnds();
	await say('Friday');
	await chat().locator('#stop').waitFor();
	await box().fill('And then?');
	await chat().locator('#queue').click();
	await chat().locator('#waiting li').waitFor();
	found.push(...(await readEnglish()));
	goOn.resolve();
	await chat().locator('.failure').first().waitFor();
	await runEnds();
	found.push(...(await readEnglish()));
	const said = [
		'a.txt',
		'attachments/a.txt',
		'For which day?',
		'And then?',
		'Hm.',
		'ts',
		'amount',
		'Amount',
		...['fail', 'pay', 'ask', 'Question'],
		'Pay',
		'5',
	];
	expect([...new Set(found)].filter((one) => !said.includes(one))).toEqual([]);
});

test('two elements on a page have conversations of their own, and so have two visitors', async () => {
	const two = '<runlet-chat agent="desk" user="ada"></runlet-chat><runlet-chat agent="desk" user="ben"></runlet-chat>';
	await show(two);
	stage.play([text('For Ada.')], [text('For Ben.')]);
	await say('I am Ada.', 0);
	await sees('.prose', 'For Ada.', 0);
	await runEnds(0);
	await say('I am Ben.', 1);
	await sees('.prose', 'For Ben.', 1);
	await runEnds(1);
	await page.reload();
	await sees('.prose', 'For Ada.', 0);
	await sees('.prose', 'For Ben.', 1);
	expect([await readTexts('.prose', 0), await readTexts('.prose', 1)]).toEqual([['For Ada.'], ['For Ben.']]);
});

test('an element that is removed reads no more, and goes on where it is put back', async () => {
	await show(plain);
	const end = await beginCounting();
	const broken = page.waitForEvent('requestfailed', (request) => /\/(sessions|messages|events)$/.test(request.url()));
	await page.evaluate(() => {
		const element = document.querySelector('runlet-chat');
		element?.remove();
		Reflect.set(window, 'kept', element);
	});
	await broken;
	const { all } = countRequests();
	await page.evaluate(() => {
		for (const name of ['focus', 'online']) dispatchEvent(new Event(name));
	});
	expect(all).toEqual([]);
	await page.evaluate("document.querySelector('main').append(kept)");
	await sees('.prose', 'One, two,');
	end();
	await runEnds();
	expect(await readTexts('.prose')).toEqual(['One, two, three.']);
});

test('does not take the focus of the page, and works by the keyboard alone', async () => {
	await show(`<input id="first" aria-label="Search">${plain}`);
	await sees('#welcome-name', 'How can I help?');
	expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('BODY');
	await page.focus('#first');
	const names: string[] = [];
	for (let step = 0; step < 4; step++) {
		await page.keyboard.press('Tab');
		names.push(
			await chat().evaluate(
				(node) => node.shadowRoot?.activeElement?.ariaLabel ?? node.shadowRoot?.activeElement?.textContent ?? '',
			),
		);
	}
	expect(names).toEqual(['New chat', 'Attach files', 'Message', 'Send']);
	stage.play([text('Hello.')]);
	await page.keyboard.press('Shift+Tab');
	await page.keyboard.type('Hi.');
	await page.keyboard.press('Enter');
	await sees('.prose', 'Hello.');
	await runEnds();
	expect(await chat().evaluate((node) => node.shadowRoot?.activeElement?.id)).toBe('text');
	expect(await chat().locator('#transcript').getAttribute('aria-live')).toBe('polite');
});

test('as a popup it asks for nothing before it is opened, takes the focus, and gives it back', async () => {
	const { all } = countRequests();
	await show('<runlet-chat popup agent="desk" heading="Tea Shop"></runlet-chat>');
	const launcher = chat().getByRole('button', { name: 'Tea Shop' });
	await launcher.waitFor();
	expect(all).toEqual([]);
	expect(await box().isVisible()).toBe(false);
	await launcher.press('Enter');
	await sees('#welcome-name', 'How can I help?');
	expect(await chat().evaluate((node) => node.shadowRoot?.activeElement?.id)).toBe('text');
	stage.play([text('Hello, **you**.')]);
	await say('Hi.');
	await sees('.prose', 'Hello, you.');
	await runEnds();
	expect(await findBarriers()).toEqual([]);
	await shoot('popup');
	await box().press('Escape');
	await box().waitFor({ state: 'hidden' });
	expect(await chat().evaluate((node) => node.shadowRoot?.activeElement?.className)).toBe('launcher');
	expect(await launcher.getAttribute('aria-expanded')).toBe('false');
	await page.setViewportSize({ width: 390, height: 780 });
	await launcher.click();
	await sees('.prose', 'Hello, you.');
	await shoot('popup-phone');
});

test('only the conversation scrolls, not the frame of the element, and not the page around it', async () => {
	stage.play([text(lines('Line')), call('a1', 'add', { x: 1, y: 2 })], [text(lines('More'))]);
	for (const size of [
		{ width: 320, height: 640 },
		{ width: 844, height: 390 },
	]) {
		await page.setViewportSize(size);
		await show(`<runlet-chat agent="desk" popup open></runlet-chat>`);
		if (size.width === 320) await say('Add');
		await sees('.prose', 'More 59');
		await runEnds();
		await box().fill(lines('Word'));
		const read = await page.evaluate(() => {
			const { shadowRoot } = document.querySelector('runlet-chat') ?? {};
			const frame = shadowRoot?.querySelector('.embedded');
			const { height = 0 } = shadowRoot?.querySelector('#scroller')?.getBoundingClientRect() ?? {};
			const send = shadowRoot?.querySelector('#send')?.getBoundingClientRect().bottom ?? 0;
			const left = [
				document.documentElement.scrollHeight - innerHeight,
				(frame?.scrollHeight ?? 1) - (frame?.clientHeight ?? 0),
			];
			return { left, isRoomy: height > innerHeight / 4, isInView: send < innerHeight };
		});
		expect(read, `${size.width}`).toEqual({ left: [0, 0], isRoomy: true, isInView: true });
	}
});

test('Arabic is written from the right, in the page and in the answer', async () => {
	await show(plain, { attributes: 'lang="ar" dir="rtl"' });
	stage.play([text('مرحبا **بك**.\n\n- واحد\n- two')]);
	await say('مرحبا');
	await sees('.prose', 'مرحبا بك.');
	await runEnds();
	for (const selector of ['.embedded', 'header h2']) expect(await readStyles(selector, 'direction')).toEqual(['rtl']);
	expect(await readStyles('.message', 'direction')).toEqual(['rtl']);
	expect(await readStyles('.prose p', 'direction')).toEqual(['rtl']);
	await shoot('arabic');
});

const answered = [
	'## Two ways\n\nBoth keep the **same history**; the [docs](https://docs.example.com/) say more.\n\n',
	'| way | rows | cost |\n|:--|--:|--:|\n| one by one | 12 | $0.03 |\n| in one commit | 9 | $0.02 |\n\n',
	'- [x] measure both\n- [ ] choose one\n\n```ts\nexport const total = (rows: readonly number[]) => rows.reduce((sum, row) => sum + row, 0);\n```\n',
].join('');

test.for([
	['wide', 900, 720],
	['phone', 320, 640],
] as const)('has no serious barrier, and fits: %s', async ([name, width, height]) => {
	await page.setViewportSize({ width, height });
	await show(
		'<runlet-chat theme="system" agent="desk" heading="Tea Shop" logo="/logo.svg" start="Where is my order?|Which teas have little caffeine?"></runlet-chat>',
	);
	await sees('#examples button', 'Where is my order?');
	await shoot(`welcome-${name}`);
	const found = await findBarriers();
	stage.play(
		[text(answered), call('a1', 'add', { x: 2, y: 3 })],
		[text('That is all.'), call('p1', 'pay', { amount: 5 })],
	);
	await say('How should the rows be written, and what does it cost?');
	await chat().locator('.open-call').waitFor();
	await runEnds();
	await shoot(`answer-${name}`);
	for (const colorScheme of ['light', 'dark'] as const) {
		await page.emulateMedia({ colorScheme });
		found.push(...(await findBarriers()));
	}
	expect(found).toEqual([]);
	const { wide, inner } = await page.evaluate(() => {
		const scroller = document.querySelector('runlet-chat')?.shadowRoot?.querySelector('#scroller');
		return {
			wide: document.documentElement.scrollWidth,
			inner: (scroller?.scrollWidth ?? 0) - (scroller?.clientWidth ?? 0),
		};
	});
	expect(wide).toBeLessThanOrEqual(width);
	expect(inner).toBeLessThanOrEqual(0);
});
