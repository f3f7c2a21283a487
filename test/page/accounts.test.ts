/** What a chat says of decisions and of costs. */
import { beforeEach, expect, test } from 'vitest';
import { call, text } from '../e2e/ui/stage.ts';
import { spending } from './answers.ts';
import {
	client,
	findBarriers,
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

openPage({ width: 1280, height: 800 });
openStage();
beforeEach(openChat);

const used = (costUsd?: number) => ({ type: 'usage', inputTokens: 100, outputTokens: 10, costUsd }) as const;

test('shows a decision at its call, in the same words when the session is opened again', async () => {
	stage.play([call('p1', 'pay', { amount: 5 })], [call('p2', 'pay', { amount: 6 })], [text('Half is paid.')]);
	await say('Pay five and six.');
	await sees('.question', 'The run waits for somebody to allow pay.');
	await page.getByRole('button', { name: 'Allow' }).click();
	await sees('.open-call', '6');
	expect(await readTexts('.question')).toEqual(['The run waits for somebody to allow pay.']);
	await page.getByText('Why not').click();
	await page.getByLabel('Reason to deny').fill('too much');
	await page.getByRole('button', { name: 'Deny' }).click();
	await sees('.prose', 'Half is paid.');
	await runEnds();
	const read = async () => [await readTexts('.message, .question'), await readTexts('.call .answer')];
	const shown = [['You: Pay five and six.'], [expect.stringMatching(/^payment \d+: 5$/), 'Denied: too much']];
	expect(await read()).toEqual(shown);
	await shoot('decisions');
	await page.reload();
	await sees('.prose', 'Half is paid.');
	expect(await read()).toEqual(shown);
});

test('says that a part of the cost is unknown, if one turn has no price', async () => {
	stage.play([used(0.004), text('One.')], [used(), text('Two.')]);
	await say('Count to one.');
	await sees('.prose', 'One.');
	await sees('[data-tab=money]', /^Cost\$0\.004 · 110 of/);
	await runEnds();
	await say('Count to two.');
	await sees('.prose', 'Two.');
	await sees('[data-tab=money]', /^Cost\$0\.004 and an unknown part · 220 of/);
	await page.reload();
	await sees('[data-tab=money]', /^Cost\$0\.004 and an unknown part · 220 of/);
});

test('the cost of a fork leaves out the turns that were copied', async () => {
	stage.play([used(), text('One.')], [used(0.004), text('Two.')]);
	const { id } = await client.createSession({ agent: 'desk' });
	for await (const _ of client.sendMessage(id, 'Count to one.'));
	const fork = await client.forkSession(id);
	for await (const _ of client.sendMessage(fork.id, 'Count to two.'));
	await page.goto(`${site.url}/#/sessions/${fork.id}`);
	await sees('[data-tab=money]', /^Cost\$0\.004 · 110 of/);
	await page.locator('[data-tab=money]').click();
	await sees('#money .side-note', '1 earlier turn is copied and not paid here.');
	expect(await page.locator('#money tbody tr').count()).toBe(1);
	expect(await findBarriers()).toEqual([]);
	await shoot('fork-cost');
});

test('spending without known prices is described by its tokens, and says why costs come later', async () => {
	const [today] = spending.usage;
	const spent = { tokens: 4_430, usd: 0 };
	const usage = [{ ...today, spent, unpricedTokens: 4_430 }];
	await page.route('**/v1/usage*', (route) => route.fulfill({ json: { ...spending, usage, groups: [] } }));
	await page.goto(`${site.url}/#/spending`);
	await sees('.chart .reading', /^at most 4,430 tokens, cost unknown$/);
	await sees('#panel .about', 'what it spent is counted some seconds after its end.');
	await shoot('spending-unknown');
});

test('a message by a schedule that waited for a run does not look as if the reader had written it', async () => {
	const mayEnd = Promise.withResolvers<void>();
	stage.play(
		async (turn) => {
			turn.say(text('One.'));
			await mayEnd.promise;
		},
		[text('Nothing is new.')],
	);
	await say('Count to one.');
	await sees('.prose', 'One.');
	const session = page.url().split('/').at(-1) ?? '';
	const { id } = await client.putSchedule({ session, name: 'news', text: 'What is new?', cron: '0 9 29 2 *' });
	await client.runSchedule(id);
	await page.evaluate(() => dispatchEvent(new Event('focus')));
	await sees('#waiting li', /What is new\?.*From a schedule · Waits for the run to end/);
	mayEnd.resolve();
	await sees('.prose', 'Nothing is new.');
	expect(await readTexts('.message')).toEqual(['You: Count to one.']);
	await sees('.report', /^From a schedule.*What is new\?$/);
});
