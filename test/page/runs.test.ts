/** The panel with the runs of all sessions. */
import { beforeAll, expect, test } from 'vitest';
import { call, text } from '../e2e/ui/stage.ts';
import { client, findBarriers, openPage, openStage, page, readTexts, sees, shoot, site, stage } from './setup.ts';

openPage({ width: 1280, height: 800 });
openStage();

const used = (costUsd: number) => ({ type: 'usage', inputTokens: 1_000, outputTokens: 10, costUsd }) as const;

/** Runs messages of a new session, and returns its id. */
async function run(agent: string, ...messages: readonly string[]): Promise<string> {
	const { id } = await client.createSession({ agent });
	for (const message of messages) for await (const _ of client.sendMessage(id, message));
	return id;
}

let twice: string;
beforeAll(async () => {
	stage.play([used(0.004), text('One.')], [used(0.25), text('Two.')]);
	twice = await run('desk', 'Count to one.', 'Count to two.');
	stage.play([{ type: 'fail', message: 'Out of order.' }]);
	await run('chief', 'Break, please.');
	stage.play([call('p1', 'pay', { amount: 5 })]);
	await run('desk', 'Pay five.');
});

const open = async () => {
	await page.goto(`${site.url}/#/runs`);
	await page.locator('#panel[data-panel="runs"]:not([aria-busy])').waitFor();
};
const titles = () => readTexts('.all-runs tbody .title');
const choose = (label: string, option: string) =>
	page.locator('#panel').getByLabel(label, { exact: true }).selectOption({ label: option });

test('lists the runs of all sessions in one request, and each row opens the trace of its run', async () => {
	// A list knows of a new session after a moment.
	await expect.poll(async () => (await client.listSessions({ details: 'runs' })).sessions.length).toBe(3);
	const asked: string[] = [];
	page.on('request', (request) => {
		if (/v1\/sessions/.test(request.url())) asked.push(request.url());
	});
	await open();
	expect(asked.filter((url) => url.includes('details=runs'))).toHaveLength(1);
	expect(asked.filter((url) => /sessions\/[0-9a-f]/.test(url))).toEqual([]);
	await expect.poll(titles).toEqual(['Pay five.', 'Break, please.', 'Count to one.', 'Count to one.']);
	const cells = (at: number) => page.locator('.all-runs tbody tr').nth(at).locator('td').allTextContents();
	expect((await cells(1)).slice(0, 3)).toEqual(['chief', 'staged', expect.stringMatching(/^failed\w+$/)]);
	expect((await cells(2)).slice(0, 3)).toEqual(['desk', 'staged', 'done']);
	expect(await findBarriers()).toEqual([]);
	await shoot('runs');
	await page.setViewportSize({ width: 390, height: 800 });
	expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
	await shoot('runs-phone');
	await page.setViewportSize({ width: 1280, height: 800 });
	const chosen = page.locator('.all-runs tbody tr').nth(3);
	const id = await chosen.getAttribute('data-run');
	await chosen.getByRole('link').click();
	await page.locator(`.traced[data-run="${id}"][open] .waterfall`).waitFor();
	expect(page.url()).toContain(`#/sessions/${twice}/trace/${id}`);
	expect(await page.locator(`.traced[data-run="${id}"] .title`).textContent()).toBe('Count to one.');
});

test('filters by agent, model, status, time, cost and words', async () => {
	await open();
	await choose('Status', 'With an error');
	await expect.poll(titles).toEqual(['Break, please.']);
	await choose('Status', 'Waits for a person');
	await expect.poll(titles).toEqual(['Pay five.']);
	await choose('Status', 'Any status');
	await choose('Agent', 'chief');
	await expect.poll(titles).toEqual(['Break, please.']);
	await choose('Agent', 'All agents');
	await choose('Model', 'staged');
	await expect.poll(titles).toHaveLength(4);
	await choose('Time', 'Last hour');
	await expect.poll(titles).toHaveLength(4);
	await page.getByLabel('Search runs').fill('count');
	await expect.poll(titles).toEqual(['Count to one.', 'Count to one.']);
	await page.getByLabel('Search runs').fill('nobody said this');
	await sees('.nothing', 'No run fits.');
	await page.getByLabel('Search runs').fill('');
	await expect.poll(titles).toHaveLength(4);
	await choose('Cost', 'Over $1.00');
	await expect.poll(titles).toEqual([]);
});

test('says that a cost is not known, and that a run no longer waits once a person has decided', async () => {
	stage.play([call('p2', 'pay', { amount: 6 })], [text('Paid six.')]);
	const id = await run('desk', 'Pay six.');
	for await (const _ of client.submitResults(id, [{ id: 'p2', approve: true }]));
	// A list knows of a new session after a moment.
	await expect.poll(async () => (await client.listSessions({ q: 'six' })).sessions.length).toBe(1);
	await open();
	await page.getByLabel('Search runs').fill('six');
	await expect.poll(titles).toEqual(['Pay six.', 'Pay six.']);
	expect(await readTexts('.all-runs .state')).toEqual(['done', 'waited for a person']);
	expect(await readTexts('.all-runs td.cost:has(small)')).toEqual(['unknown5 tokens', 'unknown5 tokens']);
	await choose('Status', 'Waits for a person');
	await expect.poll(titles).toEqual([]);
});

test('lists the runs of a fork once', async () => {
	const id = await run('desk', 'Say this once.', 'And then this.');
	const fork = await client.forkSession(id);
	for await (const _ of client.sendMessage(fork.id, 'Only in the fork.'));
	await expect.poll(async () => (await client.listSessions({ q: 'once' })).sessions.length).toBe(2);
	await open();
	await page.getByLabel('Search runs').fill('once');
	await expect.poll(titles).toEqual(['Say this once.', 'Say this once.', 'Say this once.']);
});
