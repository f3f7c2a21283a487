/** The panels of memories and schedules. */
import { readFile } from 'node:fs/promises';
import { beforeEach, expect, test } from 'vitest';
import { client, forgive, openPage, openStage, page, shoot, site } from './setup.ts';

openPage({ width: 1100, height: 700 });
openStage();
beforeEach(() => client.eraseMemories());

const card = (path: string) => page.locator('.card', { hasText: path });
const open = async () => {
	await page.goto(`${site.url}/#/memory`);
	await page.getByRole('button', { name: 'New…' }).waitFor();
};
const readPaths = () => page.locator('.card .title').allTextContents();
const readTexts = async (holder = {}) =>
	(await client.listMemories(holder)).memories.map(({ path, text }) => [path, text]);
test('finds memories by words and by person, and shows them as text', async () => {
	await client.putMemory('style.md', 'Likes <b>short</b> answers.');
	await client.putMemory('food.md', 'Eats no meat.');
	await client.putMemory('dog.md', 'Has a dog.', { user: 'ada' });
	await open();
	expect(await readPaths()).toEqual(['food.md', 'style.md']);
	expect(await page.getByText('Nothing is remembered here.').isVisible()).toBe(false);
	await card('style.md').getByText('Likes <b>short</b> answers.').waitFor();
	await card('style.md').getByText('over HTTP').waitFor();
	await page.fill('[name=search]', 'which meat');
	await expect.poll(readPaths).toEqual(['food.md']);
	await page.fill('[name=search]', 'airplane');
	await page.getByText('Nothing is remembered here.').waitFor();
	await page.fill('[name=search]', '');
	await page.fill('[name=user]', 'ada');
	await expect.poll(readPaths).toEqual(['dog.md']);
	await shoot('memory');
});

test('writes, changes and downloads a memory, and deletes it after a confirmation', async () => {
	await open();
	await page.getByRole('button', { name: 'New…' }).click();
	await page.getByLabel('Path').fill('projects/site.md');
	await page.getByLabel('Text').fill('In Hono.\nAt the edge.');
	await page.getByRole('button', { name: 'Save' }).click();
	await card('projects/site.md').getByRole('button', { name: 'Edit projects/site.md' }).click();
	await page.getByLabel('Text').fill('In h3.');
	await page.getByRole('button', { name: 'Save' }).click();
	await card('projects/site.md').getByText('In h3.').waitFor();
	expect(await readTexts()).toEqual([['projects/site.md', 'In h3.']]);
	await page.getByRole('button', { name: 'Edit projects/site.md' }).click();
	await page.getByLabel('Text').fill('Not this.');
	await page.keyboard.press('Escape');
	await card('projects/site.md').getByText('In h3.').waitFor();

	const coming = page.waitForEvent('download');
	await page.getByRole('button', { name: 'Export' }).click();
	expect(JSON.parse(await readFile(await (await coming).path(), 'utf8'))).toMatchObject({ text: 'In h3.' });

	await page.getByRole('button', { name: 'Delete projects/site.md' }).click();
	expect(await readTexts()).toHaveLength(1);
	await page.getByRole('button', { name: 'Delete projects/site.md for good' }).click();
	await expect.poll(readPaths).toEqual([]);
	expect(await readTexts()).toEqual([]);
});

test('shows a conflicting change by somebody else, and overwrites it only after a second save', async () => {
	await client.putMemory('style.md', 'Short answers.');
	await open();
	await page.getByRole('button', { name: 'Edit style.md' }).click();
	await page.getByLabel('Text').fill('Mine.');
	await client.putMemory('style.md', 'Theirs.');
	await page.getByRole('button', { name: 'Save' }).click();
	await page.getByRole('alert').getByText('Theirs.').waitFor();
	forgive(412);
	expect(await readTexts()).toEqual([['style.md', 'Theirs.']]);
	expect(await page.getByLabel('Text').inputValue()).toBe('Mine.');
	await page.getByRole('button', { name: 'Save' }).click();
	await card('style.md').getByText('Mine.').waitFor();
	expect(await readTexts()).toEqual([['style.md', 'Mine.']]);

	await page.getByRole('button', { name: 'Edit style.md' }).click();
	await page.getByLabel('Text').fill('Again.');
	await client.deleteMemory('style.md');
	await page.getByRole('button', { name: 'Save' }).click();
	await page.getByRole('alert').getByText('Somebody has removed it').waitFor();
	expect(await readTexts()).toEqual([]);
	await page.getByRole('button', { name: 'Save' }).click();
	await expect.poll(() => readTexts()).toEqual([['style.md', 'Again.']]);
	for (const status of [404, 412]) forgive(status);
});

