/** Calls that wait for a person, messages during a run, and files of a message. */
import type { Route } from 'playwright-core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { call, type Line, type OpenTurn, text } from '../e2e/ui/stage.ts';
import {
	complaints,
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

/** Makes a turn that says `One. `, and the given lines when `end` is called. */
function openTurn(...lines: readonly Line[]) {
	const { promise, resolve: end } = Promise.withResolvers<void>();
	const turn = async ({ say }: OpenTurn) => {
		say(text('One. '));
		await promise;
		say(...lines);
	};
	return { turn, end };
}

/** Holds the next request to a route. `setOut` resolves when the page sends it, `letGo` when the server has it. */
async function holdUp(pattern: string | RegExp, refuse?: { readonly status: number }) {
	const [out, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
	const answered = Promise.withResolvers<void>();
	const hold = async (route: Route) => {
		out.resolve();
		await free.promise;
		if (refuse === undefined) await route.continue();
		else await route.fulfill({ ...refuse, json: { error: { code: 'invalid_request', message: 'No.' } } });
		answered.resolve();
	};
	await page.route(pattern, hold, { times: 1 });
	const letGo = () => {
		free.resolve();
		return answered.promise;
	};
	return { setOut: out.promise, letGo };
}

/** Reads the state, the line and the result of a call. */
async function readShown(name: string) {
	const one = page.locator('.call', { has: page.locator(`.name[title="${name}"]`) }).last();
	return {
		state: await one.getAttribute('data-state'),
		answer: await one.locator('.answer').textContent(),
		result: await one.locator('.call-result').textContent(),
	};
}

describe('a call that waits for a person', () => {
	test('shows its result after an approval, also after a reload', async () => {
		stage.play([call('p1', 'pay', { amount: 5 })], [text('It is paid.')]);
		await say('Pay 5, please.');
		await sees('.open-call', 'Amount5');
		expect((await readShown('pay')).state).toBe('waiting');
		await shoot('approval');
		await page.click('.open-call >> text=Allow');
		await sees('.prose', 'It is paid.');
		const expected = {
			state: 'done',
			answer: expect.stringMatching(/^payment \d+: 5$/),
			result: expect.stringMatching(/^payment/),
		};
		expect(await readShown('pay')).toEqual(expected);
		await runEnds();
		await shoot('allowed');
		await page.reload();
		await sees('.prose', 'It is paid.');
		expect(await readShown('pay')).toEqual(expected);
		expect(await readTexts('.message')).toEqual(['You: Pay 5, please.']);
		expect(await page.locator('.call').count()).toBe(1);
		// The result stays after another run.
		stage.play([text('Bye.')]);
		await say('Thanks.');
		await sees('.prose', 'Bye.');
		await page.reload();
		await sees('.prose', 'Bye.');
		expect(await readShown('pay')).toEqual(expected);
		expect(await readTexts('.message')).toEqual(['You: Pay 5, please.', 'You: Thanks.']);
	});

	test('shows the reason of a denial, also after a reload', async () => {
		stage.play([call('p1', 'pay', { amount: 6 })], [text('Then not.')]);
		await say('Pay 6, please.');
		await sees('.open-call', 'pay');
		await page.getByText('Why not').click();
		await page.fill('.open-call input', 'too much');
		await page.click('.open-call >> text=Deny');
		await sees('.prose', 'Then not.');
		for (const reload of [false, true]) {
			if (reload) await page.reload();
			await sees('.prose', 'Then not.');
			expect(await readShown('pay')).toMatchObject({ state: 'failed', result: expect.stringContaining('too much') });
		}
	});

	test('is not decided by Enter in the field for the reason: Enter only focuses the Deny button', async () => {
		stage.play([call('p1', 'pay', { amount: 6 })], [text('Then not.')]);
		await say('Pay 6, please.');
		await sees('.open-call', 'pay');
		await page.getByText('Why not').click();
		await page.fill('.open-call input', 'too much');
		await page.press('.open-call input', 'Enter');
		expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Deny');
		expect((await readShown('pay')).state).toBe('waiting');
		await page.keyboard.press('Enter');
		await sees('.prose', 'Then not.');
		expect((await readShown('pay')).state).toBe('failed');
	});

	test('keeps the draft of a form when the chat is reopened or the answer is refused', async () => {
		const sent = stage.play(
			[call('p1', 'pay', { amount: 5 }), call('p2', 'pay', { amount: 6 })],
			[call('p2', 'pay', { amount: 6 })],
			[text('One is paid.')],
		);
		await say('Pay both.');
		const form = (amount: number) => page.locator('.open-call', { hasText: `Amount${amount}` });
		const reason = form(6).getByLabel('Reason to deny');
		await form(6).getByText('Why not').click();
		await reason.fill('too much');
		await form(6).getByText('Change the arguments').click();
		const taken = page.waitForResponse('**/tool-results');
		await form(5).getByRole('button', { name: 'Allow' }).click();
		await taken;
		expect(await reason.inputValue()).toBe('too much');
		const address = page.url();
		await page.click('#places >> text=Inbox');
		await sees('h1, h2', 'Inbox');
		await page.goto(address);
		await form(6).waitFor();
		expect(await form(5).count()).toBe(0);
		expect(await reason.inputValue()).toBe('too much');
		expect(await form(6).getByLabel('amount').inputValue()).toBe('6');
		await page.route('**/tool-results', (route) =>
			route.fulfill({ status: 400, json: { error: { code: 'invalid_request', message: 'Not now.' } } }),
		);
		await form(6).getByRole('button', { name: 'Deny' }).click();
		await sees('.failure', 'Not now.');
		expect(await reason.inputValue()).toBe('too much');
		await page.unroute('**/tool-results');
		await form(6).getByRole('button', { name: 'Deny' }).click();
		// The model makes another call with the same id.
		await expect.poll(() => sent.length).toBe(2);
		await expect.poll(() => reason.inputValue()).toBe('');
		await form(6).getByRole('button', { name: 'Allow' }).click();
		await sees('.prose', 'One is paid.');
		forgive(400);
	});

	test('shows its own result even if turns reuse an id', async () => {
		stage.play([call('same', 'add', { x: 1, y: 2 })], [call('same', 'pay', { amount: 7 })], [text('Both.')]);
		await say('Add, then pay.');
		await sees('.open-call', 'pay');
		await page.click('.open-call >> text=Allow');
		await sees('.prose', 'Both.');
		for (const reload of [false, true]) {
			if (reload) await page.reload();
			await sees('.prose', 'Both.');
			expect((await readShown('add')).answer).toBe('3');
			expect((await readShown('pay')).answer).toMatch(/: 7$/);
		}
	});

	test('shows the answer to its question, also after a reload', async () => {
		stage.play([call('q1', 'ask', { question: 'For which day?' })], [text('Friday it is.')]);
		await say('Book a table.');
		await sees('.question', 'For which day?');
		expect((await readShown('ask')).state).toBe('waiting');
		await runEnds();
		await say('Friday');
		await sees('.prose', 'Friday it is.');
		for (const reload of [false, true]) {
			if (reload) await page.reload();
			await sees('.prose', 'Friday it is.');
			expect(await readShown('ask')).toMatchObject({ state: 'done', answer: 'Friday' });
			expect(await readTexts('.message')).toEqual(['You: Book a table.', 'You: Friday']);
		}
	});

	test('has a field for each property of a result schema, checks the values, and continues the run', async () => {
		const sent = stage.play([call('s1', 'survey', { place: 'Oslo' })], [text('Noted.')]);
		await say('Who comes?');
		await sees('.open-call', 'survey');
		const done = page.locator('.open-call >> text=Done');
		await done.click();
		expect(await page.locator('.open-call :invalid').count()).toBeGreaterThan(3);
		await page.getByLabel('name').fill('Ada');
		await page.getByLabel('guests').fill('2');
		await page.getByLabel('meal').selectOption('greens');
		await page.getByLabel('vegan').selectOption('no');
		await page.getByLabel('tags').fill('early\nquiet');
		await page.getByLabel('city').fill('Oslo');
		await page.getByLabel('more').fill('{no');
		await shoot('survey');
		await done.click();
		await sees('.mistake', 'more: write JSON');
		await page.getByLabel('more').fill('3');
		await done.click();
		await sees('.prose', 'Noted.');
		const value = {
			...{ name: 'Ada', guests: 2, meal: 'greens', vegan: false, tags: ['early', 'quiet'] },
			...{ address: { city: 'Oslo' }, more: 3 },
		};
		expect(sent[1]?.at(-1)).toMatchObject({ role: 'tool', content: value });
		for (const reload of [false, true]) {
			if (reload) await page.reload();
			await sees('.prose', 'Noted.');
			expect((await readShown('survey')).state).toBe('done');
			expect(await readTexts('.message')).toEqual(['You: Who comes?', `You: ${JSON.stringify(value)}`]);
		}
	});

	test('can be marked as failed, with a reason instead of a result, also in the inbox', async () => {
		stage.play([call('s1', 'survey', { place: 'Bergen' })], [text('So be it.')]);
		await say('Who comes?');
		await sees('.open-call', 'survey');
		await page.click('#places >> text=Inbox');
		const card = page.locator('.card', { hasText: 'Bergen' });
		await card.getByLabel('city').waitFor();
		await card.getByLabel('Why it failed: survey').fill('nobody answered');
		await card.getByRole('button', { name: 'Failed' }).click();
		await sees('.notice', 'Its result was sent.');
		await page.goBack();
		await sees('.prose', 'So be it.');
		expect(await readShown('survey')).toMatchObject({ state: 'failed', result: 'nobody answered' });
	});

	test('has a field for each argument, and sends the arguments only if a person has changed them', async () => {
		const input = { to: 'ada@example.com', body: 'Dear Ada,\n\nit is ready.', copies: ['bob'], when: null };
		const sent = stage.play(
			[call('m1', 'mail', input)],
			[call('m2', 'mail', { ...input, subject: '' })],
			[text('Sent twice.')],
		);
		await say('Mail Ada.');
		await sees('.open-call', 'mail');
		expect(await page.locator('.arguments .named-row').allTextContents()).toEqual([
			...['Toada@example.com', 'BodyDear Ada,\n\nit is ready.', 'Copiesbob', 'Whennone'],
		]);
		const allow = page.getByRole('button', { name: 'Allow' });
		const to = page.getByLabel(/^to\s*An address/);
		await page.getByText('Change the arguments').click();
		expect(await to.inputValue()).toBe('ada@example.com');
		expect(await page.getByLabel('body').inputValue()).toBe('Dear Ada,\n\nit is ready.');
		expect(await page.getByLabel('copies').inputValue()).toBe('bob');
		expect(await page.getByLabel('when').inputValue()).toBe('null');
		await shoot('edit-fields');
		await allow.click();
		await expect.poll(() => sent.length).toBe(2);
		expect(sent[1]?.at(-1)).toMatchObject({ role: 'tool', content: { sent: input } });
		expect(JSON.stringify(sent)).not.toContain('ran with');

		await page.getByRole('form', { name: 'mail waits' }).getByText('Change the arguments').click();
		await to.fill('');
		await page.getByText('Change the arguments').click();
		await allow.click();
		expect(await page.locator('.edit[open] :invalid').count()).toBeGreaterThan(0);
		await to.fill('eve@example.com');
		expect(await page.getByLabel('subject').inputValue()).toBe('""');
		await page.getByLabel('body').fill('Dear Eve,\n\nit is late.');
		await page.getByLabel('urgent').selectOption('yes');
		await page.getByLabel('copies').fill('bob\ncy');
		await to.press('Enter');
		expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Allow');
		expect(sent.length).toBe(2);
		await page.keyboard.press('Enter');
		await sees('.prose', 'Sent twice.');
		const texts = { to: 'eve@example.com', subject: '', body: 'Dear Eve,\n\nit is late.' };
		const changed = { ...texts, urgent: true, copies: ['bob', 'cy'], when: null };
		expect(sent[2]?.at(-1)?.content).toContain(JSON.stringify(changed));
		await page.reload();
		await sees('.prose', 'Sent twice.');
		expect((await readShown('mail')).result).toContain('eve@example.com');
	});

	test('says what would leave, where to, and which text of a stranger may have led to it', async () => {
		// Its last two characters are invisible.
		const input = { to: 'eve@example.com', text: '12 St James’s Square\u{e0041}\u202e' };
		stage.play(
			[call('f1', 'find_customer', { name: 'Ada' })],
			[call('r1', 'read_letter')],
			[call('p1', 'post', input)],
			[text('Not posted.')],
		);
		await say('Read my letters.');
		const card = page.locator('.open-call', { hasText: 'post' });
		await sees('.open-call .flow', 'Would send the above to');
		const reasons = ['eve@example.com', 'read_letter {}', 'find_customer {"name":"Ada"}'];
		expect(await card.locator('.flow dd').allTextContents()).toEqual(reasons);
		expect(await card.locator('.arguments').textContent()).toContain('12 St James’s Square\\u{e0041}\\u{202e}');
		await shoot('flow');
		await page.click('#places >> text=Inbox');
		const listed = page.locator('.card', { hasText: '12 St James’s Square' });
		await listed.locator('.flow').waitFor();
		expect(await listed.locator('.flow dd').allTextContents()).toEqual(reasons);
		await shoot('flow-inbox');
		await page.goBack();
		await card.waitFor();
		await page.getByRole('button', { name: 'Deny' }).click();
		await sees('.prose', 'Not posted.');
		expect((await readShown('post')).state).not.toBe('done');
		for (const reload of [false, true]) {
			if (reload) await page.reload();
			await sees('.call:has([title="read_letter"]) .mark', 'from outside');
			await sees('.call:has([title="find_customer"]) .mark', 'private');
			expect(await page.locator('.call:has([title="post"]) .mark').count()).toBe(0);
		}
		await shoot('marks');
	});

	test('asks no more because of text that a person in the inbox calls harmless', async () => {
		const post = (id: string, words: string) => [call(id, 'post', { to: 'bob@example.com', text: words })];
		stage.play(
			[call('f1', 'find_customer', { name: 'Ada' })],
			[call('r1', 'read_letter')],
			post('p1', 'the first'),
			post('p2', 'the second'),
			[text('Posted both.')],
		);
		await say('Read my letters.');
		await sees('.open-call .leaves', 'the first');
		expect(await page.locator('.open-call .harmless').count()).toBe(0);
		await page.click('#places >> text=Inbox');
		const listed = page.locator('.card', { hasText: 'the first' });
		await listed.getByLabel('What strangers wrote is harmless').check();
		await shoot('flow-harmless');
		await listed.getByRole('button', { name: 'Allow' }).click();
		await sees('.card', 'Allowed. It runs now.');
		await page.goBack();
		await sees('.prose', 'Posted both.');
		expect(await page.locator('.open-call').count()).toBe(0);
	});

	test('shows the result that a person entered, also after a reload', async () => {
		stage.play([call('l1', 'locate')], [text('In Oslo, then.')]);
		await say('Where am I?');
		await sees('.open-call', 'locate');
		await page.fill('.open-call input', 'Oslo');
		await page.click('.open-call >> text=Done');
		await sees('.prose', 'In Oslo, then.');
		for (const reload of [false, true]) {
			if (reload) await page.reload();
			await sees('.prose', 'In Oslo, then.');
			expect(await readShown('locate')).toMatchObject({ state: 'done', answer: 'Oslo' });
			expect(await readTexts('.message')).toEqual(['You: Where am I?', 'You: Oslo']);
		}
	});
});

describe('a late answer', () => {
	/** Sends an answer just before the next answer of the page. The run continues until it waits again. */
	async function letAnswerFirst(route: string, body: unknown) {
		const [, id] = page.url().split('#/sessions/');
		const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
		const answer = async (given: Route) => {
			await (await fetch(`${stage.url}/v1/sessions/${id}/${route}`, init)).text();
			await given.continue();
		};
		await page.route(`**/v1/sessions/${id}/${route}`, answer, { times: 1 });
	}
	const answered = 'Somebody has answered this meanwhile, so nothing was sent.';
	afterEach(() => {
		forgive(409);
	});

	test('that is an approval decides no other call, and the page shows the calls that wait now', async () => {
		const small = call('p1', 'pay', { amount: 5 });
		const sent = stage.play([small], [call('p1', 'pay', { amount: 5_000 })], [text('Then not.')]);
		await say('Pay.');
		await sees('.open-call', 'Amount5');
		await letAnswerFirst('tool-results', [{ id: 'p1', approve: false }]);
		await page.click('.open-call >> text=Allow');
		await sees('.failure', answered);
		await sees('.open-call', 'Amount5000');
		await shoot('too-late');
		expect(await page.locator('.open-call').count()).toBe(1);
		expect((await readShown('pay')).state).toBe('waiting');
		await page.click('.open-call >> text=Deny');
		await sees('.prose', 'Then not.');
		expect(JSON.stringify(sent)).not.toContain('payment');
	});

	test('that is a text stays in the box, and answers no other question', async () => {
		const day = call('q1', 'ask', { question: 'For which day?' });
		const sent = stage.play([day], [call('q2', 'ask', { question: 'At what time?' })], [text('Booked.')]);
		await say('Book a table.');
		await sees('.question', 'For which day?');
		await runEnds();
		await letAnswerFirst('answer', { text: 'Friday' });
		await say('Saturday');
		await sees('.failure', answered);
		await sees('.question', 'At what time?');
		await expect.poll(() => page.inputValue('#text')).toBe('Saturday');
		await runEnds();
		await say('At eight');
		await sees('.prose', 'Booked.');
		expect(JSON.stringify(sent)).not.toContain('Saturday');
		expect(sent[2]?.at(-1)).toMatchObject({ role: 'tool', content: 'At eight' });
	});

	test('that is an approval for a child decides no other call of the child', async () => {
		const turns = [5, 5_000].map((amount) => [call('p1', 'pay', { amount })]);
		const sent = stage.play(
			[call('d1', 'desk', { task: 'Pay it.' })],
			...turns,
			[text('No.')],
			[text('It is not paid.')],
		);
		await page.selectOption('#agent', 'chief');
		await page.locator('#welcome').waitFor();
		await say('Have it paid.');
		await sees('.open-call', 'Amount5');
		await sees('.open-call .agent', 'desk');
		await letAnswerFirst('answer', { text: 'deny' });
		await page.click('.open-call >> text=Allow');
		await sees('.failure', answered);
		await sees('.open-call', 'Amount5000');
		await page.click('.open-call >> text=Deny');
		await sees('.prose', 'It is not paid.');
		expect(JSON.stringify(sent)).not.toContain('payment');
	});
});

test('shortening a text does not split a character', async () => {
	stage.play([call('q1', 'ask', { question: `${'a'.repeat(199)}😀` })]);
	await say(`${'b'.repeat(39)}😀`);
	await sees('.brief', 'aaa');
	await page.getByRole('button', { name: 'Edit the message bbb' }).waitFor({ state: 'attached' });
	const shown = await page.evaluate(() => document.body.outerHTML);
	expect(shown).toContain(`${'b'.repeat(39)}"`);
	expect(shown.isWellFormed()).toBe(true);
});

test('shows the error of a failed tool once', async () => {
	stage.play([call('f1', 'fail')], [text('Oh.')]);
	await say('Try it.');
	await sees('.prose', 'Oh.');
	expect((await readShown('fail')).answer).toBe('No luck.');
	expect(await readTexts('.turn')).not.toContainEqual(expect.stringContaining('fail failed'));
});

test('shows the collapsed stack of a local tool error until the page is reloaded', async () => {
	stage.play([call('f1', 'fail')], [text('Oh.')]);
	await say('Try it.');
	await sees('.prose', 'Oh.');
	await page.locator('.call > summary').click();
	expect(await page.locator('.call .stack pre').isVisible()).toBe(false);
	await page.getByText('Stack', { exact: true }).click();
	await shoot('stack');
	expect(await page.locator('.call .stack pre').textContent()).toMatch(/^Error: No luck\.\n +at .*worker\.js:\d+:\d+/);
	await page.reload();
	await sees('.prose', 'Oh.');
	expect((await readShown('fail')).answer).toBe('No luck.');
	await expect.poll(() => page.locator('.call .stack').count()).toBe(0);
});

describe('a run', () => {
	test('can be continued after a failure and a reload, and its answer can be copied', async () => {
		stage.play([{ type: 'fail', message: 'No model today.' }]);
		await say('Hello?');
		await sees('.run .failure', 'No model today.');
		await page.reload();
		await sees('.run .failure', 'No model today.');
		stage.play([text('Here **I** am.')]);
		await page.getByRole('button', { name: 'Try again' }).click();
		await sees('.prose', 'Here I am.');
		await runEnds();
		expect(await page.locator('.again').count()).toBe(0);
		await page.evaluate(() => {
			const writeText = async (copied: string) => void Object.assign(document.body.dataset, { copied });
			Object.defineProperty(navigator, 'clipboard', { value: { writeText } });
		});
		await page.getByRole('button', { name: 'Copy the answer' }).click();
		await expect.poll(() => page.locator('body').getAttribute('data-copied')).toBe('Here **I** am.');
	});

	test('shows that the device is offline', async () => {
		await page.context().setOffline(true);
		await sees('#offline', 'This device is offline.');
		await page.context().setOffline(false);
		await page.locator('#offline').waitFor({ state: 'hidden' });
	});
});

describe('a message while a call waits', () => {
	test('stays in the box, and the waiting call is marked', async () => {
		stage.play([call('p1', 'pay', { amount: 8 })], [text('Paid.')], [text('You are welcome.')]);
		await say('Pay 8.');
		await sees('.open-call', 'pay');
		await page.locator('#text').pressSequentially('Th');
		await sees('#status', 'pay waits: allow or deny it first. Your message is kept here.');
		await page.fill('#text', 'Thank you!');
		await page.press('#text', 'Enter');
		expect(await page.inputValue('#text')).toBe('Thank you!');
		expect(await page.locator('.open-call.pointed').count()).toBe(1);
		expect(await page.evaluate(() => document.activeElement?.id)).toBe('text');
		expect(await readTexts('.message')).toEqual(['You: Pay 8.']);
		expect(await readTexts('.failure')).toEqual([]);
		await shoot('held-up');
		await page.click('.open-call >> text=Allow');
		await sees('.prose', 'Paid.');
		await runEnds();
		expect(await page.inputValue('#text')).toBe('Thank you!');
		await page.press('#text', 'Enter');
		await sees('.prose', 'You are welcome.');
	});

	test('stays in the box if the server refuses the message because of a call from another window', async () => {
		stage.play([text('Hello.')], [call('p1', 'pay', { amount: 9 })], [text('Paid.')]);
		await say('Hi.');
		await sees('.prose', 'Hello.');
		await runEnds();
		const [, id] = page.url().split('#/sessions/');
		// The page reads nothing new before it sends the message.
		const sent = page.waitForRequest((request) => request.method() === 'POST');
		await page.route('**/v1/**', async (route) => {
			if (route.request().method() === 'GET') await sent;
			await route.continue();
		});
		await fetch(`${stage.url}/v1/sessions/${id}/messages`, {
			method: 'POST',
			headers: { 'content-type': 'application/json' },
			body: '{"text":"Pay 9."}',
		});
		await say('And then?');
		await sees('.failure', 'awaiting_tools');
		await sees('.open-call', 'pay');
		expect(await page.inputValue('#text')).toBe('And then?');
		await page.unroute('**/v1/**');
		forgive(409);
	});
});

describe('a message during a run', () => {
	const waits = (words: string) => page.locator('#waiting li', { hasText: words });

	test('is queued by Enter, can be removed, and is answered in a run of its own', async () => {
		const { turn, end } = openTurn(text('Done.'));
		const sent = stage.play(turn, [text('Two.')], [text('Four.')]);
		await say('First');
		await sees('.prose', 'One.');
		expect(await page.locator('#meanwhile').isVisible()).toBe(false);
		await say('Second');
		await sees('#waiting li', 'SecondWaits for the run to end');
		await say('Third');
		await page.fill('#text', 'Fourth');
		await shoot('queue');
		await page.getByRole('button', { name: 'Queue' }).click();
		await waits('Fourth').waitFor();
		expect(await page.inputValue('#text')).toBe('');
		await waits('Third').getByRole('button', { name: 'Remove' }).click();
		await waits('Third').waitFor({ state: 'detached' });
		// The queue is on the server.
		await page.reload();
		await waits('Fourth').waitFor();
		expect(await page.locator('#waiting li').count()).toBe(2);
		end();
		await sees('.prose', 'Four.');
		await runEnds();
		expect(await page.locator('#waiting').isVisible()).toBe(false);
		const shown = ['You: First', 'One. Done.', 'You: Second', 'Two.', 'You: Fourth', 'Four.'];
		expect(await readTexts('.message, .prose')).toEqual(shown);
		expect(JSON.stringify(sent)).not.toContain('Third');
		await page.reload();
		await sees('.prose', 'Four.');
		expect(await readTexts('.message, .prose')).toEqual(shown);
	});

	test('steers the run by Ctrl+Enter, and appears where the run read it, also after a reload', async () => {
		const { turn, end } = openTurn(call('a1', 'add', { x: 1, y: 2 }));
		const last = openTurn(text('Trois.'));
		const sent = stage.play(turn, last.turn);
		await say('First');
		await sees('.prose', 'One.');
		await page.fill('#text', 'In French');
		await page.press('#text', 'Control+Enter');
		await waits('Waits for the next turn of this run').waitFor();
		end();
		await sees('.taken-up .message', 'In French');
		expect(await page.locator('#waiting').isVisible()).toBe(false);
		last.end();
		await runEnds();
		const shown = ['You: First', 'One. ', 'You: In French', 'One. Trois.'];
		expect(await readTexts('.message, .prose')).toEqual(shown);
		expect(sent[1]?.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
		await page.reload();
		await sees('.prose', 'Trois.');
		expect(await readTexts('.message, .prose')).toEqual(shown);
	});

	test('returns to the box when the run is stopped', async () => {
		const { turn } = openTurn();
		stage.play(turn);
		await say('First');
		await sees('.prose', 'One.');
		await say('And then?');
		await waits('And then?').waitFor();
		await page.click('#stop');
		await sees('.note', 'Stopped.');
		await expect.poll(() => page.inputValue('#text')).toBe('And then?');
		expect(await page.locator('#waiting').isVisible()).toBe(false);
	});

	test('stays in the conversation if a person removes it only after a run has read it', async () => {
		const { turn, end } = openTurn(text('Done.'));
		stage.play(turn, [text('Two.')]);
		await say('First');
		await sees('.prose', 'One.');
		await say('Second');
		await waits('Second').waitFor();
		await page.route('**/waiting/*', (route) => route.fulfill({ status: 404, json: { error: { code: 'not_found' } } }));
		await waits('Second').getByRole('button', { name: 'Remove' }).click();
		await expect.poll(() => complaints.splice(0).length).toBe(1);
		end();
		await sees('.prose', 'Two.');
		expect(await readTexts('.message')).toEqual(['You: First', 'You: Second']);
	});

	test('appears in the conversation even if it leaves the queue before the page reads its run', async () => {
		const { turn, end } = openTurn(text('Done.'));
		stage.play(turn, [text('Two.')], [text('Three.')]);
		await say('First');
		await sees('.prose', 'One.');
		await say('Second');
		await waits('Second').waitFor();
		await page.route('**/waiting', async (route) => {
			const response = await route.fetch();
			const { waiting } = await response.json();
			await route.fulfill({ response, json: { waiting: waiting.slice(1) } });
		});
		await say('Third');
		await waits('Second').waitFor({ state: 'detached' });
		await page.unroute('**/waiting');
		end();
		await sees('.prose', 'Three.');
		expect(await readTexts('.message')).toEqual(['You: First', 'You: Second', 'You: Third']);
	});
});

describe('a message that is sent again', () => {
	test('with new words replaces the original message, also after a reload and for the model', async () => {
		const sent = stage.play([text('Of the sea.')], [text('Deep.')], [text('Of the hills.')]);
		await say('A poem of the sea');
		await sees('.prose', 'Of the sea.');
		await runEnds();
		await say('How deep?');
		await sees('.prose', 'Deep.');
		await runEnds();
		await page.getByRole('button', { name: 'Edit the message A poem' }).focus();
		await shoot('edit-button');
		await page.keyboard.press('Enter');
		expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toMatch(/^New words/);
		await shoot('edit');
		await page.keyboard.press('Escape');
		expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toMatch(/^Edit the message/);
		await page.keyboard.press('Enter');
		await page.fill('.editor textarea', 'A poem of the hills');
		await page.keyboard.press('Enter');
		await sees('.prose', 'Of the hills.');
		await runEnds();
		const shown = ['You: A poem of the hills', 'Of the hills.'];
		expect(await readTexts('.message, .prose')).toEqual(shown);
		expect(sent[2]).toEqual([expect.objectContaining({ role: 'user', content: 'A poem of the hills' })]);
		await page.reload();
		await sees('.prose', 'Of the hills.');
		expect(await readTexts('.message, .prose')).toEqual(shown);
		await shoot('edited');
	});

	test('is refused with a conflict during a run, and keeps its new words', async () => {
		const { turn, end } = openTurn();
		stage.play(turn, [text('Two.')]);
		await say('First');
		await sees('.prose', 'One');
		await page.getByRole('button', { name: 'Edit the message First' }).click();
		await page.fill('.editor textarea', 'Better words');
		await page.press('.editor textarea', 'Enter');
		await sees('.failure', 'The agent still answers. Stop it, or wait for its end, and send this again.');
		expect(await page.inputValue('.editor textarea')).toBe('Better words');
		end();
		await runEnds();
		await page.press('.editor textarea', 'Enter');
		await sees('.prose', 'Two.');
		expect(await readTexts('.message, .prose')).toEqual(['You: Better words', 'Two.']);
	});

	test('with the same words gets a new answer that replaces the old answer', async () => {
		const sent = stage.play([text('Heads.')], [text('Tails.')]);
		await say('Toss a coin');
		await sees('.prose', 'Heads.');
		await page.getByRole('button', { name: 'Regenerate' }).click();
		await sees('.prose', 'Tails.');
		expect(await readTexts('.message, .prose')).toEqual(['You: Toss a coin', 'Tails.']);
		expect(sent[1]).toEqual(sent[0]);
		expect(await page.getByRole('button', { name: 'Regenerate' }).count()).toBe(1);
	});
});

describe('a session that is loaded while a run ends and another begins', () => {
	test.each([
		['before the messages are read', /\/messages\?order/],
		['before the events are read', '**/events'],
	])('shows each run once if this happens %s', async (_when, route) => {
		const { turn, end } = openTurn(text('Done.'));
		stage.play(turn, [text('Two.')]);
		await say('First');
		await sees('.prose', 'One');
		await say('Second');
		await sees('#waiting li', 'Second');
		const held = await holdUp(route);
		await page.reload();
		await held.setOut;
		end();
		const [, id] = page.url().split('#/sessions/');
		const read = async () => (await fetch(`${stage.url}/v1/sessions/${id}/messages`)).text();
		await expect.poll(read).toContain('Two.');
		await held.letGo();
		await sees('.prose', 'Two.');
		await runEnds();
		const shown = ['You: First', 'One. Done.', 'You: Second', 'Two.'];
		await expect.poll(() => readTexts('.message, .prose')).toEqual(shown);
	});
});

describe('leaving the chat before the server has answered', () => {
	const leave = async () => {
		await page.click('#places >> text=Inbox');
		await page.locator('#panel h2').waitFor();
	};

	test('still sends the first message', async () => {
		const sent = stage.play([text('Heard.')]);
		const held = await holdUp('**/v1/sessions');
		await say('First of all');
		await held.setOut;
		await leave();
		await held.letGo();
		await expect.poll(() => sent.length).toBe(1);
		expect(page.url()).toContain('#/inbox');
		await page.reload();
		await page.locator('#recent li', { hasText: 'First of all' }).click();
		await sees('.prose', 'Heard.');
		expect(await readTexts('.message, .prose')).toEqual(['You: First of all', 'Heard.']);
		expect(await page.inputValue('#text')).toBe('');
	});

	test('still sends a queued message and an approval', async () => {
		const { turn, end } = openTurn(call('p1', 'pay', { amount: 3 }));
		const sent = stage.play(turn, [text('Paid.')], [text('Two.')]);
		await say('First');
		await sees('.prose', 'One.');
		const address = page.url();
		const queued = await holdUp('**/messages');
		await say('Second');
		await queued.setOut;
		await leave();
		await queued.letGo();
		await page.goto(address);
		await sees('#waiting li', 'Second');
		end();
		const allowed = await holdUp('**/tool-results');
		await page.click('.open-call >> text=Allow');
		await allowed.setOut;
		await leave();
		await allowed.letGo();
		await expect.poll(() => sent.length).toBe(3);
		await page.goto(address);
		await sees('.prose', 'Two.');
		expect(await readTexts('.message, .prose')).toEqual(['You: First', 'One. ', 'Paid.', 'You: Second', 'Two.']);
	});

	test('restores the text of a refused message', async () => {
		const held = await holdUp('**/v1/sessions', { status: 400 });
		await say('Precious words');
		await held.setOut;
		await leave();
		await held.letGo();
		await expect.poll(() => page.inputValue('#text')).toBe('Precious words');
		forgive(400);
	});
});

describe('files', () => {
	const note = () => page.locator('#files-note').textContent();
	const png = Buffer.from(
		'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAGElEQVR4nGNkYPjPgA0wYRUdtBIAO/IBD0dkjYwAAAAASUVORK5CYII=',
		'base64',
	);
	const csv = { name: 'prices.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n1,2\n') };

	test('can be picked, previewed, removed and sent', async () => {
		const sent = stage.play([text('Seen.')]);
		const chooser = page.waitForEvent('filechooser');
		await page.getByRole('button', { name: 'Attach files' }).press('Enter');
		await (await chooser).setFiles([
			csv,
			{ name: 'dot.png', mimeType: 'image/png', buffer: png },
			{ ...csv, name: 'no.csv' },
		]);
		await sees('#files .file', 'no.csv');
		expect(await readTexts('#files .file-name')).toEqual(['prices.csv', 'dot.png', 'no.csv']);
		expect(await page.locator('#files img').getAttribute('src')).toMatch(/^data:image\/png;base64,/);
		expect(await page.locator('#files img').evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(8);
		expect(await note()).toMatch(/^3 of 16 files, \d+ bytes of 2\.8 MB$/);
		await shoot('files');
		await page.getByRole('button', { name: 'Remove no.csv' }).press('Enter');
		expect(await page.evaluate(() => document.activeElement?.id)).toBe('text');
		await say('What is this?');
		await sees('.prose', 'Seen.');
		expect(await page.locator('#files').isVisible()).toBe(false);
		const shown = ['You: What is this?prices.csv8 bytesdot.png77 bytes'];
		expect(await readTexts('.message')).toEqual(shown);
		const parts = JSON.stringify(sent[0]?.at(-1));
		expect(parts).toContain('a,b\\n1,2');
		expect(parts).toContain(png.toString('base64'));
		expect(parts).not.toContain('no.csv');
		await page.reload();
		await sees('.prose', 'Seen.');
		expect(await readTexts('.message')).toEqual(shown);
		await shoot('files-sent');
	});

	test('can be sent without a text', async () => {
		stage.play([text('A table.')]);
		await page.setInputFiles('#picker', csv);
		await sees('#files .file', 'prices.csv');
		await page.click('#send');
		await sees('.prose', 'A table.');
		expect(await readTexts('.message')).toEqual(['You: prices.csv8 bytes']);
	});

	/** Dispatches the event of a browser for dropped or pasted files. */
	const transfer = (type: 'drop' | 'paste', names: readonly string[], plain?: string) =>
		page.evaluate(
			([type, names, plain]) => {
				const data = new DataTransfer();
				for (const name of names) data.items.add(new File(['dropped'], name, { type: '' }));
				if (plain !== null) data.items.add(plain, 'text/plain');
				const event =
					type === 'drop'
						? new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })
						: new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true });
				document.querySelector('#text')?.dispatchEvent(event);
				return event.defaultPrevented;
			},
			[type, names, plain ?? null] as const,
		);

	test('are added when a person drops or pastes them', async () => {
		expect(await transfer('drop', ['a.txt'])).toBe(true);
		await sees('#files .file', 'a.txt');
		expect(await transfer('paste', ['b.txt'])).toBe(true);
		await sees('#files .file', 'b.txt');
		expect(await transfer('paste', ['table.png'], 'a text')).toBe(false);
		expect(await readTexts('#files .file-name')).toEqual(['a.txt', 'b.txt']);
		const sent = stage.play([text('Two.')]);
		await say('These');
		await sees('.prose', 'Two.');
		expect(JSON.stringify(sent[0]?.at(-1))).toContain('text/plain');
	});

	test('are refused before a request if they are too large or too many', async () => {
		const large = { name: 'film.mp4', mimeType: 'video/mp4', buffer: Buffer.alloc(2_800_001) };
		await page.setInputFiles('#picker', [large, csv]);
		await sees('#files .file', 'prices.csv');
		expect(await note()).toMatch(
			/^film\.mp4 \(2\.8 MB\) is too large: all files of a message may have 2\.8 MB together\. 1 of 16 files/,
		);
		await shoot('refused');
		await page.setInputFiles(
			'#picker',
			Array.from({ length: 16 }, (_, index) => ({ ...csv, name: `${index}.csv` })),
		);
		await sees('#files-note', '15.csv is one too many: a message may have 16 files. 16 of 16 files');
		expect(await page.locator('#files .file').count()).toBe(16);
	});

	test('can be sent in a message of the largest allowed size', async () => {
		stage.play([text('Large.')]);
		await page.setInputFiles('#picker', { name: 'large.bin', mimeType: '', buffer: Buffer.alloc(2_800_000, 'a') });
		await sees('#files .file', 'large.bin');
		await say('x'.repeat(100_000));
		await sees('.prose', 'Large.');
	});

	test('stay in the box with the text if the message is refused', async () => {
		await page.route('**/v1/sessions', (route) =>
			route.fulfill({ status: 400, json: { error: { code: 'invalid_request', message: 'attachments.0.type: no.' } } }),
		);
		await page.setInputFiles('#picker', csv);
		await sees('#files .file', 'prices.csv');
		await say('Look');
		await sees('.failure', 'attachments.0.type: no.');
		expect(await page.inputValue('#text')).toBe('Look');
		expect(await readTexts('#files .file-name')).toEqual(['prices.csv']);
		forgive(400);
	});
});

