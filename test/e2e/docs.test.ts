import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';
import * as v from 'valibot';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { unstable_readConfig } from 'wrangler';
import { parse } from 'yaml';
import { skill } from '../../src/core/index.ts';
import { type Block, findBlock, listBlocks, pages, toFile } from '../docs.ts';
import { copyProject, startRunletIn } from '../runlet.ts';

const root = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);
const blocks = pages.flatMap(listBlocks);
const address = 'http://127.0.0.1:8787';

/** The beginnings of blocks that another test runs, because they need more than a server. */
const elsewhere = [
	'const source = new EventSource',
	"import { useChat } from '@ai-sdk/react'",
	"import { createClient } from 'runlet/client';\nimport { useRunlet }",
	"import { readFile } from 'node:fs/promises';\nimport test from 'node:test';",
	'import { compareCandidates',
	'// evals/complaint.eval.ts',
];
const scripts = blocks.filter(
	({ language, code }) => /^(ts|js)$/.test(language) && !elsewhere.some((beginning) => code.startsWith(beginning)),
);
/** The blocks of agents and of parts of agents. Their first line has their path. */
const agents = scripts.filter(({ code }) => code.startsWith('// src/agents/'));
const workers = scripts.filter(({ code }) => code.startsWith('// src/') && code.includes('\nexport default '));
const programs = scripts.filter((block) => !agents.includes(block) && !workers.includes(block));

const workerConfig = v.object({
	compatibility_date: v.optional(v.string()),
	compatibility_flags: v.array(v.string()),
	kv_namespaces: v.array(v.object({ binding: v.string() })),
	durable_objects: v.object({ bindings: v.array(v.object({ name: v.string(), class_name: v.string() })) }),
});

const agentList = v.object({ agents: v.array(v.object({ name: v.string() })) });

const nameOf = ({ page, line }: Block): string => `${page}:${line}`;
let project: string;
let runlet: Awaited<ReturnType<typeof startRunletIn>>;