test('does not overwrite an existing memory with a new one, and does not delete a changed memory', async () => {
	await client.putMemory('style.md', 'Short answers.');
	await open();
	await page.getByRole('button', { name: 'New…' }).click();
	await page.getByLabel('Path').fill('style.md');
	await page.getByLabel('Text').fill('Mine.');
	await page.getByRole('button', { name: 'Save' }).click();
	await page.getByRole('alert').getByText('Short answers.').waitFor();
	await page.getByRole('button', { name: 'Cancel' }).click();
	// Cancel reloads the list.
	await page.getByRole('form', { name: 'A new memory' }).waitFor({ state: 'detached' });
	await client.putMemory('style.md', 'Long answers.');
	await page.getByRole('button', { name: 'Delete style.md' }).click();
	await page.getByRole('button', { name: 'Delete style.md for good' }).click();
	await page.getByRole('button', { name: 'Look again' }).click();
	await card('style.md').getByText('Long answers.').waitFor();
	expect(await readTexts()).toEqual([['style.md', 'Long answers.']]);
	forgive(412);
});

test('erases only one person’s memories, and asks for a confirmation first', async () => {
	await client.putMemory('style.md', 'Short answers.');
	await client.putMemory('dog.md', 'Has a dog.', { user: 'bob' });
	await open();
	await page.fill('[name=user]', 'bob');
	await expect.poll(readPaths).toEqual(['dog.md']);
	await page.getByRole('button', { name: 'Erase all of them' }).click();
	await page.getByRole('button', { name: 'Erase all of them for good' }).click();
	await page.getByText('Nothing is remembered here.').waitFor();
	expect(await readTexts({ user: 'bob' })).toEqual([]);
	expect(await readTexts()).toEqual([['style.md', 'Short answers.']]);
});

test('adds schedules to a session, and removes them', async () => {
	const { id: session } = await client.createSession({ agent: 'desk' });
	await page.goto(`${site.url}/#/schedules`);
	const timezone = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone);
	await page.getByText('Nothing is scheduled.').waitFor();
	await page.getByRole('button', { name: 'New…' }).click();
	await page.getByRole('combobox', { name: 'Session' }).selectOption(session);
	await page.getByLabel('Name').fill('Morning');
	await page.getByRole('combobox', { name: 'When' }).selectOption('cron');
	await page.getByLabel('Time').fill('0 9 * * 1-5');
	await page.getByRole('textbox', { name: 'Message' }).fill('What is new?');
	await page.getByRole('button', { name: 'Save' }).click();
	await page.getByRole('alert').getByText('Use a-z, 0-9 and single hyphens').waitFor();
	forgive(400);
	await page.getByLabel('Name').fill('morning');
	await page.getByRole('button', { name: 'Save' }).click();
	await card('morning').getByText('What is new?').waitFor();
	const [made] = await client.listSchedules({ session });
	expect(made).toMatchObject({ name: 'morning', cron: '0 9 * * 1-5', timezone, text: 'What is new?' });
	await card('morning')
		.getByText(/^every weekday at 9:00, UTC · next in/)
		.waitFor();
	expect(await card('morning').locator('.card-head a').getAttribute('href')).toBe(`#/sessions/${session}`);

	await page.getByRole('button', { name: 'New…' }).click();
	await page.getByRole('combobox', { name: 'Session' }).selectOption(session);
	await page.getByLabel('Name').fill('later');
	await page.getByRole('combobox', { name: 'When' }).selectOption('at');
	const at = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 16);
	await page.getByLabel('Time').fill(at);
	await page.getByRole('textbox', { name: 'Message' }).fill('Look again.');
	await page.getByRole('button', { name: 'Save' }).click();
	await card('later')
		.getByText(/^once, .* · next in/)
		.waitFor();
	await shoot('schedules');
	const nextAt = await page.evaluate((local) => new Date(local).toISOString(), at);
	expect((await client.listSchedules({ session })).map((one) => one.nextAt)).toContain(nextAt);

	for (const name of ['later', 'morning']) {
		await page.getByRole('button', { name: `Remove ${name}` }).click();
		await page.getByRole('button', { name: `Remove ${name} for good` }).click();
		await card(name).waitFor({ state: 'detached' });
	}
	expect(await client.listSchedules({ session })).toEqual([]);
});

test('shows the last run of an agent’s schedule, and no button that removes the schedule', async () => {
	const last = { at: '2026-01-01T09:00:00.000Z', outcome: 'skipped', reason: 'The day budget is spent.' };
	const [ran, skipped] = [
		{ id: 'a', name: 'digest', agent: 'desk', every: '1d', last: { at: last.at, outcome: 'ran', sessionId: 's1' } },
		{ id: 'b', name: 'report', agent: 'desk', cron: '0 9 * * *', timezone: 'Europe/Berlin', text: 'Report.', last },
	];
	await page.route('**/v1/schedules', (route) => route.fulfill({ json: { schedules: [ran, skipped] } }));
	await page.goto(`${site.url}/#/schedules`);
	await card('digest').getByText('every day · over').waitFor();
	expect(await card('digest').locator('.last a').getAttribute('href')).toBe('#/sessions/s1');
	await card('report')
		.getByText(/^Skipped .*: The day budget is spent\.$/)
		.waitFor();
	await card('report').getByText('every day at 9:00, Europe/Berlin · over').waitFor();
	expect(await page.getByRole('button', { name: /^Remove/ }).count()).toBe(0);
});
