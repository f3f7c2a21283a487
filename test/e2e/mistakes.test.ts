/** `npm start` survives crashes of its processes, broken uploads, and errors in saved files. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { copyProject, startRunletIn } from '../runlet.ts';

let project: string;
let runlet: Awaited<ReturnType<typeof startRunletIn>>;
beforeAll(async () => {
	project = await copyProject();
	runlet = await startRunletIn(project);
});
afterAll(async () => {
	await runlet?.close();
	await rm(project, { recursive: true, force: true });
});

/** Repeats a request that times out: on a busy machine a start takes longer. */
async function agents(): Promise<Response> {
	const response = await fetch(`${runlet.url}/v1/agents`);
	return response.status === 503 && response.headers.has('retry-after') ? agents() : response;
}

/** The living processes with a name. `wrangler` is the Node process that runs Wrangler. */
function find(name: string): number[] {
	const { stdout } = spawnSync('ps', ['-o', 'pid=,args=', '-g', String(runlet.group)], { encoding: 'utf8' });
	return stdout.split('\n').flatMap((line) => {
		const [pid = '', command = '', ...args] = line.trim().split(/\s+/);
		const isWrangler = args.some((arg) => arg.endsWith('cli.js')) && args.includes('dev');
		return (name === 'wrangler' ? isWrangler : command.endsWith(name)) ? [Number(pid)] : [];
	});
}

test('a broken upload does not make Wrangler exit', async () => {
	const before = find('wrangler');
	const { port, hostname } = new URL(runlet.url);
	for (let count = 0; count < 5; count++) {
		const socket = connect(Number(port), hostname);
		await once(socket, 'connect');
		socket.write('POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{"agent":"');
		const gone = once(socket, 'close');
		socket.destroy();
		await gone;
		expect((await agents()).status).toBe(200);
	}
	expect(find('wrangler')).toEqual(before);
});

test('the Worker refuses a body that is too long', async () => {
	for (const bytes of [5_000_000, 40_000_000]) {
		const body = `{"agent":"${'x'.repeat(bytes)}"}`;
		const headers = { 'content-type': 'application/json' };
		const response = await fetch(`${runlet.url}/v1/sessions`, { method: 'POST', headers, body });
		expect([response.status, await response.text()]).toEqual([413, expect.stringContaining('4000000 bytes')]);
	}
	expect((await agents()).status).toBe(200);
});

test.each(['wrangler', 'workerd'])(
	'starts the Worker again at the same address after %s is killed, and reports the restart',
	async (name) => {
		runlet.forget();
		for (const pid of find(name)) process.kill(pid, 'SIGKILL');
		await runlet.says(/It is started again/);
		expect((await agents()).status).toBe(200);
		await runlet.says(/Runlet runs/);
	},
);

const file = 'src/agents/assistant.ts';
const mistakes = [
	[
		'a syntax error',
		(good: string) => `${good}\nconst x = ;\n`,
		/assistant\.ts:\d+:11: Unexpected ";"|assistant\.ts:\d+:10: Unexpected ";"/,
	],
	[
		'an import that does not exist',
		(good: string) => `import './nowhere.ts';\n${good}`,
		/assistant\.ts:1:7: Could not resolve "\.\/nowhere\.ts"/,
	],
	[
		'an invalid tool',
		(good: string) =>
			`import { tool } from 'runlet';\n${good}\ntool.define({\n\tname: 'pay',\n\tdescription: '',\n\tinputSchema: {},\n\t// @ts-expect-error\n\tneedApproval: true,\n});\n`,
		/assistant\.ts:\d+:\d+: .*needApproval: no such field \(tool pay\)\. Did you mean needsApproval\? Mend it and save/,
	],
	[
		'an invalid agent',
		(good: string) => good.replace("name: 'assistant'", "name: 'Assistant!'"),
		/name: Use a-z, 0-9 and single hyphens/,
	],
] as const;

test.each(mistakes)(
	'reports the place of %s, answers 503 with the place, and continues after the fix',
	async (_, spoil, says) => {
		const path = join(project, file);
		const good = await readFile(path, 'utf8');
		runlet.forget();
		await writeFile(path, spoil(good));
		await runlet.says(/The Worker does not run: /);
		expect(runlet.printed(/(The Worker does not run: .*)/)).toMatch(says);
		expect(runlet.printed(/The Worker does not run: (\S+?):/)).toMatch(/^src\//);
		const response = await agents();
		expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('Mend it and save')]);
		// Output of an earlier start may arrive late.
		runlet.forget();
		await writeFile(path, good);
		await runlet.says(/Runlet runs what was saved/);
		expect((await agents()).status).toBe(200);
	},
);

const atStart = [
	[
		'that exists at the start',
		async (path: string, wrong: string) => {
			await writeFile(path, wrong);
			await runlet.restart(/The Worker does not run: .*Unexpected/);
		},
		/Runlet is at /,
	],
	[
		'that follows an error at load',
		async (path: string, wrong: string) => {
			await writeFile(path, `${await readFile(path, 'utf8')}\nthrow new TypeError('at load');\n`);
			await runlet.says(/The Worker does not run: .*at load/);
			expect(runlet.printed(/The Worker does not run: (.*)/)).toMatch(
				/^src\/agents\/assistant\.ts:\d+:\d+: TypeError: at load/,
			);
			expect((await agents()).status).toBe(503);
			await writeFile(path, wrong);
			await runlet.says(/The Worker does not run: .*Unexpected/);
		},
		/Runlet runs what was saved/,
	],
] as const;

