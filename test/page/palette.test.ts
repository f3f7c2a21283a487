/** The palette (Ctrl+K), which finds everything with the keyboard alone. */
import { beforeEach, expect, test } from 'vitest';
import {
	client,
	complaints,
	findBarriers,
	openChat,
	openPage,
	openStage,
	page,
	readTexts,
	sees,
	shoot,
} from './setup.ts';

openPage({ width: 1280, height: 800 });
openStage();
beforeEach(openChat);

const marked = () => page.locator('#palette [aria-selected=true] .title').textContent();
/** Opens the palette, and waits for the list of sessions. */
async function openPalette(): Promise<void> {
	const read = page.waitForResponse(/\/v1\/sessions\?/);
	await page.keyboard.press('Control+k');
	await page.locator('#palette').waitFor();
	await read;
}

test('finds panels, agents and actions by words, and gives the focus back', async () => {
	await page.focus('#text');
	await openPalette();
	const field = page.getByRole('combobox', { name: 'Search everything' });
	expect(await field.evaluate((node) => node === document.activeElement)).toBe(true);
	await field.fill('wake');
	expect(await marked()).toBe('Schedules');
	expect(await findBarriers()).toEqual([]);
	await page.keyboard.press('Enter');
	await sees('h2', 'Schedules');
	await page.goBack();
	await page.locator('#welcome').waitFor();
	await page.focus('#text');
	await openPalette();
	await page.keyboard.press('Escape');
	await page.locator('#palette').waitFor({ state: 'hidden' });
	expect(await page.evaluate(() => document.activeElement?.id)).toBe('text');
});

test('begins a chat with an agent', async () => {
	await page.goto(`${page.url().split('#')[0]}#/inbox`);
	await openPalette();
	await page.locator('#palette-list').getByText('New chat with').waitFor();
	await page.keyboard.type('chief');
	await expect.poll(marked).toBe('chief');
	await page.keyboard.press('Enter');
	await sees('#welcome-name', 'chief');
});

test('searches the sessions with one request after the last letter, and opens one by the arrow keys', async () => {
	for (const title of ['Tea for two', 'Tea for one']) {
		const { id } = await client.createSession({ agent: 'desk' });
		await client.changeSession(id, { title });
	}
	await openPalette();
	const found = page.waitForResponse(/q=tea/);
	const asked: string[] = [];
	page.on('request', (request) => void asked.push(new URL(request.url()).search));
	await page.keyboard.type('tea for');
	const options = () => readTexts('#palette [role=group][aria-label=Sessions] .title');
	await expect.poll(async () => (await options()).sort()).toEqual(['Tea for one', 'Tea for two']);
	await found;
	expect(asked.filter((search) => search.includes('q='))).toEqual(['?q=tea+for&limit=8']);
	await shoot('palette');
	const [first, second] = await options();
	expect(await marked()).toBe(first);
	await page.keyboard.press('ArrowDown');
	expect(await marked()).toBe(second);
	const field = page.getByRole('combobox', { name: 'Search everything' });
	const active = await field.getAttribute('aria-activedescendant');
	expect(await page.locator(`#${active} .title`).textContent()).toBe(second);
	await page.keyboard.press('Enter');
	await expect.poll(() => page.url()).toContain('#/sessions/');
	await page.locator('#side [aria-current]', { hasText: second ?? '' }).waitFor();
});

test('finds a panel by other words, first of those that only mention them', async () => {
	await openPalette();
	await page.keyboard.type('cost');
	await expect.poll(marked).toBe('Spending');
	for (const [words, found] of [
		['schedules: run', 'Run a schedule now'],
		['api key', 'Connect a model'],
	] as const) {
		await page.getByRole('combobox', { name: 'Search everything' }).fill(words);
		await expect.poll(marked).toBe(found);
	}
	await page.keyboard.press('Escape');
	await page.goto(`${page.url().split('#')[0]}#/inbox`);
	await openPalette();
	await page.keyboard.type('connect a model');
	await page.keyboard.press('Enter');
	await sees('.connect', 'Provider');
	complaints.length = 0;
});

test('says when nothing was found', async () => {
	await page.getByRole('button', { name: 'Search' }).click();
	await page.keyboard.type('zzzz');
	await sees('#palette', 'Nothing was found.');
	expect(await findBarriers()).toEqual([]);
});

test('changes the theme, and no longer offers the chosen one', async () => {
	const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
	for (const chosen of ['dark', 'light']) {
		await openPalette();
		await page.keyboard.type(`theme: ${chosen}`);
		await expect.poll(marked).toBe(`Theme: ${chosen}`);
		await page.keyboard.press('Enter');
		await page.locator('#palette').waitFor({ state: 'hidden' });
		expect(await theme()).toBe(chosen);
		await openPalette();
		expect(await readTexts('#palette .title')).not.toContain(`Theme: ${chosen}`);
		await page.keyboard.press('Escape');
	}
	await openPalette();
	await page.keyboard.type('theme: system');
	await expect.poll(marked).toBe('Theme: system');
	await page.keyboard.press('Enter');
	expect(await theme()).toBeUndefined();
});
