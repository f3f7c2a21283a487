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

/** Starts Chromium once for all files of a process, which is as much work as ten tests. It ends with the process. */
function launch(): Promise<Chromium> {
	if (!existsSync(executablePath)) throw new Error(`No Chromium at ${executablePath}: set CHROMIUM to where one is.`);
	launched ??= chromium.launch({ executablePath, args });
	return launched;
}

/**
 * Starts a browser that shares nothing with those of other files. To open a page takes a third of a second of the processor:
 * the tests of a file use one, which `clearPage` clears between them. Nothing moves by itself, so that nothing is drawn
 * where nothing changes.
 */
export async function startBrowser(viewport = { width: 900, height: 600 }) {
	const context = await (await launch()).newContext({ viewport, reducedMotion: 'reduce' });
	return {
		openPage: async () => {
			const page = await context.newPage();
			page.setDefaultTimeout(20_000);
			return page;
		},
		/** Ends what a page does, and forgets what a test has set in it; `localStorage` stays, as all pages share it. */
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

/** Adds what the page complains about: errors and warnings of its console, and exceptions. */
export function watchComplaints(page: Page, complaints: string[]): void {
	page.on('console', (message) => {
		if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
	});
	page.on('pageerror', (error) => complaints.push(String(error)));
}
