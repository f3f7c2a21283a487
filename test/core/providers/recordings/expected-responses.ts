import type { StopReason } from '../../../../src/core/index.ts';
import { type Expected, type ExpectedCall, type Reading, withCalls } from './expected.ts';
import { at, count, list, readArguments, text } from './json.ts';

/** OpenAI's Responses API. xAI has the same API. */
export const responses: Reading = {
	readStream: (events) => {
		const end = events.findLast((event) => at(event, 'type') === 'response.completed');
		// The completed items. In some recordings the last event has no items.
		const items = events
			.filter((event) => at(event, 'type') === 'response.output_item.done')
			.toSorted((a, b) => (count(a, 'output_index') ?? 0) - (count(b, 'output_index') ?? 0))
			.map((event) => ({ item: at(event, 'item'), streamed: readStreamed(events, count(event, 'output_index')) }));
		const texts = items.map(({ item, streamed }) => (readText(item).startsWith(streamed) ? readText(item) : streamed));
		return reply(texts.join(''), readCalls(items.map(({ item }) => item)), at(end, 'response'));
	},
	readBody: (body) => reply(list(body, 'output').map(readText).join(''), readCalls(list(body, 'output')), body),
	ends: (event) => at(event, 'type') === 'response.completed',
};

/** Returns the text of a completed message, or an empty text. */
function readText(item: unknown): string {
	if (at(item, 'type') !== 'message') return '';
	const parts = list(item, 'content').filter((part) => at(part, 'type') === 'output_text');
	return parts.map((part) => text(part, 'text')).join('');
}

/**
 * Returns the streamed text of an item. One recording (`openai-shell-container.1`) ends with another text, but the
 * streamed text is expected.
 */
function readStreamed(events: readonly unknown[], index: number | undefined): string {
	return events
		.filter((event) => at(event, 'type') === 'response.output_text.delta' && at(event, 'output_index') === index)
		.map((event) => text(event, 'delta'))
		.join('');
}

function readCalls(items: readonly unknown[]): ExpectedCall[] {
	return items
		.filter((item) => at(item, 'type') === 'function_call')
		.map((item) => ({
			id: text(item, 'call_id'),
			name: text(item, 'name'),
			input: readArguments(text(item, 'arguments')),
		}));
}

function reply(content: string, toolCalls: readonly ExpectedCall[], response: unknown): Expected {
	return {
		text: content,
		toolCalls,
		stopReason: withCalls(readStopReason(response), toolCalls),
		usage: {
			inputTokens: count(response, 'usage', 'input_tokens'),
			outputTokens: count(response, 'usage', 'output_tokens'),
			cachedInputTokens: count(response, 'usage', 'input_tokens_details', 'cached_tokens'),
			reasoningTokens: count(response, 'usage', 'output_tokens_details', 'reasoning_tokens'),
		},
	};
}

function readStopReason(response: unknown): StopReason {
	const reason = text(response, 'incomplete_details', 'reason');
	if (reason === 'content_filter') return 'refusal';
	return reason === 'max_output_tokens' ? 'max_tokens' : 'end_turn';
}
