import { isTerminal } from '../../../../core/chat/event.ts';
import type { RunEvent, TerminalEvent } from '../../../../core/chat/index.ts';
import { UiCalls } from './calls.ts';
import type { UiChunk, UiFinishReason } from './chunk.ts';
import { keepsNoCalls, toFinishReason } from './chunk.ts';
import { UiProviderCalls } from './provider-calls.ts';

/** An answer to a waiting call. The answer starts a run. */
export interface ReceivedResult {
	readonly id: string;
	readonly output: unknown;
	readonly isError: boolean;
	readonly isDenied: boolean;
}

/** An earlier run of an answer: the results that started it, and its rebuilt events. */
export interface EarlierRun {
	readonly given: readonly ReceivedResult[];
	readonly events: readonly RunEvent[];
}

/** The assistant's message that a run writes. Several runs write one message if calls wait for somebody in between. */
export interface UiMessageHead {
	readonly messageId: string;
	/** The id of the session. Missing for a run without a session. */
	readonly sessionId?: string;
	readonly earlier: readonly EarlierRun[];
	/** The results that started the run. */
	readonly given: readonly ReceivedResult[];
	/** Whether the reader already has the text of the earlier runs. */
	readonly isContinued: boolean;
}

/**
 * Writes run events as the chunks of one UI message. The chunks fit together whatever the events are: each delta has a
 * start, each output has a call, each step has an end. A call is reported as complete only after its turn is stored, so
 * a page never runs a call of a turn that restarts.
 *
 * Some clients post when all calls of the last step are answered. An empty last step prevents an endless loop if the
 * run has nothing more to say.
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
	readonly #calls = new UiCalls((chunk) => this.#say(chunk));
	readonly #providerCalls = new UiProviderCalls((chunk) => this.#say(chunk));
	#stepCalls: string[] = [];
	#stopReason = 'end_turn';

	constructor(head: UiMessageHead) {
		this.#head = head;
	}

	/** Returns no chunks for an event of an unknown type. */
	write(event: RunEvent): UiChunk[] {
		if (event.type === 'run.started') this.#runId = event.runId;
		this.#start();
		this.#take(event);
		return this.#drain();
	}

	/** Returns the chunks for answers that arrive after the run's end, while other calls wait. */
	writeAnswers(given: readonly ReceivedResult[]): UiChunk[] {
		this.#takeGiven(given);
		return this.#drain();
	}

	#drain(): UiChunk[] {
		const out = this.#out;
		this.#out = [];
		return out;
	}

	#start(): void {
		if (this.#started) return;
		this.#started = true;
		const { messageId, sessionId, earlier, given, isContinued } = this.#head;
		const runId = this.#runId;
		if (runId === undefined) {
			// A run that never began has no `run.started` event.
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
				this.#stepCalls.push(event.id);
				this.#calls.start(event.id, event.name);
				break;
			case 'tool_use_input':
				this.#calls.addInput(event.id, event.partialInputJson);
				break;
			case 'provider_tool':
				this.#openStep();
				if (this.#providerCalls.isNew(event.id)) this.#closeText();
				this.#providerCalls.call(event);
				break;
			case 'source':
				this.#openStep();
				this.#providerCalls.source(event);
				break;
			case 'stop':
				this.#openStep();
				this.#closeText();
				this.#stopReason = event.reason;
				if (keepsNoCalls(event.reason))
					this.#calls.dropInputs('The reply was cut off, so this call was not carried out.');
				else this.#calls.completeInputs();
				break;
			case 'tool_result':
				this.#calls.settle(event);
				break;
			case 'step':
				this.#closeText();
				this.#providerCalls.endTurn();
				this.#calls.dropInputs('The turn ended before this call was complete.');
				if (this.#step === 'open') this.#step = 'ending';
				break;
			case 'note': {
				const { id, label, detail } = event;
				const data = { toolCallId: id, label, detail };
				this.#say({ type: 'data-note', data, transient: true });
				break;
			}
			case 'tasks':
				for (const data of event.lists) this.#say({ type: 'data-tasks', id: data.id, data });
				break;
			case 'warning':
				this.#say({ type: 'data-warning', data: { code: event.code, message: event.message } });
				break;
			case 'turn.restarted':
				this.#closeText();
				this.#calls.dropInputs('The turn was cut off and is asked again.');
				this.#providerCalls.restartTurn();
				if (this.#step === 'ending') this.#closeStep();
				if (this.#step === 'open') this.#say({ type: 'data-restarted', data: { iteration: event.iteration } });
				this.#closeStep();
				break;
		}
	}

	#takeGiven(given: readonly ReceivedResult[]): void {
		for (const { isDenied, ...result } of given) {
			const { id } = result;
			if (!isDenied) this.#calls.settle(result);
			else if (this.#calls.trySettle(id)) this.#say({ type: 'tool-output-denied', toolCallId: id });
		}
	}

	#end(event: TerminalEvent, isEarlier: boolean): void {
		this.#closeText();
		this.#calls.dropInputs('The run ended before this call was complete.');
		this.#providerCalls.end(event);
		const waiting = event.type === 'awaiting' ? event : undefined;
		for (const { id, kind } of waiting?.toolCalls ?? []) {
			if (kind === 'approval' && this.#calls.isOpen(id))
				this.#say({ type: 'tool-approval-request', approvalId: id, toolCallId: id });
		}
		if (waiting?.question !== undefined) {
			const { callId, ...question } = waiting.question;
			this.#calls.settle({ id: callId, output: question, isError: false });
		}
		if (waiting === undefined && !isEarlier) this.#calls.settleAll('The run ended, and this call was not carried out.');
		this.#closeStep();
		if (waiting?.question !== undefined) this.#sayText(waiting.question.question);
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
				// The client ignores everything after the error.
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

	/** Adds an empty step if all calls of the last step are answered. */
	#settleLastStep(): void {
		if (this.#stepCalls.length === 0 || this.#stepCalls.some((id) => this.#calls.isUnanswered(id))) return;
		this.#openStep();
		this.#closeStep();
	}

	#say(chunk: UiChunk): void {
		if (!this.#muted) this.#out.push(chunk);
	}
}

/** Formats a chunk as an event of the stream. JSON has no line break, so one `data` line is enough. */
export function toUiSse(chunk: UiChunk): string {
	return `data: ${JSON.stringify(chunk)}\n\n`;
}

export const uiStreamEnd = 'data: [DONE]\n\n';
