/** The state of a chat with an agent, without a framework. `useRunlet` shows it. */

import { ClientError, type Session, type SessionClient } from '../client/index.ts';
import type { RunEvents } from '../client/stream.ts';
import type { CallAnswer, MessageBody, SessionBody, WaitingCall } from '../client/types.ts';
import type { Question } from '../client/waits.ts';
import { Answer, type ChatMessage, toEntries, toUserMessage } from './parts.ts';

/** `waiting`: somebody has to answer a question or a call. `failed`: the run failed, and can be continued. */
export type ChatStatus = 'loading' | 'ready' | 'running' | 'waiting' | 'failed';

export interface ChatState {
	readonly status: ChatStatus;
	readonly messages: readonly ChatMessage[];
	/** The session as of the last run. Its `budget` has what it spent. Missing before the first message. */
	readonly session: Session | undefined;
	/** The question of a tool. The next message answers it. */
	readonly question: Question | undefined;
	/** The calls that wait for a result or, with the kind `approval`, for permission to run. */
	readonly calls: readonly WaitingCall[];
	/** Why the last request failed. A run that failed says so in its message. */
	readonly error: Error | undefined;
}

export interface ChatOptions {
	/** The session to show. Without a session, the first message creates one. */
	readonly session?: string;
	/** What the first message creates: at least `agent`. */
	readonly create?: Omit<SessionBody, 'text' | 'parts' | 'attachments'>;
	/** Called with the session that the first message has created, to keep its id. */
	readonly onCreate?: (session: Session) => void;
}

export type ChatClient = Pick<
	SessionClient,
	| 'createSession'
	| 'loadSession'
	| 'getSession'
	| 'followRun'
	| 'sendMessage'
	| 'leaveMessage'
	| 'submitResults'
	| 'continueRun'
	| 'cancelRun'
>;

const waitingStatuses: ReadonlySet<string> = new Set(['awaiting_user', 'awaiting_tools']);

/** A chat with an agent, which is a session at the server from the first message on. */
export class Chat {
	readonly #client: ChatClient;
	readonly #getOptions: () => Omit<ChatOptions, 'session'>;
	readonly #calls = new Map<string, Answer>();
	readonly #listeners = new Set<() => void>();
	#entries: readonly (ChatMessage | Answer)[] = [];
	#id: string | undefined;
	#session: Session | undefined;
	#isLoading: boolean;
	/** The number of requests whose runs are read. */
	#running = 0;
	#error: Error | undefined;
	#reading = new AbortController();
	/** The number of messages that were made here. Their keys have it. */
	#count = 0;
	#isPlanned = false;
	#state: ChatState;

	/** `getOptions` returns the options as of now. */
	constructor(client: ChatClient, session: string | undefined, getOptions: () => Omit<ChatOptions, 'session'>) {
		this.#client = client;
		this.#getOptions = getOptions;
		this.#id = session;
		this.#isLoading = session !== undefined;
		this.#state = this.#makeState();
	}

	/** The id of the session. Missing before the first message. */
	get id(): string | undefined {
		return this.#id;
	}

	/** Returns the same object until something changes. */
	readonly getState = (): ChatState => this.#state;

	/** Calls back after changes, once for each frame. Returns the function that ends it. */
	readonly subscribe = (onChange: () => void): (() => void) => {
		this.#listeners.add(onChange);
		return () => this.#listeners.delete(onChange);
	};

