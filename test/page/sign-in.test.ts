/** Who looks at the page: keys, roles and session tokens, and the way in and out (docs/keys.md, "Who one is"). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { hashKey, makeKey } from '../../src/cloudflare/auth/key.ts';
import type { Role } from '../../src/cloudflare/auth/rights.ts';
import { call, type Stage, startStage, text } from '../e2e/ui/stage.ts';
import { complaints, findBarriers, forgive, openPage, page, readTexts, runEnds, say, sees, shoot } from './setup.ts';
import { startSite } from './site.ts';

openPage({ width: 1100, height: 700 });

let stage: Stage;
let site: Awaited<ReturnType<typeof startSite>>;
const keys = { ann: '', kim: '', ada: '', operator: '' };

/** Makes a key of the owner `shop`. */
async function createRecord(user: keyof typeof keys, role: Role, scopes: readonly string[] = ['run']) {
	const { key, id } = makeKey();
	keys[user] = key;
	return { id, owner: 'shop', user, role, scopes, hash: await hashKey(key) };
}

beforeAll(async () => {
	const records = [
		await createRecord('ann', 'admin'),
		await createRecord('kim', 'staff'),
		await createRecord('ada', 'customer'),
		await createRecord('operator', 'admin', ['admin']),
	];
	stage = await startStage({ API_KEYS: JSON.stringify(records) });
	site = await startSite(stage.url);
});
afterAll(async () => {
	site?.close();
	await stage?.close();
});
beforeEach(() => page.goto(site.url));

/** Removes the complaints of the browser about requests that got no answer. */
function forgiveNetwork(): void {
	for (const line of complaints.splice(0)) if (!line.includes('ERR_FAILED')) complaints.push(line);
}

const form = () => page.getByRole('dialog', { name: 'Sign in to Runlet' });
const field = () => form().getByLabel('API key or session token');

async function enter(key: string): Promise<void> {
	await field().fill(key);
	await form().getByRole('button', { name: 'Sign in' }).click();
}

async function signIn(key: string): Promise<void> {
	await enter(key);
	await form().waitFor({ state: 'hidden' });
	forgive(401);
}

interface Token {
	readonly token: string;
	readonly tokenId: string;
}

/** Asks about the tokens of a session, with the key of an admin. */
async function askOfTokens(path: string, method: string, body?: object): Promise<string> {
	const headers = { authorization: `Bearer ${keys.ann}`, 'content-type': 'application/json' };
	const response = await fetch(`${stage.url}/v1/sessions/${path}`, { method, headers, body: JSON.stringify(body) });
	expect(response.ok).toBe(true);
	return response.text();
}

const makeToken = async (id: string, scopes: readonly string[], more: object = {}): Promise<Token> =>
	JSON.parse(await askOfTokens(`${id}/token`, 'POST', { scopes, ...more }));

const revokeToken = (id: string, tokenId: string) => askOfTokens(`${id}/token/${tokenId}`, 'DELETE');

/** Makes a session of Ada with an answer, and a token for it. */
async function createSession(...scopes: ('read' | 'message' | 'approve')[]) {
	const client = createClient(stage.url, { key: keys.ann });
	stage.play([text('Your parcel is on its way.')]);
	const { id } = await client.createSession({ agent: 'desk', user: 'ada' });
	const events = client.sendMessage(id, 'Where is my parcel?');
	for await (const _ of events);
	const { token, tokenId } = await makeToken(id, scopes.length === 0 ? ['read'] : scopes);
	return { id, token, tokenId, client };
}

/** The names of the panels in the menu, without the number of what waits. */
const places = async () => (await readTexts('#places a')).map((name) => name.replace(/\d.*/, ''));
const who = () => page.locator('#who');

async function openWho(): Promise<void> {
	await who().click();
	await page.locator('#who-menu').waitFor();
}

describe('without a key', () => {
	test('the page shows only the form; the form says what is wrong with a key, and keeps the key', async () => {
		await form().waitFor();
		expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('key');
		expect(await findBarriers()).toEqual([]);
		await shoot('sign-in');
		const unknown = makeKey().key;
		await enter(unknown);
		await form().getByRole('alert').getByText('This key is not known, or was revoked').waitFor();
		expect(await field().inputValue()).toBe(unknown);
		await shoot('sign-in-wrong');
		await enter('two words');
		await form().getByRole('alert').getByText('without spaces').waitFor();
		await page.keyboard.press('Escape');
		expect(await form().isVisible()).toBe(true);
		await signIn(keys.ann);
		await page.locator('#welcome').waitFor();
		await page.reload();
		await page.locator('#welcome').waitFor();
	});
});

