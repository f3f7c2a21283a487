import { isTerminal } from '../../../../core/chat/event.ts';
import type { RunEvent, Step, TerminalEvent } from '../../../../core/chat/index.ts';
import { formatTaskId } from './ids.ts';
import type { Part } from './message.ts';
import { answerName, createMessage, showEnded, type TaskHead, toAnswer, toData } from './show.ts';
import type { Artifact, StreamResponse } from './task.ts';

interface WriterOptions {
	readonly head: TaskHead;
	/** The number of the run. */
	readonly run: number;
	/** Whether the answer is JSON by the agent's schema. It comes in one piece. */
	readonly isJson: boolean;
	/** Whether the reader has a part of the current turn's text. */
	readonly hasText?: boolean;
}

/**
 * Translates the events of a run, in order, into the updates of its task. The artifact `answer` has the text of the
 * current turn: the first piece of a turn replaces the artifact, and further pieces are appended. So a reader who begins
 * again has no text twice (docs/a2a.md, "Streams").
 */
export class TaskWriter {
	readonly #options: WriterOptions;
	readonly #about: { readonly taskId: string; readonly contextId: string };
	/** The text of the turn. Undefined if the reader has a part of it, which is not known here. */
	#text: string | undefined;
	#isOpen: boolean;

	constructor(options: WriterOptions) {
		this.#options = options;
		this.#about = { taskId: formatTaskId(options.head), contextId: options.head.contextId };
		this.#isOpen = options.hasText === true;
		this.#text = this.#isOpen ? undefined : '';
	}

	/** @param id the id of the event */
	write(event: RunEvent, id = ''): StreamResponse[] {
		switch (event.type) {
			case 'text':
				return this.#options.isJson ? [] : [this.#append(event.text)];
			case 'note': {
				const { label, detail } = event;
				return [this.#tell(id, [{ text: detail === undefined ? label : `${label}: ${detail}` }])];
			}
			case 'step':
				return this.#endTurn(event, id);
			case 'turn.restarted':
				this.#begin();
				return [];
			default:
				return isTerminal(event) ? this.#end(event) : [];
		}
	}

	#begin(): void {
		this.#isOpen = false;
		this.#text = '';
	}

	#append(text: string): StreamResponse {
		const append = this.#isOpen;
		this.#isOpen = true;
		if (this.#text !== undefined) this.#text += text;
		return this.#show({ artifactId: answerName, name: answerName, parts: [{ text }] }, { append });
	}

	/** A text before calls is no answer: it becomes a message, with the calls and their results. */
	#endTurn({ text, toolCalls, toolResults }: Step, id: string): StreamResponse[] {
		if (toolCalls.length === 0) return [];
		this.#begin();
		const calls = toolCalls.map(({ id: callId, name, input }) => {
			const { output, isError, ranWith = input } = toolResults.find((one) => one.id === callId) ?? {};
			return toData({ toolCall: { id: callId, name, input: ranWith, output, ...(isError === true && { isError }) } });
		});
		return [this.#tell(id, [...(text === '' ? [] : [{ text }]), ...calls])];
	}

	#end(event: TerminalEvent): StreamResponse[] {
		const { head, run, isJson } = this.#options;
		const { status } = showEnded(head, event, run, Date.now());
		const answer = toAnswer(event);
		const isShown = answer?.parts[0]?.text === (this.#text ?? answer?.parts[0]?.text) && !isJson;
		const whole = answer === undefined || isShown ? [] : [this.#show(answer, { lastChunk: true })];
		return [...whole, { statusUpdate: { ...this.#about, status } }];
	}

	#show(artifact: Artifact, how: { readonly append?: boolean; readonly lastChunk?: true }): StreamResponse {
		return { artifactUpdate: { ...this.#about, artifact, append: false, ...how } };
	}

	#tell(id: string, parts: readonly Part[]): StreamResponse {
		const message = createMessage(this.#options.head, id, parts);
		const status = { state: 'TASK_STATE_WORKING' as const, message, timestamp: new Date().toISOString() };
		return { statusUpdate: { ...this.#about, status } };
	}
}
