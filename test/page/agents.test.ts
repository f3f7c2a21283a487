/** The panel of agents, and schedules in words. */
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { describeCron, describeEvery } from '../../src/page/parts/cron.ts';
import { text } from '../e2e/ui/stage.ts';
import { findBarriers, openPage, openStage, page, sees, shoot, site, stage } from './setup.ts';

openPage({ width: 1280, height: 800 });
openStage();

test('shows the model, the prompt, the tools and the schedules of an agent, and runs a schedule now', async () => {
	const nextAt = new Date(Date.now() + 3_600_000).toISOString();
	const post = async (path: string, body: object) => {
		const headers = { 'content-type': 'application/json' };
		const answer = await fetch(`${site.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
		return v.parse(v.object({ id: v.string() }), await answer.json());
	};
	const { id: session } = await post('/v1/sessions', { agent: 'desk' });
	const { id } = await post('/v1/schedules', { session, name: 'digest', text: 'What is new?', cron: '0 9 29 2 *' });
	const schedule = { id, name: 'digest', agent: 'desk', cron: '0 9 * * 1-5', nextAt };
	await page.route('**/v1/schedules', (route) => route.fulfill({ json: { schedules: [schedule] } }));
	await page.route('**/v1/agents', async (route) => {
		const { agents } = await (await route.fetch()).json();
		await route.fulfill({ json: { agents: agents.map((agent: object) => ({ ...agent, system: 'Be brief.' })) } });
	});
	stage.play([text('Nothing is new.')]);
	await page.goto(`${site.url}/#/agents`);
	const desk = page.locator('.card', { has: page.locator('.title', { hasText: /^desk$/ }) });
	await desk.locator('summary').first().click();
	await desk.locator('.tool-list code', { hasText: /^pay$/ }).waitFor();
	await desk.locator('.mark', { hasText: 'asks first' }).first().waitFor();
	await desk.locator('.prompt', { hasText: 'Be brief.' }).waitFor();
	await desk.getByText('every weekday at 9:00, UTC · next in').waitFor();
	expect(await findBarriers()).toEqual([]);
	await shoot('agents');
	await desk.getByRole('button', { name: 'Run now digest' }).click();
	await page.locator('#transcript').getByText('What is new?', { exact: true }).waitFor();
	await sees('.prose', 'Nothing is new.');
	// Nobody wrote this message, so it does not look as if the reader had written it.
	await sees('.report', /^From a schedule.*What is new\?$/);
	expect(await page.locator('.message').count()).toBe(0);
});

/** Opens the form that runs a tool alone. */
async function openTool(name: string, agent = 'desk') {
	await page.goto(`${site.url}/#/agents`);
	const card = page.locator('.card', { has: page.locator('.title', { hasText: new RegExp(`^${agent}$`) }) });
	await card.locator('summary').first().click();
	const tool = card.locator('.tool-list > li', { has: page.locator('code', { hasText: new RegExp(`^${name}$`) }) });
	await tool.locator('summary').first().click();
	return tool;
}

test('runs a tool alone: a person fills its arguments, allows the call, and reads the result', async () => {
	const pay = await openTool('pay');
	const run = pay.getByRole('button', { name: 'Run pay', exact: true });
	await pay.getByLabel('amount').fill('5');
	await run.click();
	const card = pay.locator('.open-call');
	await card.getByText('Pay', { exact: true }).waitFor();
	expect(await findBarriers()).toEqual([]);
	await shoot('run-tool-alone');

	// Other arguments are another call, which is asked about again.
	await card.getByText('Change the arguments').click();
	await card.getByLabel('amount').fill('6');
	await card.getByRole('button', { name: 'Allow' }).click();
	await card.locator('.named', { hasText: '6' }).waitFor();
	await card.getByRole('button', { name: 'Allow' }).click();
	await pay.locator('.call[data-state="done"] .call-result', { hasText: /^payment \d+: 6$/ }).waitFor();

	await run.click();
	await card.getByRole('button', { name: 'Deny' }).click();
	await pay.locator('.call[data-state="failed"]', { hasText: 'A person did not allow this.' }).waitFor();
});

test.each([
	['with other keywords than properties', { anyOf: [{ type: 'object' }] }],
	['with a negative length', { type: 'object', properties: { note: { type: 'string', maxLength: -1 } } }],
	['of a free object', { type: 'object', additionalProperties: true }],
])('takes arguments by a schema %s', async (_, inputSchema) => {
	const tools = [{ name: 'pay', inputSchema }];
	await page.route('**/v1/agents/desk/tools', (route) => route.fulfill({ json: { tools } }));
	const pay = await openTool('pay');
	await pay.locator('.result-fields').locator('input, textarea').waitFor();
});

test('shows no field for a tool without arguments', async () => {
	const tools = [{ name: 'pay', inputSchema: { type: 'object', properties: {}, required: [] } }];
	await page.route('**/v1/agents/desk/tools', (route) => route.fulfill({ json: { tools } }));
	const pay = await openTool('pay');
	expect(await pay.locator('.result-fields').count()).toBe(0);
});

test('stops a tool that runs alone', async () => {
	const wait = await openTool('wait', 'patient');
	await wait.getByRole('button', { name: 'Run wait', exact: true }).click();
	await wait.locator('.call[data-state="running"]').waitFor();
	await wait.getByRole('button', { name: 'Stop' }).click();
	await wait.getByText('Stopped.', { exact: true }).waitFor();
	const count = async () => {
		const body = JSON.stringify({ tool: 'count_aborted' });
		const headers = { 'content-type': 'application/json' };
		return (await fetch(`${site.url}/v1/agents/patient/calls`, { method: 'POST', body, headers })).json();
	};
	await expect.poll(count).toMatchObject({ output: 1 });
});

test('asks the question of a tool that runs alone', async () => {
	const ask = await openTool('ask');
	await ask.getByLabel('question').fill('Which one?');
	await ask.getByRole('button', { name: 'Run ask', exact: true }).click();
	await ask.getByLabel('Answer: Which one?').fill('The blue one');
	await ask.getByRole('button', { name: 'Answer', exact: true }).click();
	await ask.locator('.call[data-state="done"] .call-result', { hasText: 'The blue one' }).waitFor();
});

test('says that a person gives the result of a manual tool', async () => {
	const locate = await openTool('locate');
	await locate.getByText('A person gives its results, so there is nothing to run.').waitFor();
});

test('begins a chat with an agent', async () => {
	await page.goto(`${site.url}/#/agents`);
	const chief = page.locator('.card', { has: page.locator('.title', { hasText: /^chief$/ }) });
	await chief.locator('summary').first().click();
	await chief.getByRole('link', { name: 'New chat' }).click();
	await sees('#welcome-name', 'chief');
});

describe('a schedule in words', () => {
	test.each([
		['0 9 * * 1-5', 'every weekday at 9:00'],
		['30 18 * * *', 'every day at 18:30'],
		['0 7,19 * * *', 'every day at 7:00 and 19:00'],
		['15 8 * * mon,thu', 'every Monday and Thursday at 8:15'],
		['0 10 * * 6,0', 'every weekend day at 10:00'],
		['0 0 1 * *', 'on the 1. of each month at 0:00'],
		['0 12 24 12 *', 'on the 24. of December at 12:00'],
		['*/15 * * * *', 'every 15 minutes'],
		['* * * * *', 'every minute'],
		['0 */6 * * *', 'every 6 hours'],
		['10 * * * 1-5', 'every hour, 10 minutes past, every weekday'],
		['0 9 1-7 * 1', 'at 0 9 1-7 * 1'],
		['0 9 * * 1#2', 'at 0 9 * * 1#2'],
		['nonsense', 'at nonsense'],
	])('%s is "%s"', (cron, words) => expect(describeCron(cron)).toBe(words));

	test.each([
		['30m', 'every 30 minutes'],
		['1w', 'every week'],
		['soon', 'every soon'],
	])('%s is "%s"', (every, words) => expect(describeEvery(every)).toBe(words));
});
