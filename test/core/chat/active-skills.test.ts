import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
	type ChatOptions,
	chat,
	type Message,
	type Skill,
	type SkillResolver,
	skill,
} from '../../../src/core/index.ts';
import { calling, echo, finish, type Requests, readTool, results } from './support.ts';

const pay = readTool('pay', (input: unknown) => ({ paid: input }));
const ledger: Skill = {
	name: 'ledger',
	description: 'Books',
	body: 'Write it down.',
	tools: [readTool('book', () => 'booked')],
};
const billing: Skill = {
	name: 'billing',
	description: 'Bills',
	body: 'Bill them.',
	tools: [pay],
	requires: ['ledger'],
};
const plain: Skill = { name: 'plain', description: 'Plain', body: 'Nothing more.' };
const skills = [billing, ledger, plain];

const reading = (id: string, name: string, how = 'read_skill') => calling({ id, name: how, input: { name } });
const call = (id: string, name: string) => calling({ id, name, input: { n: 1 } });
const offered = (requests: Requests) =>
	requests.map(({ tools = [] }) =>
		tools.map(({ name }) => name).filter((name) => !name.endsWith('_skill') && !name.endsWith('_skills')),
	);
const answers = (messages: readonly Message[]) => Object.fromEntries(results(messages));

/** Creates a history with the reading of a skill. */
const hasRead = (name: string, output: unknown = 'The text.', isError = false): Message[] => [
	chat.userMessage('Read it'),
	chat.assistantMessage('', [{ id: 'r', name: 'read_skill', input: { name } }]),
	chat.toolResultMessage({ id: 'r', output, isError }),
	chat.assistantMessage('I have.'),
];
const go = chat.userMessage('Go');

describe('the tools of a skill', () => {
	test.for(['read_skill', 'apply_skill'])(
		'can be called in all turns after %s, together with the tools of required skills',
		async (how) => {
			const script = [reading('a', 'billing', how), call('b', 'pay'), call('c', 'book'), 'Done.'];
			const { requests, result } = await finish(script, { skills });
			const both = ['pay', 'book'];
			expect(offered(requests)).toEqual([[], both, both, both]);
			expect(answers(result.messages)).toMatchObject({ b: { paid: { n: 1 } }, c: 'booked' });
		},
	);

	test('are named in the result of read_skill', async () => {
		const { result } = await finish([reading('a', 'billing'), 'Done.'], { skills });
		expect(String(answers(result.messages).a).split('\n\n')).toEqual([
			'Bill them.',
			'This skill builds on others. Read them too: ledger.',
			'Tools that you can call from your next turn on: pay, book.',
		]);
	});

	test('cannot be called in the turn that reads the skill', async () => {
		const both = calling(...reading('a', 'billing').toolCalls, ...call('b', 'pay').toolCalls);
		const { result } = await finish([both, 'Done.'], { skills });
		expect(answers(result.messages).b).toMatch(/There is no tool named pay/);
	});

	test('are callable at once in a later run of the conversation, which also runs open calls', async () => {
		const { requests } = await finish(['Hi'], { skills }, [...hasRead('billing'), go]);
		expect(offered(requests)).toEqual([['pay', 'book']]);
		const open = chat.assistantMessage('', [...call('b', 'pay').toolCalls]);
		const { result } = await finish(['Done.'], { skills }, [...hasRead('billing'), go, open]);
		expect(answers(result.messages).b).toEqual({ paid: { n: 1 } });
	});

	test('cannot be called in the turn that reads the skill, even after an interruption of the turn', async () => {
		const [user = go, asked = go, read = go] = hasRead('billing');
		const open = {
			...asked,
			toolCalls: [...(asked.role === 'assistant' ? (asked.toolCalls ?? []) : []), ...call('b', 'pay').toolCalls],
		};
		const { result } = await finish(['Done.'], { skills }, [user, open, read]);
		expect(answers(result.messages).b).toMatch(/There is no tool named pay/);
	});

	test('are missing after read_skill failed', async () => {
		for (const read of [hasRead('billing', 'no data', true), hasRead('billing', 'Unknown skill: billing')])
			expect(offered((await finish(['Hi'], { skills }, [...read, go])).requests)).toEqual([[]]);
		const { requests } = await finish([reading('a', 'nope'), 'Hi'], { skills });
		expect(offered(requests)).toEqual([[], []]);
	});

	test('are missing if the skill no longer exists', async () => {
		const { requests } = await finish(['Hi'], { skills: [plain] }, [...hasRead('billing'), go]);
		expect(offered(requests)).toEqual([[]]);
	});

	test('do not replace a tool of the same name, and the result reports the conflict', async () => {
		const own = readTool('pay', () => 'the own one');
		const { result, requests } = await finish([reading('a', 'billing'), call('b', 'pay'), 'Done.'], {
			skills,
			tools: [own],
		});
		expect(answers(result.messages).b).toBe('the own one');
		expect(answers(result.messages).a).toMatch(
			/\n\nNot callable, because another tool has the same name: pay of billing\.$/,
		);
		expect(offered(requests)[1]).toEqual(['pay', 'book']);
	});

	test('are offered once if the skill is read twice, and are named in both results', async () => {
		const { result, requests } = await finish([reading('a', 'ledger'), reading('b', 'ledger'), 'Done.'], { skills });
		expect(offered(requests)).toEqual([[], ['book'], ['book']]);
		expect(answers(result.messages).b).toBe(answers(result.messages).a);
	});

	test('wait for their approval, and run after it', async () => {
		const guarded: Skill = {
			...ledger,
			tools: [readTool('book', () => 'booked', { needsApproval: true }), readTool('hand', undefined)],
		};
		const script = [reading('a', 'ledger'), calling(...call('b', 'book').toolCalls, ...call('h', 'hand').toolCalls)];
		const { result } = await finish(script, { skills: [guarded] });
		expect(result).toMatchObject({
			status: 'awaiting_tools',
			metadata: { manualToolCalls: [{ id: 'b', kind: 'approval' }, { id: 'h' }] },
		});
		const by = chat.toolResultMessage({ id: 'h', output: 'by hand', isError: false });
		const openCalls = new Map([['b', { isApproved: true }]]);
		const after = await finish(['Done.'], { skills: [guarded], openCalls }, [...result.messages, by]);
		expect(answers(after.result.messages)).toMatchObject({ b: 'booked', h: 'by hand' });
	});

	test('are reported to onToolCall like other tools', async () => {
		const told: unknown[] = [];
		const safe: Skill = { ...ledger, tools: [readTool('book', () => 'booked', { retry: 'safe' })] };
		const onToolCall: ChatOptions['onToolCall'] = ({ id }, { retry }) => void told.push([id, retry]);
		await finish([reading('a', 'ledger'), call('b', 'book'), 'Done.'], { skills: [safe], onToolCall });
		expect(told).toEqual([
			['a', 'safe'],
			['b', 'safe'],
		]);
	});
});

