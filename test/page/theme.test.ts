/** The theme that a person chooses, and the name, logo and colours of `brand.json`. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { main } from '../../src/command/main.ts';
import { browser, findBarriers, openChat, openPage, openStage, page, sees, shoot, site, stage } from './setup.ts';
import { startSite } from './site.ts';

openPage({ width: 1100, height: 700 });
openStage();
afterEach(() => page.evaluate(() => localStorage.clear()).catch(() => {}));

async function choose(theme: string): Promise<void> {
	await page.locator('#who').click();
	await page.locator('.themes label', { hasText: theme }).click();
	await page.keyboard.press('Escape');
	await page.locator('#who-menu').waitFor({ state: 'hidden' });
}

const readPaper = (at = page): Promise<string> => at.evaluate(() => getComputedStyle(document.body).backgroundColor);
const paper = { light: 'rgb(252, 251, 249)', dark: 'rgb(21, 24, 26)' };

describe('the theme', () => {
	test('shows the focus of the composer with forced colours', async () => {
		await page.emulateMedia({ forcedColors: 'active' });
		onTestFinished(() => page.emulateMedia({ forcedColors: null }));
		await openChat();
		const readOutline = () => page.locator('.field').evaluate((field) => getComputedStyle(field).outlineStyle);
		await page.focus('#text');
		expect(await readOutline()).toBe('solid');
		await page.focus('#new');
		expect(await readOutline()).toBe('none');
	});

	test('is that of the device, until a person chooses another one, which stays after a reload', async () => {
		await page.emulateMedia({ colorScheme: 'light' });
		await openChat();
		await sees('#who', 'This machine');
		expect(await readPaper()).toBe(paper.light);
		await choose('Dark');
		expect(await readPaper()).toBe(paper.dark);
		await page.reload();
		await page.locator('#welcome').waitFor();
		expect(await readPaper()).toBe(paper.dark);
		await page.emulateMedia({ colorScheme: 'dark' });
		await choose('Light');
		expect(await readPaper()).toBe(paper.light);
		await choose('System');
		expect(await readPaper()).toBe(paper.dark);
		expect(await findBarriers()).toEqual([]);
	});

	test('is applied before anything is painted', async () => {
		await openChat();
		await choose('Dark');
		const other = await browser.openPage();
		onTestFinished(() => other.close());
		await other.emulateMedia({ colorScheme: 'light' });
		// The script of the page never comes, so only what blocks the first paint has run.
		await other.route('**/app.js', () => {});
		await other.goto(site.url, { waitUntil: 'commit' });
		await other.locator('#side').waitFor();
		expect(await readPaper(other)).toBe(paper.dark);
	});

	test('holds in all windows, and on the page of the API', async () => {
		await page.emulateMedia({ colorScheme: 'light' });
		await openChat();
		const other = await browser.openPage();
		onTestFinished(() => other.close());
		await other.emulateMedia({ colorScheme: 'light' });
		await other.goto(`${site.url}/docs.html`);
		await choose('Dark');
		await other.locator(':root[data-theme="dark"]').waitFor({ state: 'attached' });
		expect(await readPaper(other)).toBe(paper.dark);
	});
});

test('brand.json gives the page its name, logo and colours', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'runlet-brand-'));
	const drawing =
		'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4" fill="#5b21b6"/></svg>';
	writeFileSync(join(folder, 'logo.svg'), drawing);
	const look = { accent: ['#5b21b6', '#c4b5fd'], 'on-accent': ['#ffffff', '#1e1033'] };
	writeFileSync(
		join(folder, 'brand.json'),
		JSON.stringify({ name: 'Acme Agents', logo: 'logo.svg', look, signOut: '/leave' }),
	);
	const out = join(folder, 'public');
	await main(['page', '--brand', join(folder, 'brand.json'), '--out', out]);
	const branded = await startSite(stage.url, out);
	onTestFinished(() => {
		branded.close();
		rmSync(folder, { recursive: true });
	});
	await page.emulateMedia({ colorScheme: 'light' });
	await page.goto(branded.url);
	await page.locator('#welcome').waitFor();
	expect(await page.title()).toBe('Acme Agents');
	expect((await page.locator('h1').textContent())?.trim()).toBe('Acme Agents');
	const width = await page.locator('h1 img').evaluate((one: HTMLImageElement) => one.complete && one.naturalWidth);
	expect(width).toBeGreaterThan(0);
	const readAccent = () => page.locator('#send').evaluate((one) => getComputedStyle(one).backgroundColor);
	expect(await readAccent()).toBe('rgb(91, 33, 182)');
	await page.emulateMedia({ colorScheme: 'dark' });
	expect(await readAccent()).toBe('rgb(196, 181, 253)');
	await shoot('brand');
	expect(await findBarriers()).toEqual([]);
	// An account signs out where the brand says.
	const me = { kind: 'account', id: 'kim', owner: 'acme', user: 'kim', role: 'staff', scopes: ['run'], rights: [] };
	await page.route('**/v1/me', (route) => route.fulfill({ json: me }));
	await page.reload();
	await page.locator('#who', { hasText: 'kim' }).click();
	expect(await page.getByRole('link', { name: 'Sign out' }).getAttribute('href')).toBe('/leave');
});