	/** Loads the session, and follows its run. Returns the function that ends the reading. The run goes on. */
	open(): () => void {
		const reading = new AbortController();
		this.#reading = reading;
		this.#act((signal) => this.#load(signal)).catch(() => {
			this.#isLoading = false;
		});
		return () => reading.abort();
	}

	/** Sends a message, which answers a tool's question if there is one. During a run it waits for the end. */
	readonly send = (message: string | MessageBody): Promise<void> =>
		this.#act(async (signal) => {
			const body = typeof message === 'string' ? { text: message } : message;
			const isQueued = this.#running > 0;
			const said = { ...toUserMessage(`said ${++this.#count}`, body.text ?? ''), ...(isQueued && { isQueued }) };
			this.#entries = [...this.#entries, said];
			try {
				const id = await this.#openSession(signal);
				const asked = this.#session?.question?.callId;
				const answers = asked === undefined ? [] : [{ id: asked, output: body.text ?? '' }];
				if (!isQueued) return await this.#read(this.#client.sendMessage(id, body, { signal }), signal, answers);
				const { runId } = await this.#client.leaveMessage(id, { whenBusy: 'queue', ...body }, { signal });
				this.#entries = this.#entries.map((entry) => (entry === said ? { ...said, runId } : entry));
				// The run that it waited for can have ended meanwhile.
				if (this.#running === 0) await this.#read(this.#client.followRun(id, { signal }), signal);
			} catch (cause) {
				// A message that the server has refused was not said.
				if (cause instanceof ClientError && cause.status !== undefined)
					this.#entries = this.#entries.filter((entry) => entry !== said);
				throw cause;
			}
		});

	/** Answers waiting calls with results or approvals. */
	readonly answer = (...answers: readonly CallAnswer[]): Promise<void> =>
		this.#act(async (signal) => {
			const id = this.#getSession();
			await this.#read(this.#client.submitResults(id, answers, { signal }), signal, answers);
		});

	/** Continues a run that failed. */
	readonly retry = (): Promise<void> =>
		this.#act((signal) => this.#read(this.#client.continueRun(this.#getSession(), { signal }), signal));

	/** Stops the run at the server, and drops the messages that wait for its end. */
	readonly stop = (): Promise<void> =>
		this.#act(async () => {
			this.#session = await this.#client.cancelRun(this.#getSession());
			this.#entries = this.#entries.filter((entry) => !isQueued(entry));
		});

	/** Does the work of a button. Keeps its error in the state, too. */
	async #act(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
		const { signal } = this.#reading;
		this.#error = undefined;
		this.#change();
		try {
			await work(signal);
		} catch (cause) {
			if (signal.aborted) return;
			this.#error = cause instanceof Error ? cause : new Error(String(cause));
			throw cause;
		} finally {
			this.#change();
		}
	}

	async #load(signal: AbortSignal): Promise<void> {
		const id = this.#id;
		if (id === undefined) return;
		const { session, messages } = await this.#client.loadSession(id, { signal });
		this.#calls.clear();
		this.#session = session;
		this.#entries = toEntries(messages, this.#calls);
		this.#isLoading = false;
		if (session.run !== undefined) await this.#read(this.#client.followRun(id, { signal }), signal);
	}

	async #openSession(signal: AbortSignal): Promise<string> {
		if (this.#id !== undefined) return this.#id;
		const { create, onCreate } = this.#getOptions();
		if (create === undefined) throw new ClientError('invalid_argument', 'create: missing. Name an agent or a session.');
		const made = await this.#client.createSession(create, { signal });
		this.#id = made.id;
		this.#session = made;
		onCreate?.(made);
		return made.id;
	}

	#getSession(): string {
		if (this.#id === undefined)
			throw new ClientError('invalid_argument', 'There is no session yet. Send a message first.');
		return this.#id;
	}

	/** Reads a run, and the runs of the messages that waited for it. `answers` are what the request answered. */
	async #read(events: RunEvents, signal: AbortSignal, answers: readonly CallAnswer[] = []): Promise<void> {
		this.#running++;
		try {
			for (let next = events; ; ) {
				const shown = await this.#show(next, next === events ? answers : []);
				if (this.#id === undefined || signal.aborted) return;
				this.#session = await this.#client.getSession(this.#id, { signal });
				if (shown === undefined || this.#session.run?.id === shown) return;
				next = this.#client.followRun(this.#id, { lastEventId: next.lastEventId, signal });
			}
		} finally {
			this.#running--;
		}
	}

	/** Shows a run, and returns its id if there were events. */
	async #show(events: RunEvents, answers: readonly CallAnswer[]): Promise<string | undefined> {
		const open = [...answers];
		const settle = (): void => {
			for (const one of open.splice(0)) this.#calls.get(one.id)?.settle(one);
		};
		const answer = new Answer(`answer ${++this.#count}`, this.#calls);
		this.#entries = [...this.#entries, answer];
		try {
			for await (const event of events) {
				settle();
				if (event.type === 'run.started') this.#placeQueued(event.runId, answer);
				answer.apply(event);
				this.#change();
			}
			settle();
		} finally {
			answer.end();
			if (answer.isEmpty) this.#entries = this.#entries.filter((entry) => entry !== answer);
		}
		return answer.runId;
	}

	/** Shows the message that waited for a run above its answer. */
	#placeQueued(runId: string, answer: Answer): void {
		const queued = this.#entries.find((entry) => isQueued(entry) && entry.runId === runId);
		if (queued === undefined || !isQueued(queued)) return;
		const { isQueued: _, ...message } = queued;
		const others = this.#entries.filter((entry) => entry !== queued && entry !== answer);
		this.#entries = [...others.filter((one) => !isQueued(one)), message, answer, ...others.filter(isQueued)];
	}

	#change(): void {
		if (this.#isPlanned) return;
		this.#isPlanned = true;
		setTimeout(() => {
			this.#isPlanned = false;
			this.#state = this.#makeState();
			for (const listener of this.#listeners) listener();
		}, frameMs);
	}

	#makeState(): ChatState {
		const isRunning = this.#running > 0;
		const session = this.#session;
		return {
			status: this.#isLoading ? 'loading' : isRunning ? 'running' : toStatus(session),
			messages: this.#entries.map((entry) => (entry instanceof Answer ? entry.read() : entry)),
			session,
			question: isRunning ? undefined : session?.question,
			calls: isRunning ? [] : (session?.toolCalls ?? []),
			error: this.#error,
		};
	}
}

function isQueued(entry: ChatMessage | Answer): entry is ChatMessage {
	return !(entry instanceof Answer) && entry.isQueued === true;
}

/** The milliseconds in which changes are collected, about a frame. */
const frameMs = 16;

function toStatus(session: Session | undefined): ChatStatus {
	if (session === undefined) return 'ready';
	if (waitingStatuses.has(session.status)) return 'waiting';
	if (session.status === 'error') return 'failed';
	return session.status === 'running' ? 'running' : 'ready';
}
