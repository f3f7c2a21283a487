/**
 * The part `providers` of `npm run bench`: measures the processor time of a delta from a provider's bytes to `onDelta`,
 * through the SDK and the adapter. The baseline is a hand-written loop that only splits the stream, parses each event and
 * passes it on. The ratios compare within one run.
 */
import { providers } from '../../src/core/index.ts';

const rounds = 7;
const chunkBytes = 16_384;
const apiKey = 'bench';

/** The events of a provider, and the position of the delta in an event. */
interface Stream {
	readonly events: readonly object[];
	readonly toPiece: (event: Json) => unknown;
}
type Json = { readonly [key: string]: Json };

const word = 'hello ';
/** 1 MB of arguments in 10,000 fragments. */
const fragments = ['{"text":"', ...Array.from({ length: 9_998 }, () => 'x'.repeat(105)), '"}'];
const many = <T>(make: (index: number) => T): T[] => Array.from({ length: 20_000 }, (_, index) => make(index));

const usage = { input_tokens: 1, output_tokens: 1 };
const anthropicFrame = (block: object, deltas: object[]): object[] => [
	{ type: 'message_start', message: { id: 'm', model: 'claude', content: [], usage } },
	{ type: 'content_block_start', index: 0, content_block: block },
	...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
	{ type: 'content_block_stop', index: 0 },
	{ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
	{ type: 'message_stop' },
];
const chatFrame = (deltas: object[], finish_reason: string): object[] => [
	...deltas.map((delta) => ({
		id: 'c',
		object: 'chat.completion.chunk',
		model: 'gpt',
		choices: [{ index: 0, delta, finish_reason: null }],
	})),
	{ id: 'c', choices: [{ index: 0, delta: {}, finish_reason }] },
	{ id: 'c', choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
];
const responsesFrame = (item: object, deltas: object[]): object[] => [
	{ type: 'response.created', response: { id: 'r', model: 'gpt', status: 'in_progress', output: [] } },
	{ type: 'response.output_item.added', output_index: 0, item },
	...deltas.map((delta, sequence_number) => ({
		...delta,
		output_index: 0,
		item_id: 'i',
		content_index: 0,
		sequence_number,
	})),
	{ type: 'response.output_item.done', output_index: 0, item: { ...item, status: 'completed' } },
	{ type: 'response.completed', response: { id: 'r', model: 'gpt', status: 'completed', output: [], usage } },
];
const geminiFrame = (texts: string[]): object[] =>
	texts.map((text, at) => ({
		candidates: [
			{ content: { role: 'model', parts: [{ text }] }, ...(at === texts.length - 1 && { finishReason: 'STOP' }) },
		],
		usageMetadata: { promptTokenCount: 1, candidatesTokenCount: at },
	}));

const call = { id: 'call_1', type: 'function', function: { name: 'save', arguments: '' } };
const dialects: Record<
	string,
	{
		model: string;
		provider: (fetching: typeof fetch) => ReturnType<typeof providers.demo>;
		text: Stream;
		tool?: Stream;
	}
> = {
	anthropic: {
		model: 'claude-sonnet-4-6',
		provider: (fetching) => providers.anthropic({ apiKey, fetch: fetching }),
		text: {
			events: anthropicFrame(
				{ type: 'text', text: '' },
				many(() => ({ type: 'text_delta', text: word })),
			),
			toPiece: (event) => event.delta?.text,
		},
		tool: {
			events: anthropicFrame(
				{ type: 'tool_use', id: 'toolu_1', name: 'save', input: {} },
				fragments.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
			),
			toPiece: (event) => event.delta?.partial_json,
		},
	},
	openai: {
		model: 'gpt-5.4',
		provider: (fetching) => providers.openai({ apiKey, fetch: fetching }),
		text: {
			events: responsesFrame(
				{ id: 'i', type: 'message', role: 'assistant', content: [] },
				many(() => ({ type: 'response.output_text.delta', delta: word })),
			),
			toPiece: (event) => event.delta,
		},
		tool: {
			events: responsesFrame(
				{ id: 'i', type: 'function_call', call_id: 'call_1', name: 'save', arguments: '' },
				fragments.map((delta) => ({ type: 'response.function_call_arguments.delta', delta })),
			),
			toPiece: (event) => event.delta,
		},
	},
	'openai-chat': {
		model: 'bench/gpt',
		provider: (fetching) =>
			providers.openaiChat({
				apiKey,
				fetch: fetching,
				baseURL: 'https://bench.example/v1',
				name: 'bench',
				prefix: 'bench/',
			}),
		text: {
			events: chatFrame(
				many(() => ({ content: word })),
				'stop',
			),
			toPiece: (event) => event.choices?.[0]?.delta?.content,
		},
		tool: {
			events: chatFrame(
				[
					{ tool_calls: [{ index: 0, ...call }] },
					...fragments.map((part) => ({ tool_calls: [{ index: 0, function: { arguments: part } }] })),
				],
				'tool_calls',
			),
			toPiece: (event) => event.choices?.[0]?.delta?.tool_calls?.[0]?.function?.arguments,
		},
	},
	gemini: {
		model: 'gemini-3-flash-preview',
		provider: (fetching) => providers.gemini({ apiKey, fetch: fetching }),
		text: {
			events: geminiFrame(many(() => word)),
			toPiece: (event) => event.candidates?.[0]?.content?.parts?.[0]?.text,
		},
	},
};

function toBytes({ events }: Stream): Uint8Array {
	return new TextEncoder().encode(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
}

/** Returns a response that sends the bytes in several network chunks. */
function respond(bytes: Uint8Array): Response {
	let at = 0;
	const body = new ReadableStream<Uint8Array>({
		pull: (controller) => {
			if (at >= bytes.length) return controller.close();
			controller.enqueue(bytes.slice(at, at + chunkBytes));
			at += chunkBytes;
		},
	});
	return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

async function byHand(bytes: Uint8Array, toPiece: Stream['toPiece'], onDelta: (delta: object) => void): Promise<void> {
	const reader = respond(bytes).body?.getReader();
	if (reader === undefined) return;
	const decoder = new TextDecoder();
	let rest = '';
	for (;;) {
		const { value, done } = await reader.read();
		if (done) return;
		const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
		rest = lines.pop() ?? '';
		for (const line of lines) {
			if (!line.startsWith('data: ')) continue;
			const piece = toPiece(JSON.parse(line.slice(6)));
			if (typeof piece === 'string') onDelta({ type: 'text', text: piece });
		}
	}
}

/** Returns the processor time in milliseconds: the best of several rounds. */
async function measureCost(work: () => Promise<void>): Promise<number> {
	let least = Number.POSITIVE_INFINITY;
	for (let round = 0; round < rounds; round++) {
		const before = process.cpuUsage();
		await work();
		const { user, system } = process.cpuUsage(before);
		least = Math.min(least, (user + system) / 1000);
	}
	return least;
}

const onDelta = (): undefined => {};
for (const [name, { model, provider, text, tool }] of Object.entries(dialects)) {
	for (const [what, stream] of Object.entries({
		'20,000 deltas of text': text,
		'a call of 1 MB in 10,000 fragments': tool,
	})) {
		if (stream === undefined) continue;
		const bytes = toBytes(stream);
		const { chatStreamFn } = provider(async () => respond(bytes));
		const hand = await measureCost(() => byHand(bytes, stream.toPiece, onDelta));
		const adapter = await measureCost(
			async () => void (await chatStreamFn?.(model, [], undefined, undefined, onDelta)),
		);
		const each = (ms: number) => ((1000 * ms) / stream.events.length).toFixed(2);
		console.log(
			`${name}, ${what}: by hand ${each(hand)} µs each, adapter ${each(adapter)} µs (${(adapter / hand).toFixed(2)}x)`,
		);
	}
}
