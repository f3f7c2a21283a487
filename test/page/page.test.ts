import { readdir, readFile } from 'node:fs/promises';
import type { Route } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createClient, type Message, type RunEvent, type TaskList } from '../../src/client/index.ts';
import { hashKey, makeKey } from '../../src/cloudflare/auth/key.ts';
import { startWorker } from '../bundle.ts';
import { startSite } from '../core/toolboxes/web/server/site.ts';
import { secretsKeys } from '../secrets-keys.ts';
import { loadModule } from './module.ts';
import { payloads, plain } from './payloads.ts';
import { startProxy } from './proxy.ts';
import { browser, complaints, forgive, openPage, page, readTexts, runEnds, say, sees, shoot } from './setup.ts';

openPage();
beforeEach(() => {
	page.on('request', (request) => {
		const { hostname, protocol } = new URL(request.url());
		if (hostname !== '127.0.0.1' && protocol !== 'data:') complaints.push(`request to ${request.url()}`);
	});
});

/** Records every text that the page gives to an API that parses HTML or opens an address. The policy stops code. */
async function watchSinks(): Promise<void> {
	const script = await page.addInitScript(wrapSinks);
	onTestFinished(() => script.dispose());
}

/** Wraps the APIs for `watchSinks`. Runs in the page. */
function wrapSinks(): void {
	const sinks: string[] = [];
	Reflect.set(window, 'sinks', sinks);
	const watch = (owner: object, name: string): void => {
		const own = Object.getOwnPropertyDescriptor(owner, name);
		if (own?.set !== undefined) {
			const { set } = own;
			Object.defineProperty(owner, name, {
				...own,
				set(value: unknown) {
					sinks.push(`${name}: ${value}`);
					set.call(this, value);
				},
			});
		} else if (typeof own?.value === 'function') {
			const call = own.value;
			Object.defineProperty(owner, name, {
				...own,
				value(...given: unknown[]) {
					sinks.push(`${name}: ${given.join(', ')}`);
					return Reflect.apply(call, this, given);
				},
			});
		}
	};
	for (const name of ['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'setHTMLUnsafe']) watch(Element.prototype, name);
	for (const name of ['write', 'writeln', 'execCommand', 'parseHTMLUnsafe']) watch(Document.prototype, name);
	for (const name of ['open', 'alert', 'postMessage']) watch(window, name);
	watch(HTMLIFrameElement.prototype, 'srcdoc');
	watch(DOMParser.prototype, 'parseFromString');
	watch(Range.prototype, 'createContextualFragment');
	watch(HTMLImageElement.prototype, 'src');
	watch(HTMLScriptElement.prototype, 'src');
}

const prose = () => page.locator('.prose').last();
const readSessionId = () => page.url().split('#/sessions/')[1];

let server: Awaited<ReturnType<typeof startWorker>>;
let proxy: Awaited<ReturnType<typeof startProxy>>;

beforeAll(async () => {
	server = await startWorker({ LOCAL: 'true', SECRETS_KEY: secretsKeys.newest });
	await publishSkills(server.url);
	proxy = await startProxy(server.url);
});
afterAll(async () => {
	proxy?.close();
	await server?.close();
});

/** Publishes the skills of the project, as its deployment does. */
async function publishSkills(url: string): Promise<void> {
	const client = createClient(url);
	for (const name of await readdir('skills'))
		await client.putSkill(name, await readFile(`skills/${name}/SKILL.md`, 'utf8'));
}

/** A sum that the demo model repeats in pieces, for seconds. */
const terms = 120;
const sum = Array(terms).fill(1).join(' + ');
const longQuestion = `What is ${sum}?`;
const longAnswer = `${sum} is ${terms}.`;

async function textIsGrowing() {
	const length = async () => (await prose().textContent())?.length ?? 0;
	await sees('.prose', '1 + 1');
	const before = await length();
	await expect.poll(length).toBeGreaterThan(before);
	expect(await length()).toBeLessThan(longAnswer.length);
	expect(await page.locator('#stop').isVisible()).toBe(true);
}

describe('a chat', () => {
	beforeEach(async () => {
		proxy.up();
		await page.goto(proxy.url);
		await page.locator('#welcome').waitFor();
	});

	test('answers an example with a tool, and shows the number of tokens', async () => {
		await page.click('#examples >> text=What is 17 + 25?');
		await sees('.prose', '42');
		await runEnds();
		const call = page.locator('.call[data-state="done"]').first();
		expect(await call.locator('summary').textContent()).toContain('17 + 25');
		await call.locator('summary').click();
		expect(await call.locator(':is(.call-input, .call-result)').allTextContents()).toEqual([
			expect.stringContaining('17 + 25'),
			'42',
		]);
		expect(await page.locator('.usage').textContent()).toMatch(/\d tokens in, \d+ out/);
		expect(await readTexts('.failure, .warning')).toEqual([]);
	});

	test('shows a continued run once when its session is opened', async () => {
		const ask = async (path: string, method: string, body: object) => {
			const init = { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
			return (await fetch(`${proxy.url}/v1/sessions${path}`, init)).headers.get('location') ?? '';
		};
		const made = await ask('', 'POST', { agent: 'assistant', text: 'What is 17 + 25?', budget: { tokens: 1 } });
		const id = made.split('/').at(-1) ?? '';
		await ask(`/${id}`, 'PATCH', { budget: { tokens: 100_000 } });
		await ask(`/${id}/continue`, 'POST', {});
		await page.goto(`${proxy.url}/#/sessions/${id}`);
		await sees('.prose', '17 + 25 is 42.');
		expect(await page.locator('.call').count()).toBe(1);
	});

	test('shows the use of a skill, also on a narrow screen', async () => {
		await page.setViewportSize({ width: 380, height: 700 });
		await page.click('#examples >> text=An angry customer wants a refund');
		await sees('.call .name', /^Skill [a-z-]+$/);
		await sees('.usage', 'tokens');
		expect(await readTexts('.failure, .warning')).toEqual([]);
		for (const summary of await page.locator('.call summary').all()) await summary.click();
		const width = await page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.body.scrollWidth));
		expect(width).toBeLessThanOrEqual(380);
	});

	test('answers with the time in a city', async () => {
		await page.click('#examples >> text=What time is it in Tokyo?');
		await sees('.prose', 'Tokyo');
		await runEnds();
		expect(await page.locator('.call[data-state="done"]').count()).toBeGreaterThan(0);
	});

	test('shows text as it streams, and reconnects after a lost connection', async () => {
		await say(longQuestion);
		await textIsGrowing();
		expect(await page.locator('.run').getAttribute('aria-busy')).toBe('true');
		expect(await page.locator('#send').isVisible()).toBe(false);
		proxy.cut();
		await textIsGrowing();
		proxy.down();
		await sees('#status', 'Connection lost');
		proxy.up();
		await runEnds();
		expect(await prose().textContent()).toBe(longAnswer);
		expect(await page.locator('.run').getAttribute('aria-busy')).toBe(null);
		expect(await page.locator('.call').count()).toBe(1);
		for (const complaint of complaints.splice(0)) expect(complaint).toContain('net::ERR_');
	});

	test('stops the run on the server, and continues the chat', async () => {
		await say(longQuestion);
		await textIsGrowing();
		await page.click('#stop');
		await sees('.note', 'Stopped.');
		await runEnds();
		const id = readSessionId();
		const { status } = await (await fetch(`${server.url}/v1/sessions/${id}`)).json();
		expect(status).not.toBe('running');
		expect((await prose().textContent())?.length).toBeLessThan(longAnswer.length);
		await say('What is 2 + 3?');
		await sees('.prose', '2 + 3 is 5.');
		await runEnds();
		expect(await readTexts('.failure, .warning')).toEqual([]);
	});

	test('continues the session with a second message, and starts another session with a new chat', async () => {
		await say('What is 17 + 25?');
		await runEnds();
		const first = page.url();
		expect(first).toMatch(/#\/sessions\/[0-9a-f]{64}$/);
		await say('What is 2 + 3?');
		await sees('.prose', '2 + 3 is 5.');
		await runEnds();
		expect(page.url()).toBe(first);
		const shown = async () => {
			// The page reads the duration of a call after the end of its run.
			for (const call of await page.locator('.call').all()) await call.locator('.took', { hasText: 'ms' }).waitFor();
			return readTexts('.message, .prose, .call summary, .call-result');
		};
		const before = await shown();
		expect(before).toContain('42');
		await page.click('text=New chat');
		await page.locator('#welcome').waitFor();
		expect(page.url()).not.toContain('session');
		await page.goBack();
		await sees('.prose', '2 + 3 is 5.');
		await page.locator('.usage').last().waitFor();
		expect(await shown()).toEqual(before);
	});

	test('selects the agent of the session whose address is opened', async () => {
		await page.selectOption('#agent', 'support');
		await sees('#welcome-name', 'support');
		await say('Hello');
		await sees('.usage', 'tokens');
		await page.reload();
		await sees('.usage', 'tokens');
		expect(await page.inputValue('#agent')).toBe('support');
	});

	test('sends a message by Enter, and starts a new line by Shift+Enter', async () => {
		await page.locator('#text').pressSequentially('one');
		await page.press('#text', 'Shift+Enter');
		await page.locator('#text').pressSequentially('two');
		await page.press('#text', 'Enter');
		await runEnds();
		expect(await readTexts('.message')).toEqual(['You: one\ntwo']);
		expect(await page.inputValue('#text')).toBe('');
	});

	test('shows the server’s error for an unknown session', async () => {
		await page.goto(`${server.url}/#/sessions/0000`);
		await page.locator('.failure').waitFor();
		const body = await (await fetch(`${server.url}/v1/sessions/0000`)).json();
		expect(await page.locator('.failure p').textContent()).toBe(body.error.message);
		await page.click('.failure >> text=New chat');
		await page.locator('#welcome').waitFor();
		expect(complaints.splice(0)).toEqual([expect.stringContaining('404')]);
	});

	test('shows that the server is unreachable, and keeps the message', async () => {
		proxy.down();
		await say('Hello?');
		await sees('.failure', 'does not answer');
		expect(await page.inputValue('#text')).toBe('Hello?');
		expect(await readTexts('.message')).toEqual([]);
		proxy.up();
		await page.click('.failure >> text=Try again');
		await page.locator('#welcome').waitFor();
		await page.press('#text', 'Enter');
		await sees('.usage', 'tokens');
		for (const complaint of complaints.splice(0)) expect(complaint).toContain('net::ERR_');
	});

	test('sends an early message once the page is ready, unless the person keeps typing', async () => {
		for (const more of ['', ' And 1 + 1?']) {
			const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>();
			const hold = (route: Route) => mayGoOn.then(() => route.continue());
			await page.route('**/v1/agents', hold);
			// A new address reloads the page.
			await page.goto(`${proxy.url}/?${more.length}`, { waitUntil: 'commit' });
			await page.locator('#send:disabled').waitFor();
			await page.fill('#text', 'What is 17 + 25?');
			await page.press('#text', 'Enter');
			await page.locator('#text').pressSequentially(more);
			goOn();
			if (more !== '') {
				await page.locator('#welcome').waitFor();
				expect(await page.inputValue('#text')).toBe(`What is 17 + 25?${more}`);
				expect(await page.locator('.message').count()).toBe(0);
				await page.press('#text', 'Enter');
			}
			await sees('.prose', more === '' ? '17 + 25 is 42.' : '2');
			await runEnds();
			await page.unroute('**/v1/agents', hold);
		}
	});

	test('retries a request that fails once while the page loads, and shows a retry button for lasting failures', async () => {
		let failures = 1;
		await page.route('**/v1/agents', (route) =>
			failures-- > 0 ? route.fulfill({ status: 500, body: 'Network connection lost.' }) : route.continue(),
		);
		await page.reload();
		await page.locator('#welcome').waitFor();
		expect(await readTexts('.failure, #status')).toEqual(['']);
		failures = 3;
		await page.reload();
		await sees('.failure', 'status 500');
		await page.click('.failure >> text=Try again');
		await page.locator('#welcome').waitFor();
		expect(await readTexts('.failure')).toEqual([]);
		for (const complaint of complaints.splice(0)) expect(complaint).toContain('500');
	});

	test('asks for the result of a waiting call, and then continues the run, also after a reload', async () => {
		await page.goto(server.url);
		await page.selectOption('#agent', 'support');
		await say('Please refund order A-1042, amount 25 euros.');
		await sees('.open-call', 'Order idA-1042Amount25');
		await page.reload();
		await sees('.open-call', 'issue_refund');
		await page.fill('.open-call input', 'receipt 77');
		await page.click('.open-call button');
		await sees('.prose', 'issue_refund answered: receipt 77');
		await runEnds();
		expect(await page.locator('.open-call').count()).toBe(0);
		expect(await readTexts('.message')).toEqual([
			'You: Please refund order A-1042, amount 25 euros.',
			'You: receipt 77',
		]);
	});

	test('shows that another person has already given the result, and removes the form of the call', async () => {
		await page.goto(server.url);
		await page.selectOption('#agent', 'support');
		await say('Please refund order A-1043, amount 30 euros.');
		await sees('.open-call', 'issue_refund');
		const id = readSessionId();
		const { toolCalls }: { toolCalls: { id: string }[] } = JSON.parse(
			await (await fetch(`${server.url}/v1/sessions/${id}`)).text(),
		);
		const url = `${server.url}/v1/sessions/${id}/tool-results`;
		const giveFirst = async (given: Route) => {
			const headers = { 'content-type': 'application/json' };
			const body = JSON.stringify(toolCalls.map((call) => ({ id: call.id, output: 'receipt 1' })));
			await (await fetch(url, { method: 'POST', headers, body })).text();
			await given.continue();
		};
		await page.route(url, giveFirst, { times: 1 });
		await page.fill('.open-call input', 'receipt 2');
		await page.click('.open-call button:last-of-type');
		await sees('.failure', 'Somebody has answered this meanwhile');
		forgive(409);
		expect(await page.locator('.open-call').count()).toBe(0);
	});

	test('offers the examples of the chosen agent, and sends an example by a click', async () => {
		const offered = () => readTexts('#examples button');
		const { agents } = JSON.parse(await (await fetch(`${proxy.url}/v1/agents`)).text());
		expect(agents.length).toBeGreaterThan(1);
		for (const { name, examples } of agents) {
			await page.selectOption('#agent', name);
			await sees('#welcome-name', name);
			expect(await offered()).toEqual(examples);
			expect(examples.length).toBeGreaterThan(0);
		}
		await page.selectOption('#agent', 'support');
		await sees('#welcome-name', 'support');
		await page.getByRole('group', { name: 'Try one of these' }).getByRole('button').first().press('Enter');
		await runEnds();
		expect(await readTexts('.message')).toEqual([`You: ${agents[1].examples[0]}`]);
		expect(await page.locator('#examples').isVisible()).toBe(false);
	});

	test('shows no examples for an agent without examples', async () => {
		const about = { name: 'writer', description: 'Writes.', model: 'demo', models: [], tools: [], skills: [] };
		const agents = [{ ...about, examples: [] }];
		await page.route('**/v1/agents', (route) => route.fulfill({ json: { agents } }));
		await page.goto(server.url);
		await sees('#welcome-name', 'writer');
		expect(await page.locator('#examples').isVisible()).toBe(false);
	});

	test('shows the missing variable of a model that is not ready', async () => {
		const model = 'claude-sonnet-4-6';
		const models = [{ name: model, provider: 'Anthropic', ready: false, needs: 'ANTHROPIC_API_KEY' }];
		const agents = [{ name: 'writer', description: 'Writes.', examples: [], model, models, tools: [], skills: [] }];
		await page.route('**/v1/agents', (route) => route.fulfill({ json: { agents } }));
		await page.goto(server.url);
		await sees('#welcome-facts', `${model} (not ready: set ANTHROPIC_API_KEY)`);
	});

	test('has a content security policy on all files of the page', async () => {
		for (const path of ['/', '/app.js', '/style.css']) {
			const { headers } = await fetch(server.url + path);
			expect(headers.get('content-security-policy')).toBe(
				"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
			);
			expect(headers.get('x-content-type-options')).toBe('nosniff');
			expect(headers.get('referrer-policy')).toBe('no-referrer');
		}
	});
});

describe('the agent coder', () => {
	test('shows the diff of its plan, changes the files after approval, and offers them for download', async () => {
		await page.goto(server.url);
		await page.locator('#agent option[value="coder"]').waitFor({ state: 'attached' });
		await page.selectOption('#agent', 'coder');
		await page.click('#examples >> text=Make a greeting page.');
		await sees('.open-call', 'apply_plan');
		expect(await page.locator('.call .diff .added', { hasText: '<h1 id="greeting">Hello</h1>' }).isVisible()).toBe(
			true,
		);
		expect(await readTexts('.task')).toEqual([
			...['Next: Write index.html', 'Open: Write style.css', 'Open: Write greeting.js'],
		]);
		expect(await page.locator('#workspace').isVisible()).toBe(false);
		await page.locator('.call .diff').scrollIntoViewIfNeeded();
		await shoot('coder-plan');
		await page.click('#places >> text=Inbox');
		const listed = page.locator('.card', { hasText: 'apply_plan' }).last();
		await listed.locator('.diff .added', { hasText: '<h1 id="greeting">Hello</h1>' }).waitFor();
		await shoot('coder-plan-inbox');
		await page.goBack();
		await sees('.open-call .diff', '<h1 id="greeting">Hello</h1>');

		await page.click('.open-call >> text=Allow');
		await sees('.prose', 'Done: created index.html, created style.css, created greeting.js.');
		for (const isReloaded of [false, true]) {
			if (isReloaded) await page.reload();
			await sees('[data-tab=tasks]', '3 of 3 done');
			await sees('[data-tab=workspace]', '3, ');
			// The open tab is kept over the reload.
			if (!isReloaded) await page.click('[data-tab=workspace]');
			await page.locator('.change').nth(2).waitFor();
			expect(await readTexts('.file-row .path')).toEqual(['greeting.js', 'index.html', 'style.css']);
			expect((await readTexts('.change > summary')).map((text) => text.slice(0, 12)).sort()).toEqual([
				...['createdgreet', 'createdindex', 'createdstyle'],
			]);
			await page.locator('.change > summary', { hasText: 'style.css' }).click();
			expect(await page.locator('.change .added', { hasText: 'place-items: center;' }).isVisible()).toBe(true);
			await page.locator('.change > summary', { hasText: 'style.css' }).click();
		}
		await shoot('coder-files');
		const coming = page.waitForEvent('download');
		await page.getByRole('button', { name: 'Download greeting.js' }).click();
		const download = await coming;
		expect(download.suggestedFilename()).toBe('greeting.js');
		expect(await readFile(await download.path(), 'utf8')).toMatch(/^const hour = [\s\S]*Good \$\{time\}!`;\n$/);

		await page.setViewportSize({ width: 420, height: 800 });
		await page.locator('.change > summary', { hasText: 'index.html' }).click();
		expect(await page.getByRole('button', { name: 'Download index.html' }).isVisible()).toBe(true);
		const right = await page
			.locator('.download')
			.first()
			.evaluate((one) => one.getBoundingClientRect().right);
		expect(right).toBeLessThanOrEqual(420);
		const width = await page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.body.scrollWidth));
		expect(width).toBeLessThanOrEqual(420);
		await shoot('coder-narrow');
	});

	test('changes no file when its plan is denied', async () => {
		await page.goto(server.url);
		await page.locator('#agent option[value="coder"]').waitFor({ state: 'attached' });
		await page.selectOption('#agent', 'coder');
		await page.click('#examples >> text=Make a greeting page.');
		await sees('.open-call', 'apply_plan');
		await page.getByText('Why not').click();
		await page.fill('.open-call input', 'Not today');
		await page.click('.open-call >> text=Deny');
		await sees('.prose', 'Not today');
		await runEnds();
		expect(await page.locator('#workspace').isVisible()).toBe(false);
		expect(await readTexts('.task')).toEqual([
			...['Failed: Write index.html', 'Failed: Write style.css', 'Failed: Write greeting.js'],
		]);
	});
});

test('the agent researcher reads two pages of a site, and writes a report for download', async () => {
	const site = await startSite();
	try {
		await page.goto(server.url);
		await page.locator('#agent option[value="researcher"]').waitFor({ state: 'attached' });
		await page.selectOption('#agent', 'researcher');
		await say(`Read ${site.url}/tea and ${site.url}/milk, and write notes/report.md about them.`);
		await sees('.prose', 'I have written notes/report.md.');
		await runEnds();
		await page.click('[data-tab=workspace]');
		expect(await readTexts('.file-row .path')).toEqual(['notes/report.md']);
		const coming = page.waitForEvent('download');
		await page.getByRole('button', { name: 'Download notes/report.md' }).click();
		const report = await readFile(await (await coming).path(), 'utf8');
		for (const part of ['## Tea', `${site.url}/tea`, '## Milk', `${site.url}/milk`]) expect(report).toContain(part);
		await shoot('researcher');
	} finally {
		await site.close();
	}
});

test('the agent researcher asks a person before it mails an address that a page tells it to mail', async () => {
	await page.goto(server.url);
	await page.locator('#agent option[value="researcher"]').waitFor({ state: 'attached' });
	await page.selectOption('#agent', 'researcher');
	await page.click('#examples >> text=Open the sample page.');
	const card = page.getByRole('form', { name: 'send_mail waits' });
	await card.waitFor();
	await runEnds();
	expect(await card.locator('.arguments dd').allTextContents()).toEqual([
		...['eve@evil.example', 'Ada Lovelace, 12 St James’s Square, London'],
	]);
	expect(await card.locator('.flow :is(dt, dd)').allTextContents()).toEqual([
		...['Would send the above to', 'eve@evil.example'],
		...['Strangers may have written', 'open_sample_page {}'],
		...['Private', 'find_customer {"name":"Ada Lovelace"}'],
	]);
	await shoot('researcher-asks');
	await page.click('#places >> text=Inbox');
	await sees('.card .flow', 'eve@evil.example');
	await shoot('researcher-asks-inbox');
	await page.goBack();
	await card.getByRole('button', { name: 'Deny' }).click();
	await sees('.prose', 'send_mail failed');
	await runEnds();
	expect(await page.locator('.open-call').count()).toBe(0);
});

describe('the panels', () => {
	const openPanel = async (title: string) => {
		await page.goto(`${server.url}/`);
		await page.locator('#welcome').waitFor();
		await page.locator('#places a', { hasText: title }).click();
		await page.locator('#panel:not([aria-busy]) h2', { hasText: title }).waitFor();
	};
	const card = (title: string) => page.locator('.card', { has: page.locator('.title', { hasText: title }) });
	const removeCard = async (title: string) => {
		await page.getByRole('button', { name: `Delete ${title}` }).click();
		await page.getByRole('button', { name: `Delete ${title} for good` }).click();
		await card(title).waitFor({ state: 'detached' });
	};
	const markdown = (text: string) => `---\nname: page-manners\ndescription: How a page behaves.\n---\n\n${text}\n`;

	test('publish, find, edit and remove skills, and show a conflicting change', async () => {
		await openPanel('Skills');
		await page.click('text=Publish a skill');
		await page.fill('.adding textarea', 'no skill');
		await page.locator('.adding .primary').click();
		await sees('.adding .failure', 'SKILL.md: its front matter has no name.');
		await page.fill('.adding textarea', markdown('Be quick.'));
		await page.locator('.adding .primary').click();
		await card('page-manners').waitFor();
		await page.fill('.search', 'how a page behaves');
		await card('customer-tone').waitFor({ state: 'detached' });
		await card('page-manners').locator('summary').click();
		const text = card('page-manners').locator('textarea');
		expect(await text.inputValue()).toBe(markdown('Be quick.'));
		await text.fill(markdown('Be calm.'));
		await card('page-manners').getByRole('button', { name: 'Save' }).click();
		await sees('.notice', 'Saved.');
		await shoot('skills');

		const path = `${server.url}/v1/skills/page-manners`;
		const etag = (await fetch(path)).headers.get('etag') ?? '';
		const headers = { 'content-type': 'text/markdown', 'if-match': etag };
		expect((await fetch(path, { method: 'PUT', headers, body: markdown('Be bold.') })).status).toBe(200);
		await text.fill(markdown('Be late.'));
		await card('page-manners').getByRole('button', { name: 'Save' }).click();
		await sees('.card .failure', 'If-Match');
		forgive(412);
		expect(await (await fetch(path, { headers: { accept: 'text/markdown' } })).text()).toContain('Be bold.');
		await removeCard('page-manners');
	});

	test('define and remove tools of an owner, and name the field of an error', async () => {
		await openPanel('Tools');
		await sees('.nothing', 'No HTTP tool is defined.');
		await page.click('text=Define a tool');
		await page.getByLabel('Name', { exact: true }).fill('page_weather');
		await page.getByLabel('What it does').fill('Tells the weather.');
		await page.getByLabel('URL').fill('https://api.example.com/weather?city={town}');
		await page.getByLabel('Headers').fill('[]');
		await page.locator('.adding .primary').click();
		await sees('.adding .failure', 'Headers: write a JSON object.');
		await page.getByLabel('Headers').fill(`{"authorization":"Bearer \${KEY}"}`);
		await page.getByLabel('Secrets').fill('{"KEY":"very-secret"}');
		await page.locator('.adding .primary').click();
		await sees('.adding .failure', 'town');
		forgive(400);
		await page.getByLabel('URL').fill('https://api.example.com/weather?city={city}');
		await page.locator('.adding .primary').click();
		await card('page_weather').waitFor();
		expect(await card('page_weather').textContent()).toContain('Secrets: KEY');
		expect(await page.content()).not.toContain('very-secret');
		await shoot('tools');
		await removeCard('page_weather');
	});

	test('add and remove MCP servers, and show an unreachable server', async () => {
		await openPanel('MCP servers');
		await page.click('text=Add a server');
		await page.getByLabel('Name', { exact: true }).fill('page-tracker');
		await page.getByLabel('URL').fill('https://mcp.example.com/mcp');
		await page.locator('.adding .primary').click();
		await card('page-tracker').waitFor();
		await page.getByRole('button', { name: 'Tools page-tracker' }).click();
		await card('page-tracker').locator('.failure').waitFor();
		await shoot('servers');
		await removeCard('page-tracker');
	});

	test('show the spending of each owner by day, and show an unknown price as unknown', async () => {
		const firstRow = page.locator('.spending tbody tr').first();
		await openPanel('Spending');
		// The model of these tests is free.
		await expect.poll(() => firstRow.textContent()).toMatch(/^\d{4}-\d\d-\d\dlocal[\d,]+ tokens[\d,]+/);
		await page.route('**/v1/usage?*', async (route) => {
			const response = await route.fetch();
			const text = (await response.text()).replaceAll(/,"unpricedTokens":\d+/g, '');
			const body = text.replaceAll('"spent":{', '"unpricedTokens":1,"spent":{');
			await route.fulfill({ response, body });
		});
		await openPanel('Spending');
		await expect.poll(() => firstRow.textContent()).toMatch(/^\d{4}-\d\d-\d\dlocalunknown[\d,]+/);
		await expect.poll(() => page.locator('.groups tbody tr', { hasText: 'unknown' }).count()).toBeGreaterThan(0);
		await shoot('spending');
	});

	test('show the cost of a chat for each turn, and raise its budget', async () => {
		await page.goto(`${server.url}/`);
		await page.click('#examples >> text=What is 17 + 25?');
		await sees('.prose', '42');
		await sees('[data-tab=money]', /^Cost.*[\d,]+ of [\d,]+ tokens/);
		await page.click('[data-tab=money]');
		await page.locator('#money tbody tr').nth(1).waitFor();
		expect(await page.locator('#money tbody tr').first().textContent()).toMatch(/^\d+:\d\d:\d\d.*demo.*[\d,]+\d.* s$/);
		await page.getByLabel('Budget in tokens').fill('7000000');
		await page.getByLabel('Budget in tokens').press('Enter');
		await sees('[data-tab=money]', 'of 7,000,000 tokens');
		await shoot('money');
		const answer = await fetch(`${server.url}/v1/sessions/${readSessionId()}`);
		expect(JSON.parse(await answer.text()).budget.limit).toEqual({ tokens: 7_000_000 });
	});
});

describe('a file of a session', () => {
	const code = "fetch('/ran')";
	const active = {
		'page.html': `<!doctype html><script>${code}</script><img src="x" onerror="${code}">`,
		'page.xhtml': `<html xmlns="http://www.w3.org/1999/xhtml"><script>${code}</script></html>`,
		'image.svg': `<svg xmlns="http://www.w3.org/2000/svg" onload="${code}"><script>${code}</script></svg>`,
		'code.js': code,
	};

	test('is downloaded when its address is opened, and does not run as a script', async () => {
		const made = await fetch(`${server.url}/v1/sessions`, {
			method: 'POST',
			headers: { 'content-type': 'application/json' },
			body: JSON.stringify({ agent: 'assistant' }),
		});
		const files = `${server.url}${made.headers.get('location')}/files`;
		const asked: string[] = [];
		page.on('request', (request) => asked.push(new URL(request.url()).pathname));
		for (const [name, content] of Object.entries(active)) {
			expect((await fetch(`${files}/${name}`, { method: 'PUT', body: content })).status).toBe(201);
			const coming = page.waitForEvent('download');
			await expect(page.goto(`${files}/${name}`)).rejects.toThrow('Download is starting');
			expect(await readFile(await (await coming).path(), 'utf8')).toBe(content);
		}
		await page.goto(server.url);
		const run = (src: string) => {
			const script = Object.assign(document.createElement('script'), { src });
			const ended = new Promise((resolve) => {
				script.onload = () => resolve('ran');
				script.onerror = () => resolve('refused');
			});
			document.head.append(script);
			return ended;
		};
		expect(await page.evaluate(run, `${files}/code.js`)).toBe('refused');
		expect(complaints.splice(0)).toEqual([expect.stringContaining('strict MIME type checking')]);
		expect(asked).not.toContain('/ran');
	});
});

describe('data from the server', () => {
	/** Opens a session with messages of earlier runs and task lists. Its newest run has the given events. */
	async function open(events: RunEvent[], messages: Partial<Message>[] = [], lists: TaskList[] = []) {
		const stream = events.map(
			(event, index) => `id: 9.${index}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
		);
		let status = 'running';
		await page.route('**/v1/sessions/played', (route) => {
			const run = { id: 'r9', status };
			// The page follows the run only while it is running.
			status = 'x';
			return route.fulfill({ json: { id: 'played', agent: 'assistant', status: run.status, run } });
		});
		await page.route('**/v1/sessions/played/messages?*', (route) =>
			route.fulfill({ json: { messages: messages.toReversed() } }),
		);
		await page.route('**/v1/sessions/played/tasks', (route) => route.fulfill({ json: { lists } }));
		await page.route('**/v1/sessions/played/files?*', (route) => route.fulfill({ json: { files: [] } }));
		await page.route('**/v1/sessions/played/events', (route) =>
			route.fulfill({ contentType: 'text/event-stream', body: stream.join('') }),
		);
		// The page would ignore its own address.
		await page.goto('about:blank');
		await page.goto(`${server.url}/#/sessions/played`);
		await page.locator('#transcript > .run:nth-last-child(1 of .run):not([aria-busy])').waitFor();
	}

	const call = (id: string, name: string, input: unknown): RunEvent[] => [
		{ type: 'tool_use_start', id, name },
		{ type: 'tool_use_input', id, partialInputJson: JSON.stringify(input) },
		{ type: 'tool_use_end', id },
	];
	const stop: RunEvent = { type: 'stop', reason: 'end_turn' };
	const done: RunEvent = { type: 'done', text: '', usage: { inputTokens: 1200, outputTokens: 34, costUsd: 0.5 } };

	test('shows the report of another agent, and the words of a schedule, apart from what a person wrote', async () => {
		const session = 'a1'.repeat(32);
		const said = { role: 'user', createdAt: '2026-01-01T00:00:00Z', isInput: true } as const;
		await open(
			[{ type: 'run.started', runId: 'r9', attempt: 1 }, { type: 'text', text: 'So.' }, stop, done],
			[
				{ ...said, id: '1', content: 'Begin.' },
				{ ...said, id: '2', from: 'agent', content: `writer (session ${session}) has finished its task:\n\n**Here**` },
				{ ...said, id: '3', from: 'schedule', content: 'Look again.' },
			],
		);
		expect(await readTexts('.message')).toEqual([expect.stringContaining('Begin.')]);
		expect(await readTexts('.report-head')).toEqual(['From an agent: writer', 'From a schedule']);
		expect(await page.locator('.report a').getAttribute('href')).toBe(`#/sessions/${session}`);
		expect(await readTexts('.report strong')).toEqual(['Here']);
		expect(await readTexts('.report .prose')).toEqual(['has finished its task:Here', 'Look again.']);
	});

	test('shows the images of a message whose bytes are in the message', async () => {
		const parts = [
			{ kind: 'image', mime: 'image/png', data: 'iVBORw0KGgo=', name: 'chart.png' },
			{ kind: 'image', mime: 'image/svg+xml', data: 'PHN2Zy8+', name: 'drawing.svg' },
			{ kind: 'image', mime: 'image/png', url: 'https://images.example.com/a.png', name: 'elsewhere.png' },
		] as const;
		const said = { role: 'user', id: '1', content: 'Look.', createdAt: '2026-01-01T00:00:00Z', isInput: true } as const;
		await open([{ type: 'run.started', runId: 'r9', attempt: 1 }, stop, done], [{ ...said, parts: [...parts] }]);
		const images = await page
			.locator('.message img')
			.evaluateAll((all) => all.map((image) => image.getAttribute('alt')));
		expect(images).toEqual(['chart.png']);
	});

	test('formats reasoning as it formats an answer', async () => {
		await open([
			{ type: 'run.started', runId: 'r9', attempt: 1 },
			{ type: 'reasoning', text: 'First **lo' },
			{ type: 'reasoning', text: 'ok**.' },
			{ type: 'text', text: 'Yes.' },
			stop,
			done,
		]);
		expect(await readTexts('.reasoning strong')).toEqual(['look']);
	});

	test('shows reasoning, calls, notes, warnings and usage', async () => {
		await open([
			{ type: 'run.started', runId: 'r9', attempt: 1 },
			{ type: 'reasoning', text: 'I have to ' },
			{ type: 'reasoning', text: 'look.' },
			...call('a', 'find', { city: 'Oslo' }),
			...call('b', 'apply_skill', { name: 'tone' }),
			stop,
			{ type: 'note', id: 'a', label: 'Finding', detail: 'Oslo' },
			{ type: 'tool_result', id: 'b', output: 'Be kind.', isError: false },
			{ type: 'tool_result', id: 'a', output: 'There is no Oslo.', isError: true },
			{ type: 'warning', code: 'context', message: 'Nearly full.' },
			{ type: 'text', text: 'No.' },
			{ type: 'brand.new' } as unknown as RunEvent,
			{ type: 'stop', reason: 'max_tokens' },
			done,
		]);
		expect(await page.locator('.reasoning').getAttribute('open')).toBe(null);
		expect(await readTexts('.reasoning .body')).toEqual(['I have to look.']);
		expect(await readTexts('.call .name')).toEqual(['Find', 'Skill tone']);
		expect(await readTexts('.call[data-state="failed"] .answer')).toEqual(['There is no Oslo.']);
		expect(await readTexts('.call[data-state="done"] :is(.call-input, .call-result)')).toEqual([
			'Nametone',
			'Be kind.',
		]);
		expect(await readTexts('.note')).toEqual(['Finding Oslo']);
		expect(await readTexts('.warning')).toEqual(['Nearly full.', expect.stringContaining('cut off')]);
		expect(await readTexts('.turn > .prose')).toEqual(['No.']);
		expect(await readTexts('.usage')).toEqual(['$0.50 · 1,200 tokens in, 34 out']);
	});

	const search = { type: 'provider_tool', id: 's1', name: 'web_search', input: { query: 'rain in Oslo' } } as const;
	const found = [{ title: 'Rain', url: 'https://rain.example/' }];
	const rain = { type: 'source', url: 'https://rain.example/a', title: 'Rain' } as const;
	const isOpen = (selector: string) =>
		page.locator(selector).evaluateAll((all) => all.map((one) => 'open' in one && one.open));

	test('shows a provider’s tool as a card with its result, and sources as footnotes', async () => {
		await open([
			{ type: 'provider_tool', id: 's1', name: 'web_search', input: { query: 'not this' } },
			{ ...rain, id: 'p0', url: 'https://not.example/' },
			{ type: 'turn.restarted', iteration: 1 },
			search,
			{ ...search, output: found },
			{ type: 'provider_tool', id: 'f1', name: 'web_fetch' },
			{ type: 'provider_tool', id: 'f1', name: 'web_fetch', output: 'It is gone.', isError: true },
			{ type: 'provider_tool', id: 'x1', name: 'code_execution', input: 'print(1)' },
			{ type: 'text', text: 'It rai' },
			{ ...rain, id: 'p1', quote: 'It <b>rains</b>.' },
			{ type: 'text', text: 'ns.' },
			{ ...rain, id: 'p2', quote: 'All day.' },
			{ type: 'source', id: 'p3', title: 'report.pdf' },
			{ type: 'source', id: 'p4', url: 'javascript:alert(1)' },
			{ type: 'source', id: 'p5', url: 'https://me@evil.example/', title: 'Rain' },
			stop,
			{ type: 'provider_tool', id: 'x1', name: 'code_execution', output: { stdout: '1' } },
			{ ...search, output: 'nothing', input: { query: 'snow' } },
			stop,
			{ ...done, usage: { inputTokens: 9, outputTokens: 1, units: { web_searches: 2 } } } as RunEvent,
		]);
		const cards = await page
			.locator('.call')
			.evaluateAll((all: HTMLElement[]) =>
				all.map((card) => [
					...[card.dataset.state, card.querySelector('.took')?.textContent],
					...[...card.querySelectorAll('.name, .brief, .call-input, .call-result')].map((part) => part.textContent),
				]),
			);
		const where = 'at the provider';
		expect(cards).toEqual([
			['done', where, 'Web search', 'rain in Oslo', 'Queryrain in Oslo', 'TitleRainUrlhttps://rain.example/'],
			['failed', where, 'Web fetch', '', '', 'It is gone.'],
			['done', where, 'Code execution', 'print(1)', 'print(1)', 'Stdout1'],
			['done', where, 'Web search', 'snow', 'Querysnow', 'nothing'],
		]);
		expect(await readTexts('.prose')).toEqual(['It rains.']);
		expect(await readTexts('.footnotes li')).toEqual([
			'Rain rain.example2 quotesIt <b>rains</b>.All day.',
			'report.pdf',
			'javascript:alert(1)',
			'Rain evil.example',
		]);
		const links = page.locator('.footnotes a');
		expect(
			await links.evaluateAll((all: HTMLAnchorElement[]) => all.map(({ href, target, rel }) => [href, target, rel])),
		).toEqual([['https://rain.example/a', '_blank', expect.stringContaining('noreferrer')]]);
		expect(await isOpen('.footnotes details')).toEqual([false]);
		expect(await readTexts('.usage')).toEqual(['cost unknown · 9 tokens in, 1 out · 2 web searches']);
	});

	test('shows the cards and footnotes of a loaded history', async () => {
		const { type: _, ...card } = search;
		const { type: __, ...source } = rain;
		const providerCalls = [
			{ ...card, output: found },
			{ id: 'f1', name: 'web_fetch', output: 'gone', isError: true },
			{ id: 'x1', name: 'code_execution' },
		];
		await open(
			[done],
			[
				{ runId: 'r1', role: 'user', content: 'Does it rain?' },
				{ runId: 'r1', role: 'assistant', content: 'It rains.', providerCalls, sources: [{ ...source, id: 'p1' }] },
				{ runId: 'r9', role: 'user', content: 'Thanks.' },
			],
		);
		expect(await readTexts('.call .name')).toEqual(['Web search', 'Web fetch', 'Code execution']);
		expect(await readTexts('.call summary .visually-hidden')).toEqual(['done', 'failed', 'no result']);
		expect(await readTexts('.footnotes li')).toEqual(['Rain rain.example']);
	});

	test('shows the sources of a stopped run', async () => {
		await open([{ type: 'text', text: 'It rai' }, { ...rain, id: 'p1' }, search, { type: 'cancelled' }]);
		expect(await readTexts('.footnotes li')).toEqual(['Rain rain.example']);
		expect(await readTexts('.call summary .visually-hidden')).toEqual(['no result']);
	});

	test('shows the events of a child and of its children within the call that started the child', async () => {
		const child = (event: RunEvent, agent = 'writer'): RunEvent => ({
			type: 'child',
			...{ id: 'a', session: `of-${agent}`, agent, event },
		});
		await open([
			...call('a', 'write', { task: 'A poem' }),
			stop,
			child({ type: 'text', text: 'Roses are ' }),
			child({ type: 'text', text: '**red**.' }),
			...call('a', 'rhyme', { word: 'red' }).map((event) => child(event)),
			child({ type: 'child', id: 'a', session: 'of-poet', agent: 'poet', event: { type: 'text', text: 'Bed.' } }),
			child({ type: 'tool_result', id: 'a', output: 'bed', isError: false }),
			child(done),
			{ type: 'tool_result', id: 'a', output: 'Roses are red.', isError: false },
			{ type: 'text', text: 'There it is.' },
			stop,
			done,
		]);
		const outer = page.locator('#transcript > .run > .turn > .call');
		expect(await outer.getAttribute('data-state')).toBe('done');
		expect(await outer.locator('> .body > .nested > .label').textContent()).toBe('By writer');
		expect(await outer.locator('> .body > .nested > .run > .turn > .prose').innerHTML()).toBe(
			'<p dir="auto">Roses are <strong>red</strong>.</p>',
		);
		const inner = outer.locator('> .body > .nested .call');
		expect(await inner.getAttribute('data-state')).toBe('done');
		expect(await inner.locator('.nested .prose').textContent()).toBe('Bed.');
		expect(await inner.locator('.nested .label a').getAttribute('href')).toBe('#/sessions/of-poet');
		expect(await readTexts('#transcript > .run > .turn > .prose')).toEqual(['There it is.']);
		await shoot('children');
	});

	test('shows task lists beside the conversation, and updates them in place', async () => {
		const list = (id: string, title: string, ...outcomes: (string | undefined)[]) =>
			({
				id,
				title,
				tasks: outcomes.map((outcome, n) => ({ id: `${n}`, text: `${title} ${n}`, outcome })),
			}) as TaskList;
		const readLines = () => page.locator('.task').evaluateAll((lines) => lines.map((line) => `${line.textContent}`));
		await page.setViewportSize({ width: 1280, height: 800 });
		await open([done], [], [list('a', 'Old', 'done', 'done')]);
		await sees('[data-tab=tasks]', 'Tasks2 of 2 done · Old');
		expect(await page.locator('#tasks').isVisible()).toBe(false);

		await open([{ type: 'tasks', id: 'c', lists: [list('a', 'Make', 'done', undefined, undefined)] }, done]);
		await page.locator('#tasks').waitFor();
		expect(await readLines()).toEqual(['Done: Make 0', 'Next: Make 1', 'Open: Make 2']);
		expect(await page.locator('#tasks').getByRole('listitem').count()).toBe(3);

		const failed = { id: '1', text: 'Make 1', outcome: 'failed', note: 'no net' } as const;
		const changed = list('a', 'Make', 'done', undefined, undefined);
		const first = { id: 'new', text: '<b>First</b>\u202e' };
		await open([
			{ type: 'tasks', id: 'c', lists: [changed] },
			{ type: 'tasks', id: 'd', lists: [{ ...changed, tasks: [first, ...changed.tasks.slice(0, 1), failed] }] },
			{ type: 'tasks', id: 'e', lists: [list('b', 'More')] },
			done,
		]);
		expect(await readLines()).toEqual(['Next: <b>First</b>', 'Done: Make 0', 'Failed: Make 1 no net']);
		expect(await readTexts('[data-tab=tasks]')).toEqual(['Tasksno tasks yet · More']);
		expect(await readTexts('#tasks h3')).toEqual(['Make', 'More']);
		await page.click('#new');
		await page.locator('#tasks').waitFor({ state: 'hidden' });
	});

	test('a restarted turn replaces its first attempt', async () => {
		await open([
			{ type: 'text', text: 'Kept.' },
			...call('a', 'find', {}),
			stop,
			{ type: 'tool_result', id: 'a', output: 'x', isError: false },
			{ type: 'text', text: 'Dropped' },
			...call('b', 'lost', {}),
			{ type: 'turn.restarted', iteration: 2 },
			{ type: 'text', text: 'New.' },
			stop,
			done,
		]);
		expect(await readTexts('.prose, .call .name')).toEqual(['Kept.', 'Find', 'New.']);
	});

	test.for([
		[{ type: 'error', code: 'overloaded', message: 'The model is busy.' }, '.failure', 'The model is busy. overloaded'],
		[{ type: 'halted', reason: 'budget_exceeded' }, '.warning', 'Stopped: the budget of this session is used up.'],
		[{ type: 'halted', reason: 'enough' }, '.warning', 'Stopped by the agent: enough.'],
		[{ type: 'awaiting', status: 'awaiting_user', question: { callId: 'a', question: 'Why?' } }, '.question', 'Why?'],
		[
			{ type: 'awaiting', status: 'awaiting_tools', toolCalls: [{ id: 'a', name: 'refund', input: {} }] },
			'.question',
			'The run waits for the result of refund.',
		],
	] as [RunEvent, string, string][])('describes the end of a run: $2', async ([event, selector, words]) => {
		await open([{ type: 'text', text: 'Half' }, event]);
		expect(await readTexts('.prose')).toEqual(['Half']);
		expect(await readTexts(selector)).toEqual([words]);
	});

	test('shows the answer of a person below the question', async () => {
		const messages: Partial<Message>[] = [
			{ runId: 'r1', role: 'user', isInput: true, content: 'Go' },
			{ runId: 'r1', role: 'assistant', content: '', toolCalls: [{ id: 'a', name: 'ask', input: { what: 'Where?' } }] },
			{ runId: 'r2', role: 'tool', isInput: true, toolCallId: 'a', content: 'Oslo' },
			{ runId: 'r2', role: 'assistant', content: '', toolCalls: [{ id: 'b', name: 'ask', input: { what: 'When?' } }] },
			{ runId: 'r9', role: 'tool', isInput: true, toolCallId: 'b', content: 'Now' },
			{ runId: 'r9', role: 'assistant', content: 'Done.' },
		];
		await open(
			[{ type: 'tool_result', id: 'b', output: 'Now', isError: false }, { type: 'text', text: 'Done.' }, stop, done],
			messages,
		);
		const shown = await readTexts('.message, .call .brief, .prose');
		expect(shown).toEqual(['You: Go', 'Where?', 'You: Oslo', 'When?', 'You: Now', 'Done.']);
	});

	test('shows the output of models, tools and people as text only', async () => {
		const image = '<img src=x onerror="document.title = 1">';
		expect(payloads.length).toBeGreaterThanOrEqual(126);
		await watchSinks();
		const everywhere = payloads.join('\n\n');
		const search = { id: 's', name: image, input: { [image]: everywhere }, output: everywhere };
		const sources = [
			{ id: 's1', url: image, title: everywhere, quote: everywhere },
			{ id: 's2', url: `https://example.com/${image}`, title: everywhere, quote: image },
			...payloads.map((url, at) => ({ id: `u${at}`, url, title: url, quote: url })),
		];
		await open(
			[
				{ type: 'reasoning', text: everywhere },
				{ type: 'provider_tool', ...search },
				{ type: 'provider_tool', ...search, id: 'f', isError: true },
				...sources.map((source): RunEvent => ({ type: 'source', ...source })),
				{ type: 'text', text: everywhere },
				...call('a', image, { [image]: everywhere }),
				...call('b', 'read_skill', { name: image }),
				{ type: 'note', id: 'a', label: image, detail: everywhere },
				{ type: 'warning', code: image, message: everywhere },
				stop,
				{ type: 'tool_result', id: 'a', output: everywhere, isError: false },
				{ type: 'tool_result', id: 'b', output: everywhere, isError: true },
				{ type: 'text', text: everywhere },
				{ type: 'error', code: image, message: everywhere },
			],
			[
				{ runId: 'r1', role: 'user', content: everywhere },
				{
					...{ runId: 'r1', role: 'assistant', content: everywhere, reasoning: everywhere },
					...{ providerCalls: [search], sources },
				},
				{ runId: 'r9', role: 'user', content: everywhere },
			],
		);
		expect(await page.title()).toBe('Runlet');
		const nodes = await page.evaluate(() =>
			[...document.querySelectorAll('#transcript *')].map(({ localName, attributes }) => ({
				tag: localName,
				attributes: [...attributes].map(({ name, value }) => [name, value] as const),
			})),
		);
		const known = [
			...'article section div details summary span p pre code strong em h3 h4 h5 ul ol li a b del hr'.split(' '),
			...'blockquote table thead tbody tr th td button svg path circle rect dl dt dd sup'.split(' '),
			...'math mrow mi mn mo ms mtext mspace mfrac msqrt msub msup msubsup mover munder mstyle mpadded'.split(' '),
		];
		expect(nodes.filter(({ tag }) => !known.includes(tag))).toEqual([]);
		const attributes = nodes.flatMap((node) => node.attributes);
		const names = [
			...[
				'class',
				'aria-label',
				'data-state',
				'data-copy',
				'hidden',
				'open',
				'href',
				'title',
				'target',
				'rel',
				'start',
			],
			...['width', 'height', 'x', 'y', 'rx', 'ry', 'cx', 'cy', 'r'],
			...[
				'type',
				'role',
				'tabindex',
				'dir',
				'data-language',
				'data-label',
				'data-done',
				'aria-pressed',
				'aria-hidden',
				'viewBox',
				...['d', 'cx', 'cy', 'r'],
				'data-mark',
				'data-footnote',
			],
			// Of formulas.
			...['display', 'style', 'stretchy', 'form', 'fence', 'lspace', 'rspace', 'mathvariant'],
		];
		expect(attributes.filter(([name]) => !names.includes(name))).toEqual([]);
		expect(attributes.filter(([name, value]) => name === 'style' && !/^[\w\s:;.-]*$/.test(value))).toEqual([]);
		expect(attributes.filter(([name, value]) => name === 'href' && !/^https?:\/\//.test(value))).toEqual([]);
		expect(await page.locator('.message').first().textContent()).toBe(`You: ${everywhere.replaceAll('\u202e', '')}`);
		// The page shows `&lt;` as the sign that it stands for.
		const shown = plain.map((payload) => payload.replace(/&(?:lt|#60);/g, '<').replace(/&(?:gt|#62);/g, '>'));
		for (const text of await readTexts('.prose')) for (const payload of shown) expect(text).toContain(payload);
		expect(await page.evaluate(() => Reflect.get(window, 'sinks'))).toEqual([]);
		// No event of a pointer or the keyboard runs code.
		await page.evaluate(() => {
			for (const node of document.querySelectorAll('#transcript *'))
				for (const type of ['mouseover', 'focus', 'toggle', 'animationstart']) node.dispatchEvent(new Event(type));
		});
		expect(await page.evaluate(() => Reflect.get(window, 'sinks'))).toEqual([]);
		expect(browser.countPages()).toBe(1);
	});

	test('shows each malicious text as text only, no matter how the stream is split', async () => {
		await watchSinks();
		await page.goto(server.url);
		const module = await loadModule<typeof import('../../src/page/markdown/markdown.ts')>(page, 'markdown/markdown');
		const strange = await module.evaluate(({ createMarkdown }, payloads) => {
			const known =
				'DIV SPAN BUTTON SUP P PRE CODE STRONG EM DEL H3 H4 H5 UL OL LI A BLOCKQUOTE TABLE THEAD TBODY TR TH TD'.split(
					' ',
				);
			return payloads.flatMap((payload) =>
				[1, 3, 7, payload.length].flatMap((size) => {
					const root = document.createElement('div');
					document.body.append(root);
					const markdown = createMarkdown(root);
					for (let from = 0; from < payload.length; from += size) {
						markdown.write(payload.slice(from, from + size));
						markdown.flush();
					}
					markdown.end();
					const bad = [...root.querySelectorAll('*')].filter(
						(node) =>
							!known.includes(node.tagName) ||
							[...node.attributes].some(({ name }) => /^on|^style$|^src/.test(name)) ||
							(node instanceof HTMLAnchorElement && !/^https?:$/.test(node.protocol)),
					);
					root.remove();
					return bad.map((node) => `${payload}: ${node.outerHTML}`);
				}),
			);
		}, payloads);
		expect(strange).toEqual([]);
		expect(await page.evaluate(() => Reflect.get(window, 'sinks'))).toEqual([]);
	});
});

describe('the page', () => {
	test.for([
		['paragraphs', '\n\n'],
		['a single line', ' '],
		['a block of code', '\n'],
	] as const)('draws 20,000 pieces of %s in a short time', async ([kind, gap]) => {
		const module = await loadModule<typeof import('../../src/page/chat/run-view.ts')>(page, 'chat/run-view');
		const pieces = Array.from({ length: 20_000 }, (_, index) => `word${index}${index % 50 === 49 ? gap : ' '}`);
		if (kind === 'a block of code') pieces.unshift('```\n');
		const { ms, text } = await module.evaluate(({ createRunView }, pieces) => {
			const root = document.createElement('div');
			const view = createRunView(root);
			const start = performance.now();
			for (const text of pieces) {
				view.apply({ type: 'text', text });
				view.flush();
			}
			view.end();
			return { ms: performance.now() - start, text: root.textContent };
		}, pieces);
		expect(ms).toBeLessThan(2_000);
		expect(text.match(/word\d+/g)).toHaveLength(20_000);
	});

	test('shows a part of a result as an image only if the part has bytes and an image type', async () => {
		const module = await loadModule<typeof import('../../src/page/chat/run-view.ts')>(page, 'chat/run-view');
		const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
		const sizes = await module.evaluate(async ({ createRunView }, dot) => {
			const root = document.createElement('div');
			document.body.append(root);
			const view = createRunView(root);
			const parts = [
				{ kind: 'text', text: 'A dot.' },
				{ kind: 'image', data: dot, mime: 'image/png', name: 'dot' },
				{ kind: 'image', data: btoa('<svg/>'), mime: 'image/svg+xml' },
				{ kind: 'image', url: 'https://evil.example/a.png' },
				{ kind: 'file', data: dot, mime: 'text/html' },
			] as const;
			view.apply({ type: 'tool_use_start', id: 'a', name: 'draw' });
			view.apply({ type: 'tool_use_end', id: 'a' });
			view.apply({ type: 'tool_result', id: 'a', output: 'A dot.', isError: false, parts: [...parts] });
			view.end();
			const images = [...root.querySelectorAll('img')];
			await Promise.all(images.map((image) => image.decode()));
			const shown = images.map(({ alt, naturalWidth }) => [alt, naturalWidth, root.querySelector('details')?.open]);
			root.remove();
			return shown;
		}, dot);
		expect(sizes).toEqual([['dot', 1, true]]);
	});

	test('shows the host of a link whose label names another host', async () => {
		const module = await loadModule<typeof import('../../src/page/markdown/markdown.ts')>(page, 'markdown/markdown');
		const drawn = (sources: readonly string[]) =>
			module.evaluate(({ createMarkdown }, sources) => {
				const texts = sources.map((source) => {
					const root = document.createElement('div');
					const markdown = createMarkdown(root);
					markdown.write(source);
					markdown.end();
					return [...root.querySelectorAll('a')].map((anchor) => anchor.textContent ?? '');
				});
				return texts;
			}, sources);
		const evil = 'https://evil.example/path';
		const labels = [
			'https://bank.example',
			'HTTPS://BANK.EXAMPLE/login',
			'bank.example',
			'www.bank.example/login',
			'bank\u200b.example',
			'b\u00adank.example',
			'bank\uff0eexample',
			'bank\u3002example',
			'bank\u2024example',
			'Log in at bank.example',
			'localhost:8787',
			'http://127.0.0.1/',
			'//bank.example',
			'me@bank.example',
			'evil.example.bank.example',
			'https://evil.example@bank.example',
			'https://evil.example bank.example',
			'evil.example/ bank.example',
			'https:\\\\\\\\bank.example',
			'bänk.example',
		];
		const shown = await drawn(labels.map((label) => `See [${label}](${evil}).`));
		for (const [index, texts] of shown.entries())
			expect(texts, labels[index]).toEqual([`${labels[index]?.replaceAll('\\\\', '\\')} (evil.example)`]);
		// A label without another host stays unchanged. A host in look-alike letters is shown as the browser parses it.
		expect(
			await drawn([
				`[the docs](${evil})`,
				`[evil.example](${evil})`,
				`[https://evil.example/path](${evil})`,
				'[evil.example:8443/a](https://evil.example:8443/a)',
				evil,
				'https://EVIL.example/a?b=c.d',
				'https://b\u0430nk.example/',
				'[a](https://evil.example\\@bank.example/)',
				'[a](https://evil.example/\\@bank.example/)',
			]),
		).toEqual([
			['the docs'],
			['evil.example'],
			['https://evil.example/path'],
			['evil.example:8443/a'],
			[evil],
			['https://EVIL.example/a?b=c.d'],
			['https://b\u0430nk.example/ (xn--bnk-6cd.example)'],
			[],
			['a'],
		]);
	});

	test('no text on the page changes the direction of other text', async () => {
		const module = await loadModule<typeof import('../../src/page/markdown/markdown.ts')>(page, 'markdown/markdown');
		const turning = [0x061c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069];
		const elements = await loadModule<typeof import('../../src/page/parts/element.ts')>(page, 'parts/element');
		const shown = await elements.evaluate(
			({ element }, turning) =>
				element('p', '', turning.map((code) => `a${String.fromCharCode(code)}b`).join('')).textContent,
			turning,
		);
		const texts = await module.evaluate(({ createMarkdown }, turning) => {
			const text = turning.map((code) => `a${String.fromCharCode(code)}b`).join('');
			const root = document.createElement('div');
			const markdown = createMarkdown(root);
			markdown.write(`${text} \`${text}\` [${text}](https://example.com/)\n\`\`\`\n${text}\n\`\`\`\n`);
			markdown.end();
			return root.textContent;
		}, turning);
		const plainText = 'ab'.repeat(turning.length);
		expect([texts, shown]).toEqual([`${plainText} ${plainText} ${plainText}${plainText}`, plainText]);
	});
});

test('a server that requires a key gets the key that a person enters in this tab', async () => {
	const { key, id } = makeKey();
	const keyed = await startWorker({ API_KEYS: JSON.stringify([{ id, hash: await hashKey(key) }]) });
	try {
		await page.goto(keyed.url);
		await page.getByLabel('API key or session token').fill(key);
		await page.getByRole('button', { name: 'Sign in' }).click();
		await page.locator('#welcome').waitFor();
		await say('What is 17 + 25?');
		await sees('.prose', '42');
		await page.reload();
		await sees('.prose', '42');
		await runEnds();
		await page.goto('about:blank');
	} finally {
		await keyed.close();
	}
	expect(complaints.splice(0)).toEqual([expect.stringContaining('401')]);
});
