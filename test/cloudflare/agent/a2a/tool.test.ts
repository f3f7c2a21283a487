/** Tools whose calls are tasks of an agent at another server (docs/a2a.md, "Call another agent"). */
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type A2aToolOptions, a2aTool } from '../../../../src/cloudflare/agent/a2a/tool.ts';
import { tool } from '../../../../src/core/index.ts';
import type { InvokeContext } from '../../../../src/core/tool/index.ts';
import { completed, createFakeAgent, type FakeAgent, type FakeAgentOptions, inState } from './fake-agent.ts';

const url = 'https://travel.example.com/.well-known/agent-card.json';
const about = { name: 'travel', description: 'Plans trips.' };

afterEach(() => vi.useRealTimers());

/** Creates a tool and its agent. `run` makes a call of the tool. */
function create(options: Partial<A2aToolOptions> = {}, ofAgent: FakeAgentOptions = {}) {
	const agent = createFakeAgent(ofAgent);
	const made = a2aTool(url, { ...about, ...options });
	const state = tool.inMemoryState();
	const run = (input: object = { task: 'To Rome.' }, context: InvokeContext = {}) =>
		tool.dispatch([made], { id: 'c', name: 'travel', input }, { fetch: agent.fetch, state, ...context });
	return { agent, made, run };
}

const textOf = ({ output }: { readonly output: unknown }): string => String(output);

describe('a2aTool', () => {
	test('offers the name and the description of the code, and marks what comes from there and goes there', () => {
		const made = a2aTool(url, about);
		expect(made).toMatchObject({ ...about, retry: 'safe', reads: 'outside', writes: 'outside', timeoutMs: 600_000 });
		expect(made.targets?.({})).toEqual(['https://travel.example.com']);
		expect(a2aTool(url, { ...about, private: true }).reads).toEqual(['outside', 'private']);
		expect(a2aTool(url, { ...about, needsApproval: true }).needsApproval).toBe(true);
	});

	test.each([
		['name', { name: '' }],
		['description', { description: undefined }],
		['headers.authorization', { headers: { authorization: 7 } }],
		['headers', { headers: { authorization: `Bearer sk-${'a'.repeat(20)}` } }],
		['headers.host', { headers: { host: 'a.example.com' } }],
		['headers.authorization', { headers: { authorization: `Bearer \${KEY` } }],
		['origin', { origin: 'https://api.example.com/a2a' }],
		['needsApproval', { needsApproval: 'yes' }],
		['private', { private: 'yes' }],
		['timeoutMs', { timeoutMs: 0 }],
		['approval', { approval: true }],
	])('refuses a wrong option, and names it: %s', (field, option) => {
		const make = () => Reflect.apply(a2aTool, undefined, [url, { ...about, ...option }]);
		expect(make).toThrow(
			expect.objectContaining({ code: 'invalid_tool', message: expect.stringContaining(`${field}:`) }),
		);
	});

	test.each([
		'http://travel.example.com/card.json',
		'https://10.0.0.1/card.json',
		'https://metadata.internal/card.json',
		'https://user:word@travel.example.com/card.json',
		'ftp://travel.example.com',
		'travel',
	])('refuses a card that is not at a public https URL: %s', (wrong) => {
		expect(() => a2aTool(wrong, about)).toThrow(expect.objectContaining({ code: 'invalid_tool' }));
	});
});

