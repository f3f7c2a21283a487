import { RunletError } from '../../../../core/base/errors.ts';
import type { ChatUsage, RunEvent, WaitingCall } from '../../../../core/chat/index.ts';
import { toInputText } from '../../../../core/tool/call.ts';
import { toRunError } from '../failure.ts';
import { listPieces, type PieceEnd, type PieceOptions, withoutRestarted } from '../pieces.ts';
import type { Completed, Protocol, RunWriter } from '../protocol.ts';
import type { Chunk, Completion, CompletionUsage, Delta, FinishReason } from './completion.ts';
import { errorBody } from './error.ts';

export interface CompletionFormat extends PieceOptions {
	readonly type: 'chat.completions';
	/** The name of the agent, which is the model in this protocol. */
	readonly model: string;
	readonly includeUsage: boolean;
}

export function chatCompletions(format: CompletionFormat): Protocol {
	return {
		writer: () => chunkWriter(format),
		result: (events) => toCompletion(format, events),
	};
}

function createFrame({ model }: CompletionFormat, runId: string) {
	return { id: `chatcmpl-${runId}`, created: Math.floor(Date.now() / 1000), model };
}

function chunkWriter(format: CompletionFormat): RunWriter {
	const { includeUsage } = format;
	const read = listPieces(format);
	let frame = createFrame(format, '');
	const chunk = (choices: Chunk['choices'], usage: CompletionUsage | null = null): string => {
		const body: Chunk = { ...frame, object: 'chat.completion.chunk', choices, ...(includeUsage && { usage }) };
		return formatData(JSON.stringify(body));
	};
	const choice = (delta: Delta, finish_reason: FinishReason | null = null): string =>
		chunk([{ index: 0, delta, logprobs: null, finish_reason }]);
	return {
		event: (event) => {
			if (event.type === 'run.started') {
				frame = createFrame(format, event.runId);
				return choice({ role: 'assistant', content: '' });
			}
			return read(event)
				.map((piece) => {
					if (piece.type === 'failure') return formatData(JSON.stringify(errorBody(toRunError(piece.error))));
					if (piece.type !== 'end') return choice(toDelta(piece));
					const calls = piece.calls.flatMap(toCallDeltas).map((delta) => choice(delta));
					const end = choice(createAnnotations(piece), finishReasons[piece.reason]);
					return [...calls, end, includeUsage ? chunk([], toUsage(piece.usage)) : '', formatData('[DONE]')].join('');
				})
				.join('');
		},
		end: () => '',
	};
}

function formatData(text: string): string {
	return `data: ${text}\n\n`;
}

function toCompletion(format: CompletionFormat, events: readonly RunEvent[]): Completed {
	const read = listPieces(format);
	const runId = events.find((event) => event.type === 'run.started')?.runId ?? '';
	const deltas: Delta[] = [];
	for (const piece of withoutRestarted(events).flatMap(read)) {
		if (piece.type === 'failure') return { error: piece.error };
		if (piece.type !== 'end') {
			deltas.push(toDelta(piece));
			continue;
		}
		const choice = {
			index: 0,
			message: toCompletionMessage([...deltas, ...piece.calls.flatMap(toCallDeltas)], createAnnotations(piece)),
			logprobs: null,
			finish_reason: finishReasons[piece.reason],
		} as const;
		const frame = createFrame(format, runId);
		return { completion: { ...frame, object: 'chat.completion', choices: [choice], usage: toUsage(piece.usage) } };
	}
	return { error: new RunletError('internal', 'The run ended without saying how.') };
}

const finishReasons = {
	end_turn: 'stop',
	max_tokens: 'length',
	refusal: 'content_filter',
	tool_use: 'tool_calls',
} as const;

function toDelta({ type, text }: { readonly type: 'text' | 'reasoning'; readonly text: string }): Delta {
	return type === 'text' ? { content: text } : { reasoning_content: text };
}

function toCallDeltas({ id, name, input }: WaitingCall, index: number): Delta[] {
	const head = { index, id, type: 'function' as const, function: { name, arguments: '' } };
	return [head, { index, function: { arguments: toInputText(input) } }].map((call) => ({ tool_calls: [call] }));
}

function createAnnotations({ pages }: PieceEnd): Delta {
	const annotations = pages.map(({ url, title }) => ({
		type: 'url_citation' as const,
		url_citation: { url, title, start_index: 0, end_index: 0 },
	}));
	return annotations.length === 0 ? {} : { annotations };
}

function toUsage(usage: ChatUsage): CompletionUsage {
	const { inputTokens = 0, outputTokens = 0, totalTokens = inputTokens + outputTokens } = usage;
	const { cachedInputTokens = 0, reasoningTokens = 0, costUsd, unpriced } = usage;
	return {
		prompt_tokens: inputTokens,
		completion_tokens: outputTokens,
		total_tokens: totalTokens,
		prompt_tokens_details: { cached_tokens: cachedInputTokens },
		completion_tokens_details: { reasoning_tokens: reasoningTokens },
		cost: unpriced === undefined ? costUsd : undefined,
	};
}

/** Joins the pieces to a message in the same way as a client. */
function toCompletionMessage(
	deltas: readonly Delta[],
	{ annotations }: Delta,
): Completion['choices'][number]['message'] {
	const content = deltas.map((delta) => delta.content ?? '').join('');
	const reasoning = deltas.map((delta) => delta.reasoning_content ?? '').join('');
	const pieces = deltas.flatMap((delta) => delta.tool_calls ?? []);
	const calls = pieces.flatMap(({ index, id, function: { name = '' } }) => {
		if (id === undefined) return [];
		const text = pieces.filter((piece) => piece.index === index).map((piece) => piece.function.arguments);
		return [{ id, type: 'function' as const, function: { name, arguments: text.join('') } }];
	});
	return {
		role: 'assistant',
		content: content === '' && calls.length > 0 ? null : content,
		refusal: null,
		...(reasoning !== '' && { reasoning_content: reasoning }),
		...(calls.length > 0 && { tool_calls: calls }),
		...(annotations !== undefined && { annotations }),
	};
}
