/** The details of the trace's spans, the links to them, and the waits of people. */
import { beforeEach, expect, test } from 'vitest';
import { call, reasoning, text } from '../e2e/ui/stage.ts';
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

openPage({ width: 1280, height: 900 });
openStage();
beforeEach(openChat);

const open = () => page.locator('#trace-open').click();
const row = (name: string) => page.locator('.waterfall tbody tr[data-span]', { hasText: name }).first();
const readFacts = async () =>
	Object.fromEntries(
		await page
			.locator('.details-head .facts > div')
			.evaluateAll((all) => all.map((one) => [one.children[0]?.textContent, one.children[1]?.textContent])),
	);

const used = { type: 'usage', inputTokens: 4_000, outputTokens: 12, costUsd: 0.0123 } as const;

/** Runs a turn with a call, and a turn with the answer. */
async function ask(): Promise<void> {
	stage.play([reasoning('I add.'), used, call('a1', 'add', { x: 1, y: 2 })], [text('It is **3**.'), used]);
	await say('How much is 1 + 2?');
	await sees('.usage', 'tokens');
	await runEnds();
}

test('a click on a turn opens its prompt, output, tokens, cost and times', async () => {
	await ask();
	await open();
	await row('Turn 2').getByRole('button').click();
	const facts = await readFacts();
	expect(facts).toMatchObject({
		...{ Tries: '1', Model: 'staged', Ended: 'end_turn', 'Tokens in': '4,000', 'Tokens out': '12', Cost: '$0.0123' },
		...{ 'From cache': 'not reported', Reasoning: 'not reported' },
	});
	expect(facts.Began).toMatch(/^\d\d:\d\d:\d\d\.\d{3}, \d+ ms after the run$|s after the run$/);
	expect(facts['First token']).toMatch(/^after \d/);
	expect(await readTexts('.details .part h4')).toEqual(['Output', 'Prompt']);
	expect(await page.locator('.details .part').first().textContent()).toContain('It is **3**.');
	expect(await readTexts('.prompt .role')).toEqual(['User', 'Model', 'calls add', 'Result']);
	expect(await readTexts('.prompt .box')).toEqual(['How much is 1 + 2?', '3']);
	await page.getByRole('button', { name: 'Show the system prompt and the tools' }).click();
	await sees('.setup .facts dt', 'find_customer');
	expect(await findBarriers()).toEqual([]);
	await shoot('trace-details');
	await page.setViewportSize({ width: 390, height: 800 });
	await shoot('trace-details-phone');
	expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
	await page.locator('.span-name[aria-expanded=true]').click();
	expect(await page.locator('.details').count()).toBe(0);
});

test('a click on a call opens its input and output by field', async () => {
	await ask();
	await open();
	await row('add').getByRole('button').click();
	expect(await readTexts('.details .part h4')).toEqual(['Input', 'Output']);
	expect(await readTexts('.details .part dt, .details .part dd')).toEqual(['x', '1', 'y', '2']);
	expect(await page.locator('.details .part').last().locator('.box').textContent()).toBe('3');
});

