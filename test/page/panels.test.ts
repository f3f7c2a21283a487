/** The menu of the page, its panels, the trace and `/docs`. */
import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import type { Route } from 'playwright-core';
import { beforeEach, describe, expect, test } from 'vitest';
import { call, text } from '../e2e/ui/stage.ts';
import {
	client,
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
	site,
	stage,
} from './setup.ts';

openPage({ width: 1100, height: 700 });
openStage();
beforeEach(openChat);

const isGone = (selector: string, hasText: string | RegExp) =>
	page.locator(selector, { hasText }).first().waitFor({ state: 'detached' });

/** Starts a session. Returns its id when its run waits for a person or has ended. */
async function start(message: string, agent = 'desk'): Promise<string> {
	const answer = await fetch(`${stage.url}/v1/sessions`, {
		method: 'POST',
		headers: { 'content-type': 'application/json' },
		body: JSON.stringify({ agent, text: message }),
	});
	return JSON.parse(await answer.text()).id;
}

const readStatus = async (id: string): Promise<string> =>
	JSON.parse(await (await fetch(`${stage.url}/v1/sessions/${id}`)).text()).status;

test('the focus stays in a panel whose tool is deleted with the keyboard', async () => {
	await client.putTool('get_rain', {
		description: 'Tells the rain.',
		inputSchema: { type: 'object' },
		url: 'https://api.example.com/rain',
	});
	await page.click('#places >> text=Tools');
	await page.getByRole('button', { name: 'Delete get_rain' }).press('Enter');
	await page.keyboard.press('Enter');
	await isGone('.card', 'get_rain');
	expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Tools');
});

test('the foot of the menu does not cover a focused link', async () => {
	stage.play(...Array.from({ length: 12 }, () => [text('Yes.')]));
	for (let at = 0; at < 12; at += 1) await start(`Question ${at}`);
	await page.reload();
	await page.locator('#recent li').nth(11).waitFor();
	const covered = await page.locator('#side a, .menu-action').evaluateAll((nodes) =>
		nodes.filter((node) => {
			if (!(node instanceof HTMLElement)) return false;
			node.focus();
			const foot = document.querySelector('#foot')?.getBoundingClientRect();
			return node.getBoundingClientRect().bottom > (foot?.top ?? 0);
		}),
	);
	expect(covered.length).toBe(0);
});

test('the compressed script of the first load has at most 110 KB', async () => {
	const loaded = await page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name));
	const scripts = loaded.filter((address) => address.endsWith('.js'));
	const sizes = await Promise.all(scripts.map(async (address) => gzipSync(await (await fetch(address)).text()).length));
	expect(scripts).toContain(`${site.url}/app.js`);
	expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(110_000);
});

/** Finds barriers in the light and in the dark theme. */
async function findBarriersInBoth(): Promise<string[]> {
	const found: string[] = [];
	for (const colorScheme of ['light', 'dark'] as const) {
		await page.emulateMedia({ colorScheme });
		found.push(...(await findBarriers()).map((barrier) => `${colorScheme}: ${barrier}`));
	}
	return found;
}

describe('the menu', () => {
	test('lists the newest sessions with their addresses, and marks the open session', async () => {
		stage.play([text('Hello there.')]);
		await say('Hello from the menu.');
		await sees('.prose', 'Hello there.');
		await sees('#recent a[aria-current]', 'Hello from the menu.');
		const address = page.url();
		await page.click('#new');
		await page.locator('#welcome').waitFor();
		expect(await readTexts('#side [aria-current]')).toEqual(['New chat']);
		await page.locator('#recent a', { hasText: 'Hello from the menu.' }).click();
		await sees('.prose', 'Hello there.');
		expect(page.url()).toBe(address);
		await page.goBack();
		await page.locator('#welcome').waitFor();
	});

	test('covers a narrow page, closes with Escape, and works with the keyboard', async () => {
		await page.setViewportSize({ width: 400, height: 700 });
		await page.locator('#side').waitFor({ state: 'hidden' });
		expect((await page.locator('#chat').boundingBox())?.width).toBe(400);
		await page.getByRole('button', { name: 'Menu' }).press('Enter');
		await page.locator('#side').waitFor();
		expect(await page.evaluate(() => document.activeElement?.id)).toBe('new');
		await shoot('menu-narrow');
		await page.keyboard.press('Escape');
		await page.locator('#side').waitFor({ state: 'hidden' });
		expect(await page.evaluate(() => document.activeElement?.id)).toBe('menu');
		await page.keyboard.press('Enter');
		await page.keyboard.press('Tab');
		await page.keyboard.press('Tab');
		await page.keyboard.press('Enter');
		await sees('h2', 'Inbox');
		await page.locator('#side').waitFor({ state: 'hidden' });
		const width = await page.evaluate(() => document.documentElement.scrollWidth);
		expect(width).toBeLessThanOrEqual(400);
	});

	test('stays open while Escape closes the search that lies over it', async () => {
		await page.setViewportSize({ width: 400, height: 700 });
		await page.getByRole('button', { name: 'Menu' }).click();
		await page.click('#palette-open');
		await page.locator('#palette').waitFor();
		await page.keyboard.press('Escape');
		await page.locator('#palette').waitFor({ state: 'hidden' });
		expect(await page.evaluate(() => document.activeElement?.id)).toBe('palette-open');
		await page.keyboard.press('Escape');
		await page.locator('#side').waitFor({ state: 'hidden' });
		expect(await page.evaluate(() => document.activeElement?.id)).toBe('menu');
	});
});

