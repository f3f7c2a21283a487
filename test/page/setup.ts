/** The setup that tests of the page share: a browser with a page, and a server with a scripted model. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { type Client, createClient } from '../../src/client/index.ts';
import { type Stage, startStage } from '../e2e/ui/stage.ts';
import { type Browser, startBrowser, watchComplaints } from './browser.ts';
import { startSite } from './site.ts';

export let browser: Browser;
export let page: Page;
export let stage: Stage;
export let client: Client;
export let site: Awaited<ReturnType<typeof startSite>>;
/** Errors and warnings in the console of the page. A test removes the complaints that it expects. */
export let complaints: string[];

/** Opens a page for a file of tests, and clears it after each test. */
export function openPage(viewport?: { readonly width: number; readonly height: number }): void {
	beforeAll(async () => {
		browser = await startBrowser(viewport);
		page = await browser.openPage();
	});
	afterAll(() => browser?.close());
	beforeEach(() => {
		complaints = [];
		watchComplaints(page, complaints);
	});
	afterEach(async () => {
		await browser.clearPage(page);
		expect(complaints).toEqual([]);
	});
}

/** Starts a server with a scripted model, and the site of the page, for a file of tests. */
export function openStage(): void {
	beforeAll(async () => {
		stage = await startStage();
		client = createClient(stage.url);
		site = await startSite(stage.url);
	});
	afterAll(async () => {
		site?.close();
		await stage?.close();
	});
}

/** Opens a new chat. */
export async function openChat(): Promise<void> {
	await page.goto(site.url);
	await page.locator('#welcome').waitFor();
}

export const sees = (selector: string, hasText: string | RegExp): Promise<void> =>
	page.locator(selector, { hasText }).last().waitFor();

export const readTexts = (selector: string): Promise<string[]> => page.locator(selector).allTextContents();

export async function say(message: string): Promise<void> {
	await page.fill('#text', message);
	await page.press('#text', 'Enter');
}

/** Waits for the end of a run. */
export const runEnds = (): Promise<void> => page.locator('#send').waitFor();

/** Removes the complaints of the browser about responses with this status. */
export function forgive(status: number): void {
	complaints = complaints.filter((line) => !line.includes(`${status}`));
}

/** Takes pictures of the page in the folder SHOTS, if it is set. */
export async function shoot(name: string): Promise<void> {
	const folder = process.env.SHOTS;
	if (folder === undefined) return;
	for (const colorScheme of ['light', 'dark'] as const) {
		await page.emulateMedia({ colorScheme });
		await page.screenshot({ path: `${folder}/${name}-${colorScheme}.png` });
	}
}

/**
 * Finds serious and critical barriers. Reports no passed rules, because such a report would take most of the time.
 */
export async function findBarriers(): Promise<string[]> {
	if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
	const { violations } = await page.evaluate<axe.AxeResults>("axe.run(document, { resultTypes: ['violations'] })");
	const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
	return serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(', ')}`);
}
