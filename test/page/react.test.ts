import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { resolve } from 'node:path';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { findBlock } from '../docs.ts';
import { call, type Stage, startStage, text } from '../e2e/ui/stage.ts';
import { claimPort } from '../port.ts';
import { type Browser, startBrowser } from './browser.ts';

const root = resolve(import.meta.dirname, '../..');
let browser: Browser;
let page: Page;
let stage: Stage;
let site: Server;
let complaints: string[];

/** Bundles the page of docs/react.md, in strict mode, in which React mounts each component twice. */
async function bundle(): Promise<string> {
	const component = findBlock('docs/react.md', 'import { createClient }')
		.replace('http://127.0.0.1:8787', new URL(stage.api).origin)
		.replace("agent: 'assistant'", `agent: '${stage.api.split('/').at(-1)}'`)
		.replace('<Page />', '<StrictMode><Page /></StrictMode>')
		.replace('import { useState }', 'import { StrictMode, useState }');
	const { outputFiles } = await build({
		stdin: { contents: component, loader: 'tsx', resolveDir: root },
		alias: {
			'runlet/client': resolve(root, 'src/client/index.ts'),
			'runlet/react': resolve(root, 'src/react/index.ts'),
		},
		define: { 'process.env.NODE_ENV': '"development"' },
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

beforeAll(async () => {
	const port = await claimPort();
	[browser, stage] = await Promise.all([
		startBrowser({ width: 1280, height: 720 }),
		startStage({ LOCAL: 'true', CORS_ORIGINS: `http://127.0.0.1:${port}` }),
	]);
	page = await browser.openPage();
	const script = await bundle();
	site = createServer(({ url }, response) => {
		const isScript = url === '/page.js';
		response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
		response.end(
			isScript
				? script
				: '<!doctype html><link rel="icon" href="data:,"><body><script type="module" src="/page.js"></script>',
		);
	}).listen(port, '127.0.0.1');
	await once(site, 'listening');
	page.on('pageerror', (error) => complaints.push(String(error)));
	complaints = [];
});
afterAll(async () => {
	site?.closeAllConnections();
	site?.close();
	await Promise.all([browser?.close(), stage?.close()]);
});
beforeEach(async () => {
	const address = site.address();
	await page.goto(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`);
});
afterEach(async () => {
	await page.evaluate(() => localStorage.clear());
	expect(complaints).toEqual([]);
});

const say = async (message: string) => {
	await page.fill('input', message);
	await page.press('input', 'Enter');
};
const sees = (selector: string, hasText: string) => page.locator(selector, { hasText }).last().waitFor();

test('the component of docs/react.md shows a call and its answer, live and after a reload', async () => {
	stage.play([call('a1', 'add', { x: 17, y: 25 })], [text('It is 42.')]);
	await say('What is 17 + 25?');
	await sees('.assistant p', '42');
	await sees('button', 'Send');
	expect(await page.locator('.assistant div').allTextContents()).toEqual(['add {"x":17,"y":25} → 42']);
	const seen = await page.locator('main').innerHTML();
	await page.reload();
	await sees('.assistant p', '42');
	await sees('button', 'Send');
	expect(await page.locator('main').innerHTML()).toBe(seen);
});

test('the component of docs/react.md goes on with an answer after a reload, and shows it once', async () => {
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
	expect(await page.locator('.assistant p').allTextContents()).toEqual(['One, two, three.']);
	expect(await page.locator('.user p').allTextContents()).toEqual(['Count.']);
});

test('the component of docs/react.md stops a run', async () => {
	stage.play(async (turn) => {
		turn.say(text('One, '));
		await turn.left;
	});
	await say('Count.');
	await sees('.assistant p', 'One, ');
	await page.click('text=Stop');
	await sees('button', 'Send');
	expect(await page.locator('.error').count()).toBe(0);
});
