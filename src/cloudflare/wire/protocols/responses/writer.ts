import { RunletError } from '../../../../core/base/errors.ts';
import { isTerminal } from '../../../../core/chat/event.ts';
import {
	addUsage,
	type ChatUsage,
	type RunEvent,
	type TerminalEvent,
	type WaitingCall,
} from '../../../../core/chat/index.ts';
import { isWebUrl } from '../../../../core/chat/provider-tool.ts';
import { findJson } from '../../../../core/chat/requirements.ts';
import { toInputText } from '../../../../core/tool/call.ts';
import type { ToolResult } from '../../../../core/tool/index.ts';
import { toRunError } from '../failure.ts';
import { errorBody } from '../openai/error.ts';
import { findFunction, type ResponseHead } from './head.ts';
import { formatCallId, formatItemId, formatResponseId, type RunPlace } from './ids.ts';
import type { ResponseUsage } from './schema.ts';

export interface WriterOptions {
	readonly head: ResponseHead;
	readonly place: RunPlace;
	/** The name of the agent, which clients see as the server of its tools. */
	readonly agent: string;
	/** The `sequence_number` of the last event that the reader has. */
	readonly seen?: number;
	/** When the run ended, in milliseconds since 1970. The default is now. */
	readonly endedAt?: number;
}

export interface ResponseEvent {
	readonly type: string;
	readonly sequence_number: number;
	readonly [field: string]: unknown;
}

type Item = Readonly<Record<string, unknown>> & { readonly id: string; readonly type: string };

type Status = 'completed' | 'incomplete' | 'failed' | 'cancelled';

interface Ending {
	readonly status: Status;
	readonly error?: RunletError;
	readonly reason?: string;
	readonly usage?: ChatUsage;
}

type Spoken = 'text' | 'reasoning';

/** An item that the model is writing. */
interface OpenItem {
	readonly kind: Spoken;
	readonly id: string;
	readonly index: number;
	text: string;
}

/** The part of a turn that restarts may repeat. */
interface TurnState {
	/** The number of the last event before the turn. */
	readonly base: number;
	/** The number of items before the turn. */
	readonly items: number;
	/** Whether the turn restarted when only thinking was shown. */
	readonly mayThinkAnew?: boolean;
	/** The shown thinking and text. */
	readonly spoken: { readonly kind: Spoken; text: string }[];
	readonly calls: Map<string, { readonly name: string; input: string }>;
	readonly results: Map<string, ToolResult>;
	readonly pages: Map<string, string>;
}

/** A restarted turn continues this many numbers later, so that no number means two events. */
const restartGap = 2 ** 32;

/**
 * Translates the events of a run, in order, into the events of a response. The `sequence_number` of an event counts the
 * events before it, and each character of a text as one event. So an event has the same number however its text was
 * cut, in the live stream and in one from stored history (docs/responses.md, "Streams").
 *
 * The calls of the agent's own tools come with their results at the end of a turn, in the order of the calls.
 */
export class ResponseWriter {
	readonly #options: WriterOptions;
	readonly #output: Item[] = [];
	readonly #cited = new Set<string>();
	#runId = '';
	#last = -1;
	/** The number up to which the reader has all events, and the number up to which a restarted turn repeats them. */
	readonly #seen: number;
	#repeated = -1;
	/** What a restarted turn must repeat. */
	#owed: TurnState['spoken'] = [];
	#turn: TurnState;
	#open: OpenItem | undefined;
	#usage: ChatUsage = {};
	#stopReason = 'end_turn';
	#written: ResponseEvent[] = [];
	#ending: Ending | undefined;

	constructor(options: WriterOptions) {
		this.#options = options;
		this.#seen = options.seen ?? -1;
		this.#turn = createTurn(1, 0);
	}

	/** Whether the last event was written. */
	get isOver(): boolean {
		return this.#ending !== undefined;
	}

	/** Why the run has no answer. */
	get error(): RunletError | undefined {
		return this.#ending?.error;
	}