test('fields on a phone have letters of at least 16 pixels', async () => {
	const phone = await page
		.context()
		.browser()
		?.newPage({ viewport: { width: 390, height: 664 }, isMobile: true, hasTouch: true });
	for (const name of ['sessions', 'memory', 'runs', 'skills']) {
		await phone?.goto(`${site.url}/#/${name}`);
		await phone?.locator(`#panel[data-panel="${name}"]:not([aria-busy])`).waitFor();
		const sizes = await phone
			?.locator('#panel :is(input, select, textarea)')
			.evaluateAll((fields) => fields.map((field) => getComputedStyle(field).fontSize));
		expect(new Set(sizes), name).toEqual(new Set(['16px']));
	}
	await phone?.close();
});

describe('the inbox', () => {
	test('shows long arguments completely before an approval', async () => {
		stage.play([call('p1', 'mail', { to: 'ada@example.com', body: `${'Dear Ada. '.repeat(2_000)}Send money.` })]);
		const id = await start('Write a long letter.');
		await page.click('#places >> text=Inbox');
		const card = page.locator('.card', { hasText: 'Write a long letter.' });
		await card.locator('.open-call', { hasText: 'Send money.' }).waitFor();
		await shoot('inbox-long');
		const sent = stage.play([text('Then not.')]);
		await card.getByRole('button', { name: 'Deny' }).click();
		await expect.poll(() => readStatus(id)).toBe('completed');
		expect(sent).toHaveLength(1);
	});

	test('keeps the text of an answer that the server refuses', async () => {
		stage.play([call('p1', 'pay', { amount: 5 })]);
		const id = await start('Pay five, perhaps.');
		await page.click('#places >> text=Inbox');
		const card = page.locator('.card', { hasText: 'Pay five, perhaps.' });
		await card.getByText('Why not').click();
		await card.getByLabel('Reason to deny').fill('too much');
		const refusal = { status: 400, json: { error: { code: 'invalid_request', message: 'Not now.' } } };
		await page.route('**/tool-results', (route) => route.fulfill(refusal), { times: 1 });
		await card.getByRole('button', { name: 'Deny' }).click();
		await card.getByText('Not now.').waitFor();
		expect(await card.getByLabel('Reason to deny').inputValue()).toBe('too much');
		const sent = stage.play([text('Then not.')]);
		await card.getByRole('button', { name: 'Deny' }).click();
		await card.getByText('Denied.').waitFor();
		await expect.poll(() => readStatus(id)).toBe('completed');
		expect(JSON.stringify(sent)).toContain('too much');
		forgive(400);
	});

	test('shows the long arguments of a child’s call completely', async () => {
		const body = `${'Dear Ada. '.repeat(500)}Send money.`;
		stage.play([call('d1', 'desk', { task: 'Write to Ada.' })], [call('m1', 'mail', { to: 'ada@example.com', body })]);
		const id = await start('Have a long letter written.', 'chief');
		await page.click('#places >> text=Inbox');
		const card = page.locator('.card', { hasText: 'Have a long letter written.' });
		await card.locator('.open-call', { hasText: 'Send money.' }).waitFor();
		stage.play([text('Then not.')], [text('It was not sent.')]);
		await card.getByRole('button', { name: 'Deny' }).click();
		await expect.poll(() => readStatus(id)).toBe('completed');
	});

	test('lists the waiting calls of all sessions with exact arguments, and an answer continues the run', async () => {
		stage.play([call('p1', 'pay', { amount: 5 })], [call('q1', 'ask', { question: 'For which day?' })]);
		const paying = await start('Pay five.');
		const asking = await start('Book a table.');
		stage.play([call('p2', 'pay', { amount: 6 })], [call('l1', 'locate')]);
		const denying = await start('Pay six.');
		const locating = await start('Where am I?');
		await page.click('#places >> text=Inbox');
		await sees('.card', 'Where am I?');
		await sees('.badge', '4');
		await shoot('inbox');
		expect(await readTexts('.card h3')).toEqual(['Pay', 'For which day?', 'Pay', 'Waits for a result: Locate']);
		expect(await readTexts('.card .arguments')).toEqual(['Amount5', 'Amount6', 'Without arguments.']);

		stage.play([text('Paid.')]);
		const card = (title: string) => page.locator('.card', { hasText: title });
		await card('Pay five.').getByRole('button', { name: 'Allow' }).click();
		await sees('.card.settled', 'Allowed. It runs now.');
		await expect.poll(() => readStatus(paying)).toBe('completed');
		stage.play([text('On Friday.')]);
		await card('Book a table.').getByRole('textbox').fill('Friday');
		await card('Book a table.').getByRole('textbox').press('Enter');
		await sees('.card.settled', 'Answered.');
		await expect.poll(() => readStatus(asking)).toBe('completed');
		const sent = stage.play([text('Then not.')]);
		await card('Pay six.').getByText('Why not').click();
		await card('Pay six.').getByRole('textbox').fill('too much');
		await card('Pay six.').getByRole('button', { name: 'Deny' }).click();
		await sees('.card.settled', 'Denied.');
		await expect.poll(() => readStatus(denying)).toBe('completed');
		expect(JSON.stringify(sent)).toContain('too much');
		stage.play([text('In Oslo.')]);
		await card('Where am I?').getByRole('textbox').fill('Oslo');
		await card('Where am I?').getByRole('button', { name: 'Done' }).click();
		await sees('.card.settled', 'Its result was sent.');
		await expect.poll(() => readStatus(locating)).toBe('completed');
		await page.locator('.badge').waitFor({ state: 'hidden' });

		await card('Pay five.').getByRole('link').click();
		await sees('.prose', 'Paid.');
		await page.goBack();
		await sees('.nothing', 'Nothing waits for you.');
	});

	test('accepts changed arguments with an approval, in fields or as JSON, and reports invalid JSON', async () => {
		stage.play([call('p1', 'pay', { amount: 5 })]);
		const id = await start('Pay less.');
		await page.click('#places >> text=Inbox');
		const card = page.locator('.card', { hasText: 'Pay less.' });
		await card.getByText('Change the arguments').click();
		await card.getByLabel('amount').fill('4');
		await card.getByRole('button', { name: 'Write JSON' }).click();
		const field = card.getByLabel('Arguments of pay');
		expect(JSON.parse(await field.inputValue())).toEqual({ amount: 4 });
		await field.fill('{"amount": 3');
		await card.getByRole('button', { name: 'Allow' }).click();
		await card.getByRole('alert').getByText('Arguments: write a JSON object.').waitFor();
		expect(await readStatus(id)).toBe('awaiting_tools');
		const sent = stage.play([text('Paid.')]);
		await field.fill('{"amount": 3}');
		await shoot('inbox-edit');
		await card.getByRole('button', { name: 'Allow' }).click();
		await sees('.card.settled', 'Allowed. It runs now.');
		await expect.poll(() => readStatus(id)).toBe('completed');
		expect(JSON.stringify(sent)).toContain('the call ran with {\\"amount\\":3}');
	});

	test('decides the call of a child like any other call, and shows a button for each choice of a question', async () => {
		stage.play([call('d1', 'desk', { task: 'Pay the bill.' })], [call('p1', 'pay', { amount: 5 })]);
		const delegated = await start('Have it paid.', 'chief');
		stage.play([call('c1', 'choose', { question: 'Which size?' })]);
		const choosing = await start('A shirt.');
		await page.click('#places >> text=Inbox');
		await sees('.card', 'A shirt.');
		const card = (title: string) => page.locator('.card', { hasText: title });
		expect(await card('Have it paid.').locator('.agent').textContent()).toBe('desk');
		expect(await card('Have it paid.').locator('.arguments').textContent()).toBe('Amount5');
		await card('Have it paid.').getByText('Change the arguments').click();
		expect(await card('Have it paid.').getByLabel('amount').inputValue()).toBe('5');
		await card('Have it paid.').getByLabel('amount').fill('2');
		const sent = stage.play([text('Paid.')], [text('It is done.')]);
		await card('Have it paid.').getByRole('button', { name: 'Allow' }).click();
		await sees('.card.settled', 'Answered.');
		await expect.poll(() => readStatus(delegated)).toBe('completed');
		expect(JSON.stringify(sent)).toContain('the call ran with {\\"amount\\":2}');
		const chosen = stage.play([text('M it is.')]);
		await card('A shirt.').getByRole('button', { name: 'M', exact: true }).click();
		await expect.poll(() => readStatus(choosing)).toBe('completed');
		expect(JSON.stringify(chosen)).toContain('"M"');
	});

	test('links to a chat that has the same forms and shows the decision', async () => {
		stage.play([call('d1', 'desk', { task: 'Pay it.' })], [call('p1', 'pay', { amount: 5 })]);
		const id = await start('Pay in the chat.', 'chief');
		await page.goto(`${site.url}/#/sessions/${id}`);
		const form = page.getByRole('form', { name: 'pay waits' });
		stage.play([call('c1', 'choose', { question: 'Which size?' })], [text('Paid.')], [text('It is done.')]);
		await form.getByRole('button', { name: 'Allow' }).click();
		await page.getByRole('group', { name: 'Which size?' }).getByRole('button', { name: 'S', exact: true }).click();
		await sees('.prose', 'It is done.');
		expect(await page.locator('.open-call').count()).toBe(0);
	});

	test('reports an earlier decision of another person, and shows the calls that wait now', async () => {
		/** Denies the call just before the answer of the page arrives. */
		const letDenyFirst = (id: string, route: string, body: string) => {
			const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
			const deny = async (given: Route) => {
				await (await fetch(`${stage.url}/v1/sessions/${id}/${route}`, init)).text();
				await given.continue();
			};
			return page.route(`**/v1/sessions/${id}/${route}`, deny, { times: 1 });
		};
		const denial = '[{"id":"p1","approve":false}]';
		const payments = [call('p1', 'pay', { amount: 5 })];
		stage.play(payments);
		const once = await start('Pay first.');
		stage.play(payments);
		const twice = await start('Pay twice.');
		stage.play([call('d1', 'desk', { task: 'Pay the bill.' })], payments);
		const delegated = await start('Have it paid first.', 'chief');
		await page.click('#places >> text=Inbox');
		const card = (title: string) => page.locator('.card', { hasText: title });
		await card('Have it paid first.').waitFor();
		await letDenyFirst(once, 'tool-results', denial);
		await letDenyFirst(twice, 'tool-results', denial);
		await letDenyFirst(delegated, 'answer', '{"text":"deny"}');

		for (const [title, turn, left] of [
			['Pay first.', text('Not paid.'), []],
			['Pay twice.', call('p2', 'pay', { amount: 6 }), ['Amount6']],
			['Have it paid first.', call('p3', 'pay', { amount: 7 }), ['Amount7']],
		] as const) {
			stage.play([turn]);
			await card(title).getByRole('button', { name: 'Allow' }).click();
			await card(title).getByText('Somebody has answered this meanwhile, so nothing was sent.').waitFor();
			expect(await card(title).locator('.arguments').allTextContents()).toEqual(left);
		}
		await shoot('inbox-too-late');
		forgive(409);
		expect(await card('Pay first.').locator('.notice').textContent()).toBe('Nothing waits here any more.');
		const sent = stage.play([text('Then not.')]);
		await card('Pay twice.').getByRole('button', { name: 'Deny' }).click();
		await card('Pay twice.').getByText('Denied.').waitFor();
		await expect.poll(() => readStatus(twice)).toBe('completed');
		expect(await readStatus(delegated)).toBe('awaiting_user');
		expect(JSON.stringify(sent)).not.toContain('payment');
	});
});

