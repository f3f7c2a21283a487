import type { StopReason } from '../../../../src/core/index.ts';
import { type Expected, type ExpectedUsage, type Reading, sum, withCalls } from './expected.ts';
import { at, count, list, readArguments, text } from './json.ts';

/** Chat Completions. Only xAI counts reasoning in addition to the completion. */
export function chatCompletions({ reasoningBeside }: { readonly reasoningBeside: boolean }): Reading {
	const readUsage = (usage: unknown): ExpectedUsage => {
		const reasoning = count(usage, 'completion_tokens_details', 'reasoning_tokens');
		const named = count(usage, 'prompt_tokens_details', 'cached_tokens');
		const own = count(usage, 'cached_tokens') ?? count(usage, 'num_cached_tokens');
		return {
			inputTokens: count(usage, 'prompt_tokens'),
			outputTokens: sum(count(usage, 'completion_tokens'), reasoningBeside ? reasoning : undefined),
			cachedInputTokens: named === undefined && own !== undefined ? 'any' : named,
			reasoningTokens: reasoning,
		};
	};
	return {
		readStream: (events) => {
			const deltas = events.map((event) => at(event, 'choices', 0, 'delta'));
			const usage = events.findLast((event) => usageIn(event) !== undefined);
			const reason = events.map((event) => text(event, 'choices', 0, 'finish_reason')).findLast(Boolean) ?? '';
			return reply(deltas.map(readContent).join(''), readCalls(deltas), reason, readUsage(usageIn(usage)));
		},
		readBody: (body) => {
			const message = at(body, 'choices', 0, 'message');
			const reason = text(body, 'choices', 0, 'finish_reason');
			return reply(readContent(message), readCalls([message]), reason, readUsage(usageIn(body)));
		},
		ends: (event) => text(event, 'choices', 0, 'finish_reason') !== '' || at(event, 'error') !== undefined,
	};
}

/** Returns the usage. Groq's older streams have it in another field. */
function usageIn(event: unknown): unknown {
	return at(event, 'usage') ?? at(event, 'x_groq', 'usage');
}

/** Returns the text of a delta or a message, or the text parts of Mistral's list. */
function readContent(message: unknown): string {
	const parts = list(message, 'content').filter((part) => at(part, 'type') === 'text');
	return text(message, 'content') + parts.map((part) => text(part, 'text')).join('');
}

interface Pieces {
	readonly index: number | undefined;
	id: string;
	name: string;
	json: string;
}

/** Pieces of a call have the same `index`. A piece without an index is a whole call. */
function readCalls(messages: readonly unknown[]): Pieces[] {
	const calls: Pieces[] = [];
	for (const piece of messages.flatMap((message) => list(message, 'tool_calls'))) {
		const index = count(piece, 'index');
		let call = calls.find((one) => index !== undefined && one.index === index);
		if (call === undefined) {
			call = { index, id: '', name: '', json: '' };
			calls.push(call);
		}
		call.id ||= text(piece, 'id');
		call.name ||= text(piece, 'function', 'name');
		call.json += text(piece, 'function', 'arguments');
	}
	return calls;
}

const reasons: Readonly<Record<string, StopReason>> = {
	stop: 'end_turn',
	tool_calls: 'tool_use',
	length: 'max_tokens',
	content_filter: 'refusal',
};

function reply(content: string, calls: readonly Pieces[], finishReason: string, usage: ExpectedUsage): Expected {
	const toolCalls = calls.map(({ id, name, json }) => ({ id, name, input: readArguments(json) }));
	return {
		text: content,
		toolCalls,
		stopReason: withCalls(reasons[finishReason] ?? finishReason, toolCalls),
		usage,
	};
}
