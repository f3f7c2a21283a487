import { gzipSync } from 'node:zlib';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { toCharge } from '../../../src/core/chat/meter.ts';
import { chat, providers } from '../../../src/core/index.ts';
import { createConnection, type McpProblem } from '../../../src/core/mcp/index.ts';
import { createServer, type FixtureTool, keep, text } from './support.ts';

/** A tool with a schema of about 1 KB. */
const large = (name: string): FixtureTool => ({
	description: `Does ${name} with care.`,
	properties: Object.fromEntries(
		Array.from({ length: 10 }, (_, at) => [
			`field_${at}`,
			{ type: 'string', description: 'Something that is needed.' },
		]),
	),
	work: () => text(`did ${name}`),
});

it('a turn with 500 tools from 20 servers sends only the found tools', async () => {
	const connections = Array.from({ length: 20 }, (_, at) => {
		const tools = Array.from({ length: 25 }, (_, n) => (at === 7 && n === 3 ? 'book_flight' : `work_${n}`));
		const handler = createMcpHandler(createServer(Object.fromEntries(tools.map((name) => [name, large(name)]))));
		const fetch = (input: URL | RequestInfo, init?: RequestInit) => handler.fetch(new Request(input, init));
		return keep(createConnection({ name: `s${at}`, url: 'https://mcp.example.com/mcp' }, { fetch }));
	});
	const lists = await Promise.all(connections.map((one) => one.loadTools()));
	const all = lists.flat();
	expect(all).toHaveLength(500);
	const model = providers.scripted([
		{ toolCalls: [{ id: 'a', name: 'search_tools', input: { query: 'book flight' } }] },
		{ toolCalls: [{ id: 'b', name: 's7_book_flight', input: {} }] },
		'Booked.',
	]);
	const loadTools = () => all;
	const run = chat.run({ model: 'scripted', providers: [model], loadTools }, [chat.userMessage('Book a flight.')]);
	const { messages } = await run.result;
	expect(messages.findLast(({ role }) => role === 'tool')?.content).toBe('did book_flight');
	const sent = model.requests.map(({ tools }) => JSON.stringify(tools).length);
	expect(JSON.stringify(all).length).toBeGreaterThan(400_000);
	expect(Math.max(...sent)).toBeLessThan(5_000);
});

it('a turn with schemas of 90 KB sends only the found tools, and the warning names the sizes', async () => {
	const fat = (name: string): FixtureTool => ({
		description: `Does ${name} with care.`,
		properties: Object.fromEntries(
			Array.from({ length: 90 }, (_, at) => [`field_${at}`, { type: 'string', description: 'word '.repeat(200) }]),
		),
		work: () => text(`did ${name}`),
	});
	const names = Array.from({ length: 30 }, (_, n) => (n === 3 ? 'book_flight' : `work_${n}`));
	const handler = createMcpHandler(createServer(Object.fromEntries(names.map((name) => [name, fat(name)]))));
	const problems: McpProblem[] = [];
	const connection = keep(
		createConnection(
			{ name: 'out', url: 'https://mcp.example.com/mcp' },
			{
				fetch: (input, init) => handler.fetch(new Request(input, init)),
				onProblem: (problem) => void problems.push(problem),
			},
		),
	);
	const all = await connection.loadTools();
	expect(Math.max(...all.map(({ inputSchema }) => JSON.stringify(inputSchema).length))).toBeLessThanOrEqual(12_000);
	const said = new Map(problems.map(({ code, message }) => [code, message]));
	expect(said.get('cut')).toMatch(/out_work_0 \(9\d{4} characters\)/);
	// The connection reads no tool after the tenth tool of the list.
	expect([said.get('left_out'), all.length]).toEqual([expect.stringContaining('out_work_10'), 10]);
	const model = providers.scripted([
		{ toolCalls: [{ id: 'a', name: 'search_tools', input: { query: 'book flight' } }] },
		{ toolCalls: [{ id: 'b', name: 'out_book_flight', input: { field_1: 'x' } }] },
		'Booked.',
	]);
	const spent: number[] = [];
	const meter: chat.Meter = { reserve: ({ inputTokens }) => void spent.push(inputTokens), lost: () => {} };
	const options = { model: 'scripted', providers: [model], loadTools: () => all, meter };
	const run = chat.run(options, [chat.userMessage('Book a flight.')]);
	const warnings: string[] = [];
	for await (const event of run.events) if (event.type === 'warning') warnings.push(event.message);
	expect((await run.result).messages.findLast(({ role }) => role === 'tool')?.content).toBe('did book_flight');
	expect(warnings).toEqual([expect.stringMatching(/^The 10 tools have about \d+ tokens.*out_work_\d+ \(\d+\)/)]);
	expect(Math.max(...spent)).toBeLessThan(10_000);
});

