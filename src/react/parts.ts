/** The messages of a chat, made of stored messages and of the events of runs. */

import { toEvents } from '../client/history.ts';
import type { CallAnswer, Message, RunEvent, Source } from '../client/types.ts';
import { parseInput, toSaidText } from '../client/words.ts';

/** A call of a tool. */
export interface CallPart {
	readonly type: 'call';
	readonly id: string;
	readonly name: string;
	/** The arguments. While they arrive, their JSON as far as it is known. */
	readonly input: unknown;
	/** `calling`: the arguments arrive, or the tool runs. `waiting`: somebody has to answer or to approve. */
	readonly state: 'calling' | 'waiting' | 'done' | 'failed';
	readonly output?: unknown;
	/** What the tool reported while it ran. */
	readonly notes: readonly string[];
}

export type Part =
	| { readonly type: 'text'; readonly text: string }
	| { readonly type: 'reasoning'; readonly text: string }
	| { readonly type: 'source'; readonly source: Source }
	/** A message for the reader, such as a warning. */
	| { readonly type: 'notice'; readonly text: string }
	| CallPart;

/** A message as a page shows it. An agent's message has everything that one run did. */
export interface ChatMessage {
	/** Unique in the chat, and stable. */
	readonly key: string;
	readonly role: 'user' | 'assistant';
	/** The text of a user, or the texts of an agent, one after another. */
	readonly text: string;
	readonly parts: readonly Part[];
	/** The run that the message began, or of which it is the answer. */
	readonly runId?: string;
	/** Whether the run still writes. */
	readonly isRunning?: true;
	/** Whether the message waits for the present run to end. */
	readonly isQueued?: true;
}

/** An answer that grows by events. */
export class Answer {
	readonly #key: string;
	/** The answers by the ids of their calls, because a later run can have the result of a call that waited. */
	readonly #calls: Map<string, Answer>;
	readonly #parts: Part[] = [];
	/** The place of each call in the parts. */
	readonly #places = new Map<string, number>();
	/** The number of parts before the current turn. */
	#turn = 0;
	#runId: string | undefined;
	#isRunning = true;
	#made: ChatMessage | undefined;

	constructor(key: string, calls: Map<string, Answer>) {
		this.#key = key;
		this.#calls = calls;
	}

	get isEmpty(): boolean {
		return this.#parts.length === 0;
	}

	get runId(): string | undefined {
		return this.#runId;
	}

	/** Returns the message: the same object until something changes. */
	read(): ChatMessage {
		this.#made ??= {
			key: this.#key,
			role: 'assistant',
			text: joinTexts(this.#parts),
			parts: [...this.#parts],
			...(this.#runId !== undefined && { runId: this.#runId }),
			...(this.#isRunning && { isRunning: true }),
		};
		return this.#made;
	}

	end(): void {
		this.#made = undefined;
		this.#isRunning = false;
	}

	/** Shows what a person answered to a waiting call of this message. The events of the next run do not repeat it. */
	settle(answer: CallAnswer): void {
		this.#change(answer.id, (call) => {
			if (!('approve' in answer)) return { ...call, output: answer.output, state: answer.isError ? 'failed' : 'done' };
			return answer.approve ? { ...call, state: 'calling' } : { ...call, output: answer.reason, state: 'failed' };
		});
	}

	apply(event: RunEvent) {
		this.#made = undefined;
		switch (event.type) {
			case 'run.started':
				this.#runId = event.runId;
				return;
			case 'text':
			case 'reasoning':
				return this.#write(event.type, event.text);
			case 'source': {
				const { type: _, ...source } = event;
				return this.#add({ type: 'source', source });
			}
			case 'tool_use_start':
				this.#places.set(event.id, this.#parts.length);
				this.#calls.set(event.id, this);
				return this.#add({ type: 'call', id: event.id, name: event.name, input: '', state: 'calling', notes: [] });
			case 'tool_use_input':
				return this.#change(event.id, (call) => ({ ...call, input: `${call.input}${event.partialInputJson}` }));
			case 'tool_use_end':
				return this.#change(event.id, (call) => ({ ...call, input: parseInput(String(call.input)) }));
			case 'tool_result':
				return this.#calls.get(event.id)?.settle(event);
			case 'note':
				return this.#change(event.id, (call) => ({ ...call, notes: [...call.notes, toLine(event)] }));
			case 'step':
				this.#turn = this.#parts.length;
				return;
			case 'turn.restarted':
				this.#parts.length = this.#turn;
				return;
			case 'warning':
			case 'error':
				return this.#add({ type: 'notice', text: event.message });
			case 'halted':
				return this.#add({ type: 'notice', text: event.reason });
			case 'awaiting':
				for (const id of [...(event.toolCalls ?? []).map((call) => call.id), event.question?.callId ?? ''])
					this.#change(id, (call) => ({ ...call, state: 'waiting' }));
		}
	}

	#add(part: Part): void {
		this.#parts.push(part);
	}

	#write(type: 'text' | 'reasoning', text: string): void {
		const last = this.#parts.at(-1);
		if (last?.type !== type || this.#parts.length === this.#turn) this.#add({ type, text });
		else this.#parts[this.#parts.length - 1] = { type, text: last.text + text };
	}

	#change(id: string, next: (call: CallPart) => CallPart): void {
		const place = this.#places.get(id) ?? -1;
		const call = this.#parts[place];
		if (call?.type === 'call') this.#parts[place] = next(call);
		this.#made = undefined;
	}
}

function toLine({ label, detail }: { readonly label: string; readonly detail?: string }): string {
	return detail === undefined ? label : `${label} ${detail}`;
}

function joinTexts(parts: readonly Part[]): string {
	return parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n\n');
}

/** Makes the entries of stored messages: the messages of users, and one answer for each run. */
export function toEntries(messages: readonly Message[], calls: Map<string, Answer>): readonly (ChatMessage | Answer)[] {
	const entries: (ChatMessage | Answer)[] = [];
	let answer: Answer | undefined;
	let answered: string | undefined;
	for (const message of messages) {
		const { role, id, runId } = message;
		if (role === 'system') continue;
		if (role === 'user') {
			answer = undefined;
			entries.push(toUserMessage(id, toSaidText(message), runId));
			continue;
		}
		if (answer === undefined || answered !== runId) {
			answer = new Answer(id, calls);
			if (runId !== undefined) answer.apply({ type: 'run.started', runId, attempt: 1 });
			answer.end();
			entries.push(answer);
			answered = runId;
		}
		for (const event of toEvents(message)) answer.apply(event);
	}
	return entries.filter((entry) => !(entry instanceof Answer && entry.isEmpty));
}

export function toUserMessage(key: string, text: string, runId?: string): ChatMessage {
	return { key, role: 'user', text, parts: [{ type: 'text', text }], ...(runId !== undefined && { runId }) };
}
