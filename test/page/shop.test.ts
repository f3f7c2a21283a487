/** The example of docs/customers.md, as `npm start` serves it: the data that customers and staff may see. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { root } from '../../scripts/root.ts';
import { senders } from '../cloudflare/wire/protocols/webhooks/senders.ts';
import { claimPort } from '../port.ts';
import { type Browser, startBrowser, watchComplaints } from './browser.ts';

/** The secret of Stripe's signatures in `npm start` of the example. */
const stripeSecret = 'whsec_only_for_this_machine';

/** Runs `npm start` in the folder of the example, in a process group of its own. */
async function startShop() {
	const [port, folder] = [await claimPort(), await mkdtemp(join(tmpdir(), 'runlet-shop-'))];
	const options = ['--port', String(port), '--persist-to', folder, '--no-type-check'];
	const child = spawn('npm', ['start', '--', ...options], {
		cwd: join(root, 'examples/shop'),
		detached: true,
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	const up = Promise.withResolvers<void>();
	let output = '';
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding('utf8').on('data', (text: string) => {
			output += text;
			if (output.includes('Runlet is at ')) up.resolve();
		});
	const ended = once(child, 'close');
	void ended.then(() => up.reject(new Error(`npm start ended:\n${output}`)));
	await up.promise;
	return {
		url: `http://127.0.0.1:${port}`,
		close: async (): Promise<void> => {
			if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
			await ended;
			await rm(folder, { recursive: true, force: true });
		},
	};
}

let shop: Awaited<ReturnType<typeof startShop>>;
/** Each person has their own browser, because the pages of one browser share cookies. */
let browsers: readonly Browser[];
let ada: Page;
let ben: Page;
let kim: Page;
/** Complaints of the pages, such as a script that their policy forbids. */
const complaints: string[] = [];

beforeAll(async () => {
	[shop, ...browsers] = await Promise.all([startShop(), startBrowser(), startBrowser(), startBrowser()]);
	[ada, ben, kim] = await Promise.all([openShop(0, 'ada'), openShop(1, 'ben'), openShop(2, 'kim')]);
});
afterAll(async () => {
	await Promise.all([shop?.close(), ...(browsers ?? []).map((browser) => browser.close())]);
});
beforeEach(() => {
	complaints.length = 0;
});

/** Opens the shop in a browser, and logs in. */
async function openShop(browser: number, user: string): Promise<Page> {
	const page = await browsers[browser]?.openPage();
	if (page === undefined) throw new Error(`there is no browser ${browser}`);
	watchComplaints(page, complaints);
	await page.goto(shop.url);
	await page.getByLabel('Name').fill(user);
	await page.getByLabel('Password').fill('tea');
	await page.getByRole('button', { name: 'Log in' }).click();
	await page.getByText(`You are ${user}.`).waitFor();
	return page;
}

async function say(page: Page, message: string): Promise<void> {
	await page.locator('#chats li').first().waitFor();
	await page.getByLabel('Message').fill(message);
	await page.getByLabel('Message').press('Enter');
}

const sees = (page: Page, selector: string, hasText: string | RegExp) =>
	page.locator(selector, { hasText }).last().waitFor();

/** Makes a request as the person of the page. Returns its status. */
const ask = (page: Page, method: string, path: string) =>
	page.evaluate(async ([how, where]) => (await fetch(where, { method: how })).status, [method, path] as const);

/** Finds the newest conversation of the customer. */
const findChat = (page: Page): Promise<string> =>
	page.evaluate(async () => (await (await fetch('/chats')).json()).sessions[0].id);

test('a customer asks for an order, and reads the answer as it streams', async () => {
	await say(ada, 'Where is my order A-1001?');
	await sees(ada, '.question', 'Where is my order A-1001?');
	await sees(ada, '.answer', '"item":"Darjeeling, 250 g"');
	await ada.reload();
	await sees(ada, '.answer', '"item":"Darjeeling, 250 g"');
	expect(complaints).toEqual([]);
});

test('another customer reads neither the order nor the conversation, and has no inbox', async () => {
	await say(ben, 'Where is my order A-1001?');
	await sees(ben, '.answer', 'The customer has no order A-1001.');
	const session = await findChat(ada);
	expect(await findChat(ben)).not.toBe(session);
	const refused = [
		['GET', `/ai/v1/sessions/${session}`, 401],
		['GET', `/ai/v1/sessions/${session}/messages`, 401],
		['POST', `/chats/${session}/token`, 400],
		['POST', '/ai/v1/sessions', 401],
		['GET', '/ai/v1/approvals', 401],
		['GET', '/ai/v1/users/ada', 401],
		['DELETE', '/ai/v1/users/ben', 401],
	] as const;
	for (const [method, path, status] of refused)
		expect([method, path, await ask(ben, method, path)]).toEqual([method, path, status]);
});

test('a refund waits for a colleague’s approval in the inbox, and then appears on the customer’s page', async () => {
	await say(ada, 'Please refund order A-1001, amount 18 euros.');
	await sees(ada, '.note', 'A colleague has to allow this.');
	const card = kim.locator('.card', { hasText: 'refund' });
	await card.waitFor();
	expect(await card.textContent()).toContain('"amount": 18');
	expect(await card.textContent()).toContain('ada asks support');
	await card.getByRole('button', { name: 'Approve' }).click();
	await card.waitFor({ state: 'detached' });
	await kim.getByText('Nothing waits.').waitFor();
	await sees(ada, '.answer', '"refunded":"18.00 EUR"');
	expect(complaints).toEqual([]);
});

test('a refund that a colleague denies is not made', async () => {
	await say(ada, 'Please refund order A-1002, amount 5 euros.');
	const card = kim.locator('.card', { hasText: 'A-1002' });
	await card.getByRole('button', { name: 'Deny' }).click();
	await card.waitFor({ state: 'detached' });
	await sees(ada, '.answer', 'refund failed');
	await say(ada, 'Where is my order A-1002?');
	await sees(ada, '.answer', '"price":"12.50 EUR"}');
	expect(complaints).toEqual([]);
});

test('a background agent looks into a complaint, and sees the orders of the customer who complained', async () => {
	await say(ada, 'I have a complaint: "Order A-1002 came open."');
	await sees(ada, '.answer', 'Its answer comes as a message');
	await sees(ada, '.answer', /researcher has finished its task.*A cup with a lid/s);
	expect(complaints).toEqual([]);
});

test('a signed event of Stripe about a failed payment starts a conversation only for its customer', async () => {
	const metadata = { customer: 'ben', order: 'B-2001' };
	const body = JSON.stringify({
		id: 'evt_1',
		type: 'payment_intent.payment_failed',
		data: { object: { metadata } },
	});
	const signed = senders.stripe.headers(body, {
		id: 'evt_1',
		at: Math.floor(Date.now() / 1_000),
		secrets: [stripeSecret],
	});
	const send = (headers: Readonly<Record<string, string>>) =>
		fetch(`${shop.url}/ai/v1/webhooks/support/stripe`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', ...headers },
			body,
		});
	expect((await send({})).status).toBe(401);
	expect((await send(signed)).status).toBe(202);
	await expect.poll(() => ben.reload().then(() => ben.locator('#chats li').count())).toBe(2);
	await sees(ben, '.note', 'the payment of order B-2001 failed');
	await sees(ben, '.answer', '"item":"Assam, 500 g"');
	await ada.reload();
	await sees(ada, '.answer', 'A cup with a lid');
	expect(await ada.locator('#chats li').count()).toBe(1);
	expect(complaints).toEqual([]);
});

test('a customer exports and erases only their own data', async () => {
	const data = await ada.evaluate(async () => (await fetch('/my-data')).text());
	expect(data).toContain('Please refund order A-1001');
	expect(data).not.toContain('B-2001');
	const session = await findChat(ada);
	await ada.getByRole('button', { name: 'Erase it' }).click();
	// The page begins a new conversation, because no conversation is left.
	await sees(ada, '#chats li', 'New conversation');
	expect(await ada.evaluate(async () => (await fetch('/my-data')).text())).not.toContain('A-1001');
	expect(await ask(kim, 'GET', `/ai/v1/sessions/${session}`)).toBe(404);
	await ben.reload();
	await sees(ben, '.answer', '"item":"Assam, 500 g"');
});
