/** Long words, names and addresses: they break, and no box of the page scrolls sideways. */
import { expect, test } from 'vitest';
import { text } from '../e2e/ui/stage.ts';
import { schedules, serverDetails, servers, spending } from './answers.ts';
import { client, openChat, openPage, openStage, page, runEnds, say, sees, site, stage } from './setup.ts';

openPage({ width: 1280, height: 700 });
openStage();

const name = `customer_support_${'a'.repeat(40)}`;
const word = 'w'.repeat(500);
const url = `https://example.com/${'y'.repeat(500)}`;
const boxes = '#panel, #scroller, #side, .pane-panel';

/** Finds the boxes of the page whose content is wider than they are. */
const findWide = () =>
	page.locator(boxes).evaluateAll((nodes) => nodes.filter((n) => n.scrollWidth > n.clientWidth).map((n) => n.id));

/** Answers as a server on which everything has a long name. */
async function lengthenNames(): Promise<void> {
	const [agent] = await client.listAgents();
	const fulfil = (path: string | RegExp, json: object) => page.route(path, (route) => route.fulfill({ json }));
	await fulfil('**/v1/agents', { agents: [{ ...agent, name, description: word, system: word }, agent] });
	await fulfil('**/v1/tools', {
		tools: [{ name, description: word, method: 'GET', url, inputSchema: {}, secretNames: [name] }],
	});
	await fulfil('**/v1/mcp', { servers: servers.map((server) => ({ ...server, url, agents: [name] })) });
	await fulfil('**/v1/schedules', { schedules: schedules.map((one) => ({ ...one, name, agent: name, text: word })) });
	await fulfil('**/v1/usage*', {
		...spending,
		groups: spending.groups?.map((group) => ({ ...group, agent: name, model: name })),
	});
	await page.route(/\/v1\/sessions\?/, async (route) => {
		const answer = await (await route.fetch()).json();
		const sessions = answer.sessions.map((session: object) => ({ ...session, agent: name, model: name }));
		await route.fulfill({ json: { ...answer, sessions } });
	});
}

test('long words break on the start page and in every panel, however wide the window is', async () => {
	stage.play([text('Done.')]);
	await openChat();
	await say(word);
	await sees('.prose', 'Done.');
	await runEnds();
	await lengthenNames();
	await page.goto('about:blank');
	await openChat();
	await sees('#welcome-name', name);
	expect(await findWide()).toEqual([]);
	for (const panel of ['sessions', 'agents', 'tools', 'servers', 'runs', 'schedules', 'spending', 'team']) {
		await page.goto(`${site.url}/#/${panel}`);
		await page.locator(`#panel[data-panel="${panel}"]:not([aria-busy])`).waitFor();
		await page.locator('#panel :is(.card, tbody tr, .people li)').first().waitFor();
		for (const width of [640, 900, 1024, 1280]) {
			await page.setViewportSize({ width, height: 700 });
			expect(await findWide(), `${panel} at ${width}`).toEqual([]);
		}
	}
});

test('a tool that runs alone shows a long input within the panel', async () => {
	await page.goto(`${site.url}/#/agents`);
	await page.locator('.agent > summary').first().click();
	const tool = page.locator('.tool', { has: page.getByText('post', { exact: true }) });
	await tool.locator('summary').first().click();
	await tool.getByLabel('to').fill(word);
	await tool.getByLabel('text').fill(word.repeat(6));
	await tool.getByRole('button', { name: 'Run post' }).click();
	await tool.locator('.outcome .call').waitFor();
	expect(await findWide()).toEqual([]);
});

test('the tools of an MCP server are one below another', async () => {
	await page.route('**/v1/mcp', (route) => route.fulfill({ json: { servers } }));
	await page.route('**/v1/mcp/tracker', (route) => route.fulfill({ json: serverDetails }));
	await page.goto(`${site.url}/#/servers`);
	await page.getByRole('button', { name: 'Tools tracker' }).click();
	await sees('.names li', 'has changed');
	const lefts = await page.locator('.names > li').evaluateAll((rows) => rows.map((n) => n.getBoundingClientRect().x));
	expect(new Set(lefts).size).toBe(1);
});
