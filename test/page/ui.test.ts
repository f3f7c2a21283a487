import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { resolve } from 'node:path';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { findBlock } from '../docs.ts';
import { call, type Stage, startStage, text } from '../e2e/ui/stage.ts';
import { claimPort } from '../port.ts';
import { type Browser, startBrowser } from './browser.ts';

const root = resolve(import.meta.dirname, '../..');
const component = findBlock('docs/ai-sdk.md', 'import { useChat }');

let browser: Browser;
let page: Page;
/** The port of the pages, which differs from the port of Runlet. */
let sitePort: number;
let stage: Stage;
beforeAll(async () => {
	sitePort = await claimPort();
	[browser, stage] = await Promise.all([
		startBrowser({ width: 1280, height: 720 }),
		startStage({ LOCAL: 'true', CORS_ORIGINS: `http://127.0.0.1:${sitePort}` }),
	]);
	page = await browser.openPage();
});
afterAll(() => Promise.all([browser?.close(), stage?.close()]));

/** Bundles the page of docs/ai-sdk.md with a version of the AI SDK. */
async function bundle(version: 5 | 6 | 7): Promise<string> {
	const { outputFiles } = await build({
		stdin: {
			contents: component.replace('http://127.0.0.1:8787/v1/ui/assistant', stage.api),
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

describe.each([5, 6, 7] as const)('the page of docs/ai-sdk.md with AI SDK %i', (version) => {
	let site: Server;
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
		page.on('pageerror', (error) => complaints.push(String(error)));
		await page.goto(`http://127.0.0.1:${sitePort}/`);
	});
	afterEach(async () => {
		await page.evaluate(() => localStorage.clear());
		await browser.clearPage(page);
		expect(complaints).toEqual([]);
	});

	const say = async (message: string) => {
		await page.fill('input', message);
		await page.press('input', 'Enter');
	};
	const texts = (role: string) => page.locator(`.${role} p`).allTextContents();
	const sees = (selector: string, hasText: string) => page.locator(selector, { hasText }).last().waitFor();

	test('shows a call and its answer, live and after a reload', async () => {
		stage.play([call('a1', 'add', { x: 17, y: 25 })], [text('It is 42.')]);
		await say('What is 17 + 25?');
		await sees('.assistant p', '42');
		expect(await page.locator('.assistant div').allTextContents()).toEqual(['tool-add {"x":17,"y":25} → 42']);
		await sees('button', 'Send');
		const seen = await page.locator('main').innerHTML();
		await page.reload();
		await sees('.assistant p', '42');
		await sees('button', 'Send');
		expect(await page.locator('main').innerHTML()).toBe(seen);
	});

	test('continues a streaming answer after a reload, and shows it once', async () => {
		const goOn = Promise.withResolvers<void>();
		stage.play(async (turn) => {
			turn.say(text('One, '), text('two, '));
			await goOn.promise;
			turn.say(text('three.'));
		});
		await say('Count.');
		await sees('.assistant p', 'One, two, ');
		await page.reload();
		await sees('.assistant p', 'One, two, ');
		await sees('button', 'Stop');
		goOn.resolve();
		await sees('button', 'Send');
		expect(await texts('assistant')).toEqual(['One, two, three.']);
		expect(await texts('user')).toEqual(['Count.']);
		expect(await page.locator('.assistant').count()).toBe(1);
	});

	test('stops the run, and continues with another message', async () => {
		stage.play(
			async (turn) => {
				turn.say(text('One, '));
				await turn.left;
			},
			[text('It is 4.')],
		);
		await say('Count.');
		await sees('.assistant p', 'One, ');
		await page.click('text=Stop');
		await sees('button', 'Send');
		await say('What is 2 + 2?');
		await sees('.assistant p', 'It is 4.');
		await sees('button', 'Send');
		expect(await page.locator('.error').count()).toBe(0);
	});
});
