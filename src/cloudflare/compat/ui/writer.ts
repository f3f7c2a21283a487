import { isTerminal } from '../../../core/chat/event.ts';
import type { RunEvent, TerminalEvent } from '../../../core/chat/index.ts';
import { parseToolInput } from '../../../core/tool/input.ts';
import type { UiChunk, UiFinishReason } from './chunk.ts';

/** An answer from outside to a call, which a run began with. */
export interface GivenResult {
	readonly id: string;
	readonly output: unknown;
	readonly isError: boolean;
	/** Whether a person did not allow the call. */
	readonly isDenied: boolean;
}

/** One run of an answer: what was given to it, and its events as far as they are told by hand. */
export interface ToldRun {
	readonly given: readonly GivenResult[];
	readonly events: readonly RunEvent[];
}

/** The assistant's message that a run writes: one message is written by several runs where calls wait for somebody. */
export interface UiMessageHead {
	readonly messageId: string;
	readonly sessionId: string;
	/** The runs before, which are over. */
	readonly earlier: readonly ToldRun[];
	/** What the run itself began with. */
	readonly given: readonly GivenResult[];
	/** Whether the reader has what the earlier runs wrote in front of it, and goes on behind it. */
	readonly isContinued: boolean;
}

interface OpenCall {
	readonly name: string;
	/** Pieces of its input. */
	readonly pieces: string[];
	state: 'streaming' | 'open' | 'settled' | 'dropped';
}

/**
 * Writes run events as the chunks of one UI message. Whatever the events, the chunks fit together: a delta has its
 * start, an output its call, a step its end. A call is said to be complete only once its turn is stored, so that a page
 * carries out none that a cut-off turn takes back.
 *
 * A client that posts by itself when all calls of the last step are answered would do so for ever where the run has
 * nothing more to say: then an empty step comes last.
 */
export class UiWriter {
	readonly #head: UiMessageHead;
	#out: UiChunk[] = [];
	#muted = false;
	#started = false;
	#runId: string | undefined;
	#step: 'none' | 'open' | 'ending' = 'none';
	#text: { readonly kind: 'text' | 'reasoning'; readonly id: string } | undefined;
	#texts = 0;
	#calls = new Map<string, OpenCall>();
	/** Calls of the step that was begun last. */
	#stepCalls: string[] = [];
	#stopReason = 'end_turn';

	constructor(head: UiMessageHead) {
		this.#head = head;
	}

	/** The chunks that say an event; none for a kind that this version does not know. */
	write(event: RunEvent): UiChunk[] {
		if (event.type === 'run.started') this.#runId = event.runId;
		this.#start();
		this.#take(event);
		return this.#isTaken();
	}

	/** The chunks that say answers which wait, behind the run's end, for those to its other calls. */
	writeAnswers(given: readonly GivenResult[]): UiChunk[] {
		this.#takeGiven(given);
		return this.#isTaken();
	}