test('the address of a span opens exactly that span, also of an old run', async () => {
	await ask();
	await open();
	expect(page.url()).toMatch(/\/trace$/);
	await row('add').getByRole('button').click();
	const address = page.url();
	expect(address).toMatch(/#\/sessions\/[0-9a-f]{64}\/trace\/[^/]+\/call-[^/]+$/);
	await page.locator('.span-name[aria-expanded=true]').click();
	expect(page.url()).not.toContain('call-');
	await page.getByRole('button', { name: 'Close' }).click();
	expect(page.url()).toMatch(/sessions\/[0-9a-f]{64}$/);
	stage.play([text('You are welcome.')]);
	await say('Thanks.');
	await sees('.prose', 'You are welcome.');
	await runEnds();
	await page.goto('about:blank');
	await page.goto(address);
	await row('add').getByRole('button', { expanded: true }).waitFor();
	expect(await readTexts('.details .part h4')).toEqual(['Input', 'Output']);
	await page.reload();
	await row('add').getByRole('button', { expanded: true }).waitFor();
	await page.goto(`${address.split('/trace')[0]}/trace/no-such-run`);
	await sees('#trace .nothing', 'no such run');
});

test('the wait of a person is apart from the bars, and the call begins with the approval', async () => {
	stage.play([call('p1', 'pay', { amount: 5 })], [text('Paid.')]);
	await say('Pay five.');
	await page.locator('.open-call').waitFor();
	await open();
	await sees('.waterfall tr[data-state=waiting]', 'pay');
	const since = Date.now();
	// The person waits for a second.
	await expect.poll(() => Date.now() - since, { timeout: 5_000 }).toBeGreaterThan(1_000);
	await page.getByRole('button', { name: 'Allow' }).click();
	await sees('.waterfall tr[data-kind=wait]', 'pay waited for a person');
	await sees('.waterfall tr[data-state=later]', 'pay');
	const times = await page.locator('.traced').first().locator('tr[data-kind=wait] .cost').textContent();
	expect(times).toMatch(/^\d+\.\d s$/);
	await sees('.traced summary', /after a wait of \d+\.\d s/);
	expect(await page.locator('tr[data-kind=wait] .track').count()).toBe(0);
	const clock = await page.locator('.traced').first().locator('.clock span').allTextContents();
	expect(clock[0]).toBe('0');
	expect(clock).toHaveLength(5);
	await shoot('trace-wait');
});

const readTimes = async () =>
	Object.fromEntries(
		await page
			.locator('.events li')
			.evaluateAll((all) =>
				all.map((one) => [one.getAttribute('data-type'), one.querySelector('time')?.getAttribute('datetime') ?? '']),
			),
	);

test('the events of an ended run have the times of its messages, or none', async () => {
	await ask();
	const id = page.url().split('/').at(-1) ?? '';
	const [asked, called, result, answered] = await client.listMessages(id);
	await open();
	await page.getByRole('button', { name: 'Events' }).click();
	await sees('.events li', 'done');
	expect(await readTimes()).toEqual({
		...{ 'run.started': asked?.createdAt, tool_result: result?.createdAt, stop: answered?.createdAt },
		...{ reasoning: '', tool_use_start: '', tool_use_input: '', tool_use_end: '', step: '', text: '', done: '' },
	});
	expect(called?.role).toBe('assistant');
	await shoot('trace-events');
});

test('a run says that it runs, and later that it was stopped, without numbers that nobody knows', async () => {
	stage.play(async (turn) => {
		turn.say(text('So far'));
		await turn.left;
	});
	await say('Go on for ever.');
	await sees('.prose', 'So far');
	await open();
	await sees('.traced summary', /· running$/);
	expect(await page.getByRole('button', { name: 'Rerun with…' }).count()).toBe(0);
	await page.getByRole('button', { name: 'Stop' }).click();
	await sees('.traced summary', /· no turn has ended$/);
	await sees('.waterfall tr[data-state=stopped]', 'Next turn: staged');
	expect(await row('Next turn').locator('.when').textContent()).toBe('not recorded');
	expect(await row('Next turn').locator('.cost').textContent()).toBe('only in the cost of the session');
	expect(await page.locator('.clock').count()).toBe(0);
	await page.getByRole('button', { name: 'Rerun with…' }).waitFor();
	await shoot('trace-stopped');
});

test('each part of the usage of a span stands on one line', async () => {
	const long = { ...used, inputTokens: 2_280, outputTokens: 33 };
	stage.play([long, text('Much.')]);
	await say('How much?');
	await sees('.usage', 'tokens');
	await runEnds();
	await open();
	await sees('.waterfall .cost small', /^2,280\sin, 33\sout$/);
	const heights = await page.locator('.waterfall .cost small').evaluateAll((all) => all.map((one) => one.clientHeight));
	expect(new Set(heights).size).toBe(1);
});

test('a trace says which runs were copied', async () => {
	await ask();
	const fork = await client.forkSession(page.url().split('/').at(-1) ?? '');
	stage.play([text('You are welcome.')]);
	for await (const _ of client.sendMessage(fork.id, 'Thanks.'));
	await page.goto(`${site.url}/#/sessions/${fork.id}/trace`);
	await sees('.traced summary', /How much.*copied, not paid here$/);
	expect(await page.locator('.traced summary', { hasText: 'Thanks.' }).textContent()).not.toContain('copied');
});
