/** The panel of the team: people, spending, budgets, keys and roles. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { hashKey, makeKey } from '../../src/cloudflare/auth/key.ts';
import type { Role } from '../../src/cloudflare/auth/rights.ts';
import { type Stage, startStage, text } from '../e2e/ui/stage.ts';
import { findBarriers, openPage, page, readTexts, sees, shoot } from './setup.ts';
import { startSite } from './site.ts';

openPage({ width: 1280, height: 900 });

let stage: Stage;
let site: Awaited<ReturnType<typeof startSite>>;
const keys: Record<string, string> = {};

async function createRecord(user: string, role: Role, scopes: readonly string[] = ['run']) {
	const { key, id } = makeKey();
	keys[user] = key;
	const budget = { tokens: 1_000 };
	return { id, owner: 'shop', user, role, scopes, budget, hash: await hashKey(key) };
}

beforeAll(async () => {
	const records = [
		await createRecord('ann', 'admin', ['run', 'admin']),
		await createRecord('kim', 'staff'),
		await createRecord('ada', 'customer'),
	];
	stage = await startStage({ API_KEYS: JSON.stringify(records) });
	site = await startSite(stage.url);
	const usage = { type: 'usage', inputTokens: 700, outputTokens: 200 } as const;
	const client = createClient(stage.url, { key: keys.ann });
	stage.play([text('It is on its way.'), usage]);
	const { id } = await client.createSession({ agent: 'desk', user: 'ada' });
	for await (const _ of client.sendMessage(id, 'Where is my parcel?'));
});
afterAll(async () => {
	site?.close();
	await stage?.close();
});

async function openTeam(user: string): Promise<void> {
	await page.goto(`${site.url}/docs.html`);
	await page.evaluate((key) => sessionStorage.setItem('runlet-key', key), keys[user] ?? '');
	await page.goto(`${site.url}/#/team`);
	await page.locator('#panel[data-panel="team"]:not([aria-busy])').waitFor();
}

const person = (name: string) => page.locator(`.people > [data-user="${name}"]`);

describe('the team', () => {
	test('shows the people of the owner with roles, sessions and spending, and sets a budget', async () => {
		await openTeam('ann');
		await expect
			.poll(async () => {
				await page.reload();
				await page.locator('#panel[data-panel="team"]:not([aria-busy])').waitFor();
				return person('ada').textContent();
			})
			.toContain('900 tokens');
		expect(await readTexts('.people .who-about > b')).toEqual(expect.arrayContaining(['ada', 'ann', 'kim']));
		expect(await person('kim').textContent()).toContain('staff');
		// The owner has spent 900 of 1,000 tokens.
		await sees('.team-warning', 'shop has spent 90 % today, all together: 900 of 1,000 tokens.');
		await person('ada').locator('summary').click();
		await person('ada').getByRole('link', { name: 'Where is my parcel?' }).waitFor();
		await person('ada').getByLabel('Tokens a day').fill('800');
		await shoot('team');
		expect(await findBarriers()).toEqual([]);
		await person('ada').getByRole('button', { name: 'Save budget' }).click();
		await sees('.team-warning [data-level="over"]', 'ada is at the limit today: 900 of 800 tokens.');
		const { caps } = await createClient(stage.url, { key: keys.ann }).getUserBudget('ada');
		expect(caps).toEqual({ daily: { tokens: 800 } });
		await shoot('team-over');
		await person('ada').locator('summary').click();
		await person('ada').getByLabel('Tokens a day').fill('');
		await person('ada').getByRole('button', { name: 'Save budget' }).click();
		await page.locator('.team-warning [data-level="over"]').waitFor({ state: 'detached' });
	});

	test('lists keys for the scope admin, says how to make one, and links the feedback', async () => {
		await openTeam('ann');
		const cells = await page
			.locator('table.keys tbody tr')
			.evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent).slice(1, 3)));
		expect(cells).toEqual(
			expect.arrayContaining([
				['ann', 'admin'],
				['kim', 'staff'],
				['ada', 'customer'],
			]),
		);
		await sees('.command', 'npm run keys -- make --owner shop --user kim --role staff --remote');
		await sees('.team-part', 'No answer was rated bad.');
		await page.getByRole('link', { name: 'Open the feedback' }).click();
		await sees('#panel h2', 'Feedback');
	});

	test('shows staff no keys and no form for budgets', async () => {
		await openTeam('kim');
		await person('ada').locator('summary').click();
		await person('ada').getByRole('link', { name: 'Where is my parcel?' }).waitFor();
		expect(await page.locator('.people form').count()).toBe(0);
		expect(await page.locator('table.keys').count()).toBe(0);
		await sees('.roles', 'staff you');
		await page.setViewportSize({ width: 390, height: 780 });
		await shoot('team-phone');
		expect(await findBarriers()).toEqual([]);
		expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
	});
});