test.each(['light', 'dark'] as const)('the page fits a width of 420 pixels in the %s theme', async (colorScheme) => {
	await page.emulateMedia({ colorScheme });
	await page.setViewportSize({ width: 420, height: 760 });
	await shoot(`empty-${colorScheme}`);
	stage.play([call('p1', 'pay', { amount: 8 })]);
	await say('Pay 8, for a reason that takes a whole line of this narrow page to write down.');
	await sees('.open-call', 'pay');
	await page.setInputFiles('#picker', [
		{ name: `${'a-very-long-name-'.repeat(6)}.txt`, mimeType: 'text/plain', buffer: Buffer.from('x') },
		{ name: 'b.txt', mimeType: 'text/plain', buffer: Buffer.from('x') },
	]);
	await sees('#files .file', 'b.txt');
	await page.fill('#text', 'Thank you!');
	await page.press('#text', 'Enter');
	await shoot(`narrow-${colorScheme}`);
	const width = await page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.body.scrollWidth));
	expect(width).toBeLessThanOrEqual(420);
});

test('on a phone, decision buttons are in one row, and the retry button is large', async () => {
	const readTop = async (selector: string) => (await page.locator(selector).last().boundingBox())?.y;
	await page.setViewportSize({ width: 390, height: 760 });
	stage.play([call('p1', 'pay', { amount: 41 })]);
	await say('Pay from a phone.');
	await sees('.open-call', 'Amount41');
	expect(await readTop('.open-call >> text=Deny')).toBe(await readTop('.open-call >> text=Allow'));
	await page.goto(`${site.url}/#/inbox`);
	const card = '.card:has-text("Pay from a phone.")';
	await page.locator(card).waitFor();
	await shoot('phone-inbox');
	expect(await readTop(`${card} >> text=Deny`)).toBe(await readTop(`${card} >> text=Allow`));
	stage.play([{ type: 'fail', message: 'No model today.' }]);
	await page.goto(`${site.url}/#/`);
	await page.locator('#welcome').waitFor();
	await say('Hello?');
	await page.getByRole('button', { name: 'Try again' }).waitFor();
	await shoot('phone-failure');
	const { height = 0 } = (await page.getByRole('button', { name: 'Try again' }).boundingBox()) ?? {};
	expect(height).toBeGreaterThanOrEqual(32);
});

test('queued messages, result fields and the message editor fit a width of 390 pixels', async () => {
	const readWidth = () => page.evaluate(() => document.documentElement.scrollWidth);
	await page.emulateMedia({ colorScheme: 'dark' });
	await page.setViewportSize({ width: 390, height: 760 });
	const { turn, end } = openTurn(text('Done.'));
	stage.play(turn, [call('s1', 'survey', { place: 'Oslo' })]);
	await say('First');
	await sees('.prose', 'One.');
	await say(`Second, ${'a word '.repeat(20)}${'long'.repeat(40)}`);
	await sees('#waiting li', 'Second');
	await page.fill('#text', 'Third');
	await page.locator('#steer').waitFor();
	await shoot('phone-waiting');
	expect(await readWidth()).toBeLessThanOrEqual(390);
	end();
	await sees('.open-call', 'survey');
	await shoot('phone-survey');
	expect(await readWidth()).toBeLessThanOrEqual(390);
	await page.getByRole('button', { name: 'Edit the message Second' }).focus();
	await page.keyboard.press('Enter');
	await page.locator('.editor textarea').waitFor();
	await shoot('phone-edit');
	expect(await readWidth()).toBeLessThanOrEqual(390);
});
