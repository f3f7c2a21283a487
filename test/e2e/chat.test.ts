import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import type { RunEvent, TaskList } from '../../src/client/index.ts';
import { describeBudget } from '../../src/command/chat/commands.ts';
import { createPrompt, findHistoryFile } from '../../src/command/chat/prompt.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const models = [
	{ name: 'demo', ready: true },
	{ name: 'big', ready: false, needs: 'BIG_KEY' },
];
const usage = { inputTokens: 1200, outputTokens: 7, totalTokens: 1207 };

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
	for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

describe('npm run chat', () => {
	test('prints the answer to its arguments on standard output, and tool calls on standard error', async () => {
		const server = await startServer([
			...toolCall('c1', 'calculate', ['{"expression":', '"17 + 25"}'], 42),
			say('17 + 25 '),
			say('is 42.'),
			{ type: 'done', text: '17 + 25 is 42.', usage },
		]);
		const { stdout, stderr, code } = await run(server, ['What is', '17 + 25?']);
		expect(stdout).toBe('17 + 25 is 42.\n');
		expect(stderr).toBe('→ calculate {"expression":"17 + 25"}\n← 42\n1,200 tokens in · 7 out · cost unknown\n');
		expect(code).toBe(0);
		expect(server.bodies('POST /v1/sessions')).toEqual([{ agent: 'helper' }]);
		expect(server.bodies('POST /v1/sessions/s1/messages')).toEqual([{ text: 'What is 17 + 25?' }]);
	});

	test('shows skills, notes, warnings and failed calls on standard error', async () => {
		const server = await startServer([
			...toolCall('c1', 'read_skill', ['{"name":"refund-reply"}'], '# A long text'),
			{ type: 'note', id: 'c2', label: 'Looking up', detail: 'order 7' },
			...toolCall('c2', 'find_order', ['{"id":"seven"}'], 'id: expected a number', true),
			{ type: 'warning', code: 'context', message: 'The context window is nearly full.' },
			say('I am sorry.'),
			{ type: 'done', text: 'I am sorry.', usage: {} },
		]);
		const { stdout, stderr } = await run(server, ['--agent', 'support', 'Help']);
		expect(stderr.split('\n')).toEqual([
			'→ skill refund-reply',
			'· Looking up order 7',
			'→ find_order {"id":"seven"}',
			'← id: expected a number',
			'The context window is nearly full.',
			'',
		]);
		expect(stdout).toBe('I am sorry.\n');
		expect(server.bodies('POST /v1/sessions')).toEqual([{ agent: 'support' }]);
	});

	test('shows a line for each tool of the provider, and the sources after the answer', async () => {
		const source = (id: string, more: object): RunEvent => ({ type: 'source', id, ...more });
		const rain = { url: 'https://rain.example/', title: 'Rain\u001b[2J in\nOslo' };
		const server = await startServer([
			{ type: 'provider_tool', id: 's1', name: 'web_search', input: { query: 'old' } },
			source('0', { title: 'old' }),
			{ type: 'turn.restarted', iteration: 1 },
			{ type: 'provider_tool', id: 's1', name: 'web_search', input: { query: 'rain' } },
			{ type: 'provider_tool', id: 's1', name: 'web_search', input: { query: 'rain' }, output: [{ title: 'Rain' }] },
			{ type: 'provider_tool', id: 'f1', name: 'web_fetch', output: 'gone', isError: true },
			say('It rai'),
			source('1', rain),
			source('2', { ...rain, quote: 'It rains.' }),
			say('ns.'),
			source('3', { title: 'report.pdf' }),
			{ type: 'stop', reason: 'end_turn' },
			{
				type: 'done',
				text: '',
				usage: { ...usage, units: { web_searches: 1 }, costUsd: 0.5, unpriced: 'web_fetches' },
			},
		]);
		const { stdout, stderr } = await run(server, ['Does it rain?']);
		expect(stdout).toBe('It rains.\n');
		expect(stderr.split('\n')).toEqual([
			'→ web_search {"query":"old"} (at the provider)',
			'The answer was interrupted and starts again:',
			'→ web_search {"query":"rain"} (at the provider)',
			'→ web_fetch (at the provider)',
			'← web_fetch: gone',
			'[1] Rain[2J in Oslo https://rain.example/',
			'[2] report.pdf',
			'1,200 tokens in · 7 out · 1 web search · $0.50 and unknown',
			'',
		]);
	});

	test('shows each change of a task list once', async () => {
		const list = (...tasks: object[]) => ({ id: 'list-1', title: 'Release', tasks }) as TaskList;
		const [build, ship] = [
			{ id: 'task-1', text: 'build' },
			{ id: 'task-2', text: 'ship\u001b[2J it' },
		];
		const done = list({ ...build, outcome: 'done' }, { ...ship, outcome: 'failed', note: 'no\nnet' });
		const long = list(
			...Array.from({ length: 30 }, (_, n) => ({ id: `${n}`, text: `${n}`, ...(n < 9 && { outcome: 'done' }) })),
		);
		const change = (id: string, shown: TaskList, isError = false): RunEvent[] => {
			const events = toolCall(id, 'resolve_task', [], isError ? 'broken' : shown, isError);
			return events.toSpliced(-1, 0, { type: 'tasks', id, lists: [shown] });
		};
		const server = await startServer([
			...change('c1', list(build, ship)),
			...change('c2', done),
			...change('c3', long, true),
			{ type: 'done', text: '', usage: {} },
		]);
		const { stderr } = await run(server, ['Go']);
		const between = Array.from({ length: 10 }, (_, n) => `  [ ] ${n + 9}`);
		expect(stderr.split('\n')).toEqual([
			'→ resolve_task {}',
			...['· Release: 0 of 2 done', '  [ ] build', '  [ ] ship[2J it'],
			'→ resolve_task {}',
			...['· Release: 1 of 2 done, 1 failed', '  [x] build', '  [!] ship[2J it: no net'],
			'→ resolve_task {}',
			...['· Release: 9 of 30 done', '  … 7 before', '  [x] 7', '  [x] 8', ...between, '  … 11 more'],
			'← broken',
			'',
		]);
	});

	test('sends each line of standard input as a message to the same session', async () => {
		const server = await startServer([say('Yes.'), { type: 'done', text: 'Yes.', usage: {} }]);
		const { stdout, code } = await run(server, ['--session', 's1'], 'one\n\ntwo\n');
		expect(stdout).toBe('Yes.\nYes.\n');
		expect(code).toBe(0);
		expect(server.bodies('POST /v1/sessions')).toEqual([]);
		expect(server.bodies('POST /v1/sessions/s1/messages')).toEqual([{ text: 'one' }, { text: 'two' }]);
	});

	test('resumes after the last complete event if the connection is lost', async () => {
		const events = [say('one '), say('two '), say('three'), { type: 'done', text: '', usage: {} } as const];
		const server = await startServer(events, { cutAfter: [2] });
		const { stdout, stderr, code } = await run(server, ['Count']);
		expect(stdout.replaceAll('\n', '')).toBe('one two three');
		expect(stderr).toContain('Connection lost. Trying again…');
		expect(code).toBe(0);
		expect(server.lastEventIds).toEqual(['1-2']);
	});

	test('cancels the run on the server at an interrupt', async () => {
		const server = await startServer([say('A long')], { hold: true });
		const child = start(server, ['Tell']);
		await sees(child, 'A long');
		child.process.kill('SIGINT');
		expect(await child.code).toBe(1);
		expect(server.bodies('POST /v1/sessions/s1/cancel')).toHaveLength(1);
		expect(child.stderr()).toContain('Stopped.');
	});

	test('ends at a second interrupt, and shows how to continue the session', async () => {
		const server = await startServer([say('A long')], { hold: true, deaf: true });
		const child = start(server, ['Tell']);
		await sees(child, 'A long');
		child.process.kill('SIGINT');
		await sees(child, 'Stopping…');
		const again = setInterval(() => child.process.kill('SIGINT'), 250);
		cleanups.push(() => clearInterval(again));
		expect(await child.code).toBe(130);
		expect(child.stderr()).toContain('npm run chat -- --session s1');
	});

	test('reports that a turn starts again', async () => {
		const server = await startServer([
			say('The answ'),
			{ type: 'turn.restarted', iteration: 1 },
			say('The answer.'),
			{ type: 'done', text: 'The answer.', usage: {} },
		]);
		const { stdout, stderr } = await run(server, ['Go']);
		expect(stdout).toBe('The answ\nThe answer.\n');
		expect(stderr).toContain('starts again');
	});

	test('removes control characters from the answer of a model', async () => {
		const server = await startServer([say('a\u001b]52;c;YQ==\u0007b\u009b2J'), { type: 'done', text: '', usage: {} }]);
		const { stdout } = await run(server, ['Go']);
		expect(stdout).toBe('a]52;c;YQ==b2J\n');
	});

	test('formats the Markdown of an answer in a terminal with colours, block by block', async () => {
		const colours = { FORCE_COLOR: '1', NO_COLOR: undefined };
		const answer = [
			'# The *plan*\n\nUse `npm`, **not** ~~yarn~~: see [the docs](https://example.com/a).\n\n',
			'1. one\n2. two\n   - [x] done\n   - [ ] open\n\n> a quote\n\n',
			'```sh\nnpm start\n\nnpm test\n```\n\n| a | long |\n|--:|---|\n| 10 | **x** |\n\n<b>&#27;[2J</b> \u001b[2J\u202e',
		].join('');
		// Sources may arrive between any two pieces.
		const pieces = Array.from({ length: Math.ceil(answer.length / 7) }, (_, at): RunEvent[] => [
			say(answer.slice(at * 7, at * 7 + 7)),
			{ type: 'source', id: 'p1', title: 'report.pdf' },
		]).flat();
		const server = await startServer([...pieces, { type: 'done', text: '', usage: {} }]);
		const { stdout } = await run(server, ['Go'], '', colours);
		expect(stripVTControlCharacters(stdout)).toBe(
			[
				'The plan\n',
				'Use npm, not yarn: see the docs (https://example.com/a).\n',
				'1. one\n2. two\n   [x] done\n   [ ] open\n',
				'│ a quote\n',
				'    npm start\n\n    npm test\n',
				' a  long\n──  ────\n10  x\n',
				'<b>&#27;[2J</b> [2J\n',
			].join('\n'),
		);
		expect(stdout).toContain('\u001b[1mnot\u001b[22m');
		// The terminal gets no escape sequences except styles.
		const styles = stdout.split('\u001b').slice(1);
		expect(styles.filter((one) => !/^\[\d+m/.test(one))).toEqual([]);

		const held = start(await startServer([say('One.\n\nTwo.\n\nThr')], { hold: true }), ['Go'], '', colours);
		await sees(held, 'One.');
		expect(held.stdout()).not.toContain('Thr');
	});

	test('/attach sends a file with the next message, and /model changes the model of later messages', async () => {
		const server = await startServer([say('Yes.'), { type: 'done', text: 'Yes.', usage: {} }]);
		const path = join(await createFolder(), 'notes.md');
		await writeFile(path, 'Bring milk.');
		const lines = ['/model', '/model big', `/attach ${path}`, 'one', 'two'];
		const { stdout, stderr } = await run(server, ['--session', 's1'], `${lines.join('\n')}\n`);
		expect(stdout).toBe('* demo\n  big (not ready: set BIG_KEY)\nYes.\nYes.\n');
		expect(stderr).toBe('The next message goes to big.\nnotes.md (11 bytes): sent with the next message\n');
		const contentBase64 = Buffer.from('Bring milk.').toString('base64');
		const file = { name: 'notes.md', type: 'text/markdown', size: 11, contentBase64 };
		expect(server.bodies('POST /v1/sessions/s1/messages')).toEqual([
			{ text: 'one', model: 'big', attachments: [file] },
			{ text: 'two', model: 'big' },
		]);
	});

	test.for([
		['/model huge', '/model: huge is none of demo, big.'],
		['/attach', '/attach: give the path of a file.'],
		['/attach no-such-file', '/attach: there is no file no-such-file.'],
	])('refuses %s, and sends nothing', async ([line = '', words]) => {
		const server = await startServer([say('Yes.')]);
		const { stderr, code } = await run(server, ['--session', 's1'], `${line}\n`);
		expect(stderr).toContain(words);
		expect(code).toBe(1);
		expect(server.bodies('POST /v1/sessions/s1/messages')).toEqual([]);
	});

	test.for([
		[{ usd: 0.05 }, 0, '$0.00 of $0.05 · 1,156 tokens'],
		[{ usd: 2 }, 0.0042, '$0.00420 of $2 · 1,156 tokens'],
		[{ usd: 2, tokens: 50_000 }, 0.5, '$0.50 of $2 · 1,156 tokens of 50,000'],
		[{ tokens: 50_000 }, 0, '1,156 tokens of 50,000'],
		[{}, 0.5, '1,156 tokens without a cap ($0.50)'],
	] as const)('/budget names each limit of %j, and how much of the limit is spent', ([limit, usd, words]) => {
		const none = { tokens: 0, usd: 0 };
		expect(describeBudget({ limit, spent: { tokens: 1_156, usd }, reserved: none, left: {} })).toBe(words);
	});

	test('shows how to allow a waiting call', async () => {
		const server = await startServer([
			{
				type: 'awaiting',
				status: 'awaiting_tools',
				toolCalls: [{ id: 'c1', name: 'refund_order', input: { amount: 30 }, kind: 'approval' }],
			},
		]);
		const { stderr, code } = await run(server, ['Refund it.']);
		expect(stderr).toBe(
			`The run waits for somebody to allow refund_order.\nAllow it: npm run chat -- --session s1 --url ${server.url}, or the inbox at ${server.url}/#/inbox\n`,
		);
		expect(code).toBe(0);
	});

	test('shows how to set a key if Runlet requires a key', async () => {
		const server = await startServer([say('Yes.'), { type: 'done', text: 'Yes.', usage: {} }], { key: 'rl_1' });
		const env = { RUNLET_API_KEY: '' };
		const { stderr, code } = await run(server, ['Go'], '', env);
		expect(stderr).toContain('Give --key rl_…, or export RUNLET_API_KEY=rl_…');
		expect(code).toBe(1);
		expect((await run(server, ['--key', 'rl_2', 'Go'], '', env)).stderr).not.toContain('Give --key');
		expect((await run(server, ['--key', 'rl_1', 'Go'], '', env)).stdout).toBe('Yes.\n');
	});

	test('if somebody else has answered a question first, shows the call that waits now', async () => {
		const asked = { callId: 'q1', question: 'For which day?' };
		const server = await startServer([{ type: 'awaiting', status: 'awaiting_user', question: asked }], {
			now: { callId: 'q2', question: 'At what time?' },
		});
		const { stderr, code } = await run(server, ['--session', 's1'], 'Book a table.\nFriday\n');
		expect(server.bodies('POST /v1/sessions/s1/answer')).toEqual([{ text: 'Friday', callId: 'q1' }]);
		expect(stderr).toBe(
			'For which day?\nSomebody has answered this meanwhile, so nothing was sent. This is how it stands now. (conflict)\nAt what time?\n',
		);
		expect(code).toBe(1);
	});

	test('recalls the input of earlier starts by the arrow keys, and stores it in a private file', async () => {
		const file = join(await createFolder(), 'state/chat-history');
		const type = async (keys: string) => {
			const input = new PassThrough();
			const prompt = createPrompt(input, new PassThrough(), { file });
			const line = once(prompt, 'line');
			input.write(keys);
			const [said] = await line;
			prompt.close();
			return said;
		};
		await type('first\r');
		await type('second\r');
		expect(await type('\u001b[A\r')).toBe('second');
		expect(await type('\u001b[A\u001b[A\r')).toBe('first');
		expect((await stat(file)).mode & 0o777).toBe(0o600);
		expect(findHistoryFile({ XDG_STATE_HOME: '/state' })).toBe(join('/state', 'runlet', 'chat-history'));
	});

	test.for([
		[
			{ type: 'error', code: 'overloaded', message: 'The model is overloaded.' },
			'The model is overloaded. (overloaded)',
		],
		[{ type: 'halted', reason: 'budget_exceeded' }, 'the budget of this session is used up'],
	] as [RunEvent, string][])('shows a run that ends in $0.type, and exits with 1', async ([event, words]) => {
		const server = await startServer([event]);
		const { stderr, code } = await run(server, ['Go']);
		expect(stderr).toContain(words);
		expect(code).toBe(1);
	});

	test("shows the server's own message for an unknown session", async () => {
		const server = await startServer([]);
		const { stderr, code } = await run(server, ['--session', 'gone', 'Hello']);
		expect(stderr).toBe('No session gone. (not_found)\n');
		expect(code).toBe(1);
	});

	test('names the remedy if no server answers', async () => {
		const server = await startServer([]);
		await server.close();
		const { stderr, code } = await run(server, ['Hello']);
		expect(stderr).toBe(`Nothing answers at ${server.url}. Start it with \`npm start\`, or give --url.\n`);
		expect(code).toBe(1);
	});

	test('names an unknown option, and --help lists the options', async () => {
		const server = await startServer([]);
		const wrong = await run(server, ['--agnet', 'x']);
		expect(wrong.stderr).toContain('--agnet: there is no such option. Did you mean --agent?');
		expect(wrong.code).toBe(1);
		const help = await run(server, ['--help']);
		for (const option of ['--agent', '--session', '--url']) expect(help.stdout).toContain(option);
		expect(help.code).toBe(0);
	});
});

function say(text: string): RunEvent {
	return { type: 'text', text };
}

function toolCall(id: string, name: string, input: string[], output: unknown, isError = false): RunEvent[] {
	return [
		{ type: 'tool_use_start', id, name },
		...input.map((partialInputJson): RunEvent => ({ type: 'tool_use_input', id, partialInputJson })),
		{ type: 'tool_use_end', id },
		{ type: 'stop', reason: 'tool_use', usage: {} },
		{ type: 'tool_result', id, output, isError },
	];
}

async function createFolder(): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'runlet-chat-'));
	cleanups.push(() => rm(folder, { recursive: true, force: true }));
	return folder;
}

