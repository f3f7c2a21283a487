/** A session whose newest run has ended is reopened from its stored messages. */
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { call, text } from '../e2e/ui/stage.ts';
import { client, openChat, openPage, openStage, page, readTexts, runEnds, say, sees, site, stage } from './setup.ts';

openPage();
openStage();
beforeEach(openChat);

/** Reloads the page. Returns the requests for events, and whether a Stop button was ever visible. */
async function reopen(): Promise<{ readonly followed: string[]; readonly hadStop: () => Promise<boolean> }> {
	const followed: string[] = [];
	page.on('request', (request) => {
		if (request.url().endsWith('/events')) followed.push(request.url());
	});
	const script = await page.addInitScript(() => {
		const look = () => {
			const stop = document.querySelector<HTMLElement>('#stop');
			if (stop !== null && !stop.hidden) Reflect.set(window, 'hadStop', true);
		};
		new MutationObserver(look).observe(document, { subtree: true, childList: true, attributes: true });
	});
	onTestFinished(() => script.dispose());
	await page.reload();
	return { followed, hadStop: () => page.evaluate(() => Reflect.get(window, 'hadStop') === true) };
}

test('shows an answer of 5 MB from its stored message, without its events and without a Stop button', async () => {
	const paragraph = `${'A line of a long answer with **bold** words. '.repeat(2_000)}\n\n`;
	const count = Math.ceil(5_000_000 / paragraph.length);
	stage.play([...Array.from({ length: count }, () => text(paragraph)), text('The end of it.')]);
	const { id } = await client.createSession({ agent: 'desk' });
	for await (const _ of client.sendMessage(id, 'Write a book.'));
	await page.goto(`${site.url}/#/sessions/${id}`);
	const { followed, hadStop } = await reopen();
	await page.locator('.usage').waitFor();
	await page.locator('#transcript:not([aria-busy])').waitFor();
	const shown = await page.locator('#transcript .prose').textContent();
	expect(shown?.length).toBeGreaterThan(4_500_000);
	expect(shown?.endsWith('The end of it.')).toBe(true);
	expect(await hadStop()).toBe(false);
	expect(followed).toEqual([]);
	await page.getByRole('button', { name: 'Regenerate' }).waitFor();
});

test('keeps the usage below the answer of each run', async () => {
	const used = (inputTokens: number) => ({ type: 'usage', inputTokens, outputTokens: 7, costUsd: 0.01 }) as const;
	stage.play([used(10), call('a1', 'add', { x: 1, y: 2 })], [used(20), text('3')], [used(40), text('Bye.')]);
	await say('How much is 1 + 2?');
	await sees('.usage', '30 tokens in');
	await runEnds();
	await say('Thanks.');
	await sees('.usage', '40 tokens in');
	await runEnds();
	const shown = await readTexts('.usage');
	expect(shown).toHaveLength(2);
	await reopen();
	await sees('.usage', '40 tokens in');
	expect(await readTexts('.usage')).toEqual(shown);
	expect(await page.locator('[data-tab=money] .context').textContent()).toMatch(/^Context: /);
});

test('says how a run without an answer ended', async () => {
	stage.play([{ type: 'fail', message: 'The model is busy.' }]);
	await say('Hello?');
	await sees('#transcript .failure', 'The model is busy.');
	await runEnds();
	let { followed } = await reopen();
	await sees('#transcript .failure', 'The model is busy.');
	await page.getByRole('button', { name: 'Try again' }).waitFor();
	expect(await readTexts('.message')).toEqual(['You: Hello?']);
	expect(followed).toEqual([]);

	stage.play([call('s1', 'stop')]);
	await say('Stop, then.');
	await sees('.warning', 'Stopped by the agent: enough.');
	({ followed } = await reopen());
	await sees('.warning', 'Stopped by the agent: enough.');
	expect(followed).toEqual([]);

	stage.play(async (turn) => {
		turn.say(text('First of all'));
		await turn.left;
	});
	await say('Begin.');
	await sees('.prose', 'First of all');
	await page.click('#stop');
	await sees('.note', 'Stopped.');
	({ followed } = await reopen());
	await sees('.note', 'Stopped.');
	expect(followed).toEqual([]);
});

test('reads the work of a child when its call is opened', async () => {
	stage.play(
		[call('d1', 'desk', { task: 'Add them.' })],
		[call('a1', 'add', { x: 1, y: 2 })],
		[text('It makes **3**.')],
		[text('It is 3.')],
	);
	await page.selectOption('#agent', 'chief');
	await sees('#welcome-name', 'chief');
	await say('How much is it?');
	await sees('.prose', 'It is 3.');
	await runEnds();
	await reopen();
	await sees('.prose', 'It is 3.');
	await page.locator('.call > summary').click();
	await sees('.nested .label', 'By desk');
	await sees('.nested .prose strong', '3');
	expect(await page.locator('.nested .call .answer').textContent()).toBe('3');
});
