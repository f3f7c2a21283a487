/**
 * The main states of the page, as people meet them: each is without a serious barrier by the rules of axe, in the light and in
 * the dark, and fits a phone. Pictures of them are kept in build/screenshots.
 */
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, reasoning, type Stage, startStage, text } from '../e2e/ui/stage.ts';
import { type Browser, startBrowser } from './browser.ts';
import { startSite } from './site.ts';

const folder = resolve(import.meta.dirname, '../../build/screenshots');
const wide = { width: 1280, height: 800 };
const phone = { width: 390, height: 780 };

let browser: Browser;
let stage: Stage;
let site: Awaited<ReturnType<typeof startSite>>;
let page: Page;

beforeAll(async () => {
	[browser, stage] = await Promise.all([startBrowser(wide), startStage(), mkdir(folder, { recursive: true })]);
	site = await startSite(stage.url);
	page = await browser.openPage();
});
afterAll(async () => {
	site?.close();
	await Promise.all([browser?.close(), stage?.close()]);
});

const sees = (selector: string, hasText: string | RegExp) => page.locator(selector, { hasText }).last().waitFor();

async function say(message: string): Promise<void> {
	await page.goto(`${site.url}/#/`);
	await page.locator('#welcome').waitFor();
	await page.fill('#text', message);
	await page.press('#text', 'Enter');
}

async function openPanel(name: string): Promise<void> {
	await page.goto(`${site.url}/#/${name}`);
	await page.locator(`#panel[data-panel="${name}"]:not([aria-busy])`).waitFor();
}

const answer = [
	'## Two ways\n\nBoth keep the **same history**; the [docs](https://docs.example.com/) say more.\n\n',
	'| way | rows | cost |\n|:--|--:|--:|\n| one by one | 12 | $0.03 |\n| in one commit | 9 | $0.02 |\n\n',
	'- [x] measure both\n- [ ] choose one\n\n> Measure before you choose.\n\n',
	'```ts\nexport const total = (rows: readonly number[]) => rows.reduce((sum, row) => sum + row, 0);\n```\n',
].join('');

const states: Readonly<Record<string, () => Promise<void>>> = {
	async welcome() {
		await page.goto(site.url);
		await page.locator('#welcome').waitFor();
	},
	async answer() {
		stage.play([reasoning('Two ways come to mind.'), text(answer)]);
		await say('How should the rows be written?');
		await sees('.usage', 'tokens');
	},
	async calls() {
		stage.play([text('Let me add.'), call('a1', 'add', { x: 2, y: 3 }), call('a2', 'fail')], [text('It is five.')]);
		await say('What is 2 + 3?');
		await sees('.usage', 'tokens');
		await page.locator('.call summary').first().click();
	},
	async approval() {
		stage.play([call('p1', 'pay', { amount: 5 })]);
		await say('Pay five.');
		await page.locator('.open-call').waitFor();
	},
	async question() {
		stage.play([call('q1', 'ask', { question: 'For which day?' })]);
		await say('Book a table.');
		await sees('.question, .asked', 'For which day?');
		await page.locator('#send').waitFor();
	},
	async failure() {
		stage.play([{ type: 'fail', message: 'The model is busy.' }]);
		await say('Hello?');
		await page.locator('#transcript .failure').waitFor();
		await page.locator('#send').waitFor();
	},
	inbox: () => openPanel('inbox'),
	sessions: () => openPanel('sessions'),
	memory: () => openPanel('memory'),
	schedules: () => openPanel('schedules'),
	skills: () => openPanel('skills'),
	tools: () => openPanel('tools'),
	servers: () => openPanel('servers'),
	spending: () => openPanel('spending'),
};

async function findBarriers(): Promise<string[]> {
	const { violations } = await page.evaluate<axe.AxeResults>('axe.run(document)');
	const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
	return serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(', ')}`);
}

test.for(Object.entries(states))(
	'%s has no serious barrier, in the light and in the dark, and fits a phone',
	async ([name, show]) => {
		await page.setViewportSize(wide);
		await page.emulateMedia({ colorScheme: 'light' });
		await show();
		await page.evaluate(axe.source);
		for (const [size, colorScheme, suffix] of [
			[wide, 'light', 'light'],
			[wide, 'dark', 'dark'],
			[phone, 'light', 'phone'],
		] as const) {
			await page.setViewportSize(size);
			await page.emulateMedia({ colorScheme });
			expect(await findBarriers(), suffix).toEqual([]);
			const width = await page.evaluate(() => document.documentElement.scrollWidth);
			expect(width, suffix).toBeLessThanOrEqual(size.width);
			await page.screenshot({ path: `${folder}/${name}-${suffix}.png` });
		}
	},
);

test('with the keyboard alone a person reaches each place, sends a message, opens a call, and comes back', async () => {
	stage.play([call('a1', 'add', { x: 2, y: 3 })], [text('It is five.')]);
	await page.setViewportSize(wide);
	await page.goto(`${site.url}/#/`);
	await page.locator('#welcome').waitFor();
	const focused = () => page.evaluate(() => document.activeElement?.id || document.activeElement?.textContent);
	const tabTo = async (isThere: () => Promise<boolean>, key = 'Tab') => {
		for (let n = 0; n < 80 && !(await isThere()); n += 1) await page.keyboard.press(key);
		expect(await isThere()).toBe(true);
	};
	// Whoever opens a chat writes at once.
	expect(await focused()).toBe('text');
	await page.keyboard.type('What is 2 + 3?');
	await page.keyboard.press('Enter');
	await sees('.prose', 'It is five.');
	await page.locator('#send').waitFor();
	expect(await focused()).toBe('text');
	const isCall = () => page.evaluate(() => document.activeElement?.matches('.call > summary') === true);
	await tabTo(isCall, 'Shift+Tab');
	await page.keyboard.press('Enter');
	expect(await page.locator('.call').first().getAttribute('open')).toBe('');
	await tabTo(async () => (await focused()) === 'Sessions', 'Shift+Tab');
	await page.keyboard.press('Enter');
	await sees('#panel h2', 'Sessions');
	// The focus goes on in the panel, and what comes next is in it.
	await page.locator('#panel .search').waitFor();
	expect(await page.evaluate(() => document.activeElement?.matches('#panel h2'))).toBe(true);
	await page.keyboard.press('Tab');
	expect(await page.evaluate(() => document.activeElement?.closest('#panel') !== null)).toBe(true);
});