describe('the sessions', () => {
	const row = (title: string) => page.locator('tbody tr', { hasText: title });

	test('lists sessions with status, cost and age, and finds them by their titles', async () => {
		stage.play([text('Yes.')], [call('p1', 'pay', { amount: 5 })]);
		await start('A question about apples.');
		await start('Pay for the pears.');
		await page.click('#places >> text=Sessions');
		await expect.poll(() => row('apples').locator('.state').textContent()).toBe('done');
		await expect.poll(() => row('pears').locator('.state').textContent()).toBe('waits for you');
		expect(await row('apples').locator('.cost').textContent()).toMatch(/token|\$/);
		expect(await row('apples').locator('time').textContent()).toBe('just now');
		await shoot('sessions');
		await page.fill('.search', 'PEARS pay');
		await isGone('tbody tr', 'apples');
		expect(await page.locator('tbody tr').count()).toBe(1);
		await page.fill('.search', 'no such words');
		await sees('.nothing', 'No session was found.');
		await page.fill('.search', '');
		await sees('tbody tr', 'apples');
		await row('apples').getByRole('link').click();
		await sees('.prose', 'Yes.');
	});

	test('finds a session by what was said in it, and shows the words around it as text', async () => {
		stage.play([text('A quince <b>grows</b> slowly.')]);
		await start('A question about trees.', 'chief');
		const find = async () => (await client.listSessions({ q: 'quince' })).sessions;
		await expect.poll(find).toHaveLength(1);
		await page.click('#places >> text=Sessions');
		await page.fill('.search', 'quince');
		await expect.poll(() => row('trees').locator('.about').textContent()).toContain('A quince <b>grows</b> slowly.');
		await shoot('sessions-excerpt');
	});

	test('renames a session with the keyboard, and shows the new title in the menu', async () => {
		stage.play([text('Yes.')]);
		await start('A question about grapes.');
		await page.click('#places >> text=Sessions');
		await page.getByRole('button', { name: 'Rename A question about grapes.' }).press('Enter');
		const focused = () => page.evaluate(() => document.activeElement?.ariaLabel);
		await page.locator('th input').press('Escape');
		expect(await focused()).toBe('Rename A question about grapes.');
		await page.keyboard.press('Enter');
		await shoot('rename');
		await page.keyboard.type('Grapes');
		await page.keyboard.press('Enter');
		await row('Grapes').getByRole('link', { name: 'Grapes' }).waitFor();
		await expect.poll(focused).toBe('Rename Grapes');
		await sees('#recent .title', /^Grapes$/);
		// Also when the row is drawn again, because its session has changed elsewhere.
		const [{ id = '' } = {}] = (await client.listSessions({ q: 'Grapes' })).sessions;
		await client.changeSession(id, { title: 'Blue grapes' });
		await row('Blue grapes').waitFor();
		expect(await focused()).toBe('Rename Blue grapes');
		await page.reload();
		await row('Blue grapes').waitFor();
	});

	test('copies, exports and imports a session, and deletes it after a confirmation', async () => {
		stage.play([text('Plums are blue.')]);
		const id = await start('The plums.');
		await page.click('#places >> text=Sessions');
		await page.getByRole('button', { name: 'Fork The plums.' }).click();
		await sees('.prose', 'Plums are blue.');
		expect(page.url()).not.toContain(id);
		await sees('#recent .title', 'The plums. (fork)');
		await page.goBack();

		const coming = page.waitForEvent('download');
		await page.getByRole('button', { name: 'Export The plums.', exact: true }).click();
		const download = await coming;
		expect(download.suggestedFilename()).toMatch(/^session-\w{12}\.ndjson$/);
		const path = await download.path();
		expect(await readFile(path, 'utf8')).toContain('"title":"The plums."');
		const exported = Buffer.from(JSON.stringify(await client.exportSession(id), null, 2));

		const before = await page.locator('tbody tr', { hasText: 'The plums.' }).count();
		const remove = page.getByRole('button', { name: 'Delete The plums.', exact: true });
		// A double click presses only the first button.
		await remove.dblclick();
		expect(await page.getByRole('button', { name: 'Delete The plums. for good' }).isEnabled()).toBe(true);
		expect(await row('The plums.').count()).toBe(before);
		await page.getByRole('button', { name: 'Delete The plums. for good' }).click();
		await expect.poll(() => row('The plums.').count()).toBe(before - 1);

		for (const file of [path, { name: 'a.json', mimeType: 'application/json', buffer: exported }]) {
			await page.setInputFiles('.import input', file);
			await sees('.prose', 'Plums are blue.');
			expect(page.url()).toContain('#/sessions/');
			await page.goBack();
		}
		await page.setInputFiles('.import input', {
			name: 'a.json',
			mimeType: 'application/json',
			buffer: Buffer.from('no'),
		});
		await sees('.import .failure', 'This file is no export of a session.');
	});
});

