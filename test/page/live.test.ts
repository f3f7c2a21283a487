/** Without a reload, the page shows changes that another window or the API makes. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { call, text } from '../e2e/ui/stage.ts';
import { type Browser, startBrowser, watchComplaints } from './browser.ts';
import { openStage, site, stage } from './setup.ts';

let browser: Browser;
/** Two windows of one browser. */
let here: Page;
let there: Page;
let complaints: string[];
/** The text of a complaint that a test expects, such as a status. */
let expected: string | undefined;

openStage();
beforeAll(async () => {
	browser = await startBrowser({ width: 1100, height: 700 });
	[here, there] = await Promise.all([browser.openPage(), browser.openPage()]);
});
afterAll(() => browser?.close());

beforeEach(async () => {
	complaints = [];
	expected = undefined;
	for (const page of [here, there]) watchComplaints(page, complaints);
	await here.goto(site.url);
	await here.locator('#welcome').waitFor();
});
afterEach(async () => {
	await Promise.all([browser.clearPage(here), browser.clearPage(there)]);
	expect(complaints.filter((text) => expected === undefined || !text.includes(expected))).toEqual([]);
});

const sees = (page: Page, selector: string, hasText: string | RegExp) =>
	page.locator(selector, { hasText }).last().waitFor();
const isGone = (page: Page, selector: string) => page.locator(selector).first().waitFor({ state: 'detached' });
const readTexts = (page: Page, selector: string) => page.locator(selector).allTextContents();
const readSession = (page: Page): string => page.url().split('/').at(-1) ?? '';

async function say(page: Page, message: string): Promise<void> {
	await page.fill('#text', message);
	await page.press('#text', 'Enter');
}

/** Stops the polling of a window, so that only messages of other windows make it read. */
async function stopTimers(page: Page): Promise<void> {
	const script = await page.addInitScript(() => {
		const own = setTimeout;
		Reflect.set(window, 'setTimeout', (work: () => void, ms = 0) => (ms >= 2_000 ? 0 : own(work, ms)));
	});
	onTestFinished(() => script.dispose());
}

/** Opens a session with a run that has ended in both windows. */
async function begin(): Promise<string> {
	stage.play([text('Hello there.')]);
	await say(here, 'Hello.');
	await sees(here, '.usage', 'tokens');
	await here.locator('#send').waitFor();
	await there.goto(here.url());
	await sees(there, '.usage', 'tokens');
	await there.locator('#send').waitFor();
	return readSession(here);
}

const ask = (method: string, path: string, body: object) =>
	fetch(`${stage.url}/v1/sessions/${path}`, {
		method,
		headers: { 'content-type': 'application/json', prefer: 'respond-async' },
		body: JSON.stringify(body),
	});

const comeBack = (page: Page) => page.evaluate(() => dispatchEvent(new Event('focus')));

test('shows a message that another window sends, and the answer as it streams', async () => {
	await begin();
	const end = Promise.withResolvers<void>();
	stage.play(async (turn) => {
		turn.say(text('It is '));
		await end.promise;
		turn.say(text('five.'));
	});
	await say(here, 'What is 2 + 3?');
	await sees(there, '.prose', 'It is');
	expect(await there.locator('#stop').isVisible()).toBe(true);
	end.resolve();
	await sees(there, '.prose', 'It is five.');
	await there.locator('#send').waitFor();
	for (const reload of [false, true]) {
		if (reload) await there.reload();
		await sees(there, '.prose', 'It is five.');
		expect(await readTexts(there, '.message')).toEqual(['You: Hello.', 'You: What is 2 + 3?']);
		expect(await readTexts(there, '.prose')).toEqual(['Hello there.', 'It is five.']);
	}
});

test('other windows get each change at once, and a window with another session reads only the list', async () => {
	await stopTimers(there);
	const id = await begin();
	const asked: string[] = [];
	there.on('request', (request) => asked.push(new URL(request.url()).pathname));
	const listed = there.waitForResponse(/\/v1\/sessions\?/);
	stage.play([text('Elsewhere.')], [text('It is five.')]);
	await here.click('#new');
	await here.locator('#welcome').waitFor();
	await say(here, 'Another chat.');
	await listed;
	await sees(here, '.usage', 'tokens');
	expect(asked.filter((path) => path.includes(id))).toEqual([]);
	const told = there.waitForRequest(new RegExp(`/v1/sessions/${id}$`));
	await here.goto(there.url());
	await sees(here, '.prose', 'Hello there.');
	await here.locator('#send').waitFor();
	await say(here, 'What is 2 + 3?');
	await told;
});

