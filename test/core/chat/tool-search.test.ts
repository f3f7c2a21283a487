import { describe, expect, test } from 'vitest';
import { type ChatOptions, chat, type RunEvent, type Tool } from '../../../src/core/index.ts';
import { calling, finish, only, type Requests, readTool, results } from './support.ts';

const numbered = (count: number): Tool[] =>
	Array.from({ length: count }, (_, n) =>
		readTool(`tool_${n}`, () => `ran ${n}`, { description: `Does thing number ${n}.` }),
	);
const many: readonly Tool[] = [
	...numbered(45),
	readTool('send_email', () => 'sent', { description: 'Send a letter to somebody.' }),
	readTool('letter_box', () => 'box', { description: 'Look for mail.' }),
];
const search = (id: string, query: string) => calling({ id, name: 'search_tools', input: { query } });
const sent = (requests: Requests) => requests.map(({ tools }) => (tools ?? []).map(({ name }) => name));

describe('a run with many tools', () => {
	test('sends up to 40 tools without a search tool', async () => {
		const { requests } = await finish(['done'], { tools: numbered(40) });
		expect(sent(requests)).toEqual([numbered(40).map(({ name }) => name)]);
	});

	test('offers a search if there are more tools than maxSentTools, and sends at most maxSentTools found tools', async () => {
		const tools = numbered(6);
		const few = await finish(['done'], { tools, maxSentTools: 6 });
		expect(sent(few.requests)).toEqual([tools.map(({ name }) => name)]);
		const many = await finish([search('a', 'thing'), 'done'], { tools, maxSentTools: 5 });
		expect(sent(many.requests)[0]).toEqual(['search_tools']);
		expect(sent(many.requests)[1]).toHaveLength(6);
	});

	test('sends found tools from the next turn on, after the other tools and in the order of their discovery', async () => {
		const { requests, result } = await finish(
			[search('a', 'Sending!'), search('b', 'letter'), calling({ id: 'c', name: 'send_email', input: {} }), 'done'],
			{ tools: many },
		);
		expect(sent(requests)).toEqual([
			['search_tools'],
			['search_tools', 'send_email'],
			['search_tools', 'send_email', 'letter_box'],
			['search_tools', 'send_email', 'letter_box'],
		]);
		expect(results(result.messages)).toEqual([
			['a', { tools: [{ name: 'send_email', description: 'Send a letter to somebody.' }] }],
			[
				'b',
				{
					tools: [
						{ name: 'letter_box', description: 'Look for mail.' },
						{ name: 'send_email', description: 'Send a letter to somebody.' },
					],
				},
			],
			['c', 'sent'],
		]);
	});

	test('sends the found tools in the next run too', async () => {
		const first = await finish([search('a', 'email'), 'done'], { tools: many });
		const next = await finish(['done'], { tools: many }, [
			...first.result.messages,
			{ role: 'user', content: 'Go on.' },
		]);
		expect(sent(next.requests)).toEqual([['search_tools', 'send_email']]);
	});

	test('sends at most 40 found tools, and keeps only the newer half if more are found', async () => {
		const tools = numbered(100);
		const script = Array.from({ length: 9 }, (_, n) =>
			search(
				`c${n}`,
				`${n + 1}0 ${n + 1}1 ${n + 1}2 ${n + 1}3 ${n + 1}4 ${n + 1}5 ${n + 1}6 ${n + 1}7 ${n + 1}8 ${n + 1}9`,
			),
		);
		const { requests } = await finish([...script, 'done'], { tools });
		const [, ...lists] = sent(requests).map((names) => names.slice(1));
		expect(lists.map(({ length }) => length)).toEqual([10, 20, 30, 40, 20, 30, 40, 20, 30]);
		const rangeOf = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `tool_${from + n}`);
		expect(lists[3]?.toSorted()).toEqual(rangeOf(10, 50));
		expect(lists[4]?.toSorted()).toEqual(rangeOf(40, 60));
		expect(lists[6]).toEqual([...(lists[4] ?? []), ...(lists[6] ?? []).slice(20)]);
		expect(lists.at(-1)).toContain('tool_99');
	});

	test('does not send tools that were found only in left-out messages', async () => {
		const first = await finish([search('a', 'email'), 'done'], { tools: many }, [chat.userMessage('x'.repeat(4_000))]);
		const next = [...first.result.messages, chat.userMessage('Go on.')];
		const options = { tools: many, contextFull: 'truncate', maxContextTokens: 900 } as const;
		const { requests } = await finish(['done'], options, next);
		expect(requests[0]?.messages).toHaveLength(1);
		expect(sent(requests)).toEqual([['search_tools']]);
	});

	test('reports a search that finds nothing', async () => {
		const { result } = await finish([search('a', 'submarine'), 'done'], { tools: many });
		expect(results(result.messages)).toEqual([['a', { tools: [], note: expect.stringContaining('other ones') }]]);
	});

	test('finds tools by other forms of a word, and uses stop words only if the query has no other words', async () => {
		const tools = [
			...numbered(45),
			readTool('export_employee', () => '', { description: 'Write a CSV file.' }),
			readTool('invoice.list', () => '', { description: 'All bills.' }),
			readTool('add_to_cart', () => '', { description: 'Put it into the cart, as an item.' }),
			readTool('sendEmail', () => '', { description: '' }),
			readTool('read_file_categories', () => '', { description: '' }),
		];
		const find = async (query: string): Promise<readonly string[]> => {
			const { result } = await finish([search('a', query), 'done'], { tools });
			return Object(results(result.messages)[0]?.[1]).tools.map(({ name }: Tool) => name);
		};
		expect(await find('invoices')).toEqual(['invoice.list']);
		expect(await find('employees')).toEqual(['export_employee']);
		expect(await find('exporting employees to CSV')).toEqual(['export_employee']);
		expect(await find('category of the files')).toEqual(['read_file_categories', 'export_employee']);
		expect(await find('sent mails by emailing it')).toEqual(['sendEmail']);
		expect(await find('to')).toEqual(['add_to_cart']);
	});

	test('does not find an unavailable tool', async () => {
		const tools = many.map((tool) => (tool.name === 'send_email' ? { ...tool, isAvailable: () => false } : tool));
		const { result } = await finish([search('a', 'email'), 'done'], { tools });
		expect(results(result.messages)).toMatchObject([['a', { tools: [] }]]);
	});

	test('always sends the tool that toolChoice names', async () => {
		const { requests } = await finish([calling({ id: 'c', name: 'tool_7', input: {} }), 'done'], {
			tools: many,
			toolChoice: { name: 'tool_7' },
		});
		expect(sent(requests)[0]).toEqual(['search_tools', 'tool_7']);
	});
});