test('a server that does not answer at first is asked again by a button', async () => {
	await signIn(keys.ann);
	await page.locator('#welcome').waitFor();
	await page.route('**/v1/me', (route) => route.abort());
	await page.reload();
	await sees('#panel .failure', 'The server does not answer');
	await page.unroute('**/v1/me');
	await page.getByRole('button', { name: 'Try again' }).click();
	await page.locator('#welcome').waitFor();
	forgive(401);
	forgiveNetwork();
});

describe('the roles', () => {
	test('an admin sees all panels, and who they are stands at the foot of the menu', async () => {
		await signIn(keys.ann);
		await sees('#who', 'ann');
		await sees('#who', 'shop · admin');
		expect(await places()).toEqual(expect.arrayContaining(['Inbox', 'Tools', 'MCP servers', 'Spending']));
		await openWho();
		const facts = await readTexts('.who-facts > *');
		expect(facts).toEqual(expect.arrayContaining(['API key', 'shop', 'ann', 'admin']));
		expect(await findBarriers()).toEqual([]);
		await shoot('who');
	});

	test('staff see no panels and no forms of admins', async () => {
		await signIn(keys.kim);
		await sees('#who', 'shop · staff');
		const shown = await places();
		expect(shown).toEqual(expect.arrayContaining(['Inbox', 'Feedback', 'Memory', 'Skills', 'Spending']));
		expect(shown).not.toEqual(expect.arrayContaining(['Tools']));
		await page.locator('#places a', { hasText: 'Memory' }).click();
		await page.locator('#panel[data-panel="memory"]:not([aria-busy]) .search').first().waitFor();
		expect(await page.locator('#panel').getByRole('button', { name: 'New…' }).count()).toBe(0);
		await page.locator('#places a', { hasText: 'Skills' }).click();
		await page.locator('#panel[data-panel="skills"]:not([aria-busy]) .search').waitFor();
		expect(await page.locator('#panel .adding').count()).toBe(0);
	});

	test('a customer sees their own sessions, and neither panels of staff nor the trace', async () => {
		const { id } = await createSession();
		const other = createClient(stage.url, { key: keys.ann });
		await other.createSession({ agent: 'desk', user: 'ben' });
		await signIn(keys.ada);
		await sees('#who', 'shop · customer');
		expect(await places()).toEqual(['Sessions']);
		await page.locator('#recent a', { hasText: 'Where is my parcel?' }).first().click();
		await sees('.prose', 'on its way');
		await runEnds();
		expect(page.url()).toContain('#/sessions/');
		expect(await page.locator('#trace-open').isVisible()).toBe(false);
		expect(await page.locator('#save-test').isVisible()).toBe(false);
		await page.locator('#places a').click();
		await page.locator(`[data-session="${id}"]`).waitFor();
		expect(await page.locator('#panel .actions button').count()).toBe(0);
		// Nothing was asked that a customer may not see.
		expect(complaints).toEqual([]);
	});

	test('a key with the scope admin alone reads sessions, and has no box for messages', async () => {
		const { id } = await createSession();
		await signIn(keys.operator);
		await page.locator('#panel[data-panel="inbox"]').waitFor();
		expect(await page.locator('#new').isVisible()).toBe(false);
		await page.goto(`${site.url}/#/sessions/${id}`);
		await sees('.prose', 'on its way');
		await sees('.read-only-note', 'You can read this conversation');
		expect(await page.locator('#text').isVisible()).toBe(false);
	});
});