describe.each(['JSONRPC', 'HTTP+JSON'] as const)('a call over %s', (binding) => {
	test('sends its task once, and has the artifacts as its result', async () => {
		const { agent, run } = create({}, { binding });
		agent.work = () => inState('WORKING', 'Looking.');
		agent.look = (task) => void Object.assign(task, completed('By train.'));
		expect(await run()).toEqual({ id: 'c', output: 'By train.', isError: false });
		expect(agent.methods).toEqual(['card', 'SendMessage', 'GetTask']);
		expect(agent.messages).toMatchObject([{ role: 'ROLE_USER', parts: [{ text: 'To Rome.' }] }]);
		for (const request of agent.requests) expect(request.headers.get('a2a-version')).toBe('1.0');
	});

	test('repeats the tenant of the card in each request', async () => {
		const { agent, run } = create({}, { binding, tenant: 'blue team' });
		agent.work = () => inState('WORKING');
		agent.look = (task) => void Object.assign(task, completed('By train.'));
		expect(textOf(await run())).toBe('By train.');
	});

	test('has the text of a refusal as its error', async () => {
		const { agent, run } = create({}, { binding });
		agent.refuse = (method) =>
			method === 'SendMessage'
				? Response.json({ error: { code: -32005, message: 'Only images.' } }, { status: 400 })
				: undefined;
		expect(await run()).toMatchObject({ isError: true, output: expect.stringContaining('status 400: Only images.') });
	});

	test('cancels its task when it is cancelled, even before the server has answered', async () => {
		const { agent, run } = create({}, { binding });
		const stop = new AbortController();
		const answered = Promise.withResolvers<void>();
		agent.work = async () => {
			stop.abort();
			await answered.promise;
			return inState('WORKING');
		};
		await expect(run(undefined, { signal: stop.signal })).rejects.toMatchObject({ code: 'cancelled' });
		answered.resolve();
		await expect.poll(() => agent.cancelled).toEqual([...agent.tasks.keys()]);
	});
});

describe('the result of a call', () => {
	test.each([
		['a message', { message: { parts: [{ text: 'Hello.' }] } }, 'Hello.'],
		['JSON alone', { ...completed(''), artifacts: [{ parts: [{ data: { price: 42 } }] }] }, { price: 42 }],
		['the status of a task without artifacts', inState('COMPLETED', 'Done.'), 'Done.'],
		['a text of its own without content', inState('COMPLETED'), 'The agent answered without content.'],
		[
			'a line for a file behind a URL, which is not read',
			{ ...completed(''), artifacts: [{ parts: [{ url: 'https://a.example.com/x', filename: 'x.pdf' }] }] },
			'[File x.pdf, https://a.example.com/x]',
		],
	])('is %s', async (_, made, expected) => {
		const { agent, run } = create();
		agent.work = () => made;
		expect(await run()).toMatchObject({ isError: false, output: expected });
	});

	test('has files and images as parts', async () => {
		const { agent, run } = create();
		const parts = [
			{ raw: 'AAAA', mediaType: 'image/png', filename: 'map.png' },
			{ raw: 'AAAA', mediaType: 'text/csv' },
			{ raw: 'no base64!' },
		];
		agent.work = () => ({ ...completed(''), artifacts: [{ parts: parts.slice(0, 1) }, { parts: parts.slice(1) }] });
		expect((await run()).parts).toEqual([
			{ kind: 'image', data: 'AAAA', mime: 'image/png', name: 'map.png' },
			{ kind: 'file', data: 'AAAA', mime: 'text/csv' },
			{ kind: 'text', text: '[The server sent a file that is not base64.]' },
		]);
	});

	test.each([
		['FAILED', 'failed. No trains.', 'No trains.'],
		['REJECTED', 'rejected. It does not say why.', undefined],
		['CANCELED', 'canceled. By its owner.', 'By its owner.'],
	])('is an error for a task that is %s', async (state, expected, text) => {
		const { agent, run } = create();
		agent.work = () => inState(state, text);
		expect(await run()).toMatchObject({ isError: true, output: `travel: the agent's task is ${expected}` });
	});
});

describe('a call with followUp', () => {
	test('goes on in the context of the last call of the session, and others begin a new one', async () => {
		const { agent, run } = create();
		await run();
		await run({ task: 'And back?', followUp: true });
		await run({ task: 'To Oslo.' });
		const [first, second, third] = agent.messages;
		expect([first?.contextId, third?.contextId]).toEqual([undefined, undefined]);
		expect(second?.contextId).toBe([...agent.tasks.values()][0]?.contextId);
	});

	test('is refused before any other call', async () => {
		const { agent, run } = create();
		expect(textOf(await run({ task: 'And back?', followUp: true }))).toMatch(/^followUp: travel has no earlier task/);
		expect(agent.methods).toEqual([]);
	});
});

