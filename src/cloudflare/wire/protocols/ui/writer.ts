import { isTerminal } from '../../../../core/chat/event.ts';
import type { RunEvent, TerminalEvent } from '../../../../core/chat/index.ts';
import { UiCalls } from './calls.ts';
import type { UiChunk, UiFinishReason } from './chunk.ts';
import { keepsNoCalls, toFinishReason } from './chunk.ts';
import { UiProvided } from './provided.ts';

/** An answer from outside to a call; a run begins with it. */
export interface GivenResult {
	readonly id: string;
	readonly output: unknown;
	readonly isError: boolean;
	/** Whether a person did not allow the call. */
	readonly isDenied: boolean;
}

/** One run of an answer: the results that it began with, and the events that were rebuilt for it. */
export interface ToldRun {
	readonly given: readonly GivenResult[];
	readonly events: readonly RunEvent[];
}

/** The assistant's message that a run writes. Several runs write one message if calls wait for somebody in between. */
export interface UiMessageHead {
	readonly messageId: string;
	/** Missing for a run without a session. */
	readonly sessionId?: string;
	/** The runs before, which are over. */
	readonly earlier: readonly ToldRun[];
	/** What the run itself began with. */
	readonly given: readonly GivenResult[];
	/** Whether the reader already has what the earlier runs wrote. */
	readonly isContinued: boolean;
}

/**
 * Writes run events as the chunks of one UI message. The chunks fit together whatever the events are: each delta has a
 * start, each output has a call, each step has an end. A call is reported as complete only after its turn is stored, so
 * a page never carries out a call that a cut-off turn takes back.
 *
 * Some clients post by themselves when all calls of the last step are answered. They would do so for ever if the run has
 * nothing more to say, so an empty step comes last.
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
	readonly #provided = new UiProvided((chunk) => this.#say(chunk));
	/** Calls of the step that was begun last. */
	#stepCalls: string[] = [];
	#stopReason = 'end_turn';

	constructor(head: UiMessageHead) {
		this.#head = head;
	}

	/** Returns the chunks for an event; none for a kind that this version does not know. */
	write(event: RunEvent): UiChunk[] {
		if (event.type === 'run.started') this.#runId = event.runId;
		this.#start();
		this.#take(event);
		return this.#drain();
	}

	/** Returns the chunks for answers that were given after the run's end, while its other calls still wait. */
	writeAnswers(given: readonly GivenResult[]): UiChunk[] {
		this.#takeGiven(given);
		return this.#drain();
	}

	#drain(): UiChunk[] {
		const out = this.#out;
		this.#out = [];
		return out;
	}

	/** Writes what comes before the run's own events. */
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
				this.#stepCalls.push(event.id);
				this.#calls.start(event.id, event.name);
				break;
			case 'tool_use_input':
				this.#calls.addInput(event.id, event.partialInputJson);
				break;
			case 'provider_tool':
				this.#openStep();
				if (this.#provided.isNew(event.id)) this.#closeText();
				this.#provided.call(event);
				break;
			case 'source':
				this.#openStep();
				this.#provided.source(event);
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
				this.#provided.endTurn();
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
				this.#provided.restartTurn();
				if (this.#step === 'ending') this.#closeStep();
				if (this.#step === 'open') this.#say({ type: 'data-restarted', data: { iteration: event.iteration } });
				this.#closeStep();
				break;
		}
	}

	#takeGiven(given: readonly GivenResult[]): void {
		for (const { isDenied, ...result } of given) {
			const { id } = result;
			if (!isDenied) this.#calls.settle(result);
			else if (this.#calls.trySettle(id)) this.#say({ type: 'tool-output-denied', toolCallId: id });
		}
	}

	#end(event: TerminalEvent, isEarlier: boolean): void {
		this.#closeText();
		this.#calls.dropInputs('The run ended before this call was complete.');
		this.#provided.end(event);
		const asked = event.type === 'awaiting' ? event : undefined;
		for (const { id, kind } of asked?.toolCalls ?? []) {
			if (kind === 'approval' && this.#calls.isOpen(id))
				this.#say({ type: 'tool-approval-request', approvalId: id, toolCallId: id });
		}
		if (asked?.question !== undefined) {
			const { callId, ...question } = asked.question;
			this.#calls.settle({ id: callId, output: question, isError: false });
		}
		if (asked === undefined && !isEarlier) this.#calls.settleAll('The run ended, and this call was not carried out.');
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

/** The chunk as an event of the stream: JSON holds no line break, so one `data` line. */
export function toUiSse(chunk: UiChunk): string {
	return `data: ${JSON.stringify(chunk)}\n\n`;
}

/** What ends the stream. */
export const uiStreamEnd = 'data: [DONE]\n\n';
