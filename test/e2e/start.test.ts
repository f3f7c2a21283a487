import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient, type RunEvent } from '../../src/client/index.ts';
import type { Sink } from '../core/toolboxes/web/server/sink.ts';
import { startSite } from '../core/toolboxes/web/server/site.ts';
import { startRunletByNpm } from '../runlet.ts';

let runlet: Awaited<ReturnType<typeof startRunletByNpm>>;
let site: Sink;
beforeAll(async () => {
	[runlet, site] = await Promise.all([startRunletByNpm(), startSite()]);
});
afterAll(() => Promise.all([runlet?.close(), site?.close()]));

const shell = (command: string) =>
	promisify(execFile)('sh', ['-c', command], { cwd: resolve(import.meta.dirname, '../..') });

test('npm start prints the address, and a curl command that works', async () => {
	expect(await runlet.printed(/Runlet is at (\S+)/)).toBe(runlet.url);
	const curl = await runlet.printed(/(curl -N .*)/);
	const { stdout } = await shell(`${curl} -s`);
	const events = stdout.split('\n').flatMap((line) => (line.startsWith('event: ') ? [line.slice(7)] : []));
	expect(events[0]).toBe('run.started');
	expect(events.at(-1)).toBe('done');
	expect(stdout).toContain('17 + 25 is 42.');
});

test('npm start lists the problems of agents', async () => {
	await runlet.says(/Everything works, except:\n {2}agent triage: GITHUB_WEBHOOK_SECRET: not set/);
});

test('neither Wrangler nor workerd opens an inspector', async () => {
	const { stdout } = await shell('ps -eo pgid=,args=');
	const own = stdout.split('\n').filter((line) => Number.parseInt(line, 10) === runlet.group);
	const workers = own.filter((line) => line.includes('workerd') && line.includes(' serve '));
	expect(workers).not.toEqual([]);
	expect(workers.filter((line) => line.includes('--inspector-addr'))).toEqual([]);
});

test('answers requests while the proxy of Wrangler is stopped', async () => {
	const { stdout } = await shell('ps -eo pgid=,pid=,args=');
	const [proxy] = stdout
		.split('\n')
		.filter((line) => Number.parseInt(line, 10) === runlet.group && /workerd\S* serve /.test(line))
		.map((line) => Number(line.trim().split(/\s+/)[1]))
		.sort((a, b) => a - b);
	// The proxy is the process that Wrangler starts first.
	if (proxy === undefined) throw new Error('There is no workerd.');
	process.kill(proxy, 'SIGSTOP');
	try {
		const statuses = ['/', '/app.js', '/healthz', '/v1/agents'].map(
			async (path) => (await fetch(runlet.url + path)).status,
		);
		expect(await Promise.all(statuses)).toEqual([200, 200, 200, 200]);
	} finally {
		process.kill(proxy, 'SIGCONT');
	}
});

test('stores a file of 5 MB unchanged, and refuses a file that is too large', async () => {
	const at = `${runlet.url}/v1/sessions`;
	const headers = { 'content-type': 'application/json' };
	const made = await fetch(at, { method: 'POST', headers, body: JSON.stringify({ agent: 'assistant' }) });
	const file = `${runlet.url}${made.headers.get('location')}/files/data/five.bin`;
	const bytes = randomBytes(5_000_000);
	expect((await fetch(file, { method: 'PUT', body: bytes })).status).toBe(201);
	expect(Buffer.from(await (await fetch(file)).arrayBuffer()).equals(bytes)).toBe(true);
	expect((await fetch(file, { method: 'PUT', body: Buffer.alloc(110_000_000) })).status).toBe(413);
	expect((await fetch(`${runlet.url}/healthz`)).status).toBe(200);
});