test.each(atStart)('the Worker runs again after the fix of a syntax error %s', async (_, spoil, says) => {
	const path = join(project, file);
	const good = await readFile(path, 'utf8');
	runlet.forget();
	await spoil(path, `${good}\nconst x = ;\n`);
	expect((await agents()).status).toBe(503);
	// The next mistake is reported, too.
	await writeFile(path, `${good}\nconst y = );\n`);
	await runlet.says(/The Worker does not run: .*Unexpected "\)"/);
	runlet.forget();
	await writeFile(path, good);
	await runlet.says(says);
	expect((await agents()).status).toBe(200);
});

test("shows the stack of a tool's error, with source lines, in the terminal and to readers of the run", async () => {
	const path = join(project, file);
	const good = await readFile(path, 'utf8');
	const broken = good.replace(
		'Object.values(toolbox.basic())',
		'Object.values(toolbox.basic()).map((tool) => ({ ...tool, fn: explode }))',
	);
	runlet.forget();
	await writeFile(path, `${broken}\nfunction explode(): never {\n\tthrow new RangeError('out of range');\n}\n`);
	await runlet.says(/Runlet runs what was saved/);
	const response = await fetch(`${runlet.url}/v1/sessions`, {
		method: 'POST',
		headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
		body: JSON.stringify({ agent: 'assistant', text: 'What is 17 + 25?' }),
	});
	const events = await response.text();
	await runlet.says(/tool \S+ threw RangeError: out of range\n\s+at .*explode.*src\/agents\/assistant\.ts:\d+:\d+/);
	expect(events).toContain('out of range');
	expect(events).toMatch(/"tool_stack".*RangeError: out of range\\n +at .*explode.*src\/agents\/assistant\.ts:\d+:\d+/);
	expect(events).not.toMatch(/file:\/\/|worker\.js/);
	runlet.forget();
	await writeFile(path, good);
	await runlet.says(/Runlet runs what was saved/);
});

test('the Worker gets a variable that is saved in .dev.vars, and keeps its address', async () => {
	const models = async () => {
		const body: { agents: { name: string; model: string }[] } = JSON.parse(await (await agents()).text());
		return body.agents.find(({ name }) => name === 'assistant')?.model;
	};
	expect(await models()).toBe('demo');
	runlet.forget();
	await writeFile(join(project, '.dev.vars'), 'MODEL=gpt-5.4\n');
	await runlet.says(/\.dev\.vars was saved/);
	expect(await models()).toBe('gpt-5.4');
	runlet.forget();
	await rm(join(project, '.dev.vars'));
	await runlet.says(/\.dev\.vars was saved/);
	expect(await models()).toBe('demo');
});

test('publishes a skill after it is changed or added', async () => {
	const read = async (name: string) => (await fetch(`${runlet.url}/v1/skills/${name}`)).text();
	const path = join(project, 'skills/receipts/SKILL.md');
	const text = await readFile(path, 'utf8');
	expect(await read('receipts')).not.toContain('A sentence that is new.');
	await writeFile(path, `${text}\nA sentence that is new.\n`);
	await expect.poll(() => read('receipts'), { timeout: 60_000 }).toContain('A sentence that is new.');
	await mkdir(join(project, 'skills/stamps'));
	await writeFile(join(project, 'skills/stamps/SKILL.md'), text.replace(/^name: .*$/m, 'name: stamps'));
	await expect.poll(() => read('stamps'), { timeout: 60_000 }).toContain('"stamps"');
});

test('serves a saved change of the page or of the client, and keeps the old page after a mistake', async () => {
	const read = async (path: string) => (await fetch(runlet.url + path)).text();
	const statuses = new Set<number>();
	let isOver = false;
	onTestFinished(() => {
		isOver = true;
	});
	const askAlways = async () => {
		while (!isOver) {
			statuses.add((await fetch(`${runlet.url}/app.js`)).status);
			// Without a pause the loop takes a whole processor.
			await pause(10);
		}
	};
	const reader = askAlways();
	const save = async (name: string, change: (text: string) => string) => {
		const path = join(project, name);
		await writeFile(path, change(await readFile(path, 'utf8')));
	};
	runlet.forget();
	await save('src/page/style.css', (text) => `${text}\n.saved { order: 7 }\n`);
	await expect.poll(() => read('/style.css'), { timeout: 60_000 }).toContain('.saved{order:7}');
	await runlet.says(/Runlet runs what was saved/);
	await save('src/client/http.ts', (text) => text.replace('The server does not answer.', 'Nobody answers.'));
	await expect.poll(() => read('/app.js'), { timeout: 60_000 }).toContain('Nobody answers.');
	runlet.forget();
	await save('src/page/app.ts', (text) => `${text}\nconst = 1;\n`);
	await runlet.says(/The page stays as it was until this is mended:\n.*\n?.*src\/page\/app\.ts:\d+:\d+/);
	expect(await read('/app.js')).toContain('Nobody answers.');
	// The server is replaced meanwhile, and no request fails.
	isOver = true;
	await reader;
	expect([...statuses]).toEqual([200]);
});
