import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, describe, expect, test } from 'vitest';
import type { RunEvent, TaskList } from '../../src/client/index.ts';
import { describeBudget } from '../../src/command/chat/commands.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const models = [
	{ name: 'demo', ready: true },
	{ name: 'big', ready: false, needs: 'BIG_KEY' },
];
const listed = [
	{ id: 's1', agent: 'helper', title: 'Rain\nin Oslo', createdAt: '', lastActivityAt: '2026-11-28T10:00:00.000Z' },
	{ id: 's2', agent: 'support', createdAt: '', lastActivityAt: '2026-11-27T09:30:00.000Z' },
];
/** The messages of a session, the newest first. */
const history = [
	{ id: 'm3', role: 'assistant', content: 'It rains.' },
	{ id: 'm2', role: 'user', content: 'Does it rain?', isInput: true },
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
		expect(stderr).toBe('→ calculate 17 + 25 ← 42\ncost unknown · 1,200 tokens in, 7 out\n');
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
			'→ find_order seven',
			'  ← find_order: id: expected a number',
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
			'→ web_search old (at the provider)',
			'The answer was interrupted and starts again:',
			'→ web_search rain (at the provider)',
			'→ web_fetch (at the provider)',
			'← web_fetch: gone',
			'[1] Rain[2J in Oslo https://rain.example/',
			'[2] report.pdf',
			'$0.50 and unknown · 1,200 tokens in, 7 out · 1 web search',
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
			'→ resolve_task',
			...['· Release: 0 of 2 done', '  [ ] build', '  [ ] ship[2J it'],
			'→ resolve_task',
			...['· Release: 1 of 2 done, 1 failed', '  [x] build', '  [!] ship[2J it: no net'],
			'→ resolve_task',
			...['· Release: 9 of 30 done', '  … 7 before', '  [x] 7', '  [x] 8', ...between, '  … 11 more'],
			'  ← resolve_task: broken',
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

	test('says that the connection is lost, and resumes after the last complete event', async () => {
		const events = [say('one '), say('two '), say('three'), { type: 'done', text: '', usage: {} } as const];
		const server = await startServer(events, { cutAfter: [2] });
		const { stdout, stderr, code } = await run(server, ['Count']);
		expect(stdout.replaceAll('\n', '')).toBe('one two three');
		expect(stderr).toBe('Connection lost. Trying again…\nConnected again.\n');
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
		[{ usd: 2 }, 0.0042, '$0.0042 of $2 · 1,156 tokens'],
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
			`Refund order?\n  helper calls refund_order\n  Amount: 30\na allows it, d denies it, other words deny it with that reason\nAllow it: npm run chat -- --session s1 --url ${server.url}, or the inbox at ${server.url}/#/inbox\n`,
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
			'For which day?\n  helper\nSomebody has answered this meanwhile, so nothing was sent. This is how it stands now. (conflict)\nAt what time?\n  helper\n',
		);
		expect(code).toBe(1);
	});

	test('a command changes the session, the agent or the model of the following messages', async () => {
		const server = await startServer([say('Yes.'), { type: 'done', text: 'Yes.', usage: {} }]);
		const lines = [
			'/agent',
			'/sessions',
			'/resume 2',
			'to two',
			'/resume s1',
			'/fork',
			'to the copy',
			'/new',
			'/agent support',
			'one',
		];
		const { stdout, stderr, code } = await run(server, ['--session', 's1'], `${lines.join('\n')}\n`);
		expect(stdout.split('\n')).toEqual([
			...['* helper  Helps.', '  support  Writes.'],
			...['*  1. 2026-11-28 10:00  helper: Rain in Oslo', '   2. 2026-11-27 09:30  support: No message yet'],
			...['Yes.', 'Yes.', 'Yes.', 'Yes.', ''],
		]);
		expect(stderr).toContain('support (demo): A refund\n');
		expect(stderr).toContain('› Does it rain?\n');
		expect(stderr).toContain('This is a copy from now on. Back to the first one: /resume s1\n');
		expect(server.bodies('POST /v1/sessions/s2/messages')).toEqual([{ text: 'to two' }, { text: 'to the copy' }]);
		expect(server.bodies('POST /v1/sessions')).toEqual([{ agent: 'support' }, { agent: 'support' }]);
		expect(server.bodies('POST /v1/sessions/s1/messages')).toEqual([{ text: 'one' }]);
		expect(code).toBe(0);
	});

	test.for([
		['/sesions', '/sesions: there is no such command. Did you mean /sessions? /help lists the commands.'],
		[
			'/xyzzy',
			'/xyzzy: there is no such command. /help lists the commands. To send this as a message, begin with a space.',
		],
		['/tasks are fun', '/tasks: nothing may stand behind it.'],
		['/resume 3', '/resume: 3 is none of 2 sessions.'],
	])('refuses %s, names the remedy, and sends nothing', async ([line = '', words]) => {
		const server = await startServer([say('Yes.')]);
		const { stderr, code } = await run(server, ['--session', 's1'], `${line}\n`);
		expect(stderr).toContain(words);
		expect(code).toBe(1);
		expect(server.bodies('POST /v1/sessions/s1/messages')).toEqual([]);
	});

	test('sends a line that begins with a path or a space as a message', async () => {
		const server = await startServer([{ type: 'done', text: '', usage: {} }]);
		await run(server, ['--session', 's1'], '/etc/hosts has no entry\n /retry is a word\n');
		const sent = server.bodies('POST /v1/sessions/s1/messages');
		expect(sent).toEqual([{ text: '/etc/hosts has no entry' }, { text: ' /retry is a word' }]);
	});

	test('/retry continues a run that failed, and asks again after another run', async () => {
		const failed = await startServer([say('Now.'), { type: 'done', text: '', usage: {} }], {
			last: { id: 'r1', status: 'error' },
		});
		expect((await run(failed, ['--session', 's1'], '/retry\n')).stdout).toBe('Now.\n');
		expect(failed.bodies('POST /v1/sessions/s1/continue')).toHaveLength(1);
		const done = await startServer([say('Now.'), { type: 'done', text: '', usage: {} }]);
		await run(done, ['--session', 's1'], '/retry\n');
		expect(done.bodies('POST /v1/sessions/s1/messages')).toEqual([{ replaces: 'm2' }]);
	});

	test('prints each of several calls with its own result, a long result and a failure below its call', async () => {
		const calls = ['Oslo', 'Rome', 'Bergen'].map((city) =>
			toolCall(city, 'get_weather', [JSON.stringify({ city })], ''),
		);
		const result = (id: string, output: unknown, isError = false): RunEvent => ({
			type: 'tool_result',
			id,
			output,
			isError,
		});
		const server = await startServer([
			...calls.flatMap((events) => events.slice(0, 3)),
			{ type: 'stop', reason: 'tool_use' },
			result('Rome', 'sunny'),
			result('Oslo', 'gone', true),
			result('Bergen', { text: 'rain '.repeat(60) }),
			{ type: 'done', text: '', usage: {} },
		]);
		const { stderr } = await run(server, ['Go']);
		expect(stderr.split('\n')).toEqual([
			'→ get_weather Rome ← sunny',
			...['→ get_weather Oslo', '  ← get_weather: gone'],
			...['→ get_weather Bergen', expect.stringMatching(/^ {2}← get_weather: \{"text":"rain rain .{150,}…$/)],
			'',
		]);
	});

	test('the card of a call has its arguments by name, its diff, where it would send, and what strangers wrote', async () => {
		const diff = ['--- a/x', '+++ b/x', '@@ -1 +1 @@', ...Array.from({ length: 300 }, (_, n) => `+line ${n}`)];
		const flow = {
			targets: ['https://bank.example'],
			outside: [{ what: 'web_fetch a\u202eb' }],
			private: [{ what: 'read_file' }],
		};
		const input = { amount: 30, note: 'Two\nlines\u200b', to: ['a', 'b'] };
		const call = { id: 'c1', name: 'pay', input, kind: 'approval' as const, preview: diff.join('\n'), flow };
		const server = await startServer([
			{ type: 'awaiting', status: 'awaiting_tools', toolCalls: [call, { id: 'c2', name: 'sign', input: {} }] },
		]);
		const { stderr } = await run(server, ['--session', 's1'], 'Pay.\na {"amount": 20}\n');
		expect(stderr.split('\n').slice(0, 320)).toEqual([
			...['Pay? (1 of 2)', '  helper calls pay'],
			...['  Amount: 30', '  Note: Two', '        lines\\u{200b}', '  To:', '    1: a', '    2: b'],
			...diff.map((line) => `  ${line}`),
			'  Would be sent to: https://bank.example',
			'  Strangers may have written: web_fetch a\\u{202e}b',
			'  Private: read_file',
			'a allows it, d denies it, other words deny it with that reason',
			...['Pay? (1 of 2)', '  helper calls pay', '  Amount: 30', '  Note: Two', '        lines\\u{200b}'],
		]);
		const answers = server.bodies('POST /v1/sessions/s1/tool-results');
		expect(answers).toEqual([[{ id: 'c1', approve: true, input: { amount: 20 } }]]);
	});

	describe.skipIf(spawnSync('script', ['-qec', 'true', '/dev/null']).status !== 0)('in a terminal', () => {
		test('a pasted text of several lines is one message, and the prompt shows where its lines end', async () => {
			const server = await startServer([say('Yes.'), { type: 'done', text: 'Yes.', usage: {} }]);
			const terminal = startInTerminal(server);
			await sees(terminal, '› ');
			terminal.process.stdin?.write('\u001b[200~one\r\ttwo\rthree\u001b[201~');
			await sees(terminal, 'one⏎⇥two⏎three');
			expect(server.bodies('POST /v1/sessions/s1/messages')).toEqual([]);
			terminal.process.stdin?.write('\r');
			await sees(terminal, 'Yes.');
			expect(server.bodies('POST /v1/sessions/s1/messages')).toEqual([{ text: 'one\n\ttwo\nthree' }]);
		});

		test('wraps the answer at the width, and moves a line with the seconds while one waits', async () => {
			const server = await startServer([say(`${'word '.repeat(12)}\n\nTwo.\n\nTh`)], { hold: true });
			const terminal = startInTerminal(server, { columns: 30 });
			await sees(terminal, '› ');
			terminal.process.stdin?.write('Go\r');
			await sees(terminal, 's · writing');
			await sees(terminal, `${Array(2).fill('word word word word word word').join('\r\n')}\r\n`);
			expect(stripVTControlCharacters(terminal.stdout())).toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] \d+ s · writing/);
		});

		test('moves nothing and styles nothing with NO_COLOR', async () => {
			const server = await startServer([
				say('**Hm'),
				...toolCall('c1', 'look', ['{}'], 'seen'),
				say('**\n'),
				{ type: 'done', text: '', usage: {} },
			]);
			const terminal = startInTerminal(server, { env: { NO_COLOR: '1' } });
			await sees(terminal, '› ');
			terminal.process.stdin?.write('Go\r');
			await sees(terminal, '**\r\n');
			expect(terminal.stdout()).toContain('**Hm\r\n→ look ← seen\r\n**\r\n');
			expect(terminal.stdout()).not.toContain('\u001b[K');
		});

		test('does not take a line as an approval that was typed before the call was shown', async () => {
			const server = await startServer([], { hold: true, deaf: true });
			const asks: RunEvent = {
				type: 'awaiting',
				status: 'awaiting_tools',
				toolCalls: [{ id: 'c1', name: 'pay', input: {}, kind: 'approval' }],
			};
			const terminal = startInTerminal(server);
			await sees(terminal, '› ');
			terminal.process.stdin?.write('Pay.\r');
			await sees(terminal, 's · waiting');
			terminal.process.stdin?.write('y\r');
			// The terminal gives what is typed in order, so the line is read before the interrupt.
			terminal.process.stdin?.write('\u0003');
			await sees(terminal, 'Stopping…');
			server.send(asks);
			await sees(terminal, 'Not sent, because this waits: y');
			expect(server.bodies('POST /v1/sessions/s1/tool-results')).toEqual([]);
		});

		test('Ctrl-C stops the answer, and leaves at the prompt', async () => {
			const server = await startServer([say('A long')], { hold: true });
			const terminal = startInTerminal(server);
			await sees(terminal, '› ');
			terminal.process.stdin?.write('Go\r');
			await sees(terminal, 's · writing');
			terminal.process.stdin?.write('\u0003');
			await sees(terminal, 'Stopped.');
			expect(server.bodies('POST /v1/sessions/s1/cancel')).toHaveLength(1);
			const again = setInterval(() => terminal.process.stdin?.write('\u0003'), 250);
			cleanups.push(() => clearInterval(again));
			expect(await terminal.code).toBe(0);
			expect(terminal.stdout()).toContain('Come back with: npm run chat -- --session s1');
			expect(terminal.stdout().trimEnd().endsWith('\u001b[?2004l')).toBe(true);
		});
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
	child.stdin.end(input);
	return watch(child);
}

function watch(child: ChildProcessWithoutNullStreams) {
	cleanups.push(() => child.kill('SIGKILL'));
	const seen = { stdout: '', stderr: '' };
	child.stdout.setEncoding('utf8').on('data', (chunk) => {
		seen.stdout += chunk;
	});
	child.stderr.setEncoding('utf8').on('data', (chunk) => {
		seen.stderr += chunk;
	});
	const code = once(child, 'close').then(([code]) => code as number | null);
	return { process: child as ChildProcess, code, stdout: () => seen.stdout, stderr: () => seen.stderr };
}

/** Starts a conversation in a pseudo terminal, whose output is all on standard output. */
function startInTerminal(
	server: { url: string },
	{ columns = 80, env = {} }: { readonly columns?: number; readonly env?: NodeJS.ProcessEnv } = {},
) {
	const command = `stty cols ${columns} rows 40; exec '${process.execPath}' src/command/bin.ts chat`;
	const colours = { TERM: 'xterm-256color', NO_COLOR: undefined, CI: undefined };
	const terms = { RUNLET_URL: server.url, XDG_STATE_HOME: '/dev/null', ...colours };
	const child = spawn('script', ['-qec', command, '/dev/null'], {
		cwd: root,
		env: { ...process.env, ...terms, ...env },
	});
	return watch(child);
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
	/** The newest run of the session. */
	readonly last?: { readonly id: string; readonly status: string };
}

/** A server with the wire format of Runlet, and one run with these `events`. */
async function startServer(
	events: RunEvent[],
	{ cutAfter = [], hold = false, deaf = false, now, key, last }: Faults = {},
) {
	const requests: { route: string; body: unknown }[] = [];
	const lastEventIds: (string | undefined)[] = [];
	const cuts = [...cutAfter];
	let cancel = () => {};
	let send: (event: RunEvent) => void = () => {};

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
		send = (event) => response.write(`id: 1-98\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
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
				return answer(response, 200, {
					agents: [
						{ name: 'helper', description: 'Helps.', models },
						{ name: 'support', description: 'Writes.' },
					],
				});
			case 'POST /v1/sessions':
				return answer(response, 201, { id: 's1', agent: 'helper', model: 'demo', status: 'idle' });
			case 'GET /v1/sessions':
				return answer(response, 200, { sessions: listed });
			case 'GET /v1/sessions/s1':
				return answer(response, 200, {
					id: 's1',
					agent: 'helper',
					model: 'demo',
					status: 'idle',
					question: now,
					run: last,
				});
			case 'GET /v1/sessions/s2':
				return answer(response, 200, { id: 's2', agent: 'support', model: 'demo', status: 'idle', title: 'A refund' });
			case 'GET /v1/sessions/s1/messages':
				return answer(response, 200, { messages: history });
			case 'GET /v1/sessions/s2/messages':
				return answer(response, 200, { messages: [] });
			case 'POST /v1/sessions/s1/fork':
				return answer(response, 201, { id: 's2', agent: 'support', model: 'demo', status: 'idle' });
			case 'GET /v1/sessions/s2/events':
				return response.writeHead(204).end();
			case 'POST /v1/sessions/s1/answer':
				if (JSON.parse(body).callId === now?.callId) return play(response, 0);
				return answer(response, 409, { error: { code: 'conflict', message: 'It waits for another answer.' } });
			case 'POST /v1/sessions/s1/messages':
			case 'POST /v1/sessions/s1/continue':
			case 'POST /v1/sessions/s1/tool-results':
			case 'POST /v1/sessions/s2/messages':
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
		/** Sends another event to the reader of a held run. */
		send: (event: RunEvent) => send(event),
		bodies: (route: string) => requests.filter((request) => request.route === route).map(({ body }) => body),
		close,
	};
}
