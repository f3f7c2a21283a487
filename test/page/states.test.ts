/** The main states of the page: in the light and the dark theme, on a phone and on a tablet. Pictures are kept in build/screenshots. */
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { call, reasoning, text } from '../e2e/ui/stage.ts';
import { schedules, serverDetails, servers, spending } from './answers.ts';
import {
	client,
	findBarriers,
	forgive,
	openChat,
	openPage,
	openStage,
	page,
	runEnds,
	say as sayHere,
	sees,
	site,
	stage,
} from './setup.ts';

const folder = resolve(import.meta.dirname, '../../build/screenshots');
const wide = { width: 1280, height: 800 };
const phone = { width: 360, height: 640 };
const tablet = { width: 1024, height: 768 };

openPage(wide);
openStage();
beforeAll(() => mkdir(folder, { recursive: true }));

/** Sends a message in a new chat. */
async function say(message: string): Promise<void> {
	await openChat();
	await sayHere(message);
}

async function openPanel(name: string): Promise<void> {
	await page.goto(`${site.url}/#/${name}`);
	await page.locator(`#panel[data-panel="${name}"]:not([aria-busy])`).waitFor();
}

const answer = [
	'## Two ways\n\nBoth keep the **same history**; the [docs](https://docs.example.com/) say more.\n\n',
	'| way | rows | cost |\n|:--|--:|--:|\n| one by one | 12 | $0.03 |\n| in one commit | 9 | $0.02 |\n\n',
	'- [x] measure both\n- [ ] choose one\n\n> Measure before you choose.\n\n',
	'```ts\nexport const total = (rows: readonly number[]) => rows.reduce((sum, row) => sum + row, 0);\n```\n',
].join('');

/** Sends a message to an agent that asks another agent. The other agent calls a tool. */
async function sayToChief(): Promise<void> {
	stage.play(
		[call('d1', 'desk', { task: 'Add 2 and 3.' })],
		[call('a1', 'add', { x: 2, y: 3 })],
		[text('It is 5.')],
		[text('The desk says that **2 + 3 is 5**.')],
	);
	await openChat();
	await page.selectOption('#agent', 'chief');
	await sees('#welcome-name', 'chief');
	await sayHere('What is 2 + 3?');
	await sees('#transcript > .run > .turn .usage', 'tokens');
}