describe('a run with large tools', () => {
	const big = (count: number, tokens: number): Tool[] =>
		numbered(count).map((tool) => {
			const properties = { a: { type: 'string', description: 'word '.repeat(tokens) } };
			return { ...tool, inputSchema: { type: 'object', properties } };
		});
	const warned = (events: readonly RunEvent[]) => only(events, 'warning').map(({ code, message }) => [code, message]);

	test('offers only a search if the tools exceed 20,000 tokens, and warns with their sizes', async () => {
		const { requests, events } = await finish(['done'], { tools: big(21, 1_000) });
		expect(sent(requests)).toEqual([['search_tools']]);
		expect(warned(events)).toEqual([
			['tools_too_large', expect.stringMatching(/^The 21 tools .*20000.*tool_\d+ \(\d{4}\)/)],
		]);
		const few = await finish(['done'], { tools: big(15, 1_000) });
		expect([sent(few.requests)[0]?.length, warned(few.events)]).toEqual([15, []]);
	});

	test('limits tools to maxToolTokens, by default a tenth of the context but at least 4,000 tokens', async () => {
		const count = async (options: Partial<ChatOptions>) => {
			const { requests } = await finish(['done'], { tools: big(5, 1_000), ...options });
			return sent(requests)[0]?.length;
		};
		expect(await count({ maxContextTokens: 100_000 })).toBe(5);
		expect(await count({ maxContextTokens: 40_000 })).toBe(1);
		expect(await count({ modelContextWindow: async () => 40_000 })).toBe(1);
		expect(await count({ maxContextTokens: 40_000, maxToolTokens: 8_000 })).toBe(5);
		expect(await count({ maxToolTokens: 3_000 })).toBe(1);
		expect(await count({ maxContextTokens: 10_000, tools: big(3, 1_000) })).toBe(3);
	});

	test('sends as many of the newest found tools as the limit allows', async () => {
		const { requests } = await finish([search('a', '10 11 12 13'), search('b', '20 21 22 23'), 'done'], {
			tools: big(30, 1_000),
			maxToolTokens: 5_000,
		});
		expect(sent(requests)).toEqual([
			['search_tools'],
			['search_tools', 'tool_10', 'tool_11', 'tool_12'],
			['search_tools', 'tool_20', 'tool_21', 'tool_22'],
		]);
	});

	test('sends a found tool even if that tool alone exceeds the limit', async () => {
		const { requests } = await finish([search('a', 'thing'), 'done'], { tools: big(2, 9_000), maxToolTokens: 5_000 });
		expect(sent(requests)).toEqual([['search_tools'], ['search_tools', 'tool_0']]);
	});
});
