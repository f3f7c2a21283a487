/** People rate answers on the page. Staff list the ratings, and save a session as a test. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { root } from '../../scripts/root.ts';
import { createClient } from '../../src/client/index.ts';
import { hashKey, type KeyRecord, makeKey } from '../../src/cloudflare/auth/key.ts';
import { call, text } from '../e2e/ui/stage.ts';
import { startRunlet } from '../runlet.ts';
import {
	browser,
	client,
	findBarriers,
	forgive,
	openChat,
	openPage,
	openStage,
	page,
	readTexts,
	runEnds,
	say,
	sees,
	shoot,
	stage,
} from './setup.ts';

openPage({ width: 1100, height: 700 });
openStage();

const thumb = (name: string, at: Page = page) => at.getByRole('button', { name, exact: true }).last();
const isPressed = (name: string) => thumb(name).getAttribute('aria-pressed');
const readSession = (): string => page.url().split('/').at(-1) ?? '';
const readFeedback = async () => (await client.getSession(readSession())).run?.feedback;

describe('the thumbs under an answer', () => {
	beforeEach(async () => {
		await openChat();
		stage.play([text('It arrives tomorrow.')]);
		await say('When does it arrive?');
		await runEnds();
	});

	test('rate the answer, and stay after a reload', async () => {
		expect(await isPressed('Good answer')).toBe('false');
		await thumb('Good answer').click();
		expect(await isPressed('Good answer')).toBe('true');
		await expect.poll(readFeedback).toMatchObject({ rating: 'up' });
		await page.reload();
		await expect.poll(() => isPressed('Good answer')).toBe('true');
		stage.play([text('Yes.')]);
		await say('Surely?');
		await sees('.prose', 'Yes.');
		await runEnds();
		expect(await page.getByRole('group', { name: 'Rate this answer' }).count()).toBe(2);
		await page.reload();
		await expect.poll(() => page.getByRole('button', { name: 'Good answer', pressed: true }).count()).toBe(1);
	});

	test('take a note about a bad answer with the keyboard only', async () => {
		await thumb('Bad answer').press('Enter');
		await expect.poll(readFeedback).toMatchObject({ rating: 'down' });
		expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('What is wrong?');
		await page.keyboard.type('It arrived today.');
		await shoot('rating-note');
		expect(await findBarriers()).toEqual([]);
		await page.keyboard.press('Tab');
		await page.keyboard.press('Enter');
		await expect.poll(readFeedback).toMatchObject({ rating: 'down', note: 'It arrived today.' });
		expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Bad answer');
		await shoot('rating');
		await page.reload();
		await sees('blockquote.note', 'It arrived today.');
		await thumb('Bad answer').click();
		await expect.poll(readFeedback).toBeUndefined();
		expect(await readTexts('blockquote.note')).toEqual([]);
	});

	test('need no note: Escape leaves the form, and the rating stays', async () => {
		await thumb('Bad answer').click();
		await page.keyboard.press('Escape');
		expect(await page.locator('.note-form').count()).toBe(0);
		await expect.poll(readFeedback).toMatchObject({ rating: 'down' });
	});

	test('show a failure, and the rating as it was', async () => {
		await page.route('**/feedback', (route) => route.fulfill({ status: 500, json: {} }));
		await thumb('Good answer').click();
		await page.locator('.rating .failure').waitFor();
		expect(await isPressed('Good answer')).toBe('false');
		await page.unroute('**/feedback');
		await page.locator('.rating .failure').getByRole('button').click();
		await expect.poll(readFeedback).toMatchObject({ rating: 'up' });
		forgive(500);
	});
});

