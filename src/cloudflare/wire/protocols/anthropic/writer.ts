import { RunletError } from '../../../../core/base/errors.ts';
import { parseJson } from '../../../../core/base/json.ts';
import type { ChatUsage, RunEvent, WaitingCall } from '../../../../core/chat/index.ts';
import { toInputText } from '../../../../core/tool/call.ts';
import { listPieces, type PieceEnd, type PieceOptions, withoutRestarted } from '../pieces.ts';
import type { AnswerBlock, AnswerDelta, AnswerEvent, AnswerMessage, AnswerUsage } from './answer.ts';

export interface AnswerFormat extends PieceOptions {
	/** The name of the agent, which is the model in this protocol. */
	readonly model: string;
	/** Whether the answer has blocks of thinking. */
	readonly showsThinking: boolean;
}

/** Clients send a block of thinking back only with a signature. Nobody checks it here. */
const signature = 'runlet';

/** Translates a run's events, in order, to events of a streamed message. The last is `message_stop` or a failure. */
export function createWriter(format: AnswerFormat): (event: RunEvent) => readonly (AnswerEvent | RunletError)[] {
	const read = listPieces(format);
	let isBegun = false;
	let blocks = 0;
	let open: 'text' | 'thinking' | undefined;

	const start = (content_block: AnswerBlock): AnswerEvent => {
		return { type: 'content_block_start', index: blocks++, content_block };
	};
	const change = (delta: AnswerDelta): AnswerEvent => ({ type: 'content_block_delta', index: blocks - 1, delta });
	const stop = (): AnswerEvent => ({ type: 'content_block_stop', index: blocks - 1 });
	const close = (): AnswerEvent[] => {
		const last = open;
		open = undefined;
		if (last === undefined) return [];
		return last === 'text' ? [stop()] : [change({ type: 'signature_delta', signature }), stop()];
	};
	const begin = (type: 'text' | 'thinking'): AnswerEvent[] => {
		if (open === type) return [];
		const closed = close();
		open = type;
		if (type === 'text') return [...closed, start({ type, text: '' })];
		return [...closed, start({ type, thinking: '', signature: '' })];
	};
	const call = ({ id, name, input }: WaitingCall): AnswerEvent[] => [
		start({ type: 'tool_use', id, name, input: {} }),
		change({ type: 'input_json_delta', partial_json: toInputText(input) }),
		stop(),
	];
	const end = (piece: PieceEnd): AnswerEvent[] => [
		...(open === 'text' ? listCitations(piece).map(change) : []),
		...close(),
		...piece.calls.flatMap(call),
		{ type: 'message_delta', delta: toStop(piece), usage: toUsage(piece.usage) },
		{ type: 'message_stop' },
	];

	return (event) => {
		if (event.type === 'run.started') {
			if (isBegun) return [];
			isBegun = true;
			return [{ type: 'message_start', message: createMessage(format, event.runId) }];
		}
		return read(event).flatMap((piece): readonly (AnswerEvent | RunletError)[] => {
			if (piece.type === 'end') return end(piece);
			if (piece.type === 'failure') return [piece.error];
			if (piece.type === 'text') return [...begin('text'), change({ type: 'text_delta', text: piece.text })];
			if (!format.showsThinking) return [];
			return [...begin('thinking'), change({ type: 'thinking_delta', thinking: piece.text })];
		});
	};
}

/** Makes a whole answer from all events of a run. Throws the error of a run without an answer. */
export function toAnswer(format: AnswerFormat, events: readonly RunEvent[]): AnswerMessage {
	let message = createMessage(format, '');
	const content: AnswerBlock[] = [];
	for (const event of withoutRestarted(events).flatMap(createWriter(format))) {
		if (event instanceof RunletError) throw event;
		if (event.type === 'message_start') message = event.message;
		else if (event.type === 'content_block_start') content.push(event.content_block);
		else if (event.type === 'content_block_delta') content[event.index] = addDelta(content[event.index], event.delta);
		else if (event.type === 'message_delta') return { ...message, ...event.delta, content, usage: event.usage };
	}
	throw new RunletError('internal', 'The run ended without saying how.');
}

/** Adds a delta to its block, as clients do. */
function addDelta(block: AnswerBlock | undefined, delta: AnswerDelta): AnswerBlock {
	if (block?.type === 'text' && delta.type === 'text_delta') return { ...block, text: block.text + delta.text };
	if (block?.type === 'text' && delta.type === 'citations_delta')
		return { ...block, citations: [...(block.citations ?? []), delta.citation] };
	if (block?.type === 'thinking' && delta.type === 'thinking_delta')
		return { ...block, thinking: block.thinking + delta.thinking };
	if (block?.type === 'thinking' && delta.type === 'signature_delta') return { ...block, signature: delta.signature };
	if (block?.type === 'tool_use' && delta.type === 'input_json_delta')
		return { ...block, input: parseJson(delta.partial_json) };
	throw new Error(`A ${delta.type} belongs to another block than ${block?.type}.`);
}

function createMessage({ model }: AnswerFormat, runId: string): AnswerMessage {
	return {
		...{ id: `msg_${runId}`, type: 'message', role: 'assistant', model, content: [] },
		...{ stop_reason: null, stop_sequence: null, usage: toUsage({}) },
	};
}

function listCitations({ pages }: PieceEnd): AnswerDelta[] {
	return pages.map(({ url, title, quote = '' }) => ({
		type: 'citations_delta',
		citation: { type: 'web_search_result_location', url, title, cited_text: quote, encrypted_index: '' },
	}));
}

function toStop({ reason, stopWord }: PieceEnd): Pick<AnswerMessage, 'stop_reason' | 'stop_sequence'> {
	if (stopWord === undefined || reason !== 'end_turn') return { stop_reason: reason, stop_sequence: null };
	return { stop_reason: 'stop_sequence', stop_sequence: stopWord };
}

function toUsage(usage: ChatUsage): AnswerUsage {
	const { inputTokens = 0, cachedInputTokens = 0, outputTokens = 0, costUsd, unpriced } = usage;
	return {
		input_tokens: Math.max(0, inputTokens - cachedInputTokens),
		cache_creation_input_tokens: 0,
		cache_read_input_tokens: cachedInputTokens,
		output_tokens: outputTokens,
		...(unpriced === undefined && costUsd !== undefined && { cost: costUsd }),
	};
}
