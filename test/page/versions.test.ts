/** The versions of a message, forks, and how long sessions are read. */
import { beforeEach, describe, expect, test } from 'vitest';
import { call, text } from '../e2e/ui/stage.ts';
import {
	browser,
	client,
	complaints,
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

const readId = () => page.url().split('#/sessions/')[1] ?? '';
const button = (name: string) => page.getByRole('button', { name });
/** The texts of the conversation that are in view. */
const readShown = () => page.locator(':is(.message, .prose):visible').allTextContents();

async function ask(message: string, answer: string): Promise<void> {
	await say(message);
	await sees('.prose', answer);
	await runEnds();
}

async function edit(message: string, newer: string, answer: string): Promise<void> {
	await button(`Edit the message ${message}`).click();
	await page.fill('.editor textarea', newer);
	await page.press('.editor textarea', 'Enter');
	await sees('.prose', answer);
	await runEnds();
}

describe('a message that was edited and regenerated', () => {
	test('keeps the arrows where they were pressed', async () => {
		stage.play([text('Blue.')], [text('Green.')], [text('Deep.')], [text('Steep.')]);
		await ask('A poem of the sea', 'Blue.');
		await edit('A poem of the sea', 'A poem of the hills', 'Green.');
		await ask('How deep?', 'Deep.');
		await edit('How deep?', 'How steep?', 'Steep.');
		const arrow = () => page.locator('.versions:visible').last().getByRole('button', { name: 'Earlier version' });
		for (const answer of ['Deep.', 'Blue.']) {
			if (answer === 'Blue.') await page.locator('.versions').first().scrollIntoViewIfNeeded();
			const earlier = answer === 'Blue.' ? button('Earlier version').first() : arrow();
			const before = await earlier.boundingBox();
			await earlier.click();
			await sees('.version .prose', answer);
			expect(await arrow().boundingBox()).toEqual(before);
			await shoot(`version-${answer}`);
			await button('Later version').last().click();
			await page.locator('.version').waitFor({ state: 'detached' });
		}
	});

	test('keeps its versions, and shows each with the answers that it had', async () => {
		stage.play([text('Blue.')], [text('Deep.')], [text('Green.')], [text('Steep.')], [text('Grey.')]);
		await ask('A poem of the sea', 'Blue.');
		await ask('How deep?', 'Deep.');
		await edit('A poem of the sea', 'A poem of the hills', 'Green.');
		await ask('How steep?', 'Steep.');
		expect(await page.locator('.versions').allTextContents()).toEqual(['2/2']);
		await edit('A poem of the hills', 'A poem of the rain', 'Grey.');
		const newest = ['You: A poem of the rain', 'Grey.'];
		for (const reload of [false, true]) {
			if (reload) await page.reload();
			await sees('.prose', 'Grey.');
			expect(await readShown()).toEqual(newest);
			expect(await page.locator('.versions').textContent()).toBe('3/3');
			await button('Earlier version').click();
			await sees('.version .prose', 'Steep.');
			expect(await readShown()).toEqual(['You: A poem of the hills', 'Green.', 'You: How steep?', 'Steep.']);
			expect(await page.locator('.versions:visible').textContent()).toBe('2/3');
			await shoot('version');
			await page.keyboard.press('Enter');
			await sees('.version .prose', 'Deep.');
			expect(await readShown()).toEqual(['You: A poem of the sea', 'Blue.', 'You: How deep?', 'Deep.']);
			expect(await button('Earlier version').isDisabled()).toBe(true);
			await button('Later version').click();
			await sees('.version .prose', 'Steep.');
			await button('Later version').click();
			await page.locator('.version').waitFor({ state: 'detached' });
			expect(await readShown()).toEqual(newest);
		}
	});

	test('shows the versions of a later message within an earlier version', async () => {
		stage.play([text('A1')], [text('B1')], [text('B2')], [text('C1')]);
		await ask('A', 'A1');
		await ask('B', 'B1');
		await button('Regenerate').click();
		await sees('.prose', 'B2');
		await runEnds();
		await edit('A', 'C', 'C1');
		await button('Earlier version').click();
		await sees('.version .prose', 'B2');
		expect(await page.locator('.versions:visible').allTextContents()).toEqual(['1/2', '2/2']);
		await button('Earlier version').last().click();
		await sees('.version .version .prose', 'B1');
		expect(await readShown()).toEqual(['You: A', 'A1', 'You: B', 'B1']);
	});

	test('goes back to its newest version when another message is sent', async () => {
		stage.play([text('Heads.')], [text('Tails.')], [text('Edge.')]);
		await ask('Toss a coin', 'Heads.');
		await button('Regenerate').click();
		await sees('.prose', 'Tails.');
		await runEnds();
		await button('Earlier version').click();
		await sees('.version .prose', 'Heads.');
		await ask('Again', 'Edge.');
		expect(await readShown()).toEqual(['You: Toss a coin', 'Tails.', 'You: Again', 'Edge.']);
	});

	test('shows its new version in another window', async () => {
		stage.play([text('Heads.')], [text('Tails.')]);
		await ask('Toss a coin', 'Heads.');
		const there = await browser.openPage();
		await there.goto(page.url());
		await there.locator('.prose', { hasText: 'Heads.' }).waitFor();
		await button('Regenerate').click();
		await there.locator('.prose', { hasText: 'Tails.' }).waitFor();
		await there.locator('.versions', { hasText: '2/2' }).waitFor();
		await there.close();
	});
});

describe('Fork from here', () => {
	test('below an answer opens a session that goes on from that answer', async () => {
		const sent = stage.play([text('One.')], [text('Two.')], [text('Other.')]);
		await ask('First', 'One.');
		await ask('Second', 'Two.');
		const id = readId();
		await page.locator('.run').first().hover();
		await page.locator('.run').first().getByRole('button', { name: 'Fork from here' }).click();
		await expect.poll(readId).not.toBe(id);
		await expect.poll(readShown).toEqual(['You: First', 'One.']);
		await sees('#recent [aria-current] .title', 'First (fork)');
		await runEnds();
		await ask('Third', 'Other.');
		expect(sent[2]?.map(({ content }) => content)).toEqual(['First', 'One.', 'Third']);
	});

	test('below a message opens a session whose last message it is, with a button for another answer', async () => {
		stage.play([text('One.')], [text('Two.')], [text('Other.')]);
		await ask('First', 'One.');
		await ask('Second', 'Two.');
		const id = readId();
		await button('Fork from here: Second').click();
		await expect.poll(readId).not.toBe(id);
		await button('Regenerate').click();
		await sees('.prose', 'Other.');
		expect(await readShown()).toEqual(['You: First', 'One.', 'You: Second', 'Other.']);
	});

	test('in an earlier version goes on from that version', async () => {
		const sent = stage.play([text('Blue.')], [text('Green.')], [text('Bluer.')]);
		await ask('The sea', 'Blue.');
		await edit('The sea', 'The hills', 'Green.');
		const id = readId();
		await button('Earlier version').click();
		await sees('.version .prose', 'Blue.');
		await page.locator('.version-head').getByRole('button', { name: 'Fork from here' }).click();
		await expect.poll(readId).not.toBe(id);
		await expect.poll(readShown).toEqual(['You: The sea', 'Blue.']);
		await runEnds();
		await ask('More', 'Bluer.');
		expect(sent[2]?.map(({ content }) => content)).toEqual(['The sea', 'Blue.', 'More']);
	});
});

describe('a session of 5,000 messages', () => {
	/** Imports a session with this many runs, each of which has this many turns with a call. */
	async function importLong(runs: number, turns: number): Promise<string> {
		const createdAt = new Date(0).toISOString();
		const messages: object[] = [];
		const allRuns: object[] = [];
		let place = 0;
		const add = (message: object) => {
			place += 65_536;
			messages.push({ id: `${place}`, createdAt, ...message });
		};
		for (let run = 1; run <= runs; run++) {
			const runId = `run_${run}`;
			const firstMessage = `${place + 65_536}`;
			add({ runId, role: 'user', content: `Question ${run}`, isInput: true });
			for (let turn = 1; turn <= turns; turn++) {
				const about = { model: 'm', stopReason: 'tool_use', usage: { inputTokens: 9, outputTokens: 1 } };
				const toolCalls = [{ id: `c${run}-${turn}`, name: 'add', input: { x: turn, y: run } }];
				add({
					runId,
					role: 'assistant',
					content: `Turn ${run}.${turn}.`,
					toolCalls,
					turn: { iteration: turn, ...about },
				});
				messages.push({
					...{ id: `${place + 1}`, createdAt, runId, role: 'tool' },
					...{ toolCallId: `c${run}-${turn}`, content: turn + run },
				});
			}
			const turn = { iteration: turns + 1, model: 'm', stopReason: 'end_turn', usage: {} };
			add({ runId, role: 'assistant', content: `Answer ${run}.`, turn });
			const end = {
				before: [],
				draft: [],
				steps: turns + 1,
				event: { type: 'done', text: '', usage: {}, stopReason: 'end_turn' },
			};
			allRuns.push({ id: runId, status: 'completed', lives: 1, createdAt, stored: { firstMessage, end } });
		}
		const exported = await client.exportSession((await client.createSession({ agent: 'desk' })).id);
		const document = { ...exported, runs: allRuns, messages };
		const response = await fetch(`${stage.url}/v1/sessions/import`, {
			method: 'POST',
			headers: { 'content-type': 'application/json' },
			body: JSON.stringify(document),
		});
		expect(response.status, await response.clone().text()).toBe(201);
		return ((await response.json()) as { readonly id: string }).id;
	}

	/** Counts the requests for the session, apart from those for its lists. */
	function countRequests(): { readonly paths: string[] } {
		const paths: string[] = [];
		page.on('request', (request) => {
			const { pathname, search } = new URL(request.url());
			if (/^\/v1\/sessions\/[^/]+(\/(messages|events))?$/.test(pathname)) paths.push(pathname.slice(-8) + search);
		});
		return { paths };
	}

	test.each([
		['of 2,500 runs', 2_500, 0],
		['in one run', 1, 2_499],
	])('%s opens, is regenerated and shows its cost in a bounded number of requests', async (_how, runs, turns) => {
		const id = await importLong(runs, turns);
		const { paths } = countRequests();
		await page.goto(`${site.url}/#/sessions/${id}`);
		await sees('.prose', `Answer ${runs}.`);
		await runEnds();
		expect(paths.length, paths.join('\n')).toBeLessThan(12);
		const before = paths.length;
		stage.play([text('Another answer.')]);
		await button('Regenerate').click();
		await sees('.prose', 'Another answer.');
		await runEnds();
		expect(paths.length - before, paths.slice(before).join('\n')).toBeLessThan(turns === 0 ? 12 : 70);
		expect(complaints).toEqual([]);
	});

	test('shows a long run piece by piece as a reader scrolls up, each turn once', async () => {
		const id = await importLong(2, 100);
		await page.goto(`${site.url}/#/sessions/${id}`);
		await sees('.prose', 'Answer 2.');
		await runEnds();
		const scroller = page.locator('#scroller');
		await expect
			.poll(async () => {
				await scroller.evaluate((node) => {
					node.scrollTop = 0;
				});
				return page.locator('.message', { hasText: 'Question 1' }).count();
			})
			.toBe(1);
		const turns = (run: number) => Array.from({ length: 100 }, (_, at) => `Turn ${run}.${at + 1}.`);
		const all = [
			'You: Question 1 from outside',
			...turns(1),
			'Answer 1.',
			'You: Question 2 from outside',
			...turns(2),
			'Answer 2.',
		];
		await expect.poll(() => readTexts('.message, .prose')).toEqual(all);
		expect(await page.locator('.run-end:not(:empty)').count()).toBe(2);
		await page.locator('.call[data-state="done"]').nth(199).waitFor();
	});
});

test('the actions of a run with a call copy its answer, ask again and fork', async () => {
	stage.play([text('Let me add.'), call('a1', 'add', { x: 2, y: 3 })], [text('It is 5.')]);
	await ask('What is 2 + 3?', 'It is 5.');
	const end = page.locator('.run-end');
	const names = await end.getByRole('button').evaluateAll((all) => all.map((one) => one.ariaLabel));
	expect(names).toEqual(['Copy the answer', 'Regenerate', 'Fork from here', 'Good answer', 'Bad answer']);
	await end.getByRole('button', { name: 'Fork from here' }).hover();
	await shoot('actions');
});
