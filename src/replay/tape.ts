import { toTurnPlace } from '../cloudflare/session/store/messages.ts';
import { type chat, type Message, RunletError } from '../core/index.ts';
import type { ReplayClock } from './clock.ts';
import {
	findRunMessages,
	type RecordedReply,
	type RecordedResult,
	type RunMessages,
	toSummaryText,
} from './history.ts';
import { findPlace, type RecordedMessage, type RecordedRun, type Recording } from './recording.ts';

/** What a replayed run produced, in the order of its events. */
export interface ReplayedRun {
	readonly replies: readonly Produced[];
	/** The results, by `toKey`. */
	readonly results: ReadonlyMap<string, Produced>;
	/** Runlet's own messages to the model, such as one about an invalid answer. */
	readonly repairs: readonly Produced[];
	readonly end: chat.TerminalEvent;
	/** Whether the replay was stopped where the recorded run was. */
	readonly isCutOff: boolean;
	/** Where the replay left the recording: the model was asked, or a call ran, without a recorded answer. */
	readonly unknown?: { readonly what: 'model' | 'call'; readonly callId?: string; readonly tool?: string };
}

export interface Produced {
	readonly message: Message;
	readonly about: chat.MessageContext;
}

/** What a run recorded about its calls. */
export interface RecordedCalls {
	/** Returns the recorded result of a call of the current turn. */
	readonly findResult: (callId: string) => RecordedResult | undefined;
	/** Returns the question that a call without a result asked. */
	readonly findQuestion: (callId: string) => Omit<chat.Question, 'callId'> | undefined;
	/** Called for a call that the recorded run did not carry out. Throws. */
	readonly onUnknown: (tool: string, callId: string) => never;
}

/** The key of a call's result. Calls of different turns may have the same id. */
export function toKey(turn: number, callId: string): string {
	return `${turn} ${callId}`;
}

/** Returns the place of the turn that a message belongs to. */
export function findTurn(message: RecordedMessage): number {
	return toTurnPlace(findPlace(message));
}

function findLastTurn(history: readonly RecordedMessage[]): number {
	const last = history.findLast(({ role }) => role === 'assistant');
	return last === undefined ? 0 : findPlace(last);
}

/** A recorded run as the model and the tools of its replay, and what the replay produces. */
export class Tape {
	readonly messages: RunMessages;
	/** The recorded replies. */
	readonly replies: readonly RecordedReply[];
	readonly signal: AbortSignal;
	readonly #run: RecordedRun;
	readonly #clock: ReplayClock;
	readonly #results: ReadonlyMap<string, RecordedResult>;
	readonly #stop = new AbortController();
	readonly #produced = { replies: [] as Produced[], results: new Map<string, Produced>(), repairs: [] as Produced[] };
	/** The place of the turn whose calls run. */
	#turn: number;
	#asked = 0;
	#summed = 0;
	#unknown: ReplayedRun['unknown'];
	#isCutOff = false;

	constructor(recording: Recording, run: RecordedRun, clock: ReplayClock) {
		this.#run = run;
		this.#clock = clock;
		this.messages = findRunMessages(recording, run);
		this.signal = this.#stop.signal;
		const { produced, history } = this.messages;
		this.replies = produced.filter((message) => message.role === 'assistant');
		const results = produced.filter((message) => message.role === 'tool');
		this.#results = new Map(results.map((result) => [toKey(findTurn(result), result.toolCallId), result]));
		this.#turn = findLastTurn(history);
		clock.set(run.createdAt);
	}

	get calls(): RecordedCalls {
		const { end } = this.#run.stored;
		return {
			findResult: this.findResult,
			findQuestion: (callId) => findQuestion(end?.event, callId),
			onUnknown: (tool, callId) => this.#leave(mayEndAnywhere(this.#run) ? undefined : { what: 'call', callId, tool }),
		};
	}

