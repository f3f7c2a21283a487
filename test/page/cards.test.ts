/** The card of what waits for a person: what would happen, who asks, from what text, and what it has cost. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { Client } from '../../src/client/index.ts';
import { call, type Line, text } from '../e2e/ui/stage.ts';
import { loadModule } from './module.ts';
import {
	client,
	findBarriers,
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

openPage({ width: 1280, height: 800 });
openStage();
beforeEach(openChat);

type Body = Parameters<Client['createSession']>[0];

/** Starts a session over the API, and waits until it waits for a person. */
async function begin(body: Partial<Body>, ...lines: readonly Line[]): Promise<string> {
	stage.play(lines);
	const { id } = await client.createSession({ agent: 'desk', text: 'Go.', ...body });
	await expect.poll(async () => (await client.getSession(id)).status).toBe('awaiting_tools');
	return id;
}

async function openInbox(): Promise<void> {
	await page.goto(`${site.url}/#/inbox`);
	await page.locator('#panel[data-panel="inbox"]:not([aria-busy])').waitFor();
}

const readStatus = async (id: string) => (await client.getSession(id)).status;

/** Denies what a test has left. */
async function settle(...ids: readonly string[]): Promise<void> {
	for (const id of ids) await client.deleteSession(id);
}

const mail = {
	to: 'ada@example.com',
	body: `Dear Ada,\n\n${'we have it. '.repeat(60)}`,
	when: null,
	about: { orderId: 'A-1', lines: ['one', 'two'] },
	isUrgent: true,
};