	#isTaken(): UiChunk[] {
		const out = this.#out;
		this.#out = [];
		return out;
	}

	/** What stands in front of the run's own events. */
	#start(): void {
		if (this.#started) return;
		this.#started = true;
		const { messageId, sessionId, earlier, given, isContinued } = this.#head;
		const runId = this.#runId;
		if (runId === undefined) {
			// A run that never began adds to no answer.
			this.#say({ type: 'start', messageMetadata: { sessionId } });
			return;
		}
		this.#say({ type: 'start', messageId, messageMetadata: { sessionId, runId } });
		this.#muted = isContinued;
		for (const run of earlier) {
			this.#takeGiven(run.given);
			for (const event of run.events) this.#take(event, true);
		}
		this.#muted = false;
		this.#takeGiven(given);
	}

	#take(event: RunEvent, isEarlier = false): void {
		if (isTerminal(event)) {
			this.#end(event, isEarlier);
			return;
		}
		switch (event.type) {
			case 'text':
			case 'reasoning':
				this.#openText(event.type);
				if (this.#text !== undefined) this.#say({ type: `${event.type}-delta`, id: this.#text.id, delta: event.text });
				break;
			case 'tool_use_start':
				this.#openStep();
				this.#closeText();
				if (this.#stepCalls.includes(event.id)) break;
				this.#calls.set(event.id, { name: event.name, pieces: [], state: 'streaming' });
				this.#stepCalls.push(event.id);
				this.#say({ type: 'tool-input-start', toolCallId: event.id, toolName: event.name });
				break;
			case 'tool_use_input': {
				const call = this.#calls.get(event.id);
				if (call?.state !== 'streaming') break;
				call.pieces.push(event.partialInputJson);
				this.#say({ type: 'tool-input-delta', toolCallId: event.id, inputTextDelta: event.partialInputJson });
				break;
			}
			case 'stop':
				this.#openStep();
				this.#closeText();
				this.#stopReason = event.reason;
				if (keepsNoCalls(event.reason)) this.#dropInputs('The reply was cut off, so this call was not carried out.');
				else this.#completeInputs();
				break;
			case 'tool_result':
				this.#settle(event.id, event.output, event.isError === true);
				break;
			case 'step':
				this.#closeText();
				this.#dropInputs('The turn ended before this call was complete.');
				if (this.#step === 'open') this.#step = 'ending';
				break;
			case 'note': {
				const { id, label, detail } = event;
				const data = { toolCallId: id, label, detail };
				this.#say({ type: 'data-note', data, transient: true });
				break;
			}
			case 'warning':
				this.#say({ type: 'data-warning', data: { code: event.code, message: event.message } });
				break;
			case 'turn.restarted':
				this.#closeText();
				this.#dropInputs('The turn was cut off and is asked again.');
				if (this.#step === 'ending') this.#closeStep();
				if (this.#step === 'open') this.#say({ type: 'data-restarted', data: { iteration: event.iteration } });
				this.#closeStep();
				break;
		}
	}

	#takeGiven(given: readonly GivenResult[]): void {
		for (const { id, output, isError, isDenied } of given) {
			if (!isDenied) this.#settle(id, output, isError);
			else if (this.#isSettled(id)) this.#say({ type: 'tool-output-denied', toolCallId: id });
		}
	}

	#end(event: TerminalEvent, isEarlier: boolean): void {
		this.#closeText();
		this.#dropInputs('The run ended before this call was complete.');
		const asked = event.type === 'awaiting' ? event : undefined;
		for (const { id, kind } of asked?.toolCalls ?? []) {
			if (kind === 'approval' && this.#calls.get(id)?.state === 'open')
				this.#say({ type: 'tool-approval-request', approvalId: id, toolCallId: id });
		}
		if (asked?.question !== undefined) {
			const { callId, ...question } = asked.question;
			this.#settle(callId, question, false);
		}
		if (asked === undefined && !isEarlier) this.#settleAll('The run ended, and this call was not carried out.');
		this.#closeStep();
		if (asked?.question !== undefined) this.#sayText(asked.question.question);
		if (isEarlier) return;
		this.#settleLastStep();
		this.#sayEnd(event);
	}

	#sayEnd(event: TerminalEvent): void {
		switch (event.type) {
			case 'done': {
				const { type: _, text: __, ...more } = event;
				this.#finish(toFinishReason(this.#stopReason), { status: 'completed', ...more });
				break;
			}
			case 'awaiting':
				this.#finish(event.status === 'awaiting_tools' ? 'tool-calls' : 'stop', { status: event.status });
				break;
			case 'halted':
				this.#finish('stop', { status: 'halted', reason: event.reason });
				break;
			case 'cancelled': {
				const { type: status, ...more } = event;
				this.#say({ type: 'message-metadata', messageMetadata: this.#metadata({ status, ...more }) });
				this.#say({ type: 'abort' });
				break;
			}
			case 'error':
				// The client reads nothing behind the error.
				this.#say({ type: 'message-metadata', messageMetadata: this.#metadata({ status: 'error', code: event.code }) });
				this.#say({ type: 'error', errorText: event.message });
				break;
		}
	}

	#finish(finishReason: UiFinishReason, more: object): void {
		this.#say({ type: 'finish', finishReason, messageMetadata: this.#metadata(more) });
	}

	#metadata(more: object): Record<string, unknown> {
		return { sessionId: this.#head.sessionId, ...(this.#runId !== undefined && { runId: this.#runId }), ...more };
	}

	#openText(kind: 'text' | 'reasoning'): void {
		this.#openStep();
		if (this.#text?.kind === kind) return;
		this.#closeText();
		this.#text = { kind, id: String(++this.#texts) };
		this.#say({ type: `${kind}-start`, id: this.#text.id });
	}

	#closeText(): void {
		if (this.#text !== undefined) this.#say({ type: `${this.#text.kind}-end`, id: this.#text.id });
		this.#text = undefined;
	}

	/** A step of one text. */
	#sayText(delta: string): void {
		this.#openText('text');
		if (this.#text !== undefined) this.#say({ type: 'text-delta', id: this.#text.id, delta });
		this.#closeText();
		this.#closeStep();
	}

	#openStep(): void {
		if (this.#step === 'open') return;
		this.#closeStep();
		this.#step = 'open';
		this.#stepCalls = [];
		this.#say({ type: 'start-step' });
	}

	#closeStep(): void {
		if (this.#step !== 'none') this.#say({ type: 'finish-step' });
		this.#step = 'none';
	}

	#completeInputs(): void {
		for (const [toolCallId, call] of this.#calls) {
			if (call.state !== 'streaming') continue;
			call.state = 'open';
			const input = parseToolInput(call.pieces.join(''));
			this.#say({ type: 'tool-input-available', toolCallId, toolName: call.name, input });
		}
	}

	#dropInputs(errorText: string): void {
		for (const [toolCallId, call] of this.#calls) {
			if (call.state !== 'streaming') continue;
			call.state = 'dropped';
			const input = parseToolInput(call.pieces.join(''));
			this.#say({ type: 'tool-input-error', toolCallId, toolName: call.name, input, errorText });
		}
	}

	#settle(id: string, output: unknown, isError: boolean): void {
		if (!this.#isSettled(id)) return;
		if (isError) this.#say({ type: 'tool-output-error', toolCallId: id, errorText: toText(output) });
		else this.#say({ type: 'tool-output-available', toolCallId: id, output: output ?? null });
	}

	/** Settles a call; whether it is one that can be. */
	#isSettled(id: string): boolean {
		const call = this.#calls.get(id);
		if (call?.state !== 'open' && call?.state !== 'settled') return false;
		call.state = 'settled';
		return true;
	}

	#settleAll(why: string): void {
		for (const [id, { state }] of this.#calls) if (state === 'open') this.#settle(id, why, true);
	}

	/** Leaves no step last whose calls are all answered. */
	#settleLastStep(): void {
		const calls = this.#stepCalls.map((id) => this.#calls.get(id)?.state);
		if (calls.length === 0 || calls.some((state) => state === 'streaming' || state === 'open')) return;
		this.#openStep();
		this.#closeStep();
	}

	#say(chunk: UiChunk): void {
		if (!this.#muted) this.#out.push(chunk);
	}
}

/** The chunk as an event of the stream: JSON holds no line break, so one `data` line. */
export function toUiSse(chunk: UiChunk): string {
	return `data: ${JSON.stringify(chunk)}\n\n`;
}

/** What ends the stream. */
export const uiStreamEnd = 'data: [DONE]\n\n';

/** Whether a turn that stopped so has no calls that stand. */
function keepsNoCalls(reason: string): boolean {
	return reason === 'max_tokens' || reason === 'refusal';
}

function toFinishReason(reason: string): UiFinishReason {
	switch (reason) {
		case 'end_turn':
		case 'stop_sequence':
			return 'stop';
		case 'max_tokens':
			return 'length';
		case 'refusal':
			return 'content-filter';
		case 'tool_use':
			return 'tool-calls';
		default:
			return 'other';
	}
}

function toText(output: unknown): string {
	return typeof output === 'string' ? output : (JSON.stringify(output) ?? '');
}