describe('an agent that asks', () => {
	const ask = async (state = 'INPUT_REQUIRED') => {
		const { agent, run } = create();
		agent.work = ({ taskId }) => (taskId === undefined ? inState(state, 'When?') : completed('Booked.'));
		const { resume, ...question } = Object((await run()).output);
		const answer = (text: string) => run(undefined, { answer: { text, resume } });
		return { agent, answer, question, resume };
	};

	test.each(['INPUT_REQUIRED', 'AUTH_REQUIRED'])(
		'asks the person, and gets the answer in its task: %s',
		async (state) => {
			const { agent, answer, question } = await ask(state);
			expect(question).toMatchObject({ question: 'travel asks: When?', options: { agent: 'travel' } });
			expect(textOf(await answer('In May.'))).toBe('Booked.');
			const [task] = agent.tasks.values();
			expect(agent.messages[1]).toMatchObject({
				taskId: task?.id,
				contextId: task?.contextId,
				parts: [{ text: 'In May.' }],
			});
		},
	);

	test('gets no answer if its task went on by itself', async () => {
		const { agent, answer } = await ask('AUTH_REQUIRED');
		for (const task of agent.tasks.values()) Object.assign(task, completed('Paid.'));
		expect(textOf(await answer('I logged in.'))).toBe('Paid.');
		expect(agent.messages).toHaveLength(1);
	});

	test('asks again if its task has another question by now', async () => {
		const { agent, answer } = await ask();
		for (const task of agent.tasks.values()) Object.assign(task, inState('INPUT_REQUIRED', 'By train?'));
		expect((await answer('In May.')).output).toMatchObject({ question: 'travel asks: By train?' });
		expect(agent.messages).toHaveLength(1);
	});

	test('sends the answers to several questions under different ids', async () => {
		const { agent, answer } = await ask();
		agent.work = () => inState('INPUT_REQUIRED', 'By train?');
		const { resume } = Object((await answer('In May.')).output);
		expect(resume).toMatchObject({ said: 'By train?', round: 2 });
		expect(new Set(agent.messages.map(({ messageId }) => messageId)).size).toBe(2);
	});

	test('is asked once more only if it repeats its question after the answer', async () => {
		const { agent, answer } = await ask();
		vi.useFakeTimers({ shouldAdvanceTime: true, advanceTimeDelta: 200 });
		agent.work = () => ({});
		let looks = 0;
		agent.look = (task) => {
			if (++looks === 3) Object.assign(task, completed('Booked.'));
		};
		expect(textOf(await answer('In May.'))).toBe('Booked.');
		const repeating = await ask();
		repeating.agent.work = () => ({});
		expect((await repeating.answer('In Spring.')).output).toMatchObject({ question: 'travel asks: When?' });
	});

	test.each(['decline', 'Cancel.'])('is cancelled by the answer %s', async (word) => {
		const { agent, answer } = await ask();
		expect(await answer(word)).toMatchObject({
			isError: true,
			output: expect.stringContaining('did not answer travel'),
		});
		expect(agent.cancelled).toHaveLength(1);
	});
});

describe('a server that fails', () => {
	/** Lets the pauses between two looks pass at once. */
	beforeEach(() => void vi.useFakeTimers({ shouldAdvanceTime: true, advanceTimeDelta: 200 }));

	const working = (agent: FakeAgent) => {
		agent.work = () => inState('WORKING');
	};

	test('for a while costs nothing', async () => {
		const { agent, run } = create();
		working(agent);
		let looks = 0;
		agent.refuse = (method) => {
			if (method !== 'GetTask') return undefined;
			looks++;
			if (looks === 9) for (const task of agent.tasks.values()) Object.assign(task, completed('By train.'));
			if (looks === 2) throw new TypeError('connection lost');
			return looks % 3 === 0 ? undefined : new Response('Later.', { status: looks % 3 === 1 ? 503 : 429 });
		};
		expect(textOf(await run())).toBe('By train.');
	});

	test('five times in a row fails the call', async () => {
		const { agent, run } = create();
		working(agent);
		agent.refuse = (method) => (method === 'GetTask' ? new Response('Later.', { status: 503 }) : undefined);
		expect(await run()).toMatchObject({ isError: true, output: expect.stringContaining('status 503') });
		expect(agent.methods.filter((method) => method === 'GetTask')).toHaveLength(5);
	});

	test('by an endless task costs the call its time, and the task is cancelled', async () => {
		const { agent, run } = create({ timeoutMs: 5_000 });
		working(agent);
		expect(await run()).toMatchObject({ isError: true, output: 'travel gave no result within 5000 ms.' });
		await expect.poll(() => agent.cancelled).toHaveLength(1);
	});
});

