/** The title, the icon and the notifications of the page, its keys, and a phone with its keyboard. */
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { call, type OpenTurn, text } from '../e2e/ui/stage.ts';
import {
	browser,
	findBarriers,
	openChat,
	openPage,
	openStage,
	page,
	runEnds,
	say,
	sees,
	shoot,
	stage,
} from './setup.ts';

openPage({ width: 1024, height: 700 });
openStage();
beforeEach(openChat);

/** Makes the page seen, or not seen, as if the person had changed to another tab. */
const setHidden = (isHidden: boolean) =>
	page.evaluate((value) => {
		Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
		document.dispatchEvent(new Event('visibilitychange'));
	}, isHidden);

const readIcon = () => page.locator('link[rel="icon"]').getAttribute('href');
const focused = () => page.evaluate(() => document.activeElement?.id);

test('the title and the icon say that an answer is ready while the tab is hidden, and that a call waits', async () => {
	const plain = await readIcon();
	const { promise, resolve: end } = Promise.withResolvers<void>();
	const turn = async ({ say }: OpenTurn) => {
		say(text('One. '));
		await promise;
		say(text('Two.'));
	};
	stage.play(turn, [call('p1', 'pay', { amount: 5 })], [text('Paid.')]);
	await say('Count');
	await sees('.prose', 'One.');
	await setHidden(true);
	end();
	await expect.poll(() => page.title()).toBe('The answer is ready · Runlet');
	expect(await readIcon()).not.toBe(plain);
	await setHidden(false);
	await expect.poll(() => page.title()).toBe('Runlet');
	expect(await readIcon()).toBe(plain);
	await runEnds();
	await say('Pay');
	await page.locator('.open-call').waitFor();
	await expect.poll(() => page.title()).toBe('(1) Runlet');
	expect(await readIcon()).not.toBe(plain);
	await page.click('.open-call >> text=Allow');
	await sees('.prose', 'Paid.');
	await expect.poll(() => page.title()).toBe('Runlet');
});

test('notifications are asked for by a click only, and come while the tab is hidden', async () => {
	const script = await page.addInitScript(() => {
		const shown: string[] = [];
		let permission = 'default';
		class Fake {
			static get permission() {
				return permission;
			}
			static async requestPermission() {
				shown.push('asked');
				permission = 'granted';
				return permission;
			}
			constructor(_title: string, { body }: { readonly body: string }) {
				shown.push(body);
			}
		}
		Reflect.set(window, 'Notification', Fake);
		Reflect.set(window, 'shown', shown);
	});
	onTestFinished(() => script.dispose());
	await page.reload();
	await page.locator('#welcome').waitFor();
	const readShown = () => page.evaluate(() => Reflect.get(window, 'shown'));
	const control = page.getByRole('switch', { name: 'Notify me' });
	expect(await readShown()).toEqual([]);
	expect(await control.getAttribute('aria-checked')).toBe('false');
	await control.click();
	await expect.poll(() => control.getAttribute('aria-checked')).toBe('true');
	stage.play([text('One.')], [text('Two.')]);
	await say('First');
	await sees('.prose', 'One.');
	await runEnds();
	expect(await readShown()).toEqual(['asked']);
	await setHidden(true);
	await say('Second');
	await expect.poll(readShown).toEqual(['asked', 'The answer is ready']);
	await page.evaluate(() => localStorage.removeItem('runlet-notify'));
});

test('keys write a message, begin a chat and list themselves, and the focus returns', async () => {
	stage.play([text('One.')]);
	await say('First');
	await sees('.prose', 'One.');
	await runEnds();
	await page.locator('#trace-open').focus();
	await page.keyboard.press('?');
	await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
	await shoot('shortcuts');
	expect(await findBarriers()).toEqual([]);
	await page.keyboard.press('Escape');
	await page.getByRole('dialog').waitFor({ state: 'hidden' });
	expect(await focused()).toBe('trace-open');
	await page.keyboard.press('/');
	expect(await focused()).toBe('text');
	await page.keyboard.type('Is it? / ?');
	expect(await page.inputValue('#text')).toBe('Is it? / ?');
	await page.keyboard.press('Control+Shift+O');
	await page.locator('#welcome').waitFor();
});

test('the first key of a person who uses the keyboard reaches a link to the message box', async () => {
	await page.evaluate(() => {
		document.body.tabIndex = -1;
		document.body.focus();
	});
	await page.keyboard.press('Tab');
	expect(await focused()).toBe('skip');
	await shoot('skip');
	await page.keyboard.press('Enter');
	expect(await focused()).toBe('text');
	expect(page.url()).toMatch(/\/$/);
});

test('a keyboard over a phone leaves the end of the conversation and the message box in view', async () => {
	await page.setViewportSize({ width: 390, height: 780 });
	stage.play([text(Array.from({ length: 40 }, (_, at) => `Line ${at}\n\n`).join(''))]);
	await say('Count');
	await sees('.prose', 'Line 39');
	await runEnds();
	// Chromium has no such keyboard here, so the visual viewport says that it is there.
	await page.evaluate(() => {
		const view = window.visualViewport;
		if (view === null) return;
		Object.defineProperty(view, 'height', { configurable: true, get: () => 420 });
		view.dispatchEvent(new Event('resize'));
	});
	const bottom = async (selector: string) => {
		const box = await page.locator(selector).last().boundingBox();
		return (box?.y ?? 0) + (box?.height ?? 0);
	};
	await expect.poll(() => bottom('#composer')).toBeLessThanOrEqual(420);
	await expect.poll(() => bottom('.prose p')).toBeLessThanOrEqual(420);
	await shoot('phone-keyboard');
	await page.evaluate(() => {
		const view = window.visualViewport;
		if (view === null) return;
		Reflect.deleteProperty(view, 'height');
		view.dispatchEvent(new Event('resize'));
	});
	await expect.poll(() => bottom('#composer')).toBeGreaterThan(700);
	expect(browser.countPages()).toBe(1);
});
