import { type Expected, type ExpectedUsage, type Reading, sum } from './expected.ts';
import { at, count, list, readArguments, text } from './json.ts';

/** Anthropic's Messages API. */
export const anthropic: Reading = {
	readStream: (events) => {
		const start = events.find((event) => at(event, 'type') === 'message_start');
		// The counts are running totals, so the last count of each kind is valid.
		const usage = Object.assign({}, ...events.map((event) => at(event, 'message', 'usage') ?? at(event, 'usage')));
		const reasons = events.map((event) => text(event, 'message', 'stop_reason') || text(event, 'delta', 'stop_reason'));
		const streamed = events
			.filter((event) => at(event, 'type') === 'content_block_start')
			.map((event) => readBlock(event, events));
		return reply([...list(start, 'message', 'content'), ...streamed], reasons.findLast(Boolean) ?? '', usage);
	},
	readBody: (body) => reply(list(body, 'content'), text(body, 'stop_reason'), at(body, 'usage')),
	ends: (event) => [at(event, 'delta', 'stop_reason'), at(event, 'message', 'stop_reason')].some(isText),
};

function isText(value: unknown): boolean {
	return typeof value === 'string';
}

/** Returns a streamed block in the form of a body: its start and its deltas. */
function readBlock(start: unknown, events: readonly unknown[]): unknown {
	const deltas = events.filter(
		(event) => at(event, 'type') === 'content_block_delta' && at(event, 'index') === at(start, 'index'),
	);
	const block = at(start, 'content_block');
	const added = deltas.map((event) => text(event, 'delta', 'text')).join('');
	const json = deltas.map((event) => text(event, 'delta', 'partial_json')).join('');
	return {
		type: at(block, 'type'),
		id: at(block, 'id'),
		name: at(block, 'name'),
		text: text(block, 'text') + added,
		input: json === '' ? at(block, 'input') : readArguments(json),
	};
}

function reply(content: readonly unknown[], stopReason: string, usage: unknown): Expected {
	const toolCalls = content
		.filter((block) => at(block, 'type') === 'tool_use')
		.map((block) => ({ id: text(block, 'id'), name: text(block, 'name'), input: at(block, 'input') }));
	return {
		text: content
			.filter((block) => at(block, 'type') === 'text')
			.map((block) => text(block, 'text'))
			.join(''),
		toolCalls,
		// Anthropic has the same words as Runlet.
		stopReason,
		usage: readUsage(usage),
	};
}

function readUsage(usage: unknown): ExpectedUsage {
	const iterations = list(usage, 'iterations');
	const parts = iterations.length > 0 ? iterations : [usage];
	const total = (...keys: readonly string[]) => sum(...parts.flatMap((part) => keys.map((key) => count(part, key))));
	return {
		inputTokens: total('input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'),
		outputTokens: total('output_tokens'),
		cachedInputTokens: total('cache_read_input_tokens'),
		reasoningTokens: count(usage, 'output_tokens_details', 'thinking_tokens'),
	};
}