describe('skillTools', () => {
	const allowing: Skill = { ...plain, frontMatter: { 'allowed-tools': 'pay Bash(git:*)' } };

	test('are offered after a skill that names them is read', async () => {
		const options = { skills: [allowing], skillTools: [pay, readTool('other', () => '')], tools: [echo] };
		const { requests, result } = await finish([reading('a', 'plain'), call('b', 'pay'), 'Done.'], options);
		expect(offered(requests)).toEqual([['echo'], ['echo', 'pay'], ['echo', 'pay']]);
		expect(answers(result.messages).b).toEqual({ paid: { n: 1 } });
	});
});

describe('a read skill', () => {
	test('is loaded once in a run', async () => {
		const found: string[] = [];
		const memory = skill.inMemoryResolver(skills);
		const skillResolver: SkillResolver = {
			...memory,
			findFn: (name) => {
				found.push(name);
				return memory.readFn(name);
			},
		};
		const turns = ['1', '2', '3'].map((id) => calling({ id, name: 'echo', input: { text: id } }));
		await finish([...turns, 'Done.'], { skillResolver, tools: [echo] }, [...hasRead('billing'), go]);
		expect(found).toEqual(['billing', 'ledger']);
	});

	test('offers the same tools in a running conversation as in a new run with the same history', async () => {
		const one = fc.constantFrom('billing', 'ledger', 'plain', 'nope', 'echo', 'pay', 'book');
		const turns = fc.array(fc.uniqueArray(one, { minLength: 1, maxLength: 3 }), { maxLength: 6 });
		await fc.assert(
			fc.asyncProperty(turns, async (named) => {
				const readCall = (name: string, id: string) =>
					['echo', 'pay', 'book'].includes(name)
						? { id, name, input: { text: id } }
						: { id, name: 'read_skill', input: { name } };
				const script = named.map((names, at) => calling(...names.map((name, n) => readCall(name, `${at}.${n}`))));
				const { requests } = await finish([...script, 'Done.'], { skills, tools: [echo] });
				for (const [at, { messages }] of requests.entries()) {
					const fresh = await finish(['Done.'], { skills, tools: [echo] }, messages);
					expect(offered(fresh.requests)[0]).toEqual(offered(requests)[at]);
				}
			}),
			{ numRuns: 50 },
		);
	});

	test('ends the run if its resolver fails', async () => {
		const skillResolver: SkillResolver = { listFn: () => [], readFn: () => Promise.reject(new Error('no KV')) };
		await expect(finish(['Hi'], { skillResolver }, [...hasRead('billing'), go])).rejects.toMatchObject({
			code: 'internal',
		});
	});

	test('is inactive if the call that read it is left out of the request', async () => {
		const options = { skills, contextFull: 'truncate', maxContextTokens: 2_000 } as const;
		const read = hasRead('billing', 'T'.repeat(4_000));
		const long = chat.userMessage('x'.repeat(4_000));
		const script = [call('a', 'pay'), call('b', 'pay'), 'Done.'];
		const { requests, result } = await finish(script, options, [...read, long]);
		// The turn still has its tools, and its calls run.
		expect(offered(requests)).toEqual([['pay', 'book'], [], []]);
		expect(answers(result.messages)).toMatchObject({
			a: { paid: { n: 1 } },
			b: expect.stringContaining('no tool named'),
		});
	});

	test('stays active after a summary that names it, and after the next summary', async () => {
		const stored: Message[] = [];
		const options: Partial<ChatOptions> = {
			skills,
			contextFull: 'compact',
			maxContextTokens: 3_000,
			onMessage: (message) => void stored.push(message),
		};
		const history = [...hasRead('billing'), chat.userMessage('y'.repeat(8_000)), chat.assistantMessage('Well.')];
		const first = await finish(['They want bills.', call('a', 'pay'), 'Done.'], options, [
			...history,
			chat.userMessage('x'.repeat(3_000)),
		]);
		expect(answers(first.result.messages).a).toEqual({ paid: { n: 1 } });
		const summary = stored.find(({ role }) => role === 'system');
		expect(summary).toMatchObject({ summary: true, skills: ['billing'] });
		const told = 'Skills that were read: billing. Their tools can be called; read one again where its text is needed.';
		expect(summary?.content).toMatch(new RegExp(`They want bills\\.\n\n${told}$`));

		// The history of a session, from the newest summary on.
		const rest = first.result.messages.slice(first.result.messages.findIndex(({ role }) => role === 'system'));
		const longer = [
			...rest,
			chat.userMessage('z'.repeat(3_000)),
			chat.assistantMessage('Well.'),
			chat.userMessage('x'.repeat(5_500)),
		];
		const second = await finish(['Still bills.', call('b', 'pay'), 'Done.'], options, longer);
		expect(answers(second.result.messages).b).toEqual({ paid: { n: 1 } });
		expect(stored.findLast(({ role }) => role === 'system')).toMatchObject({ skills: ['billing'] });
		expect(chat.messageText(second.requests[0]?.messages.at(-1) ?? go)).not.toContain('Skills that were read');
	});
});

test('skillContext can be a function, which is called at each tool call', async () => {
	let turn = 0;
	const told: unknown[] = [];
	const look = readTool('look', (_: unknown, context: unknown) => void told.push(context));
	const greet: Skill = {
		name: 'greet',
		description: 'Hi',
		bodyFn: ({ n }: Readonly<Record<string, unknown>>) => `turn ${n}`,
	};
	const ask = (id: string) => calling({ id, name: 'apply_skill', input: { name: 'greet', ctx: { n: 'spoofed' } } });
	const options = { skills: [greet], tools: [look], skillContext: () => ({ n: ++turn }) };
	const { result } = await finish([ask('a'), call('b', 'look'), ask('c'), 'Done.'], options);
	const { a, c } = answers(result.messages);
	expect(a).not.toBe(c);
	expect([a, c]).toEqual([expect.stringMatching(/^turn \d+$/), expect.stringMatching(/^turn \d+$/)]);
	expect(told).toMatchObject([{ skillContext: { n: expect.any(Number) } }]);
});
