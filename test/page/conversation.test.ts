/** The end of the conversation, drafts, Escape, the first message, other agents and unknown addresses. */
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { call, type OpenTurn, text } from '../e2e/ui/stage.ts';
import {
	browser,
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
	site,
	stage,
} from './setup.ts';

openPage({ width: 900, height: 640 });
openStage();
beforeEach(openChat);

const button = (name: string) => page.getByRole('button', { name });
const lines = (word: string) => Array.from({ length: 60 }, (_, at) => `${word} ${at}\n\n`).join('');

/** Makes a turn that says sixty lines, and the last one when `end` is called. */
function openTurn() {
	const { promise, resolve: end } = Promise.withResolvers<void>();
	const turn = async ({ say }: OpenTurn) => {
		say(text(lines('Line')));
		await promise;
		say(text('The end.'));
	};
	return { turn, end };
}

const isAtEnd = () =>
	page.locator('#scroller').evaluate((node) => node.scrollHeight - node.scrollTop - node.clientHeight < 4);

async function scrollUp(): Promise<void> {
	await page.locator('#scroller').hover();
	await page.mouse.wheel(0, -600);
	await page.locator('#latest').waitFor();
}

describe('the end of a conversation', () => {
	test('is a click away while the reader looks at what came before, and stays in view after it', async () => {
		const { turn, end } = openTurn();
		stage.play(turn);
		await say('Count');
		await sees('.prose', 'Line 59');
		expect(await page.locator('#latest').isVisible()).toBe(false);
		await scrollUp();
		await shoot('latest');
		await button('Jump to latest').click();
		await page.locator('#latest').waitFor({ state: 'hidden' });
		await expect.poll(isAtEnd).toBe(true);
		end();
		await sees('.prose', 'The end.');
		await runEnds();
		await expect.poll(isAtEnd).toBe(true);
	});

	test('scrolls in its box, and the page never scrolls', async () => {
		stage.play([text(lines('Line')), call('a1', 'add', { x: 1, y: 2 })], [text(lines('More'))]);
		await say('Add');
		await sees('.prose', 'More 59');
		const height = await page.evaluate(() => document.documentElement.scrollHeight);
		expect(height).toBe(640);
	});

	test('keeps the button of a long message with files above the keyboard of a phone', async () => {
		stage.play([text(lines('Line'))]);
		await say('Count');
		await sees('.prose', 'Line 59');
		await page.fill('#text', lines('Word'));
		const files = ['a.txt', 'b.txt', 'c.txt'].map((name) => ({
			name,
			mimeType: 'text/plain',
			buffer: Buffer.from('x'),
		}));
		await page.locator('#composer input[type=file]').setInputFiles(files);
		await sees('.file', 'c.txt');
		for (const size of [
			{ width: 390, height: 330 },
			{ width: 844, height: 180 },
		]) {
			await page.setViewportSize(size);
			const ends = await page.evaluate(() => [
				document.documentElement.scrollHeight,
				document.querySelector('#send')?.getBoundingClientRect().bottom,
			]);
			expect(ends[0]).toBe(size.height);
			expect(ends[1]).toBeLessThan(size.height);
		}
	});

	test('has a sign while something new is there', async () => {
		stage.play([text(lines('Line'))], [text('News.')]);
		await say('Count');
		await sees('.prose', 'Line 59');
		await runEnds();
		const there = await browser.openPage();
		await there.goto(page.url());
		await there.locator('.prose', { hasText: 'Line 59' }).waitFor();
		await scrollUp();
		expect(await page.locator('#latest').getAttribute('aria-label')).toBe('Jump to latest');
		await there.fill('#text', 'What is new?');
		await there.press('#text', 'Enter');
		await sees('.prose', 'News.');
		expect(await isAtEnd()).toBe(false);
		await button('Jump to latest: there is something new').waitFor();
		await shoot('latest-news');
		await there.close();
	});

	test('shows a queued message also to a reader who has scrolled up', async () => {
		const { turn, end } = openTurn();
		stage.play(turn, [text('Two.')]);
		await say('Count');
		await sees('.prose', 'Line 59');
		await scrollUp();
		await say('And then?');
		await sees('#waiting li', 'And then?');
		const [list, scroller] = [page.locator('#waiting li'), page.locator('#scroller')];
		const [item, view] = [await list.boundingBox(), await scroller.boundingBox()];
		expect((item?.y ?? 0) + (item?.height ?? 0)).toBeLessThanOrEqual((view?.y ?? 0) + (view?.height ?? 0));
		await shoot('queued');
		end();
		await sees('.prose', 'Two.');
	});
});

describe('Escape', () => {
	test('stops the run, but first leaves the editor of a message', async () => {
		const { turn } = openTurn();
		stage.play(turn);
		await say('Count');
		await sees('.prose', 'Line 59');
		await button('Edit the message Count').click();
		await page.keyboard.press('Escape');
		await page.locator('.editor').waitFor({ state: 'detached' });
		expect(await page.locator('#stop').isVisible()).toBe(true);
		await page.focus('#text');
		await page.keyboard.press('Escape');
		await sees('.note', 'Stopped.');
		await runEnds();
	});
});