test('shows a change that arrives while the window reads the session', async () => {
	await stopTimers(there);
	const id = await begin();
	stage.play([text('It is five.')]);
	const hasRead = Promise.withResolvers<void>();
	const goOn = Promise.withResolvers<void>();
	await there.route(
		`**/v1/sessions/${id}`,
		async (route) => {
			const response = await route.fetch();
			hasRead.resolve();
			await goOn.promise;
			await route.fulfill({ response });
		},
		{ times: 1 },
	);
	await comeBack(there);
	await hasRead.promise;
	await ask('POST', `${id}/messages`, { text: 'From a script.' });
	await comeBack(there);
	goOn.resolve();
	await sees(there, '.prose', 'It is five.');
	await there.locator('#send').waitFor();
});

test('shows a message that another window queues, and hides a message that another window removes', async () => {
	await begin();
	const end = Promise.withResolvers<void>();
	stage.play(async (turn) => {
		turn.say(text('One'));
		await end.promise;
	});
	await say(here, 'Count.');
	await sees(there, '.prose', 'One');
	await sees(here, '.prose', 'One');
	await say(here, 'Go on.');
	await sees(there, '#waiting', 'Go on.');
	await there.getByRole('button', { name: 'Remove the message Go on.' }).click();
	await here.locator('#waiting').waitFor({ state: 'hidden' });
	await say(here, 'Then what?');
	await sees(there, '#waiting', 'Then what?');
	stage.play([text('Two.')]);
	end.resolve();
	await sees(there, '.prose', 'Two.');
	await sees(here, '.prose', 'Two.');
	for (const page of [here, there])
		expect(await readTexts(page, '.message')).toEqual(['You: Hello.', 'You: Count.', 'You: Then what?']);
});

test('when another window approves a call, removes it from the chat, and marks it as settled in the inbox', async () => {
	await begin();
	stage.play([call('p1', 'pay', { amount: 5 }), call('p2', 'pay', { amount: 6 })]);
	await say(here, 'Pay both.');
	await sees(there, '.open-call', 'Amount6');
	const inbox = await browser.openPage();
	await inbox.goto(`${site.url}/#/inbox`);
	await sees(inbox, '.card', 'Amount5');
	stage.play([text('Both are paid.')]);
	await here.locator('.open-call', { hasText: 'Amount5' }).getByRole('button', { name: 'Allow' }).click();
	await isGone(there, '.open-call:has-text("Amount5")');
	expect(await there.locator('.open-call').count()).toBe(1);
	await sees(inbox, '.card.settled', 'It waits no more.');
	await here.locator('.open-call', { hasText: 'Amount6' }).getByRole('button', { name: 'Allow' }).click();
	await sees(there, '.prose', 'Both are paid.');
	await isGone(there, '.open-call');
	await expect.poll(() => inbox.locator('.card.settled').count()).toBe(2);
	await inbox.locator('.badge').waitFor({ state: 'hidden' });
	await inbox.close();
});

test('shows the answer that another window gives to a question, and the run after the answer', async () => {
	await begin();
	stage.play([call('q1', 'ask', { question: 'For which day?' })], [text('Friday it is.')]);
	await say(here, 'Book a table.');
	await sees(there, '.question', 'For which day?');
	await sees(here, '.question', 'For which day?');
	await here.locator('#send').waitFor();
	await say(here, 'Friday');
	await sees(there, '.prose', 'Friday it is.');
	expect(await readTexts(there, '.message')).toEqual(['You: Hello.', 'You: Book a table.', 'You: Friday']);
	expect(await there.locator('.call').getAttribute('data-state')).toBe('done');
});