describe('the panel Feedback', () => {
	test('lists ratings, filters them, and opens and saves their sessions', async () => {
		await openChat();
		for (const rating of ['up', 'down'] as const) {
			stage.play([text('Hello.')]);
			const { id } = await client.createSession({ agent: 'desk', text: `Rate me ${rating}.` });
			for await (const _ of client.followRun(id));
			const runId = (await client.getSession(id)).run?.id ?? '';
			await client.rateRun(id, runId, { rating, ...(rating === 'down' && { note: 'Too short.' }) });
		}
		await expect.poll(async () => (await client.listFeedback()).feedback[0]?.title).toBe('Rate me down.');
		await page.locator('#places').getByText('Feedback').click();
		const card = page.locator('.card', { hasText: 'Rate me down.' });
		expect(await card.textContent()).toContain('Too short.');
		await shoot('feedback');
		expect(await findBarriers()).toEqual([]);
		await page.getByLabel('Ratings that are shown').selectOption('up');
		await card.waitFor({ state: 'detached' });
		await sees('.card', 'Rate me up.');
		await page.getByLabel('Ratings that are shown').selectOption('down');
		const coming = page.waitForEvent('download');
		await card.getByRole('button', { name: /^Save as test/ }).click();
		const saved = await coming;
		expect(saved.suggestedFilename()).toMatch(/^desk-[0-9a-f]{8}\.json$/);
		expect(JSON.parse(await readFile(await saved.path(), 'utf8'))).toMatchObject({
			recording: 1,
			session: { title: 'Rate me down.' },
			runs: [{ feedback: { rating: 'down', note: 'Too short.' } }],
		});
		await sees('.card', `npx runlet replay recordings/${saved.suggestedFilename()}`);
		await card.locator('.title').click();
		await sees('.prose', 'Hello.');
		expect(await isPressed('Bad answer')).toBe('true');
	});
});

/** Makes a key of the owner `shop`. */
async function createKey(user: string, role: KeyRecord['role']) {
	const { key, id } = makeKey();
	return { key, record: { id, owner: 'shop', user, role, scopes: ['run'], hash: await hashKey(key) } };
}

/** Writes a module with the agent of the sources, which need no built package then. */
async function writeAgents(folder: string): Promise<string> {
	const file = join(folder, 'agents.ts');
	const agent = await readFile(join(root, 'src/agents/assistant.ts'), 'utf8');
	const from = (path: string) => JSON.stringify(pathToFileURL(join(root, 'src', path)).href);
	const text = agent.replace("'runlet/cloudflare'", from('cloudflare/agent/define.ts'));
	await writeFile(file, `${text.replace("'runlet'", from('core/index.ts'))}\nexport const agents = [assistant];\n`);
	return file;
}

test('a customer’s complaint becomes a test that replays', async () => {
	const folder = await mkdtemp(join(tmpdir(), 'runlet-feedback-'));
	const [ada, kim] = [await createKey('ada', 'customer'), await createKey('kim', 'staff')];
	const keysFile = join(folder, 'keys.json');
	await writeFile(keysFile, JSON.stringify({ keys: [ada.record, kim.record] }), { mode: 0o600 });
	const runlet = await startRunlet('--keys-file', keysFile, '--no-type-check');
	onTestFinished(async () => {
		await runlet.close();
		await rm(folder, { recursive: true, force: true });
	});
	const openAs = async (key: string): Promise<Page> => {
		const person = await browser.openPage();
		onTestFinished(() => person.close());
		await person.addInitScript((value) => sessionStorage.setItem('runlet-key', value), key);
		await person.goto(runlet.url);
		return person;
	};
	const customer = await openAs(ada.key);
	await customer.locator('#welcome').waitFor();
	await customer.fill('#text', 'What is 17 + 25?');
	await customer.press('#text', 'Enter');
	await customer.locator('.prose', { hasText: '42' }).waitFor();
	await thumb('Bad answer', customer).click();
	await customer.getByLabel('What is wrong?').fill('I asked for words.');
	await customer.getByRole('button', { name: 'Send note' }).click();
	await customer.locator('blockquote.note', { hasText: 'I asked for words.' }).waitFor();
	expect(await customer.locator('#save-test').isVisible()).toBe(false);

	const staff = createClient(runlet.url, { key: kim.key });
	await expect.poll(async () => (await staff.listFeedback()).feedback).toMatchObject([{ user: 'ada', rating: 'down' }]);
	const colleague = await openAs(kim.key);
	await colleague.locator('#places').getByText('Feedback').click();
	const card = colleague.locator('.card', { hasText: 'I asked for words.' });
	await card.locator('.title').click();
	await colleague.locator('.prose', { hasText: '42' }).waitFor();
	const coming = colleague.waitForEvent('download');
	await colleague.getByRole('button', { name: 'Save as test' }).click();
	const saved = await coming;
	const file = join(folder, saved.suggestedFilename());
	await saved.saveAs(file);
	await colleague
		.locator('#saved-test', { hasText: `npx runlet replay recordings/${saved.suggestedFilename()}` })
		.waitFor();
	const args = ['src/command/bin.ts', 'replay', file, '--agents', await writeAgents(folder)];
	const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
	expect(stdout).toMatch(/^same .* 1 run, 2 turns, \d+ ms\n$/);
});

