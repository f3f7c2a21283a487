import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import {
	type ChatOptions,
	chat,
	fn,
	type Message,
	providers,
	type RunEvent,
	skill,
	toolbox,
	workspace,
} from '../../../src/core/index.ts';

const integer = v.pipe(v.number(), v.integer());
const add = fn(
	{
		name: 'myapp/add',
		doc: 'Add two integers and return the sum.',
		params: [
			['x', integer],
			['y', integer],
		],
	},
	(x, y) => x + y,
);
const calculate = fn({ name: 'calculate', doc: 'Evaluate.', params: [['expression', v.string()]] }, (text) => {
	if (text.replaceAll(' ', '') !== '(2+3)*4') throw new Error(`unexpected: ${text}`);
	return 20;
});
const refund = fn(
	{ name: 'issue_refund', doc: 'Pay an order back.', params: [['order_id', v.string()]] },
	(order) => `refunded ${order}`,
);
const book = fn(
	{
		name: 'book_flight',
		doc: 'Book.',
		params: [
			['flight_id', v.string()],
			['seats', integer],
		],
	},
	(flight, seats) => `${seats} on ${flight}`,
);

const demo = (options: Partial<ChatOptions> = {}): ChatOptions => ({
	model: 'demo',
	providers: [providers.demo()],
	...options,
});
const say = (text: string, options: Partial<ChatOptions> = {}) => chat.runLoop(demo(options), text);

/** Sends texts one after another in one conversation. */
async function talk(texts: readonly string[], options: Partial<ChatOptions>) {
	let messages: readonly Message[] = [];
	const answers: string[] = [];
	for (const text of texts) {
		const result = await chat.run(demo(options), [...messages, chat.userMessage(text)]).result;
		messages = result.messages;
		answers.push(result.text);
	}
	return { answers, messages };
}

async function readEvents(text: string, options: Partial<ChatOptions> = {}): Promise<RunEvent[]> {
	const events: RunEvent[] = [];
	for await (const event of chat.run(demo(options), [chat.userMessage(text)]).events) events.push(event);
	return events;
}

test('the demo model repeats the outcome of a background task without calling a tool', async () => {
	const columnist = fn({ name: 'columnist', doc: 'Writes.', params: [['task', v.string()]] }, () => 'It works on it.');
	const told = 'columnist (session 4355abac) has finished its task:\n\nI have no tools. Try: “What is 17 + 25?”';
	const { answers } = await talk(['columnist: "tea"', told], { tools: [columnist] });
	expect(answers).toEqual([
		'columnist answered: It works on it.',
		'columnist has finished its task:\n\nI have no tools. Try: “What is 17 + 25?”',
	]);
	const failed = 'writer (session 4355abac) did not finish its task (cancelled).';
	expect(await say(failed, { tools: [columnist] })).toBe('writer did not finish its task (cancelled).');
});

