/** The start page: its agents, and how a new user connects a model with nothing but the page. */
import { once } from 'node:events';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { anthropic } from '../core/providers/wire/anthropic.ts';
import { text } from '../e2e/ui/stage.ts';
import { copyProject, startRunletIn } from '../runlet.ts';
import {
	findBarriers,
	forgive,
	openChat,
	openPage,
	openStage,
	page,
	readTexts,
	say,
	sees,
	shoot,
	stage,
} from './setup.ts';

openPage({ width: 1280, height: 900 });
openStage();

/** Whether all of an element is in view. */
const isSeen = (selector: string): Promise<boolean> =>
	page.locator(selector).evaluate((node) => {
		const view = node.closest('#scroller')?.getBoundingClientRect();
		const { top, bottom } = node.getBoundingClientRect();
		return view !== undefined && top >= view.top && bottom <= view.bottom;
	});

describe('the agents of the start page', () => {
	test('are cards with a description and an example, and a click chooses one', async () => {
		await openChat();
		expect(await readTexts('.agent-card')).not.toEqual([]);
		await page.locator('.agent-name', { hasText: 'chief' }).click();
		await sees('#welcome-name', 'chief');
		expect(await page.locator('#agent').inputValue()).toBe('chief');
		expect(await page.locator('.agent-name[aria-pressed="true"]').allTextContents()).toEqual(['chief']);
		expect(await findBarriers()).toEqual([]);
	});

	test('an example begins a chat with its agent', async () => {
		await page.route('**/v1/agents', async (route) => {
			const answer = await route.fetch();
			const { agents } = await answer.json();
			const changed = agents.map((agent: { name: string }) => ({ ...agent, examples: [`Ask the ${agent.name}`] }));
			await route.fulfill({ json: { agents: changed } });
		});
		stage.play([text('Here I am.')]);
		await openChat();
		await page.locator('.agent-example', { hasText: 'Ask the chief' }).click();
		await sees('.message', 'Ask the chief');
		await sees('.prose', 'Here I am.');
		await page.locator('#recent a', { hasText: 'chief' }).waitFor();
	});
});

describe('the start page of a low window', () => {
	const scrolled = () => page.locator('#scroller').evaluate(({ scrollTop }) => scrollTop);
	const scrollTo = (top: number) =>
		page.locator('#scroller').evaluate(
			(node, to) =>
				new Promise<void>((resolve) => {
					node.addEventListener('scroll', () => requestAnimationFrame(() => resolve()), { once: true });
					node.scrollTop = to;
				}),
			top,
		);

	test('begins at its top, also after a long conversation, and has no way to the end', async () => {
		await page.setViewportSize({ width: 1280, height: 500 });
		stage.play([text(Array.from({ length: 60 }, (_, at) => `Line ${at}\n\n`).join(''))]);
		await openChat();
		await say('Count');
		await sees('.prose', 'Line 59');
		await page.locator('#send').waitFor();
		expect(await scrolled()).toBeGreaterThan(0);
		await page.click('#new');
		await page.locator('#welcome').waitFor();
		expect(await scrolled()).toBe(0);
		// The size of the conversation changes, and the start page stays where it is.
		await page.setViewportSize({ width: 1280, height: 480 });
		await page.evaluate(() => new Promise(requestAnimationFrame));
		expect(await scrolled()).toBe(0);
		await scrollTo(300);
		await scrollTo(200);
		expect(await page.locator('#latest').isVisible()).toBe(false);
		await page.locator('.agent-name', { hasText: 'chief' }).click();
		await sees('#welcome-name', 'chief');
		await expect.poll(scrolled).toBe(0);
	});
});

describe('a server that is not of npm start', () => {
	test('shows the command that sets the key of a deployed Worker', async () => {
		await openChat();
		await page
			.locator('.connect')
			.getByRole('button', { name: /^Connect a/ })
			.click();
		await sees('.connect pre', 'npx wrangler secret put ANTHROPIC_API_KEY');
		await page.getByLabel('Provider').selectOption('GEMINI');
		await sees('.connect pre', 'npx wrangler secret put GEMINI_API_KEY');
		expect(await findBarriers()).toEqual([]);
		forgive(404);
	});
});