const states: Readonly<Record<string, () => Promise<void>>> = {
	welcome: openChat,
	async answer() {
		stage.play([reasoning('Two ways come to mind.'), text(answer)]);
		await say('How should the rows be written?');
		await sees('.usage', 'tokens');
	},
	async calls() {
		stage.play([text('Let me add.'), call('a1', 'add', { x: 2, y: 3 }), call('a2', 'fail')], [text('It is five.')]);
		await say('What is 2 + 3?');
		await sees('.usage', 'tokens');
		await page.locator('.calls > summary').click();
		await page.locator('.call summary').first().click();
	},
	async sources() {
		const search = { type: 'provider_tool', id: 's1', name: 'web_search', input: { query: 'rain in Oslo' } } as const;
		const yr = {
			type: 'source',
			url: 'https://www.yr.example/en/forecast/oslo',
			title: 'Weather forecast for Oslo',
		} as const;
		stage.play([
			search,
			{ ...search, output: [{ title: yr.title, url: yr.url }] },
			{
				...{ type: 'provider_tool', id: 'f1', name: 'web_fetch' },
				input: { url: yr.url },
				output: 'The page is gone.',
				isError: true,
			},
			text('It rains until **four**, and then it clears up.'),
			{ ...yr, id: 'p1', quote: 'Rain until 16:00, then partly cloudy.' },
			{ ...yr, id: 'p2', url: 'https://news.example/a-very-long-address/'.repeat(3), title: 'News of the day' },
			{ type: 'source', id: 'p3', title: 'calendar.pdf', quote: 'Lunch outside at one.' },
			{ type: 'usage', inputTokens: 900, outputTokens: 40, units: { web_searches: 1 } },
		]);
		await say('Can we eat outside?');
		await sees('.usage', 'cost unknown · 900 tokens in, 40 out · 1 web search');
		await page.locator('.footnotes summary').first().click();
		await page.locator('.calls > summary').click();
		await page.locator('.call summary').first().click();
	},
	async approval() {
		stage.play([call('p1', 'pay', { amount: 5 })]);
		await say('Pay five.');
		await page.locator('.open-call').waitFor();
	},
	async question() {
		stage.play([call('q1', 'ask', { question: 'For which day?' })]);
		await say('Book a table.');
		await sees('.question, .asked', 'For which day?');
		await runEnds();
	},
	async failure() {
		stage.play([{ type: 'fail', message: 'The model is busy.' }]);
		await say('Hello?');
		await page.locator('#transcript .failure').waitFor();
		await runEnds();
	},
	async team() {
		await page.route('**/v1/usage*', (route) => route.fulfill({ json: spending }));
		await client.setUserBudget('ada', { daily: { usd: 5 } });
		await openPanel('team');
		await page.locator('[data-user="ada"] summary').click();
		await sees('.team-warning', 'has spent 82 % today, all together: $4.10 of $5.00.');
	},
	async who() {
		await openChat();
		if (!(await page.locator('#who').isVisible())) await page.getByRole('button', { name: 'Menu' }).click();
		await page.locator('#who').click();
		await page.locator('#who-menu').waitFor();
	},
	inbox: () => openPanel('inbox'),
	sessions: () => openPanel('sessions'),
	async memory() {
		await client.putMemory('style.md', 'Likes short answers, with the numbers in a table.');
		await client.putMemory('projects/site.md', 'The site is built with Hono, at the edge.\nIt goes live in May.');
		await openPanel('memory');
	},
	async schedules() {
		await page.route('**/v1/schedules', (route) => route.fulfill({ json: { schedules } }));
		await openPanel('schedules');
	},
	async skills() {
		const head = (name: string, about: string) => `---\nname: ${name}\ndescription: ${about}\n---\n\n`;
		await client.putSkill(
			'refunds',
			`${head('refunds', 'When and how a purchase is refunded.')}# Refunds\n\n1. Ask for the order.\n2. Up to $50 refund at once; above that ask a person.\n`,
		);
		await client.putSkill('tone', `${head('tone', 'How to write to customers.')}Short, warm and plain.\n`);
		await openPanel('skills');
		await page.locator('.card summary', { hasText: 'refunds' }).click();
		await page.locator('.card textarea').waitFor();
	},
	async tools() {
		const inputSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
		const url = 'https://api.example.com/weather?city={city}';
		await client.putTool('get_weather', { description: 'Tells the weather in a city.', url, inputSchema });
		await openPanel('tools');
		await page.locator('.card summary').click();
	},
	async servers() {
		await page.route('**/v1/mcp', (route) => route.fulfill({ json: { servers } }));
		await page.route('**/v1/mcp/tracker', (route) => route.fulfill({ json: serverDetails }));
		await openPanel('servers');
		await page.getByRole('button', { name: 'Tools tracker' }).click();
		await sees('.card li', 'has changed');
	},
	async spending() {
		await page.route('**/v1/usage*', (route) => route.fulfill({ json: spending }));
		await openPanel('spending');
		await sees('.limit-words', '$4.10 of $5.00 today');
		expect(await page.locator('.bars .limit').count()).toBe(1);
		const read = async (by: string) => {
			await page.getByLabel('Summed up by').selectOption(by);
			return page
				.locator('.groups tbody tr')
				.evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
		};
		expect(await read('Agent')).toEqual([
			['shopkeeper', '$4.40', '840,000', '57%'],
			['triage', '$0.02 and unknown', '100,000', '0%'],
		]);
		expect((await read('Model')).at(-1)).toEqual(['llama3.2', 'unknown', '90,000', '0%']);
		expect((await read('User')).map(([name]) => name)).toEqual(['ada', 'no user', 'all others']);
		expect(await read('Unit')).toContainEqual(['web searches', '12']);
		await read('Agent');
	},
	async child() {
		await sayToChief();
		await page.locator('.call .nested .call summary').click();
		// The note disappears, because the child is shown within its call.
		expect(await page.locator('#transcript .note').count()).toBe(0);
	},
	async trace() {
		await sayToChief();
		await page.locator('#trace-open').click();
		await sees('.waterfall tr', 'Turn 2');
	},
	async 'trace-provider'() {
		await states.sources?.();
		await page.locator('#trace-open').click();
		await sees('.waterfall tr[data-kind="provider"]', 'web_fetch');
		const row = page.locator('.waterfall tr[data-kind="provider"]').first();
		expect(await row.textContent()).toBe('web_searchat the provider');
		await sees('.waterfall .cost', '1 web search');
	},
	async events() {
		await sayToChief();
		await page.locator('#trace-open').click();
		await page.getByRole('button', { name: 'Events' }).click();
		await sees('.events li', 'done');
		await page.locator('.events summary', { hasText: 'run.started' }).first().click();
	},
	async workspace() {
		stage.play([text('The list is in the files.')]);
		await say('Where is the list?');
		await sees('.usage', 'tokens');
		const id = page.url().split('/').at(-1) ?? '';
		await client.writeFile(id, 'notes/list.md', '# List\n\n- bread\n- milk\n');
		await client.writeFile(id, 'notes/list.md', '# List\n\n- bread\n- oat milk\n- tea\n');
		await page.reload();
		await page.locator('[data-tab=workspace]').click();
		await page.locator('.change > summary').first().click();
		await sees('.change .added', 'oat milk');
		// The line above the diff names the file.
		expect(await page.locator('.change[open] .diff').textContent()).toMatch(/^@@/);
	},
	async waiting() {
		stage.play(async (turn) => {
			turn.say(text('First I look at the prices of the last three weeks'));
			await turn.left;
		});
		await say('Compare the prices.');
		await sees('.prose', 'First I look');
		await page.fill('#text', 'Only those in Oslo.');
		await page.press('#text', 'Control+Enter');
		await sees('#waiting', 'Only those in Oslo.');
		await page.fill('#text', 'And then write it to Ada.');
		await page.press('#text', 'Enter');
		await sees('#waiting', 'And then write it to Ada.');
	},
	async 'sign-in'() {
		const error = { code: 'auth', message: 'This needs an API key or a session token.' };
		await page.route('**/v1/me', (route) => route.fulfill({ status: 401, json: { error } }));
		await page.goto(site.url);
		await page.locator('#sign-in').waitFor();
		forgive(401);
	},
	connect: async () => {
		await openChat();
		await page
			.locator('.connect')
			.getByRole('button', { name: /^Connect a/ })
			.click();
		await page.locator('.connect pre').waitFor();
		forgive(404);
	},
	async missing() {
		await page.goto(`${site.url}/#/nothing-here`);
		await page.locator('#panel h2').waitFor();
	},
	async palette() {
		await openChat();
		await page.keyboard.press('Control+k');
		await page.locator('#palette').waitFor();
	},
	async shortcuts() {
		await openChat();
		await page.locator('#new').focus();
		await page.keyboard.press('?');
		await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
	},
	agents: () => openPanel('agents'),
	async 'tool-alone'() {
		await openPanel('agents');
		await page.locator('.agent > summary').first().click();
		const pay = page.locator('.tool', { has: page.getByText('pay', { exact: true }) });
		await pay.locator('summary').click();
		await pay.getByLabel('amount').fill('5');
		await pay.getByRole('button', { name: 'Run pay', exact: true }).click();
		await pay.locator('.open-call').waitFor();
		await pay.scrollIntoViewIfNeeded();
	},
	runs: () => openPanel('runs'),
	async versions() {
		stage.play([text('Oslo is rainy.')], [text('Bergen is rainier.')]);
		await say('How is Oslo?');
		await sees('.prose', 'Oslo is rainy.');
		await runEnds();
		await page.getByRole('button', { name: 'Edit the message How is Oslo?' }).click();
		await page.locator('.editor textarea').fill('How is Bergen?');
		await page.locator('.editor').getByRole('button', { name: 'Send' }).click();
		await sees('.prose', 'Bergen is rainier.');
		await runEnds();
		await page.getByRole('button', { name: 'Earlier version' }).click();
		await sees('.version', 'Oslo is rainy.');
	},
	async file() {
		await states.workspace?.();
		await page.locator('#workspace').getByRole('button', { name: 'notes/list.md', exact: true }).click();
		await page.locator('.file-view').waitFor();
	},
	async cost() {
		await states.answer?.();
		await page.locator('[data-tab=money]').click();
		await page.locator('#money tbody tr').first().waitFor();
	},
	async 'trace-details'() {
		await sayToChief();
		await page.locator('#trace-open').click();
		await page.locator('.waterfall tr', { hasText: 'Turn 1' }).first().getByRole('button').click();
		await page.locator('.facts dd').first().waitFor();
	},
	async arabic() {
		stage.play([text('## مرحبا\n\nهذا **نص** مع `code` وقائمة:\n\n1. واحد\n2. اثنان\n\n> اقتباس قصير')]);
		await say('اكتب نصا قصيرا');
		await sees('.usage', 'tokens');
	},
	async offline() {
		await states.answer?.();
		await page.evaluate(() => document.querySelector('#offline')?.removeAttribute('hidden'));
	},
};