describe('the demo model', () => {
	test('is used only for `demo`', () => {
		const { detect } = providers.demo();
		expect([detect('demo'), detect('demonstration'), detect('gpt-4o')]).toEqual([true, false, false]);
	});

	test('streams the same deltas each time', async () => {
		const known = (events: RunEvent[]) => events.filter(({ type }) => type !== 'run.started');
		const options = { tools: [add] };
		expect(known(await readEvents('What is 17 + 25?', options))).toEqual(
			known(await readEvents('What is 17 + 25?', options)),
		);
	});

	test.each(['What is 17 + 25?', 'what is 17 plus 25', '17+25'])('answers %s with a tool that adds', async (text) => {
		const { result } = chat.run(demo({ tools: [add] }), [chat.userMessage(text)]);
		const { text: answer, steps } = await result;
		expect(steps[0]?.toolCalls).toMatchObject([{ name: 'myapp/add', input: { x: 17, y: 25 } }]);
		expect(answer).toContain('42');
	});

	test('answers arithmetic with a tool that takes an expression', async () => {
		expect(await say('What is (2 + 3) * 4?', { tools: [calculate] })).toContain('20');
	});

	test("answers arithmetic with Runlet's arithmetic tool", async () => {
		const { toolbox } = await import('../../../src/core/index.ts');
		const tools = Object.values(toolbox.basic());
		expect(await say('What is (17 + 25) * 2?', { tools })).toContain('84');
	});

	test('reports an error of a tool', async () => {
		expect(await say('What is 1 + 1?', { tools: [calculate] })).toMatch(/failed/);
	});

	test("reads a skill only if a message contains one of the skill's triggers", async () => {
		const skills = [
			{ name: 'returns', description: 'Taking goods back', when: ['return', 'broken'], body: 'Ask for the receipt.' },
		];
		expect(await say('My lamp came BROKEN.', { skills })).toContain('Ask for the receipt.');
		expect(await say('Good morning.', { skills })).not.toContain('Ask for the receipt.');
	});

	test('asks for a missing required argument, and uses the next answer', async () => {
		const { answers, messages } = await talk(['I want a refund.', 'It is A-1001.'], { tools: [refund] });
		expect(answers[0]).toMatch(/order id/i);
		expect(answers[1]).toContain('refunded A-1001');
		expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(1);
	});

	test('asks for each missing argument, and keeps the earlier answers', async () => {
		const { answers } = await talk(['Book a flight for me.', 'LH-400', '2'], { tools: [book] });
		expect(answers[0]).toMatch(/flight id/i);
		expect(answers[1]).toMatch(/seats/i);
		expect(answers[2]).toContain('2 on LH-400');
	});

	test('drops its question if the person changes the subject', async () => {
		const { answers } = await talk(['I want a refund.', 'What is 17 + 25?', 'Who are you?'], { tools: [refund, add] });
		expect(answers[1]).toContain('42');
		expect(answers[2]).not.toMatch(/order id|42/i);
	});

	test('reads a required argument from the message', async () => {
		expect(await say('Please refund order A-1001.', { tools: [refund] })).toContain('refunded A-1001');
	});

	test('uses a quoted text for the argument whose name precedes the text', async () => {
		const params = ['title', 'text'].map((name) => [name, v.string()] as const);
		const publish = fn({ name: 'publish', doc: 'Publish.', params }, (...given) => given.join(' | '));
		const said = 'Please publish this: title Tea, text "Two minutes are enough."';
		expect(await say(said, { tools: [publish] })).toBe('publish answered: Tea | Two minutes are enough.');
		const other = 'Please publish this: text: “Two minutes.”, title: “Green tea”';
		expect(await say(other, { tools: [publish] })).toBe('publish answered: Green tea | Two minutes.');
	});

	test('suggests a sum only if a tool can calculate it', async () => {
		expect(await say('Hello', { tools: [refund] })).not.toContain('17 + 25');
		expect(await say('Hello')).not.toContain('17 + 25');
		expect(await say('Hello', { tools: [refund, calculate] })).toContain('Try: “What is 17 + 25?”');
		expect(await say('Hello', { tools: [add] })).toContain('Try: “What is 17 + 25?”');
	});

	test('describes itself, its tools and its skills', async () => {
		expect(await say('Who are you?')).toMatch(/demo[\s\S]*not a language model/i);
		expect(await say('Who are you?', { tools: [add] })).toContain('add');
	});

	test('streams small deltas that together equal the reply', async () => {
		const events = await readEvents('Who are you?');
		const pieces = events.flatMap((event) =>
			event.type === 'text' && typeof event.text === 'string' ? [event.text] : [],
		);
		expect(pieces.length).toBeGreaterThan(10);
		expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(40);
		expect(pieces.join('')).toBe(await say('Who are you?'));
	});

	test('streams the input of its calls in pieces', async () => {
		const events = await readEvents('What is 17 + 25?', { tools: [add] });
		const pieces = events.flatMap((event) => (event.type === 'tool_use_input' ? [event.partialInputJson] : []));
		expect(JSON.parse(pieces.join(''))).toEqual({ x: 17, y: 25 });
	});

	test('reports its usage and a cost of zero', async () => {
		const { usage } = await chat.run(demo(), [chat.userMessage('Hello')]).result;
		expect(usage.inputTokens).toBeGreaterThan(0);
		expect(usage.outputTokens).toBeGreaterThan(0);
		expect(usage).toMatchObject({ costUsd: 0, totalTokens: (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0) });
	});

	test('charges a configured price, which can be computed before the call', async () => {
		const priced = providers.demo().withPrices?.({ demo: { input: 100, output: 1_000 } }) ?? providers.demo();
		expect(priced.computePrice?.('demo', { inputTokens: 50_000, outputTokens: 1_000 })).toBe(6);
		const { usage } = await chat.run(demo({ providers: [priced] }), [chat.userMessage('Hello')]).result;
		const { inputTokens = 0, outputTokens = 0, costUsd } = usage;
		expect(costUsd).toBeCloseTo((inputTokens * 100 + outputTokens * 1_000) / 1e6, 6);
		expect(costUsd).toBeGreaterThan(0);
	});

	test('has an unknown cost if the configured price function returns nothing', async () => {
		const priced = providers.demo({ price: () => undefined });
		const { usage } = await chat.run(demo({ providers: [priced] }), [chat.userMessage('Hello')]).result;
		expect(usage.costUsd).toBeUndefined();
		expect(usage.unpriced).toContain('demo');
	});

	test('serves many runs at once, with and without tools', async () => {
		const answers = await Promise.all(
			Array.from({ length: 50 }, (_, n) => say(`What is ${n} + 1?`, n % 2 === 0 ? { tools: [add] } : {})),
		);
		for (const [n, answer] of answers.entries()) {
			if (n % 2 === 0) expect(answer).toContain(`is ${n + 1}`);
			else expect(answer).toMatch(/no tools/);
		}
	});

	test('stops streaming at an abort', async () => {
		const controller = new AbortController();
		const run = chat.run(demo({ signal: controller.signal }), [chat.userMessage('Who are you?')]);
		for await (const { type } of run.events) if (type === 'text') controller.abort();
		await expect(run.result).rejects.toMatchObject({ code: 'cancelled' });
	});
});