	/** The recorded reply that comes next. */
	get next(): RecordedReply | undefined {
		return this.replies[this.#asked];
	}

	/** The number of replies so far. */
	get count(): number {
		return this.#produced.replies.length;
	}

	/** Returns the recorded result of a call of the current turn. */
	readonly findResult = (callId: string): RecordedResult | undefined => this.#results.get(toKey(this.#turn, callId));

	readonly reply = async (): Promise<chat.ChatReply> => {
		const reply = this.replies[this.#asked++];
		if (reply === undefined) return this.#leaveModel();
		this.#turn = findPlace(reply);
		this.#clock.set(reply.createdAt);
		return toReply(reply);
	};

	readonly summarize = async (): Promise<chat.ChatReply> => {
		const summary = this.messages.summaries[this.#summed++];
		return summary === undefined ? this.#leaveModel() : { text: toSummaryText(summary), stopReason: 'end_turn' };
	};

	readonly take = (message: Message, about: chat.MessageContext): void => {
		const { replies, results, repairs } = this.#produced;
		if (about.inFrontOf !== undefined) return;
		if (message.role === 'assistant') replies.push({ message, about });
		else if (message.role === 'tool') {
			results.set(toKey(this.#turn, message.toolCallId), { message, about });
			this.#clock.set(this.findResult(message.toolCallId)?.createdAt ?? this.#run.createdAt);
		} else repairs.push({ message, about });
	};

	/** Returns what the replay produced. */
	end(last: chat.RunEvent | undefined): ReplayedRun {
		return { ...this.#produced, end: toTerminal(last), unknown: this.#unknown, isCutOff: this.#isCutOff };
	}

	/** Stops the replay: as the recorded run was stopped, or where the replay left the recording. */
	#leave(unknown?: ReplayedRun['unknown']): never {
		this.#unknown ??= unknown;
		this.#isCutOff ||= unknown === undefined;
		this.#stop.abort();
		throw new RunletError('cancelled', 'The replay ends here.');
	}

	/** Ends a replay whose model has no further reply. */
	#leaveModel(): never {
		const event = this.#run.stored.end?.event;
		if (event?.type === 'error' && !loopErrors.has(event.code))
			throw new RunletError(event.code, event.message, event.data);
		return this.#leave(event === undefined || event.type === 'cancelled' ? undefined : { what: 'model' });
	}
}

/** Finds the question of a call without a result. Only the first question of a run is in its end. */
function findQuestion(end: NonNullable<RecordedRun['stored']['end']>['event'] | undefined, callId: string) {
	if (end?.type === 'halted') return { question: '' };
	if (end?.type !== 'awaiting' || end.question === undefined) return undefined;
	if (end.question.callId === callId) return end.question;
	return end.toolCalls?.some(({ id }) => id === callId) ? undefined : { question: '' };
}

/** Whether somebody or something outside of the loop ended the run, so that any place is a right end. */
function mayEndAnywhere({ stored: { end } }: RecordedRun): boolean {
	return end === undefined || end.event.type === 'cancelled' || end.event.type === 'error';
}

/** The errors that the loop finds by itself. A replay must find them, too. */
export const loopErrors: ReadonlySet<string> = new Set(['max_iterations', 'invalid_output']);

function toTerminal(event: chat.RunEvent | undefined): chat.TerminalEvent {
	switch (event?.type) {
		case 'done':
		case 'awaiting':
		case 'halted':
		case 'cancelled':
		case 'error':
			return event;
		default:
			throw new Error('The run has no end.');
	}
}

function toReply({ content, toolCalls, reasoning, providerCalls, sources, turn, stored }: RecordedReply) {
	return {
		text: content,
		...(toolCalls && { toolCalls }),
		...(reasoning !== undefined && { reasoning }),
		...(providerCalls && { providerCalls }),
		...(sources && { sources }),
		...(stored?.providerMetadata && { providerMetadata: stored.providerMetadata }),
		stopReason: turn?.stopReason ?? (toolCalls === undefined ? 'end_turn' : 'tool_use'),
		usage: turn?.usage ?? {},
	};
}
