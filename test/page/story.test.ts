/** Plays the story of docs/testing.md, "A complaint becomes a test", with the commands, edits and outputs that stand there. */
import { appendFile, copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../../scripts/root.ts';
import { formatDollars } from '../../src/core/base/text.ts';
import { findBlock, listBlocks } from '../docs.ts';
import { findPacked } from '../pack.ts';
import { claimPort } from '../port.ts';
import { openTerminal } from '../terminal.ts';
import { startChatEndpoint } from './chat-endpoint.ts';
import { openPage, page, say, sees } from './setup.ts';

openPage({ width: 1100, height: 700 });

/** What stands for the session and the models in the docs. */
const shown = {
	id: '5f3c9a1e7b2d4860f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708',
	large: 'claude-sonnet-4-6',
	small: 'gpt-5.4-mini',
};

let folder: string;
let project: string;
let models: Awaited<ReturnType<typeof startChatEndpoint>>;
let terminal: ReturnType<typeof openTerminal>;

beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), 'runlet-story-'));
	project = join(folder, 'my-shop');
	models = await startChatEndpoint();
	terminal = openTerminal(folder, { cached: true });
	await copyFile((await findPacked()).file, join(folder, 'runlet-0.1.0.tgz'));
	await terminal.run(folder, process.execPath, join(root, 'packages/create-runlet/create.mjs'), 'my-shop');
	const lines = Object.entries(models.variables).map(([name, value]) => `${name}='${value}'\n`);
	await writeFile(join(project, '.dev.vars'), lines.join(''));
	await terminal.run(project, 'npm', 'install', '--no-audit', '--no-fund', '--prefer-offline');
});
afterAll(async () => {
	models?.close();
	await rm(folder, { recursive: true, force: true });
});

/** The text of a section of docs/testing.md, and its blocks. */
async function readStory() {
	const lines = (await readFile(join(root, 'docs/testing.md'), 'utf8')).split('\n');
	const first = lines.indexOf('## A complaint becomes a test');
	const last = lines.findIndex((line, at) => at > first && line.startsWith('## '));
	const blocks = listBlocks('docs/testing.md').filter(({ line }) => line > first && line < last);
	return { text: lines.slice(first, last).join('\n'), codes: blocks.map(({ code }) => code) };
}

/** Makes an expression of an output in the docs. Times, ids of runs and what stands for `…` differ. */
function toPattern(said: string): RegExp {
	const source = said
		.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
		.replace(/(?<![$\d.-])\d+\\\.\d( \\\(\d+\\\.\d to \d+\\\.\d\\\))?(?=\s)/g, '[\\d.]+( \\([\\d.]+ to [\\d.]+\\))?')
		.replace(/\d+ ms/g, '\\d+ ms')
		.replace(/run_\w+/g, 'run_[\\w-]+')
		.replace(/message \d+/g, 'message \\d+')
		.replace(/…/g, '[\\s\\S]*?')
		.replace(/\s+/g, '\\s+');
	return new RegExp(`^${source}\\s*$`);
}