test("the demo model reads a number that precedes the argument's name, even with a full stop after the name", async () => {
	const slow = fn({ name: 'slow_job', doc: 'Do a slow job.', params: [['seconds', v.number()]] }, (seconds) => seconds);
	for (const text of ['Do a slow job for 2 seconds', 'Do a slow job for 2 seconds.'])
		expect(await say(text, { tools: [slow] })).toContain('2');
});

test('the demo model answers with a sample of the output schema, and puts its text into the sample', async () => {
	const outputSchema = {
		type: 'object',
		properties: {
			answer: { type: 'string' },
			sum: { type: 'integer', maximum: 100 },
			kind: { enum: ['a', 'b'] },
			day: { type: ['string', 'null'], format: 'date' },
			more: { type: 'array', items: { $ref: '#/$defs/more' }, minItems: 2 },
			either: { anyOf: [{ type: 'boolean' }, { type: 'null' }] },
		},
		required: ['answer', 'sum', 'kind', 'day', 'more', 'either'],
		additionalProperties: false,
		$defs: { more: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } },
	};
	const run = { model: 'demo', providers: [providers.demo()], tools: Object.values(toolbox.basic()) };
	const asked = [chat.userMessage('What is 17 + 25?')];
	expect((await chat.run({ ...run, outputSchema }, asked).result).output).toEqual({
		...{ answer: '17 + 25 is 42.', sum: 42, kind: 'a', day: '2026-01-01', more: [{ n: 42 }, { n: 42 }], either: false },
	});
	const any = await chat.run({ ...run, outputSchema: { type: 'object' } }, asked).result;
	expect(any.output).toEqual({ answer: '17 + 25 is 42.' });
});

test('the demo model limits the size of its sample for a circular schema', async () => {
	const names = Array.from({ length: 20 }, (_, index) => `p${index}`);
	const outputSchema = {
		type: 'object',
		properties: Object.fromEntries(names.map((name) => [name, { anyOf: [{ $ref: '#' }, { type: 'null' }] }])),
	};
	const { output } = await chat.run({ model: 'demo', providers: [providers.demo()], outputSchema }, [
		chat.userMessage('Hi'),
	]).result;
	expect(JSON.stringify(output).length).toBeLessThan(200_000);
});

describe('files in fenced blocks', () => {
	const block = (path: string, text: string) => `\`\`\`txt ${path}\n${text}\n\`\`\``;
	const recipe = skill.fromMarkdown(
		`---\nname: recipe\ndescription: Two files.\nmetadata:\n  when: two files\n---\n${block('a.txt', 'one')}\n${block('b.txt', 'two')}\n`,
	);

	test('are written through a plan that has a task for each file', async () => {
		const files = workspace.inMemory({ 'b.txt': 'old\n' });
		const box = toolbox.withCoding(toolbox.withTask());
		const run = chat.run(demo({ tools: Object.values(box), skills: [recipe], context: { workspace: files } }), [
			chat.userMessage('Make the two files.'),
		]);
		const events: RunEvent[] = [];
		for await (const event of run.events) events.push(event);
		const names = events.flatMap((event) => (event.type === 'tool_use_start' ? [event.name] : []));
		expect(names).toEqual([
			...['read_skill', 'create_task_list', 'plan_changes', 'apply_plan', 'resolve_task', 'resolve_task'],
		]);
		expect(events.flatMap((event) => (event.type === 'tasks' ? event.lists : [])).at(-1)?.tasks).toMatchObject([
			{ text: 'Write a.txt', outcome: 'done' },
			{ text: 'Write b.txt', outcome: 'done' },
		]);
		expect((await run.result).text).toBe('Done: created a.txt, changed b.txt.');
		expect(await Promise.all(['a.txt', 'b.txt'].map(async (path) => (await files.readLines(path)).text))).toEqual([
			'one\n',
			'two\n',
		]);
	});

	test('are written one by one if there is no tool for plans, and a failure is reported', async () => {
		const files = workspace.inMemory({ 'a.txt/x': '' });
		const tools = Object.values(toolbox.withFiles(toolbox.withTask()));
		const text = `Please:\n${block('a.txt', 'one')}\n${block('c/d.txt', 'two')}`;
		const { text: answer, messages } = await chat.run(demo({ tools, context: { workspace: files } }), [
			chat.userMessage(text),
		]).result;
		expect(answer).toContain('write_file failed: ');
		expect((await files.readLines('c/d.txt')).text).toBe('two\n');
		const outcomes = messages.flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []) : []));
		expect(outcomes.flatMap(({ name, input }) => (name === 'resolve_task' ? [input] : []))).toMatchObject([
			{ taskId: 'task-1', outcome: 'failed' },
			{ taskId: 'task-2', outcome: 'done' },
		]);
	});
});