describe('a hostile server', () => {
	const json = (text: string) => () => new Response(text, { headers: { 'content-type': 'application/json' } });
	const endlessId = { id: 'x'.repeat(600), ...completed('By train.') };
	const endless = () =>
		new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new TextEncoder().encode('["')) }));

	test.each([
		['no JSON', json('<html>'), /what is no JSON/],
		['JSON of another kind', json('{"result":{"task":{"id":7}}}'), /what A2A 1.x does not know/],
		['JSON without a result', json('null'), /what A2A 1.x does not know/],
		['JSON that is nested too deep', json(`${'['.repeat(50_000)}${']'.repeat(50_000)}`), /what is no JSON/],
		['too many bytes', json(`"${'x'.repeat(3_000_000)}"`), /more than 2097152 bytes/],
		['a stream without an end', endless, /more than 2097152 bytes/],
		['a redirect', () => Response.redirect('https://evil.example.com/'), /redirects/],
		[
			'a task with an endless id',
			json(JSON.stringify({ result: { ...endlessId, task: endlessId } })),
			/what A2A 1.x does not know/,
		],
	])('that sends %s costs the call', async (_, refuse, message) => {
		for (const sent of ['SendMessage', 'GetTask']) {
			const { agent, run } = create();
			agent.work = () => inState('WORKING');
			agent.refuse = (method) => (method === sent ? refuse() : undefined);
			expect(await run()).toMatchObject({ isError: true, output: expect.stringMatching(message) });
		}
	});

	test('that never ends its answer costs the call its time', async () => {
		const { agent, run } = create({ timeoutMs: 200 });
		agent.refuse = () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) }));
		expect(textOf(await run())).toMatch(/gave no result within 200 ms/);
	});

	test('that sends a result over 1 MB has it cut', async () => {
		const { agent, run } = create();
		agent.work = () => completed('x'.repeat(1_500_000));
		const { parts } = await run();
		expect(parts?.[0]?.text).toHaveLength(1_048_576);
		expect(parts?.[1]?.text).toContain('[Cut:');
	});

	test('that sends thousands of parts has most of them left out', async () => {
		const { agent, run } = create();
		agent.work = () => ({ ...completed(''), artifacts: Array(2_000).fill({ parts: Array(50).fill({ text: 'x' }) }) });
		expect((await run()).parts?.length).toBeLessThan(30);
	});

	test('that repeats a secret of the headers has it taken out', async () => {
		const { agent, run } = create({ headers: { authorization: `Bearer \${TRAVEL_KEY}` } });
		const env = { TRAVEL_KEY: 'sesame-4f0c9b1e' };
		agent.work = (_, task) =>
			completed(`${agent.requests.at(-1)?.headers.get('authorization')} ${btoa(env.TRAVEL_KEY)} ${task.id}`);
		const text = textOf(await run(undefined, { env: Object(env) }));
		expect(text).toMatch(/^Bearer \[secret\] /);
		expect(text).not.toContain(btoa(env.TRAVEL_KEY));
		agent.refuse = () => Response.json({ error: { message: `Not ${env.TRAVEL_KEY}.` } }, { status: 403 });
		expect(textOf(await run(undefined, { env: Object(env) }))).toContain('Not [secret].');
	});

	test('never makes a call throw, whatever JSON it sends', async () => {
		const { agent, run } = create({ timeoutMs: 60_000 });
		const answer = fc.oneof(
			fc.jsonValue({ maxDepth: 4 }),
			fc
				.record({
					state: fc.constantFrom('COMPLETED', 'FAILED', 'INPUT_REQUIRED'),
					parts: fc.jsonValue(),
					message: fc.jsonValue(),
				})
				.map(({ state, parts, message }) => ({
					result: { task: { id: 'a', status: { state: `TASK_STATE_${state}`, message }, artifacts: [{ parts }] } },
				})),
			fc.jsonValue().map((parts) => ({ result: { message: { parts: [parts] } } })),
		);
		await fc.assert(
			fc.asyncProperty(answer, async (sent) => {
				agent.refuse = (method) => (method === 'SendMessage' ? Response.json(sent) : undefined);
				expect((await run()).id).toBe('c');
			}),
		);
	});
});