	/** The response as far as it is written. */
	get response() {
		const { head, place, endedAt = Date.now() } = this.#options;
		const { status = 'in_progress' as const, error, reason, usage = this.#usage } = this.#ending ?? {};
		const body = error && errorBody(toRunError(error)).error;
		return {
			id: formatResponseId(place),
			object: 'response' as const,
			...head,
			status,
			completed_at: status === 'completed' ? Math.floor(endedAt / 1_000) : null,
			error: body === undefined ? null : { code: body.code ?? 'server_error', message: body.message },
			incomplete_details: reason === undefined ? null : { reason },
			output: [...this.#output],
			usage: this.#ending === undefined ? null : toWireUsage(usage),
		};
	}

	/** Returns the events that the reader does not have yet. */
	write(event: RunEvent): ResponseEvent[] {
		if (!this.isOver) this.#take(event);
		const written = this.#written;
		this.#written = [];
		return written;
	}

	/** Ends the stream of a reader who gets no more, with the event `error`. */
	fail(error: RunletError): ResponseEvent[] {
		if (!this.isOver) this.#failStream(error);
		return this.write({ type: 'cancelled' });
	}

	#take(event: RunEvent): void {
		switch (event.type) {
			case 'run.started':
				this.#begin(event.runId);
				return;
			case 'text':
			case 'reasoning':
				this.#say(event.type, event.text);
				return;
			case 'source':
				if (isWebUrl(event.url)) this.#turn.pages.set(event.url, event.title ?? event.url);
				return;
			case 'tool_use_start':
				this.#turn.calls.set(event.id, { name: event.name ?? '', input: '' });
				return;
			case 'tool_use_input': {
				const call = this.#turn.calls.get(event.id);
				if (call !== undefined) call.input += event.partialInputJson;
				return;
			}
			case 'tool_result':
				this.#turn.results.set(event.id, event);
				return;
			case 'stop':
				if (this.#owed.length > 0) {
					this.#failStream(createRestarted());
					return;
				}
				this.#close({ isLast: true });
				this.#usage = addUsage(this.#usage, event.usage);
				this.#stopReason = event.reason;
				return;
			case 'step': {
				for (const { id, name, input } of event.toolCalls) {
					const result = event.toolResults.find((one) => one.id === id);
					if (result !== undefined)
						this.#showCall(name, toInputText(result.ranWith ?? input), result, event.iteration === 0);
				}
				this.#turn = createTurn(this.#last, this.#output.length);
				return;
			}
			case 'turn.restarted':
				this.#restart();
				return;
			default:
				if (isTerminal(event)) this.#end(event);
		}
	}

	#begin(runId: string): void {
		if (this.#runId !== '') return;
		this.#runId = runId;
		this.#emit('response.created', { response: this.response });
		this.#emit('response.in_progress', { response: this.response });
	}

	/** Writes an event. A text counts as many events as it has characters, and the reader gets what it does not have. */
	#emit(type: string, fields: Readonly<Record<string, unknown>>, text?: string): void {
		const before = this.#last;
		const seen = Math.max(this.#seen, this.#repeated);
		this.#last += text === undefined ? 1 : text.length;
		if (this.#last <= seen) return;
		const delta = text === undefined ? {} : { delta: text.slice(Math.max(0, seen - before)) };
		this.#written.push({ type, sequence_number: this.#last, ...fields, ...delta });
	}

	#say(kind: Spoken, text: string): void {
		if ((this.#isJson && kind === 'text') || !this.#repeats(kind, text)) return;
		const spoken = this.#turn.spoken.at(-1);
		if (spoken?.kind === kind) spoken.text += text;
		else this.#turn.spoken.push({ kind, text });
		if (this.#open !== undefined && this.#open.kind !== kind) this.#close();
		this.#open ??= this.#openItem(kind);
		this.#open.text += text;
		const { id: item_id, index: output_index } = this.#open;
		if (kind === 'reasoning')
			this.#emit('response.reasoning_summary_text.delta', { item_id, output_index, summary_index: 0 }, text);
		else this.#emit('response.output_text.delta', { item_id, output_index, content_index: 0, logprobs: [] }, text);
	}

	/** Restarts the turn. The reader has the beginning of the turn, which the model must repeat. */
	#restart(): void {
		const { base, items, spoken } = this.#turn;
		const shown = Math.max(this.#last, this.#repeated);
		const next = base + restartGap;
		const owed = [...spoken, ...this.#owed];
		const mayThinkAnew = owed.length > 0 && owed.every(({ kind }) => kind === 'reasoning');
		// Thinking need not be repeated: its last event has the whole text.
		this.#owed = mayThinkAnew ? [{ kind: 'reasoning', text: '' }] : owed;
		this.#turn = { ...createTurn(next, items), mayThinkAnew };
		this.#output.length = items;
		this.#open = undefined;
		// The reader has text that was lost in a crash, so nobody knows whether the model repeats it.
		if (this.#seen > shown && this.#seen < next) this.#failStream(createRestarted());
		this.#last = next;
		this.#repeated = next + shown - base;
	}

	/** Whether a text repeats what a restarted turn had shown. If not, ends the stream. */
	#repeats(kind: Spoken, text: string): boolean {
		let rest = text;
		while (rest !== '') {
			const [owed] = this.#owed;
			if (owed === undefined) return true;
			const length = Math.min(rest.length, owed.text.length);
			if (owed.kind !== kind || owed.text.slice(0, length) !== rest.slice(0, length)) {
				this.#failStream(createRestarted());
				return false;
			}
			rest = rest.slice(length);
			if (owed.text.length > length) this.#owed[0] = { kind, text: owed.text.slice(length) };
			else this.#owed.shift();
		}
		return true;
	}

	#openItem(kind: Spoken): OpenItem {
		const index = this.#output.length;
		const item_id = this.#createItemId(kind === 'text' ? 'msg' : 'rs', index);
		if (kind === 'reasoning') {
			const item = { id: item_id, type: 'reasoning', summary: [] };
			this.#emit('response.output_item.added', { output_index: index, item });
			const part = { type: 'summary_text', text: '' };
			this.#emit('response.reasoning_summary_part.added', { item_id, output_index: index, summary_index: 0, part });
		} else {
			const item = { id: item_id, type: 'message', status: 'in_progress', role: 'assistant', content: [] };
			this.#emit('response.output_item.added', { output_index: index, item });
			const part = toTextPart('', []);
			this.#emit('response.content_part.added', { item_id, output_index: index, content_index: 0, part });
		}
		return { kind, id: item_id, index, text: '' };
	}

	/** @param isLast whether the item is the last of its turn, so that it gets the sources of the turn */
	#close({ isLast = false, status = 'completed' } = {}): void {
		if (this.#open === undefined) return;
		const { kind, id, index: output_index, text } = this.#open;
		this.#open = undefined;
		const at = { item_id: id, output_index };
		if (kind === 'reasoning') {
			if (this.#turn.mayThinkAnew) this.#repeated = this.#last;
			const part = { type: 'summary_text', text };
			this.#emit('response.reasoning_summary_text.done', { ...at, summary_index: 0, text });
			this.#emit('response.reasoning_summary_part.done', { ...at, summary_index: 0, part });
			this.#done({ id, type: 'reasoning', summary: [part] });
			return;
		}
		const annotations = isLast ? this.#cite() : [];
		for (const [annotation_index, annotation] of annotations.entries())
			this.#emit('response.output_text.annotation.added', { ...at, content_index: 0, annotation_index, annotation });
		const part = toTextPart(text, annotations);
		this.#emit('response.output_text.done', { ...at, content_index: 0, text, logprobs: [] });
		this.#emit('response.content_part.done', { ...at, content_index: 0, part });
		this.#done({ id, type: 'message', status, role: 'assistant', content: [part] });
	}

	#done(item: Item): void {
		this.#emit('response.output_item.done', { output_index: this.#output.length, item });
		this.#output.push(item);
	}

	/** Returns the pages of the turn that no earlier text cites. Their positions are 0: providers count differently. */
	#cite() {
		const { pages } = this.#turn;
		const cited = [...pages].filter(([url]) => !this.#cited.has(url));
		for (const [url] of cited) this.#cited.add(url);
		return cited.map(([url, title]) => ({ type: 'url_citation', url, title, start_index: 0, end_index: 0 }));
	}

	/** Writes a whole message. */
	#tell(text: string): void {
		this.#open = this.#openItem('text');
		this.#open.text = text;
		const { id: item_id, index: output_index } = this.#open;
		this.#emit('response.output_text.delta', { item_id, output_index, content_index: 0, logprobs: [] }, text);
		this.#close({ isLast: true });
	}

	/** Writes a call of the agent's own tools with its result. */
	#showCall(name: string, text: string, { id: callId, output, isError }: ToolResult, wasAllowed = false): void {
		// The client knows nothing of a call of its tools that the run refused.
		if (findFunction(this.#options.head, name) !== undefined) return;
		const { agent: server_label, place } = this.#options;
		const output_index = this.#output.length;
		const id = this.#createItemId('mcp', output_index);
		const approval_request_id = wasAllowed ? formatCallId('mcpr', place.session, callId) : null;
		const about = { id, type: 'mcp_call', server_label, name, approval_request_id };
		const said = typeof output === 'string' ? output : JSON.stringify(output ?? null);
		const item = { ...about, arguments: '', output: null, error: null, status: 'in_progress' };
		this.#emit('response.output_item.added', { output_index, item });
		const at = { item_id: id, output_index };
		this.#emit('response.mcp_call.in_progress', at);
		this.#emit('response.mcp_call_arguments.delta', { ...at, delta: text });
		this.#emit('response.mcp_call_arguments.done', { ...at, arguments: text });
		this.#emit(`response.mcp_call.${isError ? 'failed' : 'completed'}`, at);
		const result = isError ? { output: null, error: said } : { output: said, error: null };
		this.#done({ ...about, arguments: text, ...result, status: isError ? 'failed' : 'completed' });
	}

	/** Writes a call that waits for the client or for a person. */
	#showWaiting({ id: callId, name, input, kind }: WaitingCall): void {
		const { agent: server_label, head, place } = this.#options;
		const output_index = this.#output.length;
		const text = toInputText(input);
		if (kind === 'approval') {
			const id = formatCallId('mcpr', place.session, callId);
			const item = { id, type: 'mcp_approval_request', server_label, name, arguments: text };
			this.#emit('response.output_item.added', { output_index, item });
			this.#done(item);
			return;
		}
		const id = this.#createItemId('fc', output_index);
		// The calls of a response that is not stored are for a history that the client keeps.
		const call_id = head.store ? formatCallId('call', place.session, callId) : callId;
		const about = { id, type: 'function_call', call_id, name, ...findFunction(head, name) };
		const item = { ...about, arguments: '', status: 'in_progress' };
		this.#emit('response.output_item.added', { output_index, item });
		this.#emit('response.function_call_arguments.delta', { item_id: id, output_index, delta: text });
		this.#emit('response.function_call_arguments.done', { item_id: id, output_index, name, arguments: text });
		this.#done({ ...about, arguments: text, status: 'completed' });
	}

	#end(event: TerminalEvent): void {
		this.#close({ status: 'incomplete' });
		for (const [id, { name, input }] of this.#turn.calls) {
			const result = this.#turn.results.get(id);
			if (result !== undefined) this.#showCall(name, input, result);
		}
		const ending = this.#showEnd(event);
		this.#ending = ending;
		const { status } = ending;
		const type = status === 'cancelled' ? 'incomplete' : status;
		this.#emit(`response.${type}`, { response: this.response });
	}

	#showEnd(event: TerminalEvent): Ending {
		switch (event.type) {
			case 'done': {
				if (this.#isJson) this.#tell(findJson(event.text) ?? event.text);
				const reason = incompleteReasons[this.#stopReason];
				return { status: reason === undefined ? 'completed' : 'incomplete', reason, usage: event.usage };
			}
			case 'halted': {
				const { reason } = event;
				if (this.#isJson) return fail(new RunletError('halted', `A tool stopped the run: ${reason}.`));
				if (!this.#output.some(({ type }) => type === 'message')) this.#tell(reason);
				return { status: 'completed' };
			}
			case 'awaiting': {
				const { question, toolCalls = [] } = event;
				if (question !== undefined && this.#isJson)
					return fail(new RunletError('awaiting_user', `A tool asks: ${question.question}`));
				if (question !== undefined) this.#tell(question.question);
				else for (const call of toolCalls) this.#showWaiting(call);
				return { status: 'completed' };
			}
			case 'cancelled':
				return { status: 'cancelled', usage: event.usage };
			case 'error':
				return fail(new RunletError(event.code, event.message, event.data));
		}
	}

	/** Ends the stream without an end of the response. */
	#failStream(error: RunletError): void {
		this.#ending = fail(error);
		const { error: body } = errorBody(toRunError(error));
		const { code, message, param } = body;
		const sequence_number = Math.max(this.#last, this.#seen, this.#repeated) + 1;
		// Open Responses and newer clients read `error`, and older clients the other fields.
		this.#written.push({ type: 'error', sequence_number, code, message, param, error: body });
	}

	get #isJson(): boolean {
		return this.#options.head.text.format.type !== 'text';
	}

	#createItemId(prefix: string, index: number): string {
		const { head, place } = this.#options;
		return formatItemId(prefix, head.store ? place : undefined, this.#runId, index);
	}
}

const incompleteReasons: Readonly<Record<string, string>> = {
	max_tokens: 'max_output_tokens',
	refusal: 'content_filter',
};

function createTurn(base: number, items: number): TurnState {
	return { base, items, spoken: [], calls: new Map(), results: new Map(), pages: new Map() };
}

function fail(error: RunletError): Ending {
	return { status: 'failed', error };
}

function toTextPart(text: string, annotations: readonly object[]) {
	return { type: 'output_text', text, annotations, logprobs: [] };
}

function toWireUsage(usage: ChatUsage): ResponseUsage {
	const { inputTokens = 0, outputTokens = 0, totalTokens = inputTokens + outputTokens } = usage;
	const { cachedInputTokens = 0, reasoningTokens = 0, costUsd, unpriced } = usage;
	return {
		input_tokens: inputTokens,
		input_tokens_details: { cached_tokens: cachedInputTokens },
		output_tokens: outputTokens,
		output_tokens_details: { reasoning_tokens: reasoningTokens },
		total_tokens: totalTokens,
		cost: unpriced === undefined ? costUsd : undefined,
	};
}

function createRestarted(): RunletError {
	return new RunletError(
		'interrupted',
		'The answer restarted after a crash and is now different. Ignore the text so far, and get the response by its id.',
	);
}