test('shows arguments as named fields, in the words and with the descriptions of the schema', async () => {
	const id = await begin({ text: 'Write to Ada.' }, call('m1', 'mail', mail));
	for (const place of ['chat', 'inbox']) {
		if (place === 'chat') await page.goto(`${site.url}/#/sessions/${id}`);
		else await openInbox();
		const card = page.locator('.open-call');
		await card.waitFor();
		expect(await card.locator('h3').textContent()).toBe('Mail');
		expect(await card.locator('dt').allTextContents()).toEqual([
			...['To', 'Body', 'When', 'About', 'Order id', 'Lines', 'Is urgent'],
		]);
		expect(await card.locator('dt').first().getAttribute('title')).toBe('An address.');
		expect(await card.locator('.named-list > li').allTextContents()).toEqual(['one', 'two']);
		expect(await card.textContent()).not.toMatch(/[{}[\]"]/);
		const long = card.locator('.long-text');
		expect(await long.isVisible()).toBe(true);
		await card.locator('.long > summary').click();
		expect(await long.isVisible()).toBe(false);
		await card.locator('.long > summary').click();
		await shoot(`card-fields-${place}`);
	}
	expect(await findBarriers()).toEqual([]);
	await settle(id);
});

test('says who asks, for whom, since when, from what text, and what the session has cost', async () => {
	const usage = { type: 'usage', inputTokens: 1_200, outputTokens: 34, costUsd: 0.25 } as const;
	stage.play([call('r1', 'read_letter')], [call('p1', 'pay', { amount: 5 }), usage]);
	const { id } = await client.createSession({ agent: 'desk', user: 'ada', text: 'Pay the bill.' });
	await expect.poll(() => readStatus(id)).toBe('awaiting_tools');
	await openInbox();
	const card = page.locator('.open-call');
	await card.waitFor();
	const facts = card.locator('.asked-by');
	expect(await facts.locator('.title').textContent()).toBe('Pay the bill.');
	expect(await facts.textContent()).toMatch(
		/^Pay the bill\.deskfor adajust now1,239 tokens, \$0\.25 so farfrom outside$/,
	);
	await shoot('card-facts-inbox');
	await facts.locator('.title').click();
	await sees('.open-call .asked-by', '1,239 tokens, $0.25 so far');
	expect(await facts.textContent()).toMatch(/^deskfor adajust now1,239 tokens, \$0\.25 so farfrom outside$/);
	await shoot('card-facts-chat');
	await settle(id);
});

describe('on a phone', () => {
	test.each(['light', 'dark'] as const)(
		'the card fits, and its buttons are in view, in the %s theme',
		async (theme) => {
			await page.emulateMedia({ colorScheme: theme });
			await page.setViewportSize({ width: 390, height: 780 });
			const id = await begin({ text: 'Write to Ada, please.' }, call('m1', 'mail', mail));
			for (const place of ['chat', 'inbox']) {
				if (place === 'chat') await page.goto(`${site.url}/#/sessions/${id}`);
				else await openInbox();
				const allow = page.getByRole('button', { name: 'Allow' });
				await allow.waitFor();
				// A touch screen shows no keys, so the buttons have less in them.
				for (const one of await page.locator('.decision').all())
					await one.evaluate((button) => button.removeAttribute('data-key'));
				if (place === 'inbox') await allow.scrollIntoViewIfNeeded();
				await shoot(`card-phone-${place}`);
				expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
				const boxes = await Promise.all(
					['Allow', 'Deny'].map((name) => page.getByRole('button', { name }).boundingBox()),
				);
				// Each has one line of words, and both are equal.
				expect(boxes.map((box) => box?.height)).toEqual([44, 44]);
				expect(boxes[0]?.width).toBe(boxes[1]?.width);
				for (const box of boxes) expect(box?.y ?? 1_000).toBeLessThan(740);
			}
			await settle(id);
		},
	);
});

describe('the keys of the page', () => {
	test('A allows and D denies the card under the focus or the pointer, and J and K move between cards', async () => {
		const first = await begin({ text: 'Pay one.' }, call('p1', 'pay', { amount: 1 }));
		const second = await begin({ text: 'Pay two.' }, call('p1', 'pay', { amount: 2 }));
		const third = await begin({ text: 'Pay three.' }, call('p1', 'pay', { amount: 3 }));
		await openInbox();
		const card = (title: string) => page.locator('.open-call', { hasText: title });
		await card('Pay three.').waitFor();
		const isFocused = (title: string) => card(title).evaluate((one) => one === document.activeElement);
		// Without a card under the focus or the pointer, no key decides.
		await page.keyboard.press('a');
		await page.keyboard.press('j');
		expect(await isFocused('Pay one.')).toBe(true);
		await page.keyboard.press('j');
		expect(await isFocused('Pay two.')).toBe(true);
		await shoot('card-keys');
		await page.keyboard.press('k');
		expect(await isFocused('Pay one.')).toBe(true);
		const sent = stage.play([text('Not paid.')]);
		await page.keyboard.press('d');
		await sees('.card', 'Denied.');
		await expect.poll(() => readStatus(first)).toBe('completed');
		expect(sent).toHaveLength(1);
		// The focus goes on to the next card, so the inbox is worked off from the keyboard.
		expect(await isFocused('Pay two.')).toBe(true);
		stage.play([text('Paid.')]);
		await page.keyboard.press('a');
		await sees('.card', 'Allowed. It runs now.');
		await expect.poll(() => readStatus(second)).toBe('completed');
		expect(await readStatus(third)).toBe('awaiting_tools');

		await page.locator('.panel-head h2').click();
		await card('Pay three.').hover();
		await card('Pay three.').getByText('Why not').click();
		expect(
			await card('Pay three.')
				.getByRole('textbox')
				.evaluate((one) => one === document.activeElement),
		).toBe(true);
		await page.keyboard.type('ad');
		expect(await card('Pay three.').getByRole('textbox').inputValue()).toBe('ad');
		expect(await readStatus(third)).toBe('awaiting_tools');
		await page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur());
		await page.keyboard.press('Control+a');
		await page.keyboard.press('h');
		expect(await readStatus(third)).toBe('awaiting_tools');
		stage.play([text('Paid three.')]);
		await page.keyboard.press('a');
		await expect.poll(() => readStatus(third)).toBe('completed');
	});

	test('decide about the only card, unless the person does not see it or writes', async () => {
		await page.setViewportSize({ width: 1280, height: 500 });
		const id = await begin({ text: 'Write to Ada.' }, call('m1', 'mail', mail));
		await openInbox();
		const card = page.locator('.open-call');
		await card.waitFor();
		const badge = () => card.locator('[data-key=A]').evaluate((one) => getComputedStyle(one, '::after').content);
		const isFocused = () => card.evaluate((one) => one === document.activeElement);
		expect(await badge()).toContain('A');
		// The card is longer than the window, so the first key only shows it.
		await page.keyboard.press('a');
		expect(await isFocused()).toBe(true);
		expect(await readStatus(id)).toBe('awaiting_tools');
		await page.goto(`${site.url}/#/sessions/${id}`);
		await page.setViewportSize({ width: 1280, height: 1_600 });
		await card.waitFor();
		expect(await page.evaluate(() => document.activeElement?.id)).toBe('text');
		expect(await badge()).toBe('none');
		await page.keyboard.press('Escape');
		expect(await badge()).toContain('A');
		await page.keyboard.press('?');
		await sees('.shortcuts dd', 'Deny it');
		await page.keyboard.press('a');
		await page.keyboard.press('Escape');
		expect(await readStatus(id)).toBe('awaiting_tools');
		await page.keyboard.press('d');
		await expect.poll(() => readStatus(id)).not.toBe('awaiting_tools');
		// What is still shown would be asked for after it is removed.
		await page.goto('about:blank');
		await settle(id);
	});

	test('decide in the chat, too, and the buttons say so', async () => {
		const id = await begin({ text: 'Pay in the chat.' }, call('p1', 'pay', { amount: 4 }));
		await page.goto(`${site.url}/#/sessions/${id}`);
		const allow = page.getByRole('button', { name: 'Allow', exact: true });
		await allow.waitFor();
		expect(await allow.getAttribute('aria-keyshortcuts')).toBe('A');
		await page.locator('.open-call h3').click();
		stage.play([text('It is paid.')]);
		await page.keyboard.press('a');
		await sees('.prose', 'It is paid.');
		expect(await readTexts('.open-call')).toEqual([]);
	});
});

describe('what a call would do', () => {
	/** Shows the card of a call, and returns how often it was answered. */
	async function showPreview(preview: string, width = 390): Promise<() => Promise<number>> {
		await page.setViewportSize({ width, height: 780 });
		const cards = await loadModule<typeof import('../../src/page/parts/open-call.ts')>(page, 'parts/open-call');
		const answers = await cards.evaluateHandle(({ createOpenCall }, given) => {
			const got: object[] = [];
			const call = { id: 'c1', name: 'apply_plan', input: { planId: 'p1' }, kind: 'approval', preview: given } as const;
			document.body.replaceChildren(createOpenCall(call, (answer) => got.push(answer), {}));
			return got;
		}, preview);
		return () => answers.evaluate((got) => got.length);
	}

	const writeFile = (name: string, lines: number, line = 'a line') =>
		`--- a/${name}\n+++ b/${name}\n@@ -0,0 +1,${lines} @@\n${`+${line}\n`.repeat(lines)}`;

	test.each([390, 1_280])('no name of a file covers a line, on %i columns', async (width) => {
		await showPreview(
			writeFile('deep/'.repeat(200), 30) + writeFile('and/'.repeat(15), 30) + writeFile('b.txt', 30),
			width,
		);
		const covered = await page.locator('.diff .added').evaluateAll((lines) =>
			lines.filter((line) => {
				line.scrollIntoView({ block: 'center' });
				const { left, top, height } = line.getBoundingClientRect();
				return document.elementFromPoint(left + 20, top + height / 2) !== line;
			}),
		);
		expect(covered).toHaveLength(0);
		await shoot(`card-diff-${width}`);
		// The name of the last file stands above its lines, and no part of an earlier name.
		const box = await page.locator('.diff').boundingBox();
		const second = await page.locator('.diff-file').nth(1).boundingBox();
		expect((second?.y ?? 0) + (second?.height ?? 0)).toBeLessThanOrEqual((box?.y ?? 0) + 1);
	});

	test('breaks a long line, shows codes for invisible characters, and keeps blanks in a file name', async () => {
		await showPreview(writeFile('two  blanks.txt', 1, `a${' '.repeat(500)}b${'x'.repeat(500)}\u200b`));
		expect(await page.locator('.diff').evaluate((box) => box.scrollWidth <= box.clientWidth)).toBe(true);
		expect(await page.locator('.diff .added').textContent()).toContain('x\\u{200b}');
		expect(await readTexts('.diff-file')).toEqual(['two  blanks.txt +1\n']);
	});

	test('shows all lines of a long diff after a click', async () => {
		const countAnswers = await showPreview(writeFile('a.txt', 2_500, ''));
		await page.getByRole('button', { name: '… 502 more lines' }).click();
		expect(await page.locator('.diff .added').count()).toBe(2_500);
		expect(await page.locator('.diff button').count()).toBe(0);
		expect(await countAnswers()).toBe(0);
	});

	test('says that a preview is cut, and shows the arguments', async () => {
		const whole = writeFile('a.txt', 2_000);
		const about = page.locator('.open-call > .about');
		await showPreview(whole);
		expect(await about.count()).toBe(0);
		expect(await page.locator('.arguments').isVisible()).toBe(false);
		await showPreview(`${whole.slice(0, 8_000)}\n… 1,234 more characters, which are not shown`);
		expect(await about.textContent()).toMatch(/^Only the beginning is shown\./);
		expect(await page.locator('.arguments').isVisible()).toBe(true);
		expect(await readTexts('.diff-file')).toEqual(['a.txt\n']);
	});

	test('shows codes for marks that would cover other lines', async () => {
		await showPreview(`Pays 5,000.\nFor 한국어, नमस्ते and Việt: e${'\u0301'.repeat(200)}`);
		const code = '\\u{301}'.repeat(196);
		expect(await readTexts('.preview')).toEqual([
			`Pays 5,000.\nFor 한국어, नमस्ते and Việt: e\u0301\u0301\u0301\u0301${code}`,
		]);
	});

	test('says the length of a text that does not fit', async () => {
		await showPreview('Writes to Ada.');
		expect(await readTexts('.open-call > .about')).toEqual([]);
		await showPreview(`${'\n'.repeat(1_000)}Pays 5,000.`);
		expect(await readTexts('.open-call > .about')).toEqual(['1,011 characters']);
		await showPreview(`${'\n'.repeat(1_000)}${writeFile('a.txt', 1)}`);
		expect(await page.locator('.diff > :first-child > .diff-file').isVisible()).toBe(true);
	});
});

describe('the calls of a turn', () => {
	test('stand in one line with their outcome; a click shows a line for each call', async () => {
		stage.play(
			[text('Let me look.'), call('a1', 'add', { x: 2, y: 3 }), call('a2', 'add', { x: 4, y: 5 }), call('f1', 'fail')],
			[call('a3', 'add', { x: 1, y: 1 })],
			[text('It is five.')],
		);
		await say('What is 2 + 3?');
		await sees('.prose', 'It is five.');
		for (const reload of [false, true]) {
			if (reload) await page.reload();
			await sees('.prose', 'It is five.');
			const group = page.locator('.calls');
			const line = group.locator(':scope > summary');
			expect(await line.textContent()).toBe('3 callsAdd, Add, Fail1 failed');
			expect(await group.getAttribute('data-state')).toBe('failed');
			// The single call of the next turn stands by itself.
			expect(await page.locator('.turn > .call > summary .name').allTextContents()).toEqual(['Add']);
			const calls = group.locator('.call');
			expect(await calls.first().isVisible()).toBe(false);
			await line.click();
			expect(await calls.first().isVisible()).toBe(true);
			expect(await calls.locator('summary > :is(.name, .brief, .answer)').allTextContents()).toEqual([
				...['Add', 'x: 2, y: 3', '5', 'Add', 'x: 4, y: 5', '9', 'Fail', '', 'No luck.'],
			]);
			await calls.first().locator('summary').click();
			expect(await calls.first().locator('.named-row').allTextContents()).toEqual(['X2', 'Y3']);
			expect(await calls.first().locator('.call-result').textContent()).toBe('5');
			await shoot(`calls-${reload ? 'again' : 'now'}`);
			expect(await findBarriers()).toEqual([]);
		}
	});

	test('open by themselves where one of them shows the run of another agent', async () => {
		stage.play(
			[call('d1', 'desk', { task: 'Add 2 and 3.' }), call('d2', 'desk', { task: 'Add 4 and 5.' })],
			...Array.from({ length: 2 }, () => [text('It is done.')]),
			[text('Both are done.')],
		);
		await page.selectOption('#agent', 'chief');
		await sees('#welcome-name', 'chief');
		await say('Have both added.');
		await sees('.prose', 'Both are done.');
		expect(await page.locator('.calls').getAttribute('open')).toBe('');
		await page.locator('.calls .nested .prose', { hasText: 'It is done.' }).first().waitFor();
		await shoot('calls-children');
	});
});
