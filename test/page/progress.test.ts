/** What a chat says while a run waits: for the model, for a retry, for a tool, and for the connection. */
import { beforeEach, expect, test } from 'vitest';
import { call, text } from '../e2e/ui/stage.ts';
import { complaints, openChat, openPage, openStage, page, runEnds, say, sees, shoot, stage } from './setup.ts';

openPage({ width: 900, height: 600 });
openStage();
beforeEach(openChat);

const status = () => page.locator('#status');

test('says that it waits for the model, with seconds that a screen reader does not read', async () => {
	const mayAnswer = Promise.withResolvers<void>();
	stage.play(async (turn) => {
		await mayAnswer.promise;
		turn.say(text('At last.'));
	});
	await say('Hello?');
	await sees('#status', /^Waiting for the model… [2-9]\d* s$/);
	await shoot('progress-waiting');
	const seconds = status().locator('span');
	expect(await seconds.getAttribute('aria-hidden')).toBe('true');
	expect(await seconds.getAttribute('aria-live')).toBe('off');
	expect(await status().evaluate((node) => node.firstChild?.textContent)).toBe('Waiting for the model…');
	mayAnswer.resolve();
	await sees('.prose', 'At last.');
	await runEnds();
	expect(await page.locator('.warning').count()).toBe(0);
	expect(await status().textContent()).toBe('');
});

test('says why a request is repeated, when, and which try it is', async () => {
	const busy = { type: 'fail', message: 'Busy.', status: 529, retryAfter: 4 } as const;
	stage.play([busy], [{ ...busy, status: 429, retryAfter: 3 }], [text('Here I am.')]);
	await page.selectOption('#agent', 'patient');
	await sees('#welcome-name', 'patient');
	await say('Hello?');
	await sees('#status', /^The provider is overloaded, trying again \(try 2 of 3\) in [1-4] s$/);
	await shoot('progress-retry');
	await sees('#status', /^The provider allows no more requests at the moment, trying again \(try 3 of 3\) in [1-3] s$/);
	await sees('.prose', 'Here I am.');
	await runEnds();
	expect(await status().textContent()).toBe('');
	await page.locator('#trace-open').click();
	await page.getByRole('button', { name: 'Turn 1' }).click();
	await sees('.facts dd', '3, 2 failed');
});

test('says which tools are running, and for how long', async () => {
	const inner = Promise.withResolvers<void>();
	stage.play(
		[call('d1', 'desk', { task: 'Add.' })],
		async (turn) => {
			await inner.promise;
			turn.say(text('Done.'));
		},
		[text('All is done.')],
	);
	await page.selectOption('#agent', 'chief');
	await sees('#welcome-name', 'chief');
	await say('Go.');
	await sees('#status', /^desk is running… [2-9]\d* s$/);
	inner.resolve();
	await sees('.prose', 'All is done.');
	await runEnds();
	expect(await status().textContent()).toBe('');
});

test('says that the model returned nothing, also after a reload, and offers another try', async () => {
	stage.play([{ type: 'usage', inputTokens: 5, outputTokens: 0 }]);
	await say('Hello?');
	await sees('.warning', 'The model returned nothing.');
	await page.getByRole('button', { name: 'Regenerate' }).waitFor();
	await page.reload();
	await sees('.warning', 'The model returned nothing.');
	await shoot('progress-nothing');
	stage.play([text('Sorry, here I am.')]);
	await page.getByRole('button', { name: 'Regenerate' }).click();
	await sees('.prose', 'Sorry, here I am.');
	await runEnds();
	expect(await page.locator('.warning').count()).toBe(0);
});

test('the notices about the connection go when the device is online again', async () => {
	const mayEnd = Promise.withResolvers<void>();
	stage.play(async (turn) => {
		turn.say(text('First of all, '));
		await mayEnd.promise;
		turn.say(text('this.'));
	});
	await say('Hello?');
	await sees('.prose', 'First of all');
	await page.route('**/events', (route) => route.abort());
	await page.context().setOffline(true);
	await page.locator('#offline').waitFor();
	await page.context().setOffline(false);
	await page.locator('#offline').waitFor({ state: 'hidden' });
	await page.unroute('**/events');
	mayEnd.resolve();
	await sees('.prose', 'First of all, this.');
	await runEnds();
	expect(await status().textContent()).toBe('');
	complaints.splice(0);
});