function start(server: { url: string }, args: string[], input = '', env: NodeJS.ProcessEnv = {}) {
	const child = spawn(process.execPath, ['src/command/bin.ts', 'chat', ...args], {
		cwd: root,
		env: { ...process.env, RUNLET_URL: server.url, NO_COLOR: '1', ...env },
	});
	cleanups.push(() => child.kill('SIGKILL'));
	const seen = { stdout: '', stderr: '' };
	child.stdout.setEncoding('utf8').on('data', (chunk) => {
		seen.stdout += chunk;
	});
	child.stderr.setEncoding('utf8').on('data', (chunk) => {
		seen.stderr += chunk;
	});
	child.stdin.end(input);
	const code = once(child, 'close').then(([code]) => code as number | null);
	return { process: child as ChildProcess, code, stdout: () => seen.stdout, stderr: () => seen.stderr };
}

async function run(server: { url: string }, args: string[], input?: string, env?: NodeJS.ProcessEnv) {
	const child = start(server, args, input, env);
	const code = await child.code;
	return { code, stdout: child.stdout(), stderr: child.stderr() };
}

async function sees(child: ReturnType<typeof start>, words: string) {
	const { stdout, stderr } = child.process;
	while (!(child.stdout() + child.stderr()).includes(words)) {
		await Promise.race([once(stdout ?? child.process, 'data'), once(stderr ?? child.process, 'data')]);
	}
}