describe('npm start', () => {
	let project: string;
	let runlet: Awaited<ReturnType<typeof startRunletIn>>;
	let provider: Server;
	let baseUrl: string;

	beforeAll(async () => {
		provider = createServer((req, res) => {
			if (req.headers.authorization !== 'Bearer sk-right') {
				res.writeHead(401).end(JSON.stringify({ error: { message: 'invalid x-api-key' } }));
			} else if (req.method === 'GET') {
				res.end(JSON.stringify({ data: [{ id: 'claude-sonnet-4-6' }, { id: 'claude-haiku-4-5' }] }));
			} else if (req.url?.endsWith('/count_tokens') === true) {
				res.end(JSON.stringify({ input_tokens: 12 }));
			} else {
				req.resume();
				res.writeHead(200, { 'content-type': 'text/event-stream' });
				const usage = { input: 12, output: 3 };
				res.end(anthropic.events({ text: 'Good day to you.', stop: 'end_turn', usage }).join(''));
			}
		}).listen(0, '127.0.0.1');
		await once(provider, 'listening');
		const address = provider.address();
		baseUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
		project = await copyProject();
		await writeFile(join(project, '.dev.vars'), '# mine\nGITHUB_TOKEN=abc\n');
		runlet = await startRunletIn(project);
	});
	afterAll(async () => {
		await runlet?.close();
		provider?.close();
		await rm(project, { recursive: true, force: true });
	});

	test('offers examples with its own address, and an example of digest that works without a key', async () => {
		await page.goto(runlet.url);
		await sees('.agent-card', `Read ${runlet.url}/docs`);
		await page.locator('.agent-example', { hasText: 'Summarise the sample day.' }).click();
		await sees('.prose', 'Order A-1042 came broken');
	});

	test('takes the key of a provider, says why a wrong key fails, and then answers with a model of the provider', async () => {
		await page.setViewportSize({ width: 1280, height: 700 });
		await page.goto(runlet.url);
		const open = page.locator('.connect').getByRole('button', { name: 'Connect a model' });
		await open.waitFor();
		await shoot('connect-start');
		expect(await isSeen('.connect > button')).toBe(true);
		await open.click();
		await page.getByRole('combobox', { name: 'Provider' }).selectOption('CHAT');
		await sees('.connect small', 'The address of the API');
		await page.getByRole('button', { name: 'Cancel' }).click();
		expect(await open.evaluate((button) => button === document.activeElement)).toBe(true);
		await page.keyboard.press('Control+k');
		await page.keyboard.type('connect a model');
		await page.keyboard.press('Enter');
		await page.getByRole('button', { name: 'Check the key' }).waitFor();
		await shoot('connect-form');
		await page.locator('.connect').getByLabel('API key').fill('sk-right');
		await page.getByLabel('Base URL').fill('http://127.0.0.1:9');
		await page.getByRole('button', { name: 'Check the key' }).click();
		await sees('.connect .failure', /^Base URL: http:\/\/127.0.0.1:9 cannot be reached/);
		expect(await isSeen('.connect .failure')).toBe(true);
		await shoot('connect-failure');
		await page.locator('.connect').getByLabel('API key').fill('sk-wrong');
		await page.getByLabel('Base URL').fill(baseUrl);
		await page.getByRole('button', { name: 'Check the key' }).click();
		await sees('.connect .failure', 'Anthropic refuses this (401) and says: “invalid x-api-key”');
		forgive(400);
		await page.locator('.connect').getByLabel('API key').fill('sk-right');
		await page.getByRole('button', { name: 'Check the key' }).click();
		await sees('.connect', 'Anthropic accepts this, and offers 2 models.');
		await shoot('connect-models');
		expect(await findBarriers()).toEqual([]);
		await page.locator('.connect-model select').selectOption('claude-haiku-4-5');
		await page.getByRole('button', { name: 'Use this model' }).click();
		await sees('.connect', 'Answers come from claude-haiku-4-5.');
		await page.getByRole('status').filter({ hasText: 'Connected: claude-haiku-4-5' }).waitFor();
		await shoot('connected');
		expect(await isSeen('#welcome-name')).toBe(true);
		expect(await isSeen('.connect .good')).toBe(true);
		await page.getByRole('button', { name: 'Connect another model' }).waitFor();
		const file = join(project, '.dev.vars');
		expect(await readFile(file, 'utf8')).toBe(
			`# mine\nGITHUB_TOKEN=abc\nANTHROPIC_API_KEY=sk-right\nANTHROPIC_BASE_URL=${baseUrl}\nMODEL=claude-haiku-4-5\n`,
		);
		expect((await stat(file)).mode & 0o777).toBe(0o600);
		await say('Hello');
		await sees('.prose', 'Good day to you.');
		// While the server started again, requests were refused.
		forgive(503);
	});
});