test.each([
	['lines', 'application/x-ndjson'],
	['one JSON document', 'application/json'],
])('imports a session that was exported as %s, with its file of 4.5 MB unchanged', async (_, accept) => {
	const at = `${runlet.url}/v1/sessions`;
	const headers = { 'content-type': 'application/json' };
	const made = await fetch(at, { method: 'POST', headers, body: JSON.stringify({ agent: 'assistant' }) });
	const session = `${runlet.url}${made.headers.get('location')}`;
	const bytes = randomBytes(4_500_000);
	expect((await fetch(`${session}/files/big.bin`, { method: 'PUT', body: bytes })).status).toBe(201);
	const body = Buffer.from(await (await fetch(`${session}/export`, { headers: { accept } })).arrayBuffer());
	expect(body.length).toBeGreaterThan(6_000_000);
	const imported = await fetch(`${at}/import?user=ada`, { method: 'POST', headers: { 'content-type': accept }, body });
	expect(imported.status, await imported.clone().text()).toBe(201);
	const copy = await fetch(`${runlet.url}${imported.headers.get('location')}/files/big.bin`);
	expect(Buffer.from(await copy.arrayBuffer()).equals(bytes)).toBe(true);
});

test('the first event of the stream arrives before the model has sent the last event', async () => {
	const response = await fetch(`${runlet.url}/v1/sessions`, {
		method: 'POST',
		headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
		body: JSON.stringify({ agent: 'assistant', text: 'Who are you?' }),
	});
	const chunks: string[] = [];
	const location = response.headers.get('location');
	let status: unknown;
	for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
		if (chunks.length === 0) status = await (await fetch(`${runlet.url}${location}`)).json();
		chunks.push(chunk);
	}
	expect(status).toMatchObject({ status: 'running' });
	expect(chunks.length).toBeGreaterThan(10);
	expect(chunks.join('')).toContain('event: done');
});

test('npm run chat asks for the result of a waiting call, and continues the run with the result', async () => {
	const lines = 'Please refund order A-1042, amount 25 euros.\nreceipt 77\n';
	const { stdout, stderr } = await shell(`printf '${lines}' | npm run -s chat -- --agent support --url ${runlet.url}`);
	expect(stderr).toContain('Waits for a result: Issue refund');
	expect(stderr).toContain('support calls issue_refund');
	expect(stdout).toContain('issue_refund answered: receipt 77');
});

test('coder plans a change of three files, and makes the change after an approval', async () => {
	const client = createClient(runlet.url);
	const { id } = await client.createSession({ agent: 'coder' });
	const readChange = async (message: string) => {
		const asked = await Array.fromAsync(client.sendMessage(id, message));
		const before = (await client.listFiles(id)).files;
		const [call] = (await client.getSession(id)).toolCalls ?? [];
		expect(call).toMatchObject({ name: 'apply_plan', kind: 'approval' });
		const events = await Array.fromAsync(client.submitResults(id, [{ id: call?.id ?? '', approve: true }]));
		return { plan: readOutput(asked, 'diff'), before, end: events.at(-1) };
	};
	const paths = ['greeting.js', 'index.html', 'style.css'];
	const made = await readChange('Make a greeting page.');
	expect(made.before).toEqual([]);
	expect(made.plan.match(/^\+\+\+ b\/.*$/gm)?.sort()).toEqual(paths.map((path) => `+++ b/${path}`));
	expect(made.end).toMatchObject({ type: 'done', text: expect.stringMatching(/^Done: created index.html, /) });
	expect((await client.listFiles(id)).files.map(({ path }) => path)).toEqual(paths);

	const blocks = paths.map((path) => `\`\`\`txt ${path}\nnew ${path}\n\`\`\``).join('\n');
	const changed = await readChange(`Change all of them:\n${blocks}`);
	expect(changed.plan).toContain('+new style.css');
	expect(changed.plan).toContain('-\t\t<h1 id="greeting">Hello</h1>');
	expect(await Promise.all(paths.map(async (path) => (await client.readFile(id, path)).text()))).toEqual(
		paths.map((path) => `new ${path}\n`),
	);
	const { changes } = await client.listChanges(id);
	expect(changes.map(({ kind }) => kind)).toEqual([...Array(3).fill('changed'), ...Array(3).fill('created')]);
	expect((await client.listTasks(id)).flatMap(({ tasks }) => tasks.map(({ outcome }) => outcome))).toEqual(
		Array(6).fill('done'),
	);
});

