import type { ChatOptions, Message, MeteredRequest, RunEvent, SideEvent } from '../../../core/chat/index.ts';
import type { Resumption } from '../../../core/chat/loop.ts';
import { createTokenCounter } from '../../../core/chat/tokens.ts';
import type { StateChanges, Tool, ToolCall } from '../../../core/tool/index.ts';
import type { AtCrashPoint } from '../../agent/runtime.ts';
import { toFailureFields, log as writeLog } from '../../log.ts';
import type { RunLog } from '../events/log.ts';
import type { SessionFiles } from '../files/session-files.ts';
import type { Inbound, InboundContext } from '../store/inbound.ts';
import type { MessageRecord } from '../store/messages.ts';
import { withDetail } from '../store/outbox.ts';
import { type Draft, draftMs, longestPart, type RunRecord } from '../store/runs.ts';
import type { SessionStore } from '../store/store.ts';
import type { SessionMeter } from './meter.ts';
import type { Setups } from './setup.ts';

export type JournalHooks = {
	readonly [Hook in 'onMessage' | 'onToolCall' | 'onQuestion' | 'onRestart' | 'steer' | 'meter']: NonNullable<
		ChatOptions[Hook]
	>;
};

export interface JournalOptions {
	readonly store: SessionStore;
	readonly record: Pick<RunRecord, 'n' | 'id' | 'boot' | 'attempt' | 'restarts'>;
	readonly resume?: Resumption;
	/** Resolves when everything that was written is durable. */
	readonly sync: () => Promise<void>;
	readonly meter: SessionMeter;
	/** The origins of the answers to calls, keyed by call id. */
	readonly answered?: ReadonlyMap<string, Inbound>;
	readonly inbound: InboundContext;
	readonly files: Pick<SessionFiles, 'keepAttachments'>;
	/** Called with the queue id of each message that steers the run. */
	readonly onSteered: (id: number) => void;
	readonly atCrashPoint: AtCrashPoint;
	readonly setups?: Pick<Setups, 'take'>;
}

/** The journal of a run: each step is in the store before the next step begins (docs/runs.md, "What a run writes"). */
export class Journal {
	readonly hooks: JournalHooks;
	readonly #options: JournalOptions;
	#iteration: number;
	#restarts: number;
	#sides = 0;
	/** A summary's notes and warnings. The next message stores them, because the summary is placed further back. */
	#kept: readonly SideEvent[] = [];
	/** Whether the last write is possibly not durable yet. */
	#isAhead = false;
	#syncing: Promise<void> | undefined;

