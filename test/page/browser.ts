import { existsSync } from 'node:fs';
import { type Browser as Chromium, chromium, type Page } from 'playwright-core';

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

let launched: Promise<Chromium> | undefined;

/** Starts Chromium once for all files of a process, because a start costs as much as ten tests. */
function launch(): Promise<Chromium> {
	if (!existsSync(executablePath)) throw new Error(`No Chromium at ${executablePath}: set CHROMIUM to where one is.`);
	launched ??= chromium.launch({ executablePath, args });
	return launched;
}

/**
 * Starts a browser that shares nothing with the browsers of other files. A new page costs a third of a second of processor
 * time, so the tests of a file share a page, which `clearPage` clears between them. Animations are off.
 */
export async function startBrowser(viewport = { width: 900, height: 600 }) {
	const context = await (await launch()).newContext({ viewport, reducedMotion: 'reduce' });
	return {
		openPage: async () => {
			const page = await context.newPage();
			// A busy machine is slow, and that is no failure.
			page.setDefaultTimeout(120_000);
			return page;
		},
		/**
		 * Opens an empty page, and resets the settings of a test. `localStorage` stays, because all pages share it.
		 */
		clearPage: async (page: Page) => {
			if (page.url().startsWith('http')) await page.evaluate(() => sessionStorage.clear());
			await page.goto('about:blank');
			page.removeAllListeners();
			await page.unrouteAll({ behavior: 'ignoreErrors' });
			await page.setViewportSize(viewport);
			await page.emulateMedia({ colorScheme: null });
		},
		countPages: (): number => context.pages().length,
		close: () => context.close(),
	};
}

export type Browser = Awaited<ReturnType<typeof startBrowser>>;

/** Collects exceptions of the page, and errors and warnings in its console. */
export function watchComplaints(page: Page, complaints: string[]): void {
	page.on('console', (message) => {
		if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
	});
	page.on('pageerror', (error) => complaints.push(String(error)));
}