describe('a call', () => {
	test('shows its duration after the run and after a reload', async () => {
		stage.play([call('a1', 'add', { x: 1, y: 2 })], [text('It is 3.')]);
		await say('Add them.');
		await sees('.prose', 'It is 3.');
		await sees('.call .took', /^\d+(\.\d)? m?s$/);
		await page.reload();
		await sees('.prose', 'It is 3.');
		await sees('.call .took', /^\d+(\.\d)? m?s$/);
	});
});

describe('the trace', () => {
	const open = () => page.getByRole('button', { name: 'Trace' }).first().click();
	const rows = (text: string) => page.locator('.waterfall tr', { hasText: text });
	const readBar = async (row: string) => {
		const { x, width } = (await page.locator(`.waterfall tr${row} rect`).last().boundingBox()) ?? { x: 0, width: 0 };
		return { from: x, to: x + width };
	};

	test('shows runs, turns, calls and children as a waterfall, each with its time and tokens', async () => {
		stage.play(
			[call('d1', 'desk', { task: 'Add them.' })],
			[call('a1', 'add', { x: 1, y: 2 })],
			[text('3')],
			[text('It is 3.')],
		);
		await page.selectOption('#agent', 'chief');
		await say('How much is it?');
		await sees('.prose', 'It is 3.');
		await open();
		const readRows = () =>
			page
				.locator('.waterfall tbody tr')
				.evaluateAll((all) =>
					all.map(
						(row) =>
							`${row.getAttribute('data-depth')} ${row.getAttribute('data-kind')} ${row.querySelector('th')?.textContent}`,
					),
				);
		await expect
			.poll(readRows)
			.toEqual([
				...[
					'0 model Turn 1: staged',
					'1 tool desk from outside private',
					'2 child desk',
					'3 model Turn 1: staged',
					'4 tool add',
				],
				...['3 model Turn 2: staged', '0 model Turn 2: staged'],
			]);
		await sees('.traced summary', /How much is it\?.*6 tokens in, 4 out/);
		expect(await rows('Turn 1').first().textContent()).toMatch(/\d+ mscost unknown3\sin, 2\sout/);
		const [work, child, last] = [
			await readBar('[data-depth="1"]'),
			await readBar('[data-depth="2"]'),
			await readBar('[data-depth="0"]'),
		];
		expect(child.from).toBeGreaterThanOrEqual(work.from);
		expect(child.to).toBeLessThanOrEqual(work.to);
		expect(last.from).toBeGreaterThanOrEqual(work.to);
		await shoot('trace');
		await page.setViewportSize({ width: 390, height: 800 });
		await shoot('trace-narrow');
		expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
		await rows('desk').getByRole('link').click();
		await sees('.traced summary', 'Add them.');
	});

	test('grows with each step of a run', async () => {
		const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
		stage.play(
			async (turn) => {
				await first.promise;
				turn.say(call('a1', 'add', { x: 1, y: 2 }));
			},
			async () => second.promise,
		);
		await say('How much?');
		await open();
		await sees('tr[data-state=running]', 'Next turn');
		expect(await rows('add').count()).toBe(0);
		first.resolve();
		await sees('tr[data-state=done]', 'add');
		await sees('tr[data-state=running]', 'Next turn');
		// Only new messages are read.
		const asked = page.waitForRequest(/messages\?cursor=/);
		second.resolve();
		await sees('tr[data-state=done]', 'Turn 2');
		await asked;
	});

	test('marks failed and waiting calls, and closes with Escape', async () => {
		stage.play([call('f1', 'fail'), call('p1', 'pay', { amount: 5 })]);
		await say('Try it.');
		await sees('.open-call', 'pay');
		await open();
		await sees('tr[data-state=failed]', 'fail');
		await sees('tr[data-state=waiting]', 'pay');
		stage.play([text('Paid.')]);
		await page.setViewportSize({ width: 1400, height: 800 });
		await page.getByRole('button', { name: 'Allow' }).click();
		await sees('tr[data-state=done]', 'pay');
		await expect.poll(() => page.locator('.traced').count()).toBe(2);
		await page.getByRole('button', { name: 'Close' }).press('Escape');
		await page.locator('#trace').waitFor({ state: 'hidden' });
		expect(await page.evaluate(() => document.activeElement?.id)).toBe('trace-open');
	});

	test('shows the turns as charts, and the chat shows the use of the context', async () => {
		const turn = (inputTokens: number, costUsd: number) =>
			({ type: 'usage', inputTokens, outputTokens: 200, costUsd }) as const;
		stage.play([turn(1_000, 0.001), call('a1', 'add', { x: 1, y: 2 })], [turn(419_800, 0.25), text('It is 3.')]);
		await say('How much?');
		await sees('.prose', 'It is 3.');
		await sees('[data-tab=money] .context', 'Context: 42% of 1,000,000');
		await open();
		await page.getByRole('button', { name: 'Turns' }).click();
		const words = (title: string) => page.locator('.chart', { hasText: title }).locator('g title').allTextContents();
		await expect
			.poll(() => words('Tokens'))
			.toEqual(['Turn 1: 1,000 tokens in, 200 out', 'Turn 2: 419,800 tokens in, 200 out']);
		expect(await words('Cost')).toEqual(['Turn 1: $0.001', 'Turn 2: $0.25']);
		expect(await words('Time')).toEqual([
			expect.stringMatching(/^Turn 1: [\d.]+ m?s$/),
			expect.stringMatching(/^Turn 2/),
		]);
		const heights = await page
			.locator('.chart', { hasText: 'Cost' })
			.locator('rect')
			.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
		expect((heights[1] ?? 0) / (heights[0] ?? 1)).toBeCloseTo(250, -2);
		// The axes have units, and a person reads a bar by the keyboard.
		const chart = page.locator('.chart', { hasText: 'Cost by turn' });
		expect(await chart.locator('.heights span').allTextContents()).toEqual(['$0.50', '$0.25', '$0']);
		expect(await chart.locator('.names span').allTextContents()).toEqual(['Turn 1 – Turn 2']);
		await expect(chart.locator('.reading').textContent()).resolves.toBe('at most $0.25');
		await chart.getByRole('slider').focus();
		await page.keyboard.press('ArrowLeft');
		expect(await chart.locator('.reading').textContent()).toBe('Turn 1: $0.001');
		expect(await chart.getByRole('slider').getAttribute('aria-valuetext')).toBe('Turn 1: $0.001');
		await chart.getByRole('slider').hover({ position: { x: 30, y: 40 } });
		await expect.poll(() => chart.locator('.reading').textContent()).toBe('Turn 2: $0.25');
		await shoot('turns');
		expect(await findBarriersInBoth()).toEqual([]);

		await page.reload();
		await sees('[data-tab=money] .context', 'Context: 42% of 1,000,000');
		// The session reports its cost within seconds after the run.
		const readToday = async () => {
			await page.click('#places >> text=Inbox');
			await page.click('#places >> text=Spending');
			await sees('.chart', 'By day, the last 31 days');
			return (await words('By day')).at(-1);
		};
		await expect.poll(readToday, { timeout: 30_000 }).toMatch(/^\d{4}-\d\d-\d\d: \$0\.\d+( and unknown)?$/);
		expect(await page.locator('.chart g').count()).toBe(31);
		await shoot('spending');
	});

	test('shows events as they arrive, filters them by type, and offers a command that reads them', async () => {
		await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
		let goOn = () => {};
		const waits = new Promise<void>((resolve) => {
			goOn = resolve;
		});
		stage.play(async (turn) => {
			turn.say(text('One'));
			await waits;
			turn.say(text(' and two.'));
		});
		await say('Count.');
		await sees('.prose', 'One');
		await open();
		await page.getByRole('button', { name: 'Events' }).click();
		await sees('.events li', '{"text":"One"}');
		expect(await page.locator('.events li', { hasText: 'done' }).count()).toBe(0);
		goOn();
		await sees('.events li', '{"text":" and two."}');
		await sees('.events li', 'done');
		await page.locator('.events summary', { hasText: 'run.started' }).click();
		await sees('.events pre', /^id: .*"runId": "/s);
		await shoot('events');
		await page.getByRole('button', { name: /^text/ }).click();
		await page.locator('.events li[data-type=text]').first().waitFor({ state: 'hidden' });
		expect(await page.locator('.events li[data-type=done]').isVisible()).toBe(true);

		await page.evaluate(() => sessionStorage.setItem('runlet-key', 'rl_secret'));
		await page.click('text=Copy as curl');
		await sees('[role=status]', 'Copied.');
		const [, id] = /sessions\/([0-9a-f]+)/.exec(page.url()) ?? [];
		expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
			`curl -N '${site.url}/v1/sessions/${id}/events' -H 'accept: text/event-stream' -H "authorization: Bearer $RUNLET_API_KEY"`,
		);
	});
});