test('editor runs three background writers within its budget, and a person allows a publication from the inbox', async () => {
	const client = createClient(runlet.url);
	const { id } = await client.createSession({ agent: 'editor' });
	const tasks = ['Welcome our new readers.', 'Say good night.', 'Publish it: title Tea, text Hot.'];
	for (const task of tasks) await Array.fromAsync(client.sendMessage(id, `Commission a text: "${task}"`));
	const findAsking = async () => (await client.listApprovals({ agent: 'writer', kind: 'approval' })).approvals[0];
	await expect.poll(findAsking, { timeout: 20_000 }).toMatchObject({ tool: 'publish', input: { title: 'Tea' } });
	const asking = await findAsking();
	const { children = [], budget } = await client.getSession(id);
	expect(children.map(({ agent, background }) => [agent, background])).toEqual(Array(3).fill(['writer', true]));
	const limits = children.map((child) => child.budget?.tokens ?? Number.NaN);
	expect(limits).toEqual([20_000, 20_000, 20_000]);
	expect(budget.reserved.tokens).toBeGreaterThanOrEqual(20_000);
	expect(children.map((child) => child.id)).toContain(asking?.sessionId);
	await Array.fromAsync(client.submitResults(asking?.sessionId ?? '', [{ id: asking?.callId ?? '', approve: true }]));
	const readTold = async () => {
		const messages = await client.listMessages(id);
		return messages.flatMap(({ role, content }) => (role === 'user' ? [String(content)] : [])).sort();
	};
	await expect.poll(readTold, { timeout: 20_000 }).toHaveLength(6);
	const told = (await readTold()).filter((text) => text.startsWith('writer (session '));
	expect(told).toHaveLength(3);
	expect(told.some((text) => text.includes('Tea is published, with 3 characters'))).toBe(true);
	await expect.poll(async () => (await client.getSession(id)).status, { timeout: 20_000 }).toBe('completed');
	const after = await client.getSession(id);
	expect(after.budget.reserved.tokens).toBe(0);
	expect(after.children?.every(({ spent }) => (spent?.tokens ?? 0) > 0)).toBe(true);
});

test('npm run chat shows the plan of coder as a diff, asks for approval, and prints files, changes and tasks', async () => {
	const lines = ['Make a greeting page.', 'yes', '/files', '/files style.css', '/changes', '/tasks', '/files none.txt'];
	const input = lines.map((line) => `'${line}'`).join(' ');
	const said = await shell(
		`printf '%s\\n' ${input} | NO_COLOR=1 npm run -s chat -- --url ${runlet.url} --agent coder 2>&1 || true`,
	);
	expect(said.stdout.split('\n')).toEqual(
		expect.arrayContaining([
			'  +++ b/style.css',
			'Apply plan?',
			'Done: created index.html, created style.css, created greeting.js.',
			expect.stringMatching(/^style\.css {4}\d+ bytes$/),
			'	place-items: center;',
			'created style.css',
			'  [x] Write style.css',
			expect.stringMatching(/none\.txt.*\(not_found\)$/),
		]),
	);
});

test('npm run chat prints the sessions, the budget and the turns, and changes the budget', async () => {
	const lines = ['What is 17 + 25?', '/budget 9,000,000', '/trace', '/sessions', '/help', '/budget much'];
	const input = lines.map((line) => `'${line}'`).join(' ');
	const said = await shell(`printf '%s\\n' ${input} | NO_COLOR=1 npm run -s chat -- --url ${runlet.url} 2>&1 || true`);
	expect(said.stdout.split('\n')).toEqual(
		expect.arrayContaining([
			expect.stringMatching(/^[\d,]+ tokens of 9,000,000$/),
			expect.stringMatching(/^Today: [\d,]+ tokens of 20,000,000$/),
			expect.stringMatching(
				/^1\. demo {2}\d+\.\d s {2}(?:\$[\d.]+|cost unknown)? ?·? ?[\d,]+ tokens in, \d+ out {2}→ calculate$/,
			),
			expect.stringMatching(/^\* +\d+\. \d{4}-\d\d-\d\d \d\d:\d\d {2}assistant: What is 17 \+ 25\?$/),
			expect.stringContaining('/trace          what each turn took and cost'),
			'/budget: much is no number of tokens.',
		]),
	);
});