describe('a session token', () => {
	test('opens its session and nothing else, and a conversation goes on in it', async () => {
		const { id, token } = await createSession('read', 'message');
		await signIn(token);
		await sees('.prose', 'on its way');
		await runEnds();
		expect(page.url()).toBe(`${site.url}/#/sessions/${id}`);
		expect(await places()).toEqual([]);
		expect(await page.locator('#new').isVisible()).toBe(false);
		expect(await page.locator('#recent-title').isVisible()).toBe(false);
		await sees('#who', 'ada');
		await sees('#who', 'One session');
		stage.play([text('Tomorrow.')]);
		await say('When does it arrive?');
		await sees('.prose', 'Tomorrow.');
		await runEnds();
		await page.goto(`${site.url}/#/inbox`);
		await sees('.prose', 'Tomorrow.');
		expect(page.url()).toBe(`${site.url}/#/sessions/${id}`);
		expect(await findBarriers()).toEqual([]);
		await shoot('token');
		expect(complaints).toEqual([]);
	});

	test('with the scope read alone shows no way to write', async () => {
		const { token } = await createSession('read');
		await signIn(token);
		await sees('.prose', 'on its way');
		await sees('.read-only-note', 'You can read this conversation');
		await sees('#who', 'One session, to read');
		for (const selector of ['#text', '#send', '.edit-message', '.offer'])
			expect(await page.locator(selector).locator('visible=true').count(), selector).toBe(0);
		expect(await findBarriers()).toEqual([]);
		await shoot('token-read');
		expect(complaints).toEqual([]);
	});

	test('decides about a call only with the scope approve', async () => {
		const client = createClient(stage.url, { key: keys.ann });
		stage.play([call('p1', 'pay', { amount: 5 })]);
		const { id } = await client.createSession({ agent: 'desk', user: 'ada' });
		for await (const _ of client.sendMessage(id, 'Pay five.'));
		const read = await makeToken(id, ['read', 'message']);
		await signIn(read.token);
		await sees('.call', 'pay');
		await page.locator('#send').waitFor();
		expect(await page.locator('.open-call').count()).toBe(0);
		const approve = await makeToken(id, ['read', 'approve'], { for: 'kim' });
		await openWho();
		await page.getByRole('button', { name: 'Sign out' }).click();
		await signIn(approve.token);
		await page.locator('.open-call').getByRole('button', { name: 'Allow' }).waitFor();
		expect(await page.locator('#text').isVisible()).toBe(false);
	});

	test('that is revoked while a person writes shows the form, and the page goes on with the draft', async () => {
		const { id, token, tokenId } = await createSession('read', 'message');
		await signIn(token);
		await sees('.prose', 'on its way');
		await runEnds();
		await revokeToken(id, tokenId);
		await say('Can it come on Friday?');
		await form().getByRole('alert').getByText('was revoked').waitFor();
		await shoot('revoked');
		const next = await makeToken(id, ['read', 'message']);
		await signIn(next.token);
		await sees('.prose', 'on its way');
		expect(await page.locator('#text').inputValue()).toBe('Can it come on Friday?');
		expect(page.url()).toBe(`${site.url}/#/sessions/${id}`);
		stage.play([text('Yes, it can.')]);
		await page.press('#text', 'Enter');
		await sees('.prose', 'Yes, it can.');
	});

	test('whose session is gone says so in the form', async () => {
		const { id, token, client } = await createSession('read');
		await signIn(token);
		await sees('.prose', 'on its way');
		await client.deleteSession(id);
		await page.reload();
		await form().getByRole('alert').getByText('There is no such session').waitFor();
		forgive(404);
		forgive(401);
		await signIn(keys.ann);
		await page.locator('#welcome').waitFor();
	});
});

describe('the foot of the menu', () => {
	test('signs a person out, and drops what they saw', async () => {
		await signIn(keys.ann);
		await page.locator('#welcome').waitFor();
		await page.fill('#text', 'A secret draft');
		await openWho();
		await page.getByRole('button', { name: 'Sign out' }).click();
		await form().waitFor();
		expect(await page.locator('#text').inputValue()).toBe('');
		expect(await page.evaluate(() => sessionStorage.getItem('runlet-key'))).toBeNull();
		forgive(401);
	});

	test('changes the key, and the change can be cancelled', async () => {
		await signIn(keys.ann);
		await openWho();
		await page.getByRole('button', { name: 'Use another key…' }).click();
		await form().getByRole('button', { name: 'Cancel' }).click();
		await sees('#who', 'ann');
		await openWho();
		await page.getByRole('button', { name: 'Use another key…' }).click();
		await enter(keys.ada);
		await sees('#who', 'ada');
		expect(await places()).toEqual(['Sessions']);
	});

	test('fits a phone', async () => {
		await signIn(keys.ann);
		await page.setViewportSize({ width: 390, height: 780 });
		await page.getByRole('button', { name: 'Menu' }).click();
		await openWho();
		expect(await findBarriers()).toEqual([]);
		await shoot('who-phone');
		expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
	});
});
