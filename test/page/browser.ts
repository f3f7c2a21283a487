import { existsSync } from 'node:fs';
import { chromium, type Page } from 'playwright-core';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const args = [
	'--headless',
	'--no-sandbox',
	'--disable-gpu',
	'--no-first-run',
	'--disable-background-networking',
	'--disable-component-update',
	'--disable-sync',
];

/**
 * Starts Chromium with one page that stays open, because the first page of a window costs twice as much as each further
 * one. Runlet's page keeps what it knows in the storage of its tab, which no other page has; `localStorage` is shared.
 */
export async function startBrowser(viewport = { width: 900, height: 600 }) {
	if (!existsSync(executablePath)) throw new Error(`No Chromium at ${executablePath}: set CHROMIUM to where one is.`);
	const browser = await chromium.launch({ executablePath, args });
	const context = await browser.newContext({ viewport });
	await context.newPage();
	return {
		openPage: async () => {
			const page = await context.newPage();
			page.setDefaultTimeout(20_000);
			return page;
		},
		/** How many pages are open, without the one that stays. */
		countPages: (): number => context.pages().length - 1,
		close: () => browser.close(),
	};
}

export type Browser = Awaited<ReturnType<typeof startBrowser>>;

/** Adds what the page complains about: errors and warnings of its console, and exceptions. */
export function watchComplaints(page: Page, complaints: string[]): void {
	page.on('console', (message) => {
		if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
	});
	page.on('pageerror', (error) => complaints.push(String(error)));
}