beforeAll(async () => {
	project = await copyProject({ mcp: true });
	// The project's tsconfig.json stays unchanged, because a change of that file would rebuild the page.
	const compilerOptions = { types: ['@cloudflare/workers-types', 'node'] };
	const own = {
		extends: './tsconfig.json',
		compilerOptions,
		files: [],
		include: ['src/agents', 'src/*.ts', 'pages/*.ts'],
	};
	await writeFile(join(project, 'tsconfig.docs.json'), JSON.stringify(own));
	for (const block of scripts) {
		const file = join(project, toFile(block));
		await mkdir(dirname(file), { recursive: true });
		await writeFile(file, block.code);
	}
	const defined = agents.flatMap(({ code, ...block }) =>
		[...code.matchAll(/^export const (\w+) = defineAgent\(/gm)].map(([, name = '']) => ({
			name,
			file: `./${basename(toFile({ ...block, code }))}`,
		})),
	);
	const index = await readFile(join(root, 'src/agents/index.ts'), 'utf8');
	const twice = defined.find(
		({ name }, at) => index.includes(`{ ${name} }`) || defined.findIndex((one) => one.name === name) !== at,
	);
	// The server would never start.
	if (twice !== undefined) throw new Error(`${twice.file}: there is another agent ${twice.name}`);
	const imports = defined.map(({ name, file }) => `import { ${name} } from '${file}';\n`).join('');
	const names = defined.map(({ name }) => `, ${name}`).join('');
	await writeFile(join(project, 'src/agents/index.ts'), imports + index.replace('];', `${names}];`));
	const secrets = ['GITHUB_WEBHOOK_SECRET', 'STRIPE_WEBHOOK_SECRET', 'SLACK_WEBHOOK_SECRET', 'HMAC_WEBHOOK_SECRET'];
	const needed = [...secrets, 'WIKI_KEY', 'TRAVEL_KEY', 'ANTHROPIC_API_KEY'].map((name) => `${name}:change-me`);
	runlet = await startRunletIn(
		project,
		...[...needed, 'CALLBACK_SECRET:whsec_Y2hhbmdlLW1l'].flatMap((one) => ['--var', one]),
	);
});
afterAll(async () => {
	await runlet?.close();
	await rm(project, { recursive: true, force: true });
});

test('all code of the docs compiles', async () => {
	const compiler = [
		join(root, 'node_modules/typescript/bin/tsc'),
		'--singleThreaded',
		'-p',
		join(project, 'tsconfig.docs.json'),
	];
	const { stdout } = await run(process.execPath, compiler).catch((error: { stdout: string }) => error);
	expect(stdout).toBe('');
});

test('a Worker serves the agents of all pages of the docs without problems', async () => {
	const names = agents.flatMap(({ code }) =>
		[...code.matchAll(/defineAgent\(\{\n\tname: '([\w-]+)'/g)].map(([, name]) => name),
	);
	const listed: unknown = await (await fetch(`${runlet.url}/v1/agents`)).json();
	const { agents: served } = v.parse(agentList, listed);
	expect(served.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
	const health: unknown = await (await fetch(`${runlet.url}/healthz?deep`)).json();
	// The project has no bindings for a shell, because these bindings need the paid plan.
	expect(health).toMatchObject({
		problems: [{ where: 'agent analyst', message: expect.stringMatching(/^run_shell: /) }],
	});
});

const taken = v.object({ sessionId: v.string(), runId: v.string() });
const history = v.object({ messages: v.array(v.object({ role: v.string(), content: v.string() })) });

/** Runs the block of docs/webhooks.md that signs and posts an event. Returns the status and the body of the answer. */
async function deliver(): Promise<readonly [status: string | undefined, body: v.InferOutput<typeof taken>]> {
	const block = findBlock('docs/webhooks.md', 'BODY=').replace(address, runlet.url);
	const { stdout } = await run('sh', ['-c', block]);
	const [head = '', body = ''] = stdout.split('\r\n\r\n');
	return [/^HTTP\/1.1 (\d+)/.exec(head)?.[1], v.parse(taken, JSON.parse(body))];
}

// This test comes before the test of all requests, which posts the same event again.
test('the agent triage answers the event of docs/webhooks.md once', async () => {
	const [status, body] = await deliver();
	expect(status).toBe('202');
	const events = await (await fetch(`${runlet.url}/v1/sessions/${body.sessionId}/events`)).text();
	expect(events).toContain('event: done');
	const messages = await (await fetch(`${runlet.url}/v1/sessions/${body.sessionId}/messages`)).json();
	const contents = v.parse(history, messages).messages.map(({ content }) => content);
	expect(contents[0]).toContain('ada opened issue you/shop#7 "Typo in the README"');
	expect(contents.at(-1)).toContain('#7 is labelled documentation');
	expect(await deliver()).toEqual(['200', body]);
	const again = await (await fetch(`${runlet.url}/v1/sessions/${body.sessionId}/messages`)).json();
	expect(again).toEqual(messages);
});

/** The expected output of a program, from its comments after `console.log(…);`. `…` matches anything. */
function listExpected(code: string): readonly RegExp[] {
	return [...code.matchAll(/console\.log\(.*\); \/\/ (.+)$/gm)].map(
		([, said = '']) =>
			new RegExp(
				said
					.split('…')
					.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
					.join('.*'),
				's',
			),
	);
}

describe('every program of the docs runs, and prints the output that its comments show', () => {
	const toPath = (block: Block): string => join('programs', basename(toFile(block)));
	// In parallel, because each build contains Runlet.
	beforeAll(async () => {
		await mkdir(join(project, 'programs'));
		for (const block of programs)
			await writeFile(join(project, toPath(block)), block.code.replaceAll(address, runlet.url));
		await build({
			entryPoints: programs.map((block) => join(project, toPath(block))),
			outdir: join(project, 'programs'),
			outExtension: { '.js': '.mjs' },
			tsconfig: join(project, 'tsconfig.json'),
			bundle: true,
			splitting: true,
			format: 'esm',
			platform: 'node',
			packages: 'external',
			logLevel: 'silent',
		});
	});

	test.each(programs.map((block) => [nameOf(block), block] as const))('%s runs', async (_, block) => {
		const built = join(project, toPath(block).replace(/\.[jt]s$/, '.mjs'));
		const { stdout } = await run(process.execPath, ['--no-warnings', built], { cwd: project });
		for (const expected of listExpected(block.code)) expect(stdout).toMatch(expected);
	});
});

/** Parses a part of a `wrangler.toml` as Wrangler does. Fails if Wrangler has no such field. */
async function readWrangler(toml: string) {
	const config = join(project, 'docs.toml');
	await writeFile(config, toml);
	const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
	const read: unknown = unstable_readConfig({ config }, { hideWarnings: false });
	const warnings = warn.mock.calls.join('\n');
	warn.mockRestore();
	expect(warnings).toBe('');
	return v.parse(workerConfig, read);
}

describe('every Worker of the docs starts with the bindings of docs/own-worker.md, and answers', () => {
	const built = join('build', 'workers');
	// In parallel, because each build contains Runlet.
	beforeAll(async () => {
		await build({
			entryPoints: workers.map((block) => join(project, toFile(block))),
			outbase: project,
			outdir: join(project, built),
			bundle: true,
			format: 'esm',
			conditions: ['workerd', 'worker', 'browser'],
			external: ['cloudflare:*', 'node:*'],
			logLevel: 'silent',
		});
	});

	test.each(workers.map((block) => [nameOf(block), block] as const))('%s starts and answers', async (_, block) => {
		const path = join(project, built, toFile(block).replace(/\.ts$/, '.js'));
		const toml = listBlocks('docs/own-worker.md').find(({ language }) => language === 'toml');
		const config = await readWrangler(toml?.code ?? '');
		const classes = config.durable_objects.bindings.map(({ name, class_name: className }) => [
			name,
			{ className, useSQLite: true },
		]);
		const miniflare = new Miniflare({
			modules: [{ type: 'ESModule', path: 'worker.js', contents: await readFile(path, 'utf8') }],
			compatibilityDate: config.compatibility_date,
			compatibilityFlags: config.compatibility_flags,
			durableObjects: Object.fromEntries(classes),
			kvNamespaces: config.kv_namespaces.map(({ binding }) => binding),
			bindings: { LOCAL: 'true' },
			cf: false,
		});
		try {
			if (!block.code.includes('createRunlet(')) {
				const answer = await miniflare.dispatchFetch('http://127.0.0.1/');
				expect([answer.status, await answer.text()]).toEqual([200, expect.stringMatching(/" ?42\."/)]);
				return;
			}
			const [, base = ''] = /basePath: '([^']+)'/.exec(block.code) ?? [];
			const headers = { cookie: 'login=ada' };
			const agents = await miniflare.dispatchFetch(`http://127.0.0.1${base}/v1/agents`, { headers });
			const listed: unknown = await agents.json();
			const [agent] = v.parse(agentList, listed).agents;
			if (block.code.includes('authenticate:'))
				expect((await miniflare.dispatchFetch(`http://127.0.0.1${base}/v1/sessions`)).status).toBe(401);
			const created = await miniflare.dispatchFetch(`http://127.0.0.1${base}/v1/sessions`, {
				method: 'POST',
				headers: { 'content-type': 'application/json', cookie: 'login=ada' },
				body: JSON.stringify({ agent: agent?.name, text: 'Hello.' }),
			});
			expect([created.status, await created.text()]).toEqual([201, expect.stringContaining('"completed"')]);
			if (base !== '') expect(await (await miniflare.dispatchFetch('http://127.0.0.1/')).text()).toBe('My shop');
		} finally {
			await miniflare.dispose();
		}
	});
});

/** Creates a session that waits for the result of a call, for the variables `$SESSION`, `$RUN` and `$CALL` of a shell. */
async function createWaiting(): Promise<Record<'SESSION' | 'RUN' | 'CALL' | 'TOKEN', string>> {
	const created = await fetch(`${runlet.url}/v1/sessions`, {
		method: 'POST',
		headers: { 'content-type': 'application/json' },
		body: JSON.stringify({ agent: 'support', text: 'Please refund order A-1042, amount 25 euros.' }),
	});
	const texts = { id: v.string(), token: v.string(), runId: v.string() };
	const session = v.object({ ...texts, toolCalls: v.tuple([v.object({ id: v.string() })]) });
	const { id, token, runId, toolCalls } = v.parse(session, await created.json());
	return { SESSION: id, RUN: runId, CALL: toolCalls[0].id, TOKEN: token };
}

const shells = blocks.filter(({ language }) => language === 'sh');
const isCurl = ({ code }: Block): boolean => code.includes('curl ');
const isHere = ({ code }: Block): boolean => code.includes(address);

describe('every curl request of the docs is answered', () => {
	test.each(shells.filter((block) => isCurl(block) && isHere(block)).map((block) => [nameOf(block), block] as const))(
		'%s is answered',
		async (_, { code }) => {
			const env = { ...process.env, ...(await createWaiting()) };
			const script = code
				.replaceAll(address, runlet.url)
				.replaceAll(/\bcurl /g, 'curl --silent --show-error --fail-with-body ');
			const { stdout, stderr } = await run('sh', ['-ec', script], { env, cwd: project }).catch((error) => error);
			const said = [stdout, stderr].join('');
			// The shell of docs/tools.md needs the paid plan.
			if (code.includes('/healthz?deep')) expect(said).toContain('"where":"agent analyst","message":"run_shell: ');
			else expect(said).not.toMatch(/"error"|curl: /);
		},
	);
});

/** The npm commands of the shell blocks. */
const commands = shells
	.filter((block) => !(isCurl(block) && isHere(block)))
	.flatMap(({ code, page }) =>
		code
			.replaceAll('\\\n', ' ')
			.split('\n')
			.map((line) => line.replace(/\s+#.*$/, '').trim())
			.filter((line) => /^(npm|npx)\b/.test(line))
			.map((line) => [page, line] as const),
	);
const helps = new Map<string, Promise<string>>();

/**
 * Returns the help of a command. If the command passes options on to another command, adds the help of the other
 * command.
 */
function readHelp(command: readonly string[]): Promise<string> {
	const key = command.join(' ');
	const known = helps.get(key);
	if (known !== undefined) return known;
	const [program = '', ...args] = command;
	const help = run(program, [...args, '--help'], { cwd: root }).then(async ({ stdout }) => {
		const [, inner] = /npx (wrangler [a-z]+) --help/.exec(stdout) ?? [];
		return inner === undefined ? stdout : stdout + (await readHelp(toCommand(`npx ${inner}`)));
	});
	helps.set(key, help);
	return help;
}

/**
 * Turns a shell line into a command that shows its help. Returns nothing for commands of npm and scoped packages.
 */
function toCommand(line: string): readonly string[] {
	const [, script] = /^npm (?:run )?([\w:]+)/.exec(line) ?? [];
	if (script !== undefined && /^(install|i|pack|create|ci|test)$/.test(script)) return [];
	if (script !== undefined) return ['npm', 'run', '--silent', script, '--'];
	const [, tool, words = ''] = /^npx (\w+)((?: [a-z]+)*)/.exec(line) ?? [];
	if (tool === undefined) return [];
	const own = tool === 'runlet' ? [process.execPath, 'src/command/bin.ts'] : [join(root, 'node_modules/.bin', tool)];
	return [...own, ...words.split(' ').filter((word) => word !== '')];
}

describe('every npm and npx command of the docs exists with its options', () => {
	test.each(commands)('%s: %s', async (_, line) => {
		const command = toCommand(line);
		if (command.length === 0) return;
		const help = await readHelp(command);
		for (const [option] of line.matchAll(/(?<= )--[\w-]+/g)) expect(help).toContain(option);
	});
});

describe('every JSON, TOML, YAML and Markdown block of the docs is valid', () => {
	const files = blocks.filter(({ language }) => /^(json|toml|yaml|md)$/.test(language));
	test.each(files.map((block) => [nameOf(block), block] as const))('%s is valid', async (_, { language, code }) => {
		if (language === 'toml') await readWrangler(code);
		else if (language === 'json') JSON.parse(code);
		else if (language === 'yaml') parse(code);
		else expect(skill.validateMarkdown(code)).toEqual([]);
	});
});

test('every code block of the docs has a known language', () => {
	const known = /^(ts|js|tsx|sh|json|toml|yaml|md|mermaid|html)$/;
	expect(blocks.filter(({ language }) => !known.test(language)).map(nameOf)).toEqual([]);
});