	constructor(options: JournalOptions) {
		this.#options = options;
		this.#iteration = options.resume?.iteration ?? 0;
		this.#restarts = options.record.restarts;
		this.hooks = {
			onMessage: (message, about) => this.#addMessage(message, about),
			onToolCall: (call, tool) => this.#beginCall(call, tool),
			onQuestion: (question, call, changes, answerTo) =>
				this.#write((store) => {
					const resume = answerTo && { value: answerTo.resume };
					noteBegun(store, call, { question, resume });
					store.state.change(changes);
				}),
			onRestart: (_, repeated) => this.#markRestarted(repeated.length),
			steer: () => this.#takeWaiting(),
			meter: {
				reserve: (request) => this.#reserve(request),
				lost: options.meter.lost,
				get isShort() {
					return options.meter.isShort;
				},
			},
		};
	}

	get iteration(): number {
		return this.#iteration;
	}

	/** How often readers were shown a restart of the current turn. */
	get restarts(): number {
		return this.#restarts;
	}

	/** The number of shown notes and warnings that are stored with a message or only repeat earlier ones. */
	get sides(): number {
		return this.#sides;
	}

	/** Resolves when all writes of the loop are durable. Returns nothing if they already are. */
	sync(): Promise<void> | undefined {
		if (!this.#isAhead) return undefined;
		if (this.#syncing === undefined) {
			const syncing = this.#options.sync().then(() => {
				if (this.#syncing === syncing) this.#isAhead = false;
			});
			this.#syncing = syncing;
		}
		return this.#syncing;
	}

	#noteWrite(): void {
		this.#isAhead = true;
		this.#syncing = undefined;
	}

	async #addMessage(...[message, about]: Parameters<JournalHooks['onMessage']>): Promise<void> {
		const { record, meter, answered, atCrashPoint, setups } = this.#options;
		const { turn, spent, silentMs, isRepeatable, haltedReason, inFrontOf, changes, prompt } = about;
		const before = [...this.#kept, ...about.before];
		if (inFrontOf !== undefined) {
			this.#write((store) => store.addSummary(record.n, message, Date.now(), inFrontOf));
			this.#kept = before;
			return;
		}
		const restarts = turn === undefined ? 0 : this.#restarts;
		this.#write((store) => {
			store.messages.add(record.n, message, Date.now(), {
				turn,
				prompt,
				setup: turn && setups?.take(about),
				changes: changes && toRecorded(changes),
				...(message.role === 'tool' && { inbound: answered?.get(message.toolCallId) }),
				restarts: restarts > 0 ? restarts : undefined,
				before: before.length > 0 ? before : undefined,
				haltedReason,
				cost: turn === undefined ? undefined : withDetail(meter.settle(spent, message, silentMs), spent),
			});
			if (changes !== undefined) store.state.change(changes);
			if (restarts > 0) store.runs.markRestarted(record.n, 0);
		});
		this.#kept = [];
		this.#sides += before.length;
		if (turn !== undefined) [this.#iteration, this.#restarts] = [turn.iteration, 0];
		// The process may end while calls are checked, so a message with unrepeatable calls is made durable first.
		if (message.role === 'assistant' && message.toolCalls !== undefined && isRepeatable !== true) await this.sync();
		return atCrashPoint(message.role === 'tool' ? 'tool-end' : 'model-end');
	}

	/** Makes the reservation and the previous turn's writes durable before the turn is shown. */
	async #reserve(request: MeteredRequest): Promise<number | undefined> {
		const { store, record, meter } = this.#options;
		store.runs.assertOpen(record);
		const cap = await meter.reserve(request);
		this.#noteWrite();
		await this.sync();
		return cap;
	}

	async #beginCall(call: ToolCall, tool: Tool): Promise<void> {
		if (tool.retry !== 'safe') {
			this.#write((store) => noteBegun(store, call));
			await this.sync();
		}
		return this.#options.atCrashPoint('tool-begin');
	}

	/** @param repeated the number of notes and warnings that are shown again */
	async #markRestarted(repeated: number): Promise<void> {
		this.#write((store) => store.runs.markRestarted(this.#options.record.n, this.#restarts + 1));
		this.#restarts++;
		this.#sides += repeated;
		await this.sync();
	}

	#takeWaiting(): readonly Message[] {
		const { store, record, inbound: context, files, onSteered } = this.#options;
		store.runs.assertOpen(record);
		if (store.queue.size === 0) return [];
		const taken = this.#write((store) => {
			const waiting = store.queue.steering();
			for (const next of waiting) {
				const { message, inbound, callback } = next;
				store.queue.take(next, record.n);
				store.messages.add(record.n, message, Date.now(), { input: true, inbound });
				files.keepAttachments(message, inbound);
				if (callback !== undefined) store.callbacks.add({ run: record.n, runId: record.id, url: callback });
			}
			return waiting;
		});
		for (const { id, message, inbound } of taken) {
			context.accept(message, inbound);
			onSteered(id);
		}
		return taken.map(({ message }) => message);
	}

	/** Writes in a transaction. Throws `interrupted` if this attempt of the run is over. */
	#write<T>(work: (store: SessionStore) => T): T {
		const { store, record } = this.#options;
		this.#noteWrite();
		return store.transaction(() => {
			store.runs.assertOpen(record);
			return work(store);
		});
	}
}

/** The most characters of state changes that are stored with a result, as JSON. */
const longestChanges = 16_384;