/** The size of what can be scrolled to. Only boxes of the page scroll, and never the page. */
const readPageSize = () => {
	const { scrollWidth: width, scrollHeight: height } = document.documentElement;
	return { width, height };
};

/** The boxes that can be scrolled sideways. They scroll up and down only, and what is wide in them has a box of its own. */
const findWideBoxes = () =>
	[...document.querySelectorAll('#scroller, #panel, #side, .pane-panel')]
		.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
		.map(({ id }) => id);

test.for(Object.entries(states))(
	'the state %s has no serious accessibility barrier, and fits a phone and a tablet',
	async ([name, show]) => {
		await page.setViewportSize(wide);
		await page.emulateMedia({ colorScheme: 'light' });
		await show();
		for (const [size, colorScheme, suffix] of [
			[wide, 'light', 'light'],
			[wide, 'dark', 'dark'],
			[phone, 'light', 'phone'],
			[tablet, 'light', '1024'],
		] as const) {
			await page.setViewportSize(size);
			await page.emulateMedia({ colorScheme });
			expect(await findBarriers(), suffix).toEqual([]);
			expect(await page.evaluate(readPageSize), suffix).toEqual(size);
			expect(await page.evaluate(findWideBoxes), suffix).toEqual([]);
			await page.screenshot({ path: `${folder}/${name}-${suffix}.png` });
		}
	},
);