/** Runs the commands of a block. Each ends with the exit code, and prints what stands below it. */
async function play(block: string, code = 0): Promise<void> {
	const commands = block.split(/^(?=npx )/m).map((one) => one.split(/\n(?:# ?)?/));
	for (const [command = '', ...said] of commands) {
		const { stdout, stderr, ...ended } = await terminal.runToEnd(project, 'sh', '-c', command);
		expect([stderr, ended.code]).toEqual(['', code]);
		expect(stdout).toMatch(toPattern(said.join('\n').trimEnd()));
	}
}

async function edit(file: string, [to = '', from = '']: readonly (string | undefined)[]): Promise<void> {
	const text = await readFile(join(project, file), 'utf8');
	expect(text.split(from).length).toBe(2);
	await writeFile(join(project, file), text.replace(from, to));
}

/** A customer complains on the page, and staff save the session. Returns the file, and the id of the customer's request. */
async function complain(url: string): Promise<{ readonly request: string; readonly file: string }> {
	const ids: string[] = [];
	page.on('response', (response) => {
		const id = response.headers()['x-request-id'] ?? '';
		if (response.request().method() === 'POST' && /_[0-9a-f]{64}$/.test(id)) ids.push(id);
	});
	await page.goto(url);
	await page.locator('#welcome').waitFor();
	await say('When does my order A-1042 arrive?');
	await sees('.prose', 'It arrives tomorrow.');
	await page.getByRole('button', { name: 'Bad answer' }).click();
	await page.getByLabel('What is wrong?').fill('It arrived today.');
	await page.getByRole('button', { name: 'Send note' }).click();
	await sees('blockquote.note', 'It arrived today.');
	// The list of the owner hears of the note after the session has stored it.
	await expect.poll(() => fetch(`${url}/v1/feedback`).then((answer) => answer.text())).toContain('It arrived today.');
	await page.locator('#places').getByText('Feedback').click();
	const card = page.locator('.card', { hasText: 'It arrived today.' });
	const coming = page.waitForEvent('download');
	await card.getByRole('button', { name: /^Save as test/ }).click();
	const saved = await coming;
	await mkdir(join(project, 'recordings'));
	const file = `recordings/${saved.suggestedFilename()}`;
	await saved.saveAs(join(project, file));
	await sees('.card', `npx runlet replay ${file}`);
	const [request] = ids;
	// A page whose server has gone would complain.
	await page.goto('about:blank');
	if (request === undefined) throw new Error('No answer had the id of a request.');
	return { request, file };
}

const read = async (file: string): Promise<unknown> => JSON.parse(await readFile(join(project, file), 'utf8'));
const sessionOf = v.pipe(
	v.object({ session: v.object({ id: v.string() }) }),
	v.transform(({ session }) => session.id),
);
const usd = v.object({ usd: v.object({ mean: v.number() }) });
const compared = v.tuple([
	v.object({
		recorded: v.object({ figures: v.object({ usd: v.number() }) }),
		candidates: v.array(v.object({ model: v.string(), figures: usd })),
	}),
]);

/** Runs the steps of the workflow with `run` in a clone of the project. What npm installs is that of the project. */
async function playWorkflow(workflow: string): Promise<void> {
	const git = (...args: readonly string[]) =>
		terminal.run(project, 'git', '-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...args);
	await git('init', '--quiet');
	await git('add', '--all');
	await git('commit', '--quiet', '--message', 'Mend the order');
	const clone = join(folder, 'clone');
	await git('clone', '--quiet', project, clone);
	await symlink(join(project, 'node_modules'), join(clone, 'node_modules'), 'junction');
	const steps = [...workflow.matchAll(/- run: (.+)$/gm)].map(([, step = '']) => step);
	expect(steps.length).toBe(2);
	for (const step of steps) {
		const command = step === 'npm ci' ? 'npm ci --dry-run --prefer-offline' : step;
		const { code, stdout, stderr } = await terminal.runToEnd(clone, 'sh', '-c', command);
		expect([step, code], stderr).toEqual([step, 0]);
		if (step.includes('replay')) expect(stdout).toMatch(/^same /);
	}
}

test('a complaint becomes a test that fails, is fixed, stays green in CI, and compares the costs of two models', {
	timeout: 300_000,
}, async () => {
	const { text, codes } = await readStory();
	const runlet = await terminal.startProject(project, await claimPort(), '--no-type-check');
	const complaint = await complain(runlet.url).catch(async (error) => {
		await runlet.close();
		throw error;
	});
	const id = v.parse(sessionOf, await read(complaint.file));
	const fill = (block = ''): string =>
		[
			...[
				['REQUEST_ID', complaint.request],
				['SESSION_ID', id],
				['https://ai.example.com', runlet.url],
			],
			...[
				[shown.id, id],
				[shown.id.slice(0, 8), id.slice(0, 8)],
				[shown.large, 'large'],
				[shown.small, 'small'],
			],
		].reduce((filled, [from = '', to = '']) => filled.replaceAll(from, to), block);
	const [find, fail, fixed, workflow, ask] = codes.map(fill);
	expect(complaint.file).toBe(fill('recordings/desk-5f3c9a1e.json'));

	const downloaded = await read(complaint.file);
	await rm(join(project, complaint.file));
	await play(find ?? '').finally(runlet.close);
	expect(await read(complaint.file)).toEqual(downloaded);
	const spent = models.takeBill();
	expect(spent).toMatchObject({ large: { requests: 2 } });

	const [inRecording, inTool] = [...text.matchAll(/`([^`]+)` in\s+place\s+of `([^`]+)`/g)].map(([, ...pair]) => pair);
	await edit(complaint.file, inRecording ?? []);
	await play(fail ?? '', 1);
	await edit('src/agents/desk.ts', inTool ?? []);
	await play(fixed ?? '');
	await playWorkflow(workflow ?? '');
	expect(models.takeBill()).toEqual({});

	await play(ask ?? '');
	const bill = models.takeBill();
	expect(bill).toMatchObject({ large: { requests: 6 }, small: { requests: 6 } });
	const [command = ''] = (ask ?? '').split('\n');
	const [{ recorded, candidates }] = v.parse(
		compared,
		JSON.parse(await terminal.run(project, 'sh', '-c', `${command} --json`)),
	);
	expect(models.takeBill()).toEqual(bill);
	expect(recorded.figures.usd).toBeCloseTo(spent.large?.usd ?? 0, 12);
	expect(candidates.map(({ model }) => model)).toEqual(['large', 'small']);
	for (const { model, figures } of candidates) expect(figures.usd.mean).toBeCloseTo((bill[model]?.usd ?? 0) / 3, 12);

	await writeFile(
		join(project, 'evals/complaint.eval.ts'),
		fill(findBlock('docs/evals.md', '// evals/complaint.eval.ts')),
	);
	const evals = await terminal.run(project, 'npx', 'runlet', 'evals', 'evals/complaint.eval.ts');
	const [large, small] = Object.entries(models.takeBill())
		.sort()
		.map(([, { usd }]) => formatDollars(usd));
	expect(evals).toMatch(/^ +large +small\n/m);
	expect(evals.replace(/ +/g, ' ')).toContain(`\n cost ${large} ${small}\n`);
});

test('replay gives tools and models the variables of .dev.vars, which an empty variable of the environment does not hide', async () => {
	const tool = await readFile(join(project, 'src/agents/desk.ts'), 'utf8');
	const reading = tool
		.replace('fn: (id: string) =>', 'passInput: true, fn: ({ id }, { env }) =>')
		.replace("arrives: 'today'", "arrives: Reflect.get(env, 'ARRIVES')");
	expect(reading).toMatch(/env \}.*'ARRIVES'/s);
	await writeFile(join(project, 'src/agents/desk.ts'), reading);
	await appendFile(join(project, '.dev.vars'), 'ARRIVES=today\n');
	const replay = (options: string) =>
		terminal.runToEnd(project, 'sh', '-c', `ARRIVES= CHAT_BASE_URL= npx runlet replay ${options}`);
	expect(await replay('--live find_order')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^same /) });
	expect(await replay('--model small')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^small +done /m) });
	expect(models.takeBill()).toMatchObject({ small: { requests: 2 } });
});
