import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { resolve } from 'node:path';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startWorker } from '../bundle.ts';
import { findBlock } from '../docs.ts';
import { claimPort } from '../port.ts';
import { type Browser, startBrowser } from './browser.ts';

const root = resolve(import.meta.dirname, '../..');
const component = findBlock('docs/ai-sdk.md', 'import { useChat }');

let browser: Browser;
/** Where the pages are: another port than Runlet's. */
let sitePort: number;
let runlet: Awaited<ReturnType<typeof startWorker>>;
beforeAll(async () => {
	sitePort = await claimPort();
	[browser, runlet] = await Promise.all([
		startBrowser({ width: 1280, height: 720 }),
		startWorker({ LOCAL: 'true', CORS_ORIGINS: `http://127.0.0.1:${sitePort}` }),
	]);
});
afterAll(() => Promise.all([browser?.close(), runlet?.close()]));

/** The page of docs/ai-sdk.md with one version of the AI SDK, as a script. */
async function bundle(version: 5 | 6 | 7): Promise<string> {
	const { outputFiles } = await build({
		stdin: {
			contents: component.replace('http://127.0.0.1:8787', runlet.url),
			loader: 'tsx',
			resolveDir: root,
		},
		alias: { ai: `ai${version}`, '@ai-sdk/react': `ai-react${version}` },
		define: { 'process.env.NODE_ENV': '"production"' },
		bundle: true,
		format: 'esm',
		target: 'es2022',
		platform: 'browser',
		jsx: 'automatic',
		write: false,
		logLevel: 'silent',
	});
	return outputFiles[0]?.text ?? '';
}

/** A sum that the demo model says back for seconds, piece by piece. */
const terms = 200;
const sum = Array(terms).fill(1).join(' + ');

describe.each([5, 6, 7] as const)('the page of docs/ai-sdk.md with AI SDK %i', (version) => {
	let site: Server;
	let page: Page;
	let complaints: string[];

	beforeAll(async () => {
		const script = await bundle(version);
		site = createServer(({ url }, response) => {
			const isScript = url === '/page.js';
			response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
			response.end(
				isScript
					? script
					: '<!doctype html><link rel="icon" href="data:,"><body><script type="module" src="/page.js"></script>',
			);
		}).listen(sitePort, '127.0.0.1');
		await once(site, 'listening');
	});
	afterAll(async () => {
		site?.closeAllConnections();
		await new Promise((resolve) => site?.close(resolve));
	});

	beforeEach(async () => {
		complaints = [];
		page = await browser.openPage();
		page.on('pageerror', (error) => complaints.push(String(error)));
		await page.goto(`http://127.0.0.1:${sitePort}/`);
	});
	afterEach(async () => {
		await page.evaluate(() => localStorage.clear());
		await page.close();
		expect(complaints).toEqual([]);
	});

	const say = async (text: string) => {
		await page.fill('input', text);
		await page.press('input', 'Enter');
	};
	const texts = (role: string) => page.locator(`.${role} p`).allTextContents();
	const sees = (selector: string, hasText: string) => page.locator(selector, { hasText }).last().waitFor();

	test('shows a call and its answer, and shows the same when it is loaded again', async () => {
		await say('What is 17 + 25?');
		await sees('.assistant p', '42');
		expect(await page.locator('.assistant div').allTextContents()).toEqual([
			expect.stringMatching(/^tool-\w+ .*17 \+ 25.* → 42/),
		]);
		await sees('button', 'Send');
		const seen = await page.locator('main').innerHTML();
		await page.reload();
		await sees('.assistant p', '42');
		await sees('button', 'Send');
		expect(await page.locator('main').innerHTML()).toBe(seen);
	});

	test('goes on with an answer that was being written when it was loaded again, and shows it once', async () => {
		await say(`What is ${sum}?`);
		await sees('.assistant p', '1 + 1');
		await page.reload();
		await sees('button', 'Stop');
		await sees('.assistant p', `${sum} is ${terms}.`);
		await sees('button', 'Send');
		expect((await texts('assistant')).at(-1)).toBe(`${sum} is ${terms}.`);
		expect(await texts('user')).toHaveLength(1);
		expect(await page.locator('.assistant').count()).toBe(1);
	});

	test('stops the run, and goes on with another message', async () => {
		await say(`What is ${sum}?`);
		await sees('.assistant p', '1 + 1');
		await page.click('text=Stop');
		await sees('button', 'Send');
		await say('What is 2 + 2?');
		await sees('.assistant p', '4');
		await sees('button', 'Send');
		expect(await page.locator('.error').count()).toBe(0);
	});
});