test('Rerun with… shows the recorded answer and the new one side by side, and no call runs', async () => {
	await openChat();
	const usage = (outputTokens: number, costUsd: number) =>
		({ type: 'usage', inputTokens: 400, outputTokens, costUsd }) as const;
	stage.play(
		[call('a', 'add', { x: 2, y: 3 }), usage(20, 0.004)],
		[text('Adding two and three gives you five, which is the answer to your question.'), usage(30, 0.005)],
	);
	await say('What is 2 + 3?');
	await sees('.prose', 'Adding two');
	await runEnds();
	await page.click('#trace-open');
	await page.getByRole('button', { name: 'Rerun with…' }).click();
	await page.getByRole('button', { name: 'Rerun', exact: true }).click();
	await sees('.rerun .failure', 'Name another model');
	expect(await findBarriers()).toEqual([]);
	const requests = stage.play(
		[call('x', 'add', { y: 3, x: 2 }), call('y', 'add', { x: 1, y: 1 }), usage(10, 0.001)],
		[text('5'), usage(1, 0.001)],
	);
	await page.getByLabel('System prompt').fill('Answer with a number only.');
	await page.getByRole('button', { name: 'Rerun', exact: true }).click();
	await page.locator('.compared').waitFor();
	const results = requests
		.at(-1)
		?.filter(({ role }) => role === 'tool')
		.map(({ content }) => content);
	expect(results).toEqual([5, expect.stringContaining('no answer to this call')]);
	const rows = await page
		.locator('.compared tr')
		.evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
	expect(rows).toEqual([
		['', 'Recorded', 'Rerun'],
		['Model', 'staged', 'staged'],
		['Turns', '2', '2'],
		['Calls', '1', '2, 1 not recorded'],
		['Tokens', '850', '811'],
		['Cost', '$0.009', '$0.002'],
		['Model time', expect.stringMatching(/ms$/), expect.stringMatching(/ms$/)],
		['Answer', 'Adding two and three gives you five, which is the answer to your question.', '5'],
	]);
	await page.locator('.compared').scrollIntoViewIfNeeded();
	await shoot('rerun');
	expect(await findBarriers()).toEqual([]);
	await page.getByRole('link', { name: 'Open the branch' }).click();
	await sees('.prose', '5');
});

test('the button Save as test fits beside the others on a narrow page', async () => {
	await openChat();
	stage.play([text('Hello.')]);
	await say('Hi.');
	await runEnds();
	await page.setViewportSize({ width: 375, height: 700 });
	const coming = page.waitForEvent('download');
	await page.getByRole('button', { name: 'Save as test' }).click();
	await coming;
	await sees('#saved-test', 'npx runlet replay');
	await shoot('save-test-narrow');
	expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
	expect(await findBarriers()).toEqual([]);
	await page.locator('#saved-test').getByRole('button', { name: 'Close' }).click();
	expect(await readTexts('#saved-test > *')).toEqual([]);
});