test('when another window edits a message, replaces that message and all later messages, and keeps drafts', async () => {
	await begin();
	stage.play([text('Good evening.')]);
	await there.getByRole('button', { name: 'Edit the message Hello.' }).click();
	await there.getByLabel('New words of the message').fill('Good night!');
	await here.getByRole('button', { name: 'Edit the message Hello.' }).click();
	await here.getByLabel('New words of the message').fill('Good evening!');
	await here.getByLabel('New words of the message').press('Enter');
	await sees(there, '.prose', 'Good evening.');
	expect(await readTexts(there, '.message')).toEqual(['You: Good evening!']);
	expect(await there.inputValue('#text')).toBe('Good night!');
});

test('updates the menu and the list when another window renames or deletes a session', async () => {
	const id = await begin();
	await there.goto(`${site.url}/#/sessions`);
	const row = there.locator(`tr[data-session="${id}"]`);
	await row.waitFor();
	await here.goto(`${site.url}/#/sessions`);
	const mine = here.locator(`tr[data-session="${id}"]`);
	await mine.getByRole('button', { name: 'Rename' }).click();
	await here.getByLabel('Title of the session').fill('Greetings');
	await here.getByLabel('Title of the session').press('Enter');
	await sees(there, '#recent a', 'Greetings');
	await row.getByRole('link', { name: 'Greetings' }).waitFor();
	expect(await mine.count()).toBe(1);
	expected = '404';
	await ask('DELETE', id, {});
	await comeBack(there);
	await row.waitFor({ state: 'detached' });
});

test('when the window becomes visible, shows changes that a script made through the API', async () => {
	const id = await begin();
	stage.play([text('By the API.')]);
	await ask('POST', `${id}/messages`, { text: 'From a script.' });
	await comeBack(there);
	await sees(there, '.prose', 'By the API.');
	await there.locator('#send').waitFor();
	expect(await readTexts(there, '.message')).toEqual(['You: Hello.', 'You: From a script.']);
	expected = '404';
	await ask('DELETE', id, {});
	await comeBack(there);
	await sees(there, '#transcript .failure', 'New chat');
});

test('while the window is visible, first polls the session for changes, and later polls only the list', async () => {
	const asked: string[] = [];
	const showHidden = (value: boolean) =>
		there.evaluate((hidden) => {
			Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
			document.dispatchEvent(new Event('visibilitychange'));
		}, value);
	const pass = async (seconds: number, answers: readonly RegExp[]) => {
		const answered = answers.map((path) => there.waitForResponse(path));
		await there.clock.fastForward(seconds * 1_000);
		await Promise.all(answered);
	};
	await there.clock.install();
	const id = await begin();
	stage.play([text('Seen soon.')], [text('Seen later.')]);
	await ask('POST', `${id}/messages`, { text: 'Soon.' });
	await there.clock.fastForward(2_500);
	await sees(there, '.prose', 'Seen soon.');
	const session = new RegExp(`/v1/sessions/${id}$`);
	const readStatus = async () => (await (await fetch(`${stage.url}/v1/sessions/${id}`)).json()).run.status;
	await expect.poll(readStatus).toBe('completed');
	// While the window follows the run, it does not read the session.
	await there.locator('#send').waitFor();
	// A read that began before the end of the run may show the run again, which takes time.
	const settled = there.waitForResponse(session);
	await comeBack(there);
	await settled;
	await there.locator('#send').waitFor();

	// From here on only the test moves the clock.
	await there.clock.pauseAt((await there.evaluate(() => Date.now())) + 1_000);
	const looked = there.waitForResponse(session);
	await comeBack(there);
	await looked;
	there.on('request', (request) => asked.push(new URL(request.url()).pathname));
	const list = /\/v1\/approvals/;
	await pass(2.5, [list, session]);
	// Before this point the page may read the session once more, because the list shows that it changed.
	asked.length = 0;
	for (const seconds of [5, 10, 20, 40, 80, 160]) await pass(seconds, [list, session]);
	for (const seconds of [320, 320]) await pass(seconds, [list]);
	expect(asked.filter((path) => path === `/v1/sessions/${id}`)).toHaveLength(6);
	expect(asked.filter((path) => path === '/v1/sessions')).toHaveLength(8);

	await showHidden(true);
	asked.length = 0;
	await there.clock.fastForward(3_600_000);
	expect(asked).toEqual([]);
	await there.clock.resume();
	await ask('POST', `${id}/messages`, { text: 'Later.' });
	await showHidden(false);
	await sees(there, '.prose', 'Seen later.');
});