describe('the agent card', () => {
	test('is read at the first call, and again after five minutes', async () => {
		vi.useFakeTimers({ toFake: ['Date'] });
		const { agent, run } = create();
		for (let n = 0; n < 3; n++) await run();
		expect(agent.methods.filter((method) => method === 'card')).toHaveLength(1);
		vi.setSystemTime(Date.now() + 300_001);
		await run();
		expect(agent.methods.filter((method) => method === 'card')).toHaveLength(2);
	});

	test('that cannot be read fails the call, and is asked for again by the next one', async () => {
		const { agent, run } = create();
		agent.refuse = () => new Response('Gone.', { status: 404 });
		const message = `The agent card at ${url} cannot be read. Look whether that is its address.`;
		expect(await run()).toMatchObject({ isError: true, output: expect.stringContaining(message) });
		agent.refuse = () => undefined;
		expect(textOf(await run())).toBe('Done.');
	});

	const face = (more: object) => ({
		supportedInterfaces: [
			{ url: 'https://travel.example.com/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0', ...more },
		],
	});

	test.each([
		['another JSON', { name: 'x' }, /is none of A2A 1\.x\. Give a2aTool the address of a card/],
		['version 0.3', { name: 'x', url: 'https://travel.example.com', protocolVersion: '0.3.0' }, /is none of A2A 1\.x/],
		['an older interface', face({ protocolVersion: '0.3' }), /offers JSONRPC 0\.3\. a2aTool speaks/],
		['gRPC', face({ protocolBinding: 'GRPC' }), /offers GRPC 1\.0\. a2aTool speaks JSONRPC and HTTP\+JSON/],
		['no interface', { supportedInterfaces: [] }, /offers nothing/],
		[
			'another origin',
			face({ url: 'https://evil.example.com/a2a' }),
			/https:\/\/evil\.example\.com\/a2a, and not at https:\/\/travel/,
		],
		['a private address', face({ url: 'https://169.254.169.254/' }), /and not at https:\/\/travel/],
		['no URL', face({ url: '/a2a' }), /and not at https:\/\/travel/],
	])('with %s is refused, and the message names the card and the remedy', async (_, card, message) => {
		const { agent, run } = create();
		agent.card = card;
		const text = textOf(await run());
		expect(text).toMatch(message);
		expect(text).toContain(url);
		expect(agent.methods).toEqual(['card']);
	});

	test('may name an agent at the origin that the code names, which alone gets the headers', async () => {
		const origin = 'https://api.example.com';
		const { agent, run, made } = create({ origin, headers: { 'x-key': 'abc' } }, { origin });
		expect(textOf(await run())).toBe('Done.');
		const sent = agent.requests.map((request) => [new URL(request.url).host, request.headers.get('x-key')]);
		expect(sent).toEqual([
			['travel.example.com', null],
			['api.example.com', 'abc'],
		]);
		expect(made.targets?.({})).toEqual([origin]);
	});

	test('on this machine is read only where the Worker allows it', async () => {
		const local = a2aTool('http://127.0.0.1:9/card.json', about);
		const agent = createFakeAgent({ origin: 'http://127.0.0.1:9' });
		const run = (context: InvokeContext) =>
			tool.dispatch(
				[local],
				{ id: 'c', name: 'travel', input: { task: 'To Rome.' } },
				{ fetch: agent.fetch, ...context },
			);
		expect(textOf(await run({}))).toContain('not https');
		expect(agent.methods).toEqual([]);
		expect(textOf(await run({ web: { allowLoopback: true } }))).toBe('Done.');
	});

	test('is not asked for while a variable of the headers is not set', async () => {
		const { agent, run } = create({ headers: { authorization: `Bearer \${TRAVEL_KEY}` } });
		expect(textOf(await run())).toMatch(/^TRAVEL_KEY: not set/);
		expect(agent.methods).toEqual([]);
	});
});
