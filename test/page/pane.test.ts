/** The pane beside the conversation: its tabs, its files and its width. */
import { expect, test } from 'vitest';
import { text } from '../e2e/ui/stage.ts';
import {
	client,
	complaints,
	findBarriers,
	openChat,
	openPage,
	openStage,
	page,
	readTexts,
	say,
	sees,
	shoot,
	stage,
} from './setup.ts';

openPage({ width: 1280, height: 800 });
openStage();

/** Starts a session with these files, and shows it. */
async function openWith(files: Readonly<Record<string, string>>): Promise<void> {
	stage.play([text('The files are there.'), { type: 'usage', inputTokens: 900, outputTokens: 40, costUsd: 0.01 }]);
	await openChat();
	await say('Where are the files?');
	await sees('.usage', 'tokens');
	const id = page.url().split('/').at(-1) ?? '';
	for (const [path, content] of Object.entries(files)) await client.writeFile(id, path, content);
	await page.reload();
	await page.locator('[data-tab=workspace]').click();
}

const openFile = async (name: string): Promise<void> => {
	await page.getByRole('button', { name, exact: true }).click();
	await page.locator('.file-view').waitFor();
};

test('shows one tab at a time, by mouse and by keyboard, and gives the focus back', async () => {
	await openWith({ 'list.md': '# List' });
	expect(await readTexts('[role=tab]:not([hidden])')).toEqual(['Files', 'Cost', 'Trace']);
	expect(await page.evaluate(() => document.activeElement?.id)).toBe('workspace-tab');
	await page.keyboard.press('ArrowRight');
	await page.getByRole('tabpanel', { name: 'Cost' }).locator('tbody tr').first().waitFor();
	expect(await page.getByRole('tabpanel').count()).toBe(1);
	await page.keyboard.press('End');
	await sees('[role=tabpanel] .traced', 'Where are the files?');
	expect(await findBarriers()).toEqual([]);
	await page.keyboard.press('Escape');
	await page.locator('#pane').waitFor({ state: 'hidden' });
	expect(await page.evaluate(() => document.activeElement?.getAttribute('data-tab'))).toBe('workspace');
	await page.locator('#new').click();
	await page.locator('#pane-bar').waitFor({ state: 'hidden' });
});

test('keeps the open tab and the width of the pane over a reload', async () => {
	await openWith({ 'list.md': '# List' });
	const width = () => page.locator('#pane').evaluate((pane) => Math.round(pane.getBoundingClientRect().width));
	const before = await width();
	await page.getByRole('separator').press('ArrowLeft');
	const wider = await width();
	expect(wider).toBeGreaterThan(before);
	await page.reload();
	await sees('.file-row', 'list.md');
	expect(await width()).toBe(wider);
	await page.getByRole('separator').press('ArrowRight');
	// Nothing had the focus before a pane that the reload has opened.
	await page.keyboard.press('Escape');
	expect(await page.evaluate(() => document.activeElement?.id)).toBe('text');
});

const html = `<!doctype html><link rel="stylesheet" href="style.css"><style>p { color: rgb(1, 2, 3) }</style>
<script>parent.document.title = 'hacked'</script><img src="/v1/usage" onerror="parent.document.title = 'hacked'">
<link rel="stylesheet" href="https://evil.example/a.css"><meta http-equiv="refresh" content="0;url=https://evil.example/">
<iframe src="https://evil.example/"></iframe><form action="https://evil.example/"><button>Send</button></form>
<svg onload="parent.document.title = 'hacked'"><use href="https://evil.example/#a" /></svg>
<p style="background: url(/v1/usage)">Hello</p><a href="https://evil.example/">Leave</a>`;

test('shows HTML with its styles, runs no script of it, loads nothing, and follows no link', async () => {
	await openWith({ 'site/index.html': html, 'site/style.css': '@import "/v1/usage"; p { font-weight: 800 }' });
	const asked: string[] = [];
	page.on('requestfinished', (request) => void asked.push(request.url()));
	await openFile('site/index.html');
	const paragraph = page.frameLocator('.html-preview').locator('p');
	await paragraph.waitFor();
	const style = await paragraph.evaluate((node) => {
		const { color, fontWeight } = getComputedStyle(node);
		return [color, fontWeight];
	});
	expect(style).toEqual(['rgb(1, 2, 3)', '800']);
	await page.frameLocator('.html-preview').getByText('Leave').click();
	await page.frameLocator('.html-preview').getByRole('button').click();
	await paragraph.waitFor();
	const others = asked.filter(
		(address) => !/\/v1\/sessions\/\w{64}|\/v1\/sessions\?|\/v1\/approvals|\/v1\/agents|highlight\.js/.test(address),
	);
	expect(others.filter((address) => !address.startsWith('about:'))).toEqual([]);
	expect(await page.title()).not.toContain('hacked');
	// The policy and the sandbox of the frame have blocked the rest, and the browser says so.
	const isBlocked = (line: string) => /violates|sandboxed|@import/.test(line);
	complaints.splice(0, complaints.length, ...complaints.filter((line) => !isBlocked(line)));
	await page.getByRole('button', { name: 'Source' }).click();
	await sees('.file-shown code', 'parent.document.title');
	await shoot('file-html');
});

test('shows SVG as a picture, Markdown as prose, and what changed in a file', async () => {
	const picture = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><script>alert(1)</script></svg>';
	await openWith({ 'a.svg': picture, 'notes.md': '# Notes\n\n- tea\n' });
	await openFile('a.svg');
	const image = page.locator('.file-picture');
	await expect.poll(() => image.evaluate((node) => Reflect.get(node, 'naturalWidth'))).toBe(40);
	await page.locator('.back').click();
	expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('a.svg');
	await openFile('notes.md');
	await sees('.file-shown li', 'tea');
	await sees('.file-view .change', 'created');
	await sees('.file-view .diff .added', '- tea');
	await shoot('file-markdown');
	expect(await findBarriers()).toEqual([]);
});

test('shows the end of a long line of code in a file', async () => {
	await openWith({ 'wide.csv': `${'word,'.repeat(100)}last` });
	await openFile('wide.csv');
	const end = page.locator('.file-view pre').first();
	await end.evaluate((pre) => pre.scrollTo({ left: pre.scrollWidth }));
	expect(await end.evaluate((pre) => pre.scrollLeft)).toBeGreaterThan(0);
});

test('is a sheet over the conversation on a phone', async () => {
	await page.setViewportSize({ width: 390, height: 780 });
	await openWith({ 'list.md': '# List' });
	const { top, right } = await page.locator('#pane').evaluate((pane) => pane.getBoundingClientRect());
	expect(top).toBeGreaterThan(100);
	expect(right).toBeLessThanOrEqual(390);
	await shoot('pane-phone');
	expect(await findBarriers()).toEqual([]);
	await page.getByRole('button', { name: 'Close' }).click();
	await page.locator('#pane').waitFor({ state: 'hidden' });
	// What is open in one session does not cover the next one.
	const { id } = await client.createSession({ agent: 'desk' });
	await page.locator('#trace-open').click();
	await page.locator('#pane').waitFor();
	await page.goto(`${page.url().split('#')[0]}#/sessions/${id}`);
	await page.locator('#pane').waitFor({ state: 'hidden' });
	expect(page.url()).toMatch(new RegExp(`${id}$`));
	await page.reload();
	await page.locator('#send:enabled').waitFor();
	expect(await page.locator('#pane').isVisible()).toBe(false);
});