function readOutput(events: readonly RunEvent[], field: string): string {
	const found = events.flatMap((event) =>
		event.type === 'tool_result' && typeof event.output === 'object' && event.output !== null
			? Object.entries(event.output).flatMap(([name, value]) => (name === field ? [String(value)] : []))
			: [],
	);
	return found.join('');
}

test('serves the page with a policy that blocks content of other sites', async () => {
	const page = await fetch(`${runlet.url}/`);
	expect(page.headers.get('content-type')).toContain('text/html');
	expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
	for (const file of ['/app.js', '/style.css']) expect((await fetch(`${runlet.url}${file}`)).status, file).toBe(200);
});

test('serves the script of <runlet-chat> to pages of other origins', async () => {
	for (const file of ['/embed.js', '/highlight.js', '/mathml.js']) {
		const { status, headers } = await fetch(`${runlet.url}${file}`, { headers: { origin: 'https://shop.example' } });
		expect([file, status, headers.get('access-control-allow-origin')]).toEqual([file, 200, '*']);
	}
	expect((await fetch(`${runlet.url}/app.js`)).headers.get('access-control-allow-origin')).toBeNull();
});

test('publishes the example skills, and each agent sees its skills', async () => {
	const { agents }: { agents: { name: string; skills: { name: string }[] }[] } = JSON.parse(
		await (await fetch(`${runlet.url}/v1/agents`)).text(),
	);
	const readSkills = (name: string) => agents.find((agent) => agent.name === name)?.skills.map((skill) => skill.name);
	expect(readSkills('assistant')).toEqual(['customer-tone', 'escalation', 'greeting-page', 'receipts']);
	expect(readSkills('support')).toEqual(['customer-tone', 'escalation']);
});