it('the charge for an interrupted turn with long schemas covers at least its request', async () => {
	const names = Array.from({ length: 50 }, (_, n) => (n === 3 ? 'book_flight' : `work_${n}`));
	const small = createServer({ look: () => text('looked'), lookup: () => text('found') });
	const servers = [small, createServer(Object.fromEntries(names.map((name) => [name, large(name)])))];
	for (const server of servers) {
		const handler = createMcpHandler(server);
		const connection = createConnection(
			{ name: 'out', url: 'https://mcp.example.com/mcp' },
			{ fetch: (input, init) => handler.fetch(new Request(input, init)) },
		);
		const { loadTools } = keep(connection);
		const called = server === small ? 'out_look' : 'out_book_flight';
		const answers = [
			...(server === small ? [] : [{ name: 'search_tools', arguments: '{"query":"book flight"}' }]),
			{ name: called, arguments: '{}' },
			undefined,
		];
		const billed: number[] = [];
		const fetch = async (input: URL | RequestInfo, init?: RequestInit) => {
			const { messages, tools } = JSON.parse(await new Request(input, init).text());
			const call = answers[billed.length];
			billed.push(Math.ceil(JSON.stringify([messages, tools ?? []]).length / 4));
			const tool_calls = call && [{ index: 0, id: `call_${billed.length}`, type: 'function', function: call }];
			const finish_reason = call === undefined ? 'stop' : 'tool_calls';
			const delta = { role: 'assistant', content: `Turn ${billed.length}.`, tool_calls };
			const chunk = JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] });
			return new Response(`data: ${chunk}\n\ndata: [DONE]\n\n`, { headers: { 'content-type': 'text/event-stream' } });
		};
		const charged: number[] = [];
		const meter: chat.Meter = {
			reserve: ({ inputTokens }) => {
				charged.push(toCharge({ inputTokens, outputTokens: 0, isCut: true }).inputTokens);
				return undefined;
			},
			lost: () => {},
		};
		const model = providers.openaiChat({ baseURL: 'https://api.test/v1', name: 'Test', prefix: 'test/', fetch });
		const options = { model: 'test/m', providers: [model], loadTools, meter };
		const { messages } = await chat.run(options, [chat.userMessage('run-0-0')]).result;
		expect(messages.findLast(({ role }) => role === 'tool')?.content).toMatch(/^(looked|did book_flight)$/);
		expect(billed).toHaveLength(answers.length);
		for (const [turn, tokens] of billed.entries()) {
			expect(charged[turn]).toBeGreaterThanOrEqual(tokens);
			expect(charged[turn]).toBeLessThan(tokens * 1.4);
		}
	}
});

it("the protocol's client is loaded by the first connection, not by an import", async () => {
	const { outputFiles, metafile } = await build({
		entryPoints: { mcp: 'src/core/mcp/index.ts', tool: 'src/core/tool/index.ts' },
		bundle: true,
		minify: true,
		format: 'esm',
		splitting: true,
		platform: 'neutral',
		mainFields: ['module', 'main'],
		conditions: ['workerd', 'worker', 'browser'],
		external: ['node:*'],
		alias: { '@modelcontextprotocol/client/_shims': './src/core/mcp/sdk-shims.ts' },
		outdir: 'out',
		write: false,
		metafile: true,
	});
	const outputs = Object.entries(metafile.outputs);
	const findEntry = (name: string) => outputs.find(([path]) => path.endsWith(`/${name}.js`))?.[1];
	const listStatic = (path: string): readonly string[] => [
		path,
		...(metafile.outputs[path]?.imports ?? []).flatMap((one) =>
			one.kind === 'import-statement' && !one.external ? listStatic(one.path) : [],
		),
	];
	const at = outputs.find(([, output]) => output === findEntry('mcp'))?.[0] ?? '';
	const loaded = listStatic(at).flatMap((path) => Object.keys(metafile.outputs[path]?.inputs ?? {}));
	expect(loaded).toContain('src/core/mcp/link.ts');
	expect(loaded.filter((path) => path.includes('@modelcontextprotocol'))).toEqual([]);
	const measure = (isWanted: (path: string) => boolean) =>
		outputFiles.reduce((sum, { path, contents }) => sum + (isWanted(path) ? gzipSync(contents).length : 0), 0);
	// The kilobytes of the client: an agent with servers adds them to a Worker, and the first connection loads them.
	expect(measure((path) => path.endsWith('/mcp.js'))).toBeLessThan(14_000);
	expect(measure((path) => /\/sdk-\w+\.js$/.test(path))).toBeLessThan(90_000);
});
