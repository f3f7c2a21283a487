import { RunletError } from '../../../../core/base/errors.ts';
import type { RunEvent } from '../../../../core/chat/index.ts';
import type { Completed, Protocol, RunWriter } from '../protocol.ts';
import type { Chunk, Completion, CompletionUsage, Delta, FinishReason } from './completion.ts';
import { errorBody, toRunError } from './error.ts';
import { listPieces, type PieceOptions, withoutRestarted } from './pieces.ts';

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
					if (piece.type === 'delta') return choice(piece.delta);
					if (piece.type === 'failure') return formatData(JSON.stringify(errorBody(toRunError(piece.error))));
					return (
						choice(piece.delta, piece.reason) + (includeUsage ? chunk([], piece.usage) : '') + formatData('[DONE]')
					);
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
		if (piece.type === 'delta') deltas.push(piece.delta);
		else if (piece.type === 'failure') return { error: piece.error };
		else {
			const choice = {
				index: 0,
				message: toCompletionMessage(deltas, piece.delta),
				logprobs: null,
				finish_reason: piece.reason,
			} as const;
			const { usage } = piece;
			const frame = createFrame(format, runId);
			return { completion: { ...frame, object: 'chat.completion', choices: [choice], usage } };
		}
	}
	return { error: new RunletError('internal', 'The run ended without saying how.') };
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