function toRecorded(changes: StateChanges): MessageRecord['changes'] {
	const list = [...changes].map(([key, value]) => (value === undefined ? ([key] as const) : ([key, value] as const)));
	return list.length === 0 || JSON.stringify(list).length > longestChanges ? undefined : list;
}

function noteBegun(store: SessionStore, call: ToolCall, asking?: Parameters<SessionStore['calls']['note']>[4]): void {
	store.calls.note(store.messages.lastTurn(), call, 'begun', Date.now(), asking);
}

/**
 * The pauses before the second draft and before each further draft, in milliseconds. Each draft writes a row. After a
 * crash the request is charged for what the model may have written until the next draft.
 */
const [secondMs, furtherMs] = [2_500, 7_200];

/** A draft is stored early after this many characters, but only after this many milliseconds since the last draft. */
const [mostCharacters, soonestMs] = [4_096, 1_000];

interface DraftsOptions extends Pick<JournalOptions, 'atCrashPoint'> {
	readonly record: Pick<JournalOptions['record'], 'id'>;
	readonly meter: Pick<JournalOptions['meter'], 'call'>;
	readonly save: (draft: Draft) => void;
}

/** Stores drafts of the model's unfinished turn at growing pauses, for readers after a crash. */
export function createDrafts(
	{ record, meter, atCrashPoint, save }: DraftsOptions,
	log: RunLog,
	journal: Pick<Journal, 'iteration' | 'restarts'>,
) {
	let turn = createTurn();
	let timer: ReturnType<typeof setTimeout> | undefined;
	const stop = (): void => {
		if (timer !== undefined) clearTimeout(timer);
		timer = undefined;
	};
	const write = (): void => {
		stop();
		const events = log.draft(longestPart);
		const iteration = log.turns + 1;
		// The journal is ahead of the log if the turn is already stored or restarted.
		if (events.length === 0 || iteration !== journal.iteration + 1 || log.restarts !== journal.restarts) return;
		try {
			const about = { iteration, restarts: journal.restarts, call: meter.call };
			turn.store((written) => save({ ...about, ...written, events }));
		} catch (cause) {
			// The next draft may succeed. Without drafts, readers see less of a restarted turn.
			writeLog('warn', 'run.draft_not_stored', { 'runlet.run.id': record.id, ...toFailureFields(cause) });
			return;
		}
		void atCrashPoint('draft');
	};
	return {
		change: (events: readonly RunEvent[]): void => {
			for (const event of events) {
				if (event.type === 'stop' || event.type === 'turn.restarted') {
					stop();
					turn = createTurn();
				} else turn.add(event);
			}
			if (!log.writing) return;
			if (turn.isLong) write();
			else timer ??= setTimeout(write, turn.pauseMs);
		},
		stop,
	};
}

function createTurn() {
	const counter = createTokenCounter();
	let begunAt: number | undefined;
	let storedAt = 0;
	let unstored = 0;
	let pauseMs = draftMs;
	return {
		add: (event: RunEvent): void => {
			const text = getText(event);
			if (text === '') return;
			if (begunAt === undefined) begunAt = storedAt = Date.now();
			unstored += text.length;
			counter.add(text);
		},
		/** Stores a draft with `save`. If that throws, the draft counts as not stored. */
		store: (save: (written: Pick<Draft, 'tokens' | 'ms' | 'nextMs'>) => void): void => {
			const at = Date.now();
			const nextMs = pauseMs === draftMs ? secondMs : furtherMs;
			save({ tokens: Math.ceil(counter.total()), ms: begunAt === undefined ? 0 : at - begunAt, nextMs });
			[storedAt, unstored, pauseMs] = [at, 0, nextMs];
		},
		get pauseMs(): number {
			return pauseMs;
		},
		get isLong(): boolean {
			return unstored >= mostCharacters && Date.now() - storedAt >= soonestMs;
		},
	};
}

function getText(event: RunEvent): string {
	if (event.type === 'text' || event.type === 'reasoning') return event.text;
	if (event.type === 'tool_use_start') return event.name;
	return event.type === 'tool_use_input' ? event.partialInputJson : '';
}