describe('/docs', () => {
	beforeEach(async () => {
		await page.goto(`${site.url}/docs.html`);
		await page.locator('.search').waitFor();
	});
	const shown = (selector: string) => page.locator(`${selector}:visible`);

	test('finds operations by words, and shows a hidden operation when a link leads to it', async () => {
		const all = await shown('main article').count();
		await page.keyboard.press('/');
		await page.keyboard.type('fork session');
		await sees('.found', / found$/);
		expect(await shown('main article').count()).toBeLessThan(all);
		expect(await page.locator('#forkSession').isVisible()).toBe(true);
		expect(await page.locator('#listAgents').isVisible()).toBe(false);
		expect(await shown('#contents li').count()).toBeLessThan(20);
		await page.evaluate(() => {
			location.hash = '#listAgents';
		});
		await page.locator('#listAgents').waitFor();
		expect(await shown('main article').count()).toBe(all);
	});

	test('sends a request with a key that it does not store, and shows the answer as it streams', async () => {
		const seen: (string | undefined)[] = [];
		page.on('request', (request) => seen.push(request.headers().authorization));
		const form = async (id: string) => {
			await page.locator(`#${id} .try > summary`).click();
			const found = page.locator(`#${id} form`);
			await found.waitFor();
			return found;
		};
		const create = await form('createSession');
		await create.getByLabel('API key').fill('rl_secret');
		await create.getByLabel(/^Body/).fill('{"agent":"desk","metadata":{"a":"<b>x</b>"}}');
		await create.getByRole('button', { name: 'Send' }).click();
		await create.locator('.status-2', { hasText: '201' }).waitFor();
		expect(seen.at(-1)).toBe('Bearer rl_secret');
		const answer = create.locator('.answer code', { hasText: /\}\s*$/ });
		const { id, metadata } = JSON.parse(String(await answer.textContent()));
		expect(metadata).toEqual({ a: '<b>x</b>' });

		stage.play([text('Hello.')]);
		const say = await form('sendMessage');
		expect(await say.getByLabel('API key').inputValue()).toBe('rl_secret');
		await say.getByLabel(/^id/).fill(id);
		await say.getByLabel(/^Body/).fill('{"text":"Hi"}');
		await say.getByRole('button', { name: 'Send' }).click();
		await say.locator('.answer', { hasText: 'Hello.' }).waitFor();

		const read = await form('getSession');
		await read.getByLabel(/^id/).fill('..');
		await read.getByRole('button', { name: 'Send' }).click();
		await read.locator('.bad', { hasText: 'id can’t be' }).waitFor();
		await read.getByLabel(/^id/).fill('../agents');
		await read.getByRole('button', { name: 'Send' }).click();
		await read.locator('.status-4', { hasText: '404' }).waitFor();
		forgive(404);
		expect(await page.evaluate(() => JSON.stringify([sessionStorage, localStorage]))).not.toContain('rl_secret');
		await shoot('docs');
		// A few articles are enough, because all have the same structure.
		await page.getByLabel('Search the API').fill('read the state of a session');
		await sees('.found', / found$/);
		expect(await read.isVisible()).toBe(true);
		expect(await findBarriersInBoth()).toEqual([]);
	});

	test('fits a phone, and starts with the text instead of the contents', async () => {
		await page.setViewportSize({ width: 390, height: 800 });
		await page.locator('#contents ul').first().waitFor({ state: 'hidden' });
		await page.locator('h1', { hasText: 'The API' }).waitFor();
		await shoot('docs-narrow');
		expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
	});
});

test('expanded conversations and forms have no serious accessibility barrier', async () => {
	const markdown =
		'# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```ts\nconst a = "b"; // c\n```\n\n> quote `code`\n\n- [x] done';
	stage.play([
		{ type: 'reasoning', text: 'Hm.' },
		text(markdown),
		call('a1', 'add', { x: 1, y: 2 }),
		call('f1', 'fail'),
		call('p1', 'pay', { amount: 5 }),
	]);
	await say('Show all of it.');
	await sees('.open-call', 'pay');
	for (const summary of await page.locator('#transcript summary').all()) await summary.click();
	await page.locator('.hljs-keyword').waitFor();
	await shoot('conversation');
	expect(await findBarriersInBoth()).toEqual([]);
	for (const title of ['Memory', 'Schedules']) {
		await page.click(`#places >> text=${title}`);
		await page.locator('#panel:not([aria-busy])').waitFor();
		for (const add of await page.getByRole('button', { name: 'New…' }).all()) await add.click();
		expect(await findBarriersInBoth()).toEqual([]);
	}
});