describe('a draft', () => {
	test('survives a reload, belongs to its session, and goes when it is sent', async () => {
		stage.play([text('One.')], [text('Two.')]);
		await page.fill('#text', 'For a new chat');
		await page.reload();
		await page.locator('#welcome').waitFor();
		expect(await page.inputValue('#text')).toBe('For a new chat');
		await say('First');
		await sees('.prose', 'One.');
		await runEnds();
		await page.fill('#text', 'Half a thought');
		const address = page.url();
		await page.click('#new');
		await page.locator('#welcome').waitFor();
		expect(await page.inputValue('#text')).toBe('');
		await page.goto(address);
		await page.reload();
		await sees('.prose', 'One.');
		expect(await page.inputValue('#text')).toBe('Half a thought');
		await page.press('#text', 'Enter');
		await sees('.prose', 'Two.');
		await page.reload();
		await sees('.prose', 'Two.');
		expect(await page.inputValue('#text')).toBe('');
	});
});

test('a printed conversation is whole, and has no menu, no pane and no field of a message', async () => {
	stage.play([text(lines('Line'))]);
	await say('Count');
	await sees('.prose', 'Line 59');
	await runEnds();
	await page.locator('#trace-open').click();
	await page.locator('#pane').waitFor();
	await page.emulateMedia({ media: 'print' });
	onTestFinished(() => page.emulateMedia({ media: null }));
	const hidden = await page.locator('#scroller').evaluate((node) => node.scrollHeight - node.clientHeight);
	expect(hidden).toBe(0);
	expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeGreaterThan(1200);
	for (const box of ['#side', '#pane', '#composer']) expect(await page.locator(box).isVisible(), box).toBe(false);
});

test('a long draft with many files leaves the buttons of a low window in view', async () => {
	await page.setViewportSize({ width: 640, height: 400 });
	await page.fill('#text', lines('Draft'));
	const files = Array.from({ length: 12 }, (_, at) => ({
		...{ name: `${'file'.repeat(20)}-${at}.txt`, mimeType: 'text/plain', buffer: Buffer.from('x') },
	}));
	await page.setInputFiles('input[type=file]', files);
	await page.locator('#files li').last().waitFor();
	const [view, button] = await Promise.all([
		page.evaluate(() => document.documentElement.scrollHeight),
		page.locator('#send').boundingBox(),
	]);
	expect(view).toBe(400);
	expect((button?.y ?? 0) + (button?.height ?? 0)).toBeLessThanOrEqual(400);
	await page.click('#send', { trial: true });
	await page.fill('#text', '');
});

test('a new session and its first message are one request, which a lost answer repeats without a second session', async () => {
	const sent = stage.play([text('Once.')]);
	const requests: string[] = [];
	page.on('request', (request) => {
		if (request.method() === 'POST') requests.push(new URL(request.url()).pathname);
	});
	await page.route(
		'**/v1/sessions',
		async (route) => {
			await route.fetch();
			await route.fulfill({ status: 503, json: { error: { code: 'overloaded', message: 'Later.' } } });
		},
		{ times: 1 },
	);
	await say('First and only');
	await sees('.prose', 'Once.');
	await runEnds();
	expect(requests).toEqual(['/v1/sessions', '/v1/sessions']);
	expect(sent.length).toBe(1);
	expect(await readTexts('.message, .prose')).toEqual(['You: First and only', 'Once.']);
	expect(page.url()).toContain('#/sessions/');
	await page.locator('#recent li', { hasText: 'First and only' }).waitFor();
	forgive(503);
	expect(await page.locator('#recent li', { hasText: 'First and only' }).count()).toBe(1);
});

test('another agent in an open session is offered as a new chat, which gets the draft', async () => {
	stage.play([text('One.')], [call('a1', 'add', { x: 1, y: 1 })], [text('Chief here.')]);
	await say('First');
	await sees('.prose', 'One.');
	await runEnds();
	const address = page.url();
	await page.fill('#text', 'And now?');
	await page.selectOption('#agent', 'chief');
	await button('New chat with chief').waitFor();
	expect(page.url()).toBe(address);
	expect(await page.inputValue('#agent')).toBe('desk');
	await shoot('agent-offer');
	await button('Stay here').click();
	await page.locator('#agent-offer').waitFor({ state: 'hidden' });
	await page.selectOption('#agent', 'chief');
	await button('New chat with chief').click();
	await sees('#welcome-name', 'chief');
	expect(await page.inputValue('#text')).toBe('And now?');
	expect(await page.inputValue('#agent')).toBe('chief');
	await page.goto(address);
	await sees('.prose', 'One.');
	expect(await page.inputValue('#text')).toBe('');
});

test('an unknown address says so, and offers ways on', async () => {
	await page.goto(`${site.url}/#/nonsense`);
	await sees('#panel h2', 'Nothing is here');
	await shoot('missing');
	await page.getByRole('link', { name: 'Start a new chat' }).click();
	await page.locator('#welcome').waitFor();
	expect(await page.locator('#panel').isVisible()).toBe(false);
});