test('the keyboard reaches every panel, message and tool call', async () => {
	stage.play([call('a1', 'add', { x: 2, y: 3 })], [text('It is five.')]);
	await page.setViewportSize(wide);
	await page.goto(`${site.url}/#/`);
	await page.locator('#welcome').waitFor();
	const focused = () => page.evaluate(() => document.activeElement?.id || document.activeElement?.textContent);
	const tabTo = async (isThere: () => Promise<boolean>, key = 'Tab') => {
		for (let n = 0; n < 80 && !(await isThere()); n += 1) await page.keyboard.press(key);
		expect(await isThere()).toBe(true);
	};
	// A person can write at once.
	expect(await focused()).toBe('text');
	await page.keyboard.type('What is 2 + 3?');
	await page.keyboard.press('Enter');
	await sees('.prose', 'It is five.');
	await runEnds();
	expect(await focused()).toBe('text');
	const isCall = () => page.evaluate(() => document.activeElement?.matches('.call > summary') === true);
	await tabTo(isCall, 'Shift+Tab');
	await page.keyboard.press('Enter');
	expect(await page.locator('.call').first().getAttribute('open')).toBe('');
	await tabTo(async () => (await focused()) === 'Sessions', 'Shift+Tab');
	await page.keyboard.press('Enter');
	await sees('#panel h2', 'Sessions');
	// The focus moves to the panel.
	await page.locator('#panel .search').waitFor();
	expect(await page.evaluate(() => document.activeElement?.matches('#panel h2'))).toBe(true);
	await page.keyboard.press('Tab');
	expect(await page.evaluate(() => document.activeElement?.closest('#panel') !== null)).toBe(true);
});