interface Faults {
	/**
	 * The first number is for the first stream, and so on: the server cuts the stream in the middle of the event
	 * with that number.
	 */
	readonly cutAfter?: number[];
	/** The run continues until it is cancelled. */
	readonly hold?: boolean;
	/** The server accepts a cancel without effect. */
	readonly deaf?: boolean;
	/** The only question to which the server accepts an answer. */
	readonly now?: { readonly callId: string; readonly question: string };
	/** The only valid API key. */
	readonly key?: string;
}

/** A server with the wire format of Runlet, and one run with these `events`. */
async function startServer(events: RunEvent[], { cutAfter = [], hold = false, deaf = false, now, key }: Faults = {}) {
	const requests: { route: string; body: unknown }[] = [];
	const lastEventIds: (string | undefined)[] = [];
	const cuts = [...cutAfter];
	let cancel = () => {};

	function answer(response: ServerResponse, status: number, body: unknown) {
		response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
	}

	function play(response: ServerResponse, from: number) {
		const cut = cuts.shift();
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		response.write(': ping\n\n');
		for (const [index, event] of events.entries()) {
			if (index < from) continue;
			const message = `id: 1-${index + 1}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
			if (index === cut) {
				response.write(message.slice(0, -9), () => response.destroy());
				return;
			}
			response.write(message);
		}
		if (!hold) response.end();
		cancel = () => response.end('id: 1-99\nevent: cancelled\ndata: {"type":"cancelled"}\n\n');
	}

	async function handle(request: IncomingMessage, response: ServerResponse) {
		const body = await text(request);
		const { pathname } = new URL(request.url ?? '', 'http://127.0.0.1');
		const route = `${request.method} ${pathname}`;
		requests.push({ route, body: body === '' ? undefined : JSON.parse(body) });
		if (key !== undefined && request.headers.authorization !== `Bearer ${key}`)
			return answer(response, 401, { error: { code: 'auth', message: 'Authorization: this needs an API key.' } });
		switch (route) {
			case 'GET /v1/agents':
				return answer(response, 200, { agents: [{ name: 'helper', models }, { name: 'support' }] });
			case 'POST /v1/sessions':
				return answer(response, 201, { id: 's1', agent: 'helper', model: 'demo', status: 'idle' });
			case 'GET /v1/sessions/s1':
				return answer(response, 200, { id: 's1', agent: 'helper', model: 'demo', status: 'idle', question: now });
			case 'POST /v1/sessions/s1/answer':
				if (JSON.parse(body).callId === now?.callId) return play(response, 0);
				return answer(response, 409, { error: { code: 'conflict', message: 'It waits for another answer.' } });
			case 'POST /v1/sessions/s1/messages':
				return play(response, 0);
			case 'GET /v1/sessions/s1/events': {
				if (events.length === 0) return response.writeHead(204).end();
				const id = request.headers['last-event-id'] as string | undefined;
				lastEventIds.push(id);
				return play(response, Number(id?.split('-')[1] ?? 0));
			}
			case 'POST /v1/sessions/s1/cancel':
				if (!deaf) cancel();
				return answer(response, 200, {});
			default:
				return answer(response, 404, {
					error: { code: 'not_found', message: `No session ${pathname.split('/')[3]}.` },
				});
		}
	}

	const server = createServer(handle);
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	const close = async () => {
		server.closeAllConnections();
		server.close();
	};
	cleanups.push(close);
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		lastEventIds,
		bodies: (route: string) => requests.filter((request) => request.route === route).map(({ body }) => body),
		close,
	};
}