test('prints one line for each request and for each run, without the query string', async () => {
	const headers = { 'content-type': 'application/json' };
	const body = JSON.stringify({ agent: 'assistant', text: 'What is 17 + 25?' });
	await (await fetch(`${runlet.url}/v1/sessions`, { method: 'POST', headers, body })).text();
	await fetch(`${runlet.url}/v1/nothing?key=secret-in-query`);
	await runlet.says(/POST \/v1\/sessions 201 \d+ ms\n/);
	await runlet.says(/run completed · assistant · demo · \d+ \+ \d+ tokens · 1 tool call · \d+ ms\n/);
	await runlet.says(/GET \/v1\/nothing 404 \d+ ms\n/);
	expect(runlet.printed(/(\{"level".*|\[wrangler:info\].*|.*secret-in-query.*)/)).toBeUndefined();
});

interface Answer {
	readonly id: string;
	readonly text: string;
}

async function askResearcher(text: string): Promise<Answer> {
	const response = await fetch(`${runlet.url}/v1/sessions`, {
		method: 'POST',
		headers: { 'content-type': 'application/json' },
		body: JSON.stringify({ agent: 'researcher', text }),
	});
	return JSON.parse(await response.text());
}

test('without an API key, the researcher reads two pages of a local site and writes a report', async () => {
	const { id, text } = await askResearcher(
		`Read ${site.url}/tea and ${site.url}/milk, and write notes/report.md about them.`,
	);
	expect(text).toBe('I have read Tea.\n\nI have read Milk.\n\nI have written notes/report.md.');
	expect(site.hits).toEqual(['/tea', '/milk']);
	const report = await (await fetch(`${runlet.url}/v1/sessions/${id}/files/notes/report.md`)).text();
	for (const part of ['# Report\n\n## Tea\n', `${site.url}/tea`, '> | Green | 2 |', '## Milk\n', '> - whole'])
		expect(report).toContain(part);
});

test('the researcher reads the pages of its examples from the Worker itself', async () => {
	const { text } = await askResearcher(`Read ${runlet.url}/docs and ${runlet.url}/healthz.`);
	expect(text).toMatch(/^I have read Runlet: the API\.\n\nI have read http\S+\/healthz\.$/);
});

test('npm start sets the public address that logins of MCP servers need', async () => {
	const client = createClient({ baseUrl: runlet.url });
	await client.putMcpServer('tracker', { url: 'https://mcp.example.com/mcp', auth: 'oauth' });
	expect(await client.listMcpServers()).toMatchObject([{ name: 'tracker', isLoggedIn: false }]);
	// Runlet needs a set address to make the client's document. Without this address the answer would be
	// not_configured.
	const response = await fetch(`${runlet.url}/v1/mcp/client.json`);
	expect({ status: response.status, text: await response.text() }).toMatchObject({
		status: 404,
		text: expect.stringContaining('on a laptop'),
	});
	await client.deleteMcpServer('tracker');
	expect(await client.listMcpServers()).toEqual([]);
});

test('sessions and secrets survive a restart in the same folder, and the first request waits for the restart', async () => {
	const client = createClient({ baseUrl: runlet.url });
	const definition = {
		description: 'Count the orders.',
		inputSchema: { type: 'object', properties: {} },
		url: 'http://127.0.0.1:1/orders',
		headers: { authorization: `Bearer \${SHOP_TOKEN}` },
	};
	const made = await client.putTool('count_orders', { ...definition, secrets: { SHOP_TOKEN: 'open-sesame' } });
	expect(made).toMatchObject({ name: 'count_orders', secretNames: ['SHOP_TOKEN'] });
	const created = await fetch(`${runlet.url}/v1/sessions`, {
		method: 'POST',
		headers: { 'content-type': 'application/json' },
		body: JSON.stringify({ agent: 'assistant', text: 'What is 2 * 3?' }),
	});
	const at = `${runlet.url}${created.headers.get('location')}`;
	const before = await (await fetch(`${at}/messages`)).text();
	expect(processes(runlet.group)).not.toBe('');
	await runlet.stop('SIGTERM');
	expect(processes(runlet.group)).toBe('');
	const restarted = runlet.restart();
	const ask = (): Promise<Response> => fetch(`${at}/messages`).catch(() => ask());
	const first = await ask();
	expect([first.status, await first.text()]).toEqual([200, before]);
	await restarted;
	const events = await (await fetch(`${at}/events`)).text();
	expect(events).toContain('2 * 3 is 6.');
	expect(events).toContain('event: done');
	await client.putTool('count_orders', definition);
	expect(await client.listTools()).toEqual([await client.getTool('count_orders')]);
	expect(JSON.stringify(await client.listTools())).not.toContain('sesame');
	await client.deleteTool('count_orders');
	await expect(client.getTool('count_orders')).rejects.toMatchObject({ code: 'not_found' });
});

test('npm start starts nothing if npm has consumed an option, and suggests the missing two dashes', async () => {
	await expect(shell('node scripts/start.ts 8799')).rejects.toMatchObject({
		code: 1,
		stderr: expect.stringContaining('npm start -- --port 8799'),
	});
});

test('npm start leaves no process when it is stopped or killed', async () => {
	for (const signal of ['SIGINT', 'SIGKILL'] as const) {
		if (signal === 'SIGKILL') await runlet.restart();
		expect(processes(runlet.group)).not.toBe('');
		await runlet.stop(signal);
		// The process table lists a killed process for a moment.
		await expect.poll(() => processes(runlet.group), { message: signal }).toBe('');
	}
});

/** The living processes of a group, without zombies. */
function processes(group: number): string {
	const { stdout } = spawnSync('ps', ['-o', 'stat=,pid=,args=', '-g', String(group)], { encoding: 'utf8' });
	return stdout
		.split('\n')
		.filter((line) => !line.startsWith('Z'))
		.join('\n')
		.trim();
}
