import { RunletError } from '../../../core/base/errors.ts';
import type {
	BegunReply,
	ChatOptions,
	Message,
	Recalled,
	RunEvent,
	SideEvent,
	TerminalEvent,
} from '../../../core/chat/index.ts';
import { findJson } from '../../../core/chat/requirements.ts';
import type { Label } from '../../../core/tool/index.ts';
import type { RequestOrigin } from '../../objects/session-api.ts';
import { toJsonText } from '../../objects/storage.ts';
import type { RunTerms } from '../../wire/run.ts';
import type { RunStatus } from './session-row.ts';
import type { Cached, CachingSql } from './tables.ts';

/** A run's last event, but without the content of the run's last message. */
export type StoredEvent = TerminalEvent & {
	readonly isOutputText?: true;
};

/** What a person said about a run. */
export interface Rating {
	readonly rating: 'up' | 'down';
	readonly note?: string;
}

export interface Feedback extends Rating {
	/** In milliseconds since 1970. */
	readonly at: number;
}

/** The end of a run, with everything that was shown after its last message. */
export interface RunEnd {
	readonly before: readonly SideEvent[];
	readonly draft: readonly RunEvent[];
	/** The number of restarts of the last turn. */
	readonly restarts?: number;
	/** The number of turns that were shown completely. */
	readonly steps: number;
	readonly event: StoredEvent;
	readonly feedback?: Feedback;
}

/** The maximum length of each part of a stored end. All parts together, escaped as JSON, fit a row of 2 MB. */
export const longestPart = 100_000;

export function shortenRunEnd({ before, event, ...rest }: RunEnd): RunEnd {
	let room = longestPart;
	const kept = before.filter((side) => {
		room -= JSON.stringify(side).length;
		return room > 0;
	});
	return { ...rest, before: kept, event: shortenEvent(event) };
}

function shortenEvent(event: StoredEvent): StoredEvent {
	if (JSON.stringify(event).length <= longestPart) return event;
	if (event.type === 'error') return { type: 'error', code: event.code, message: event.message.slice(0, 10_000) };
	if (event.type === 'halted') return { type: 'halted', reason: event.reason.slice(0, 10_000) };
	if (event.type !== 'awaiting' || event.question === undefined) return event;
	const { callId, question } = event.question;
	return { ...event, question: { callId, question: question.slice(0, 10_000) } };
}

export function dropText(event: TerminalEvent): StoredEvent {
	if (event.type === 'done') return dropOutput({ ...event, text: '' }, event.text);
	if (event.type !== 'awaiting' || event.toolCalls === undefined) return event;
	return { ...event, toolCalls: event.toolCalls.map((call) => ({ ...call, input: null })) };
}

function dropOutput(event: StoredEvent & { readonly type: 'done' }, text: string): StoredEvent {
	const { output, ...rest } = event;
	return output !== undefined && JSON.stringify(output) === toCompactJson(text)
		? { ...rest, isOutputText: true }
		: event;
}

function toCompactJson(text: string): string | undefined {
	const json = findJson(text);
	return json === undefined ? undefined : JSON.stringify(JSON.parse(json));
}

/** Turns an end into a failure if its transformed output does not fit a row. */
export function limitOutput<E extends TerminalEvent>(event: E): E | TerminalEvent {
	const stored = dropText(event);
	const length = stored.type === 'done' ? (JSON.stringify(stored.output)?.length ?? 0) : 0;
	if (length <= longestPart) return event;
	const message = `output: outputSchema makes ${length} characters of the answer, and ${longestPart} can be kept. Let it transform less.`;
	return { type: 'error', code: 'invalid_output', message };
}

/** Restores the whole event. `last` is the run's last assistant message. */
export function restoreText(event: StoredEvent, last: Message | undefined): TerminalEvent {
	if (last?.role !== 'assistant') return event;
	if (event.type === 'done') {
		const { isOutputText, ...done } = { isOutputText: undefined, ...event };
		const json = isOutputText === true ? findJson(last.content) : undefined;
		return { ...done, text: last.content, ...(json !== undefined && { output: JSON.parse(json) }) };
	}
	if (event.type !== 'awaiting' || event.toolCalls === undefined) return event;
	const inputs = new Map(last.toolCalls?.map(({ id, input }) => [id, input]));
	return { ...event, toolCalls: event.toolCalls.map((call) => ({ ...call, input: inputs.get(call.id) })) };
}

export interface RunRecord {
	readonly n: number;
	readonly id: string;
	readonly status: RunStatus;
	readonly model?: string;
	/** The number of model turns after which the run stops. */
	readonly stopAfter?: number;
	readonly maxOutputTokens?: number;
	readonly toolChoice?: ChatOptions['toolChoice'];
	readonly terms?: RunTerms;
	/** The instance of the object that carries out the run. If that instance is gone, the run was interrupted. */
	readonly boot: string;
	readonly attempt: number;
	/** The number of interrupted attempts since the last progress. */
	readonly lost: number;
	/** The number of stored messages at the beginning of the current attempt. A higher number later means progress. */
	readonly progress: number;
	/** How often readers were shown a restart of the current turn. */
	readonly restarts: number;
	readonly draft?: Draft;
	readonly firstSeq: number;
	/** The memories before the run's message, or `null` if no memories were found. Missing before the search. */
	readonly recalled?: RecalledSources | null;
	/** Missing while the run is open. */
	readonly end?: RunEnd;
	readonly createdAt: number;
	readonly endedAt?: number;
	/** The newest activity that the owner's list had at the end of the run. */
	readonly listedAt?: number;
	/** The newest run whose trace was exported, as far as this run's instance of the object knew. */
	readonly exported?: number;
	/** The request that began the run. */
	readonly origin?: RequestOrigin;
}

/** Which memories the model got. A copied run has no sources. */
export interface RecalledSources extends Pick<Recalled, 'sources'> {
	/** Whether a memory, also one that a tool found, may have text of strangers. */
	readonly outside?: true;
}

/** The time from a turn's first token to its first draft, in milliseconds. */
export const draftMs = 800;

export interface Draft {
	readonly iteration: number;
	readonly restarts: number;
	readonly events: readonly RunEvent[];
	readonly call?: number;
	readonly tokens?: number;
	/** The milliseconds since the first token. */
	readonly ms?: number;
	/** The milliseconds until the next draft. */
	readonly nextMs?: number;
	/** The reply that the request `call` waits for. */
	readonly begun?: BegunReply;
}

export type NewRun = Pick<
	RunRecord,
	| 'n'
	| 'id'
	| 'model'
	| 'stopAfter'
	| 'maxOutputTokens'
	| 'toolChoice'
	| 'terms'
	| 'boot'
	| 'firstSeq'
	| 'createdAt'
	| 'origin'
>;

export type PastRun = Pick<RunRecord, 'n' | 'id' | 'status' | 'model' | 'boot' | 'attempt' | 'firstSeq' | 'createdAt'> &
	Required<Pick<RunRecord, 'end' | 'endedAt'>> &
	Pick<RunRecord, 'recalled'>;

export class RunRows {
	readonly #sql: CachingSql;
	readonly #newest: Cached<RunRecord | undefined>;
	/** What the runs before the newest run were sent. The key has the id of the newest run. */
	#recalledBefore: (Readonly<Record<Label, boolean>> & { readonly key: string }) | undefined;
	#exported = 0;
	/** The run before the newest one, if this instance began the newest. */
	#before: RunRecord | undefined;

	constructor(sql: CachingSql) {
		this.#sql = sql;
		this.#newest = sql.cached('run', () => {
			const [row] = sql.exec<Row>('SELECT * FROM run ORDER BY n DESC LIMIT 1').toArray();
			return row && toRecord(row);
		});
	}

	begin(run: NewRun): RunRecord {
		this.#before = this.#newest();
		const begun = { status: 'running', attempt: 1, lost: 0, progress: 0, restarts: 0 } as const;
		const record: RunRecord = { ...run, ...begun, exported: this.exported || undefined };
		this.#newest.change(
			() => this.#sql.insert('run', toRow(record)),
			() => record,
		);
		return record;
	}

	restore(run: PastRun): void {
		this.#sql.insert('run', toRow({ ...run, lost: 0, progress: 0, restarts: 0 }), 'REPLACE');
	}

	/** Lists the ids of all runs. */
	listIds(): Iterable<{ readonly id: string; readonly n: number }> {
		return this.#sql.exec<{ id: string; n: number }>('SELECT id, n FROM run');
	}

	get hasRestored(): boolean {
		const [first] = this.#sql.exec<{ boot: string }>('SELECT boot FROM run ORDER BY n LIMIT 1').toArray();
		return first?.boot === '';
	}

	/**
	 * Whether runs got memories, and whether the memories may have text of strangers. Counts the runs after run `after`
	 * that ended since a time. Reads older runs once a run.
	 */
	readRecalledLabels(after: number, since: Readonly<Record<Label, number>>): Readonly<Record<Label, boolean>> {
		const { id, n = 0, recalled, endedAt = Number.POSITIVE_INFINITY } = this.#newest() ?? {};
		const key = JSON.stringify([id, after, since]);
		let before = this.#recalledBefore;
		if (before?.key !== key) {
			const found = this.#sql
				.exec<Record<Label, number | null>>(
					`SELECT MAX(ended_at >= ?) AS private, MAX(ended_at >= ? AND recalled ->> 'outside') AS outside
					FROM run WHERE n > ? AND n < ? AND recalled LIKE '{%'`,
					...[since.private, since.outside, after, n],
				)
				.one();
			before = { key, private: found.private === 1, outside: found.outside === 1 };
			this.#recalledBefore = before;
		}
		return {
			private: before.private || (recalled != null && endedAt >= since.private),
			outside: before.outside || (recalled?.outside === true && endedAt >= since.outside),
		};
	}

	takeUp(n: number, attempt: Pick<RunRecord, 'boot' | 'attempt' | 'lost' | 'progress' | 'restarts'>): void {
		this.#change(n, attempt);
	}

	/** Throws `interrupted` if this attempt is over, so that a tool that ignored its signal writes nothing more. */
	assertOpen({ n, boot, attempt }: Pick<RunRecord, 'n' | 'boot' | 'attempt'>): void {
		const newest = this.#newest();
		const isNewest = newest?.n === n && newest.boot === boot && newest.attempt === attempt;
		if (isNewest && newest.status === 'running') return;
		throw new RunletError('interrupted', 'This run is over: nothing more is stored of it.');
	}

	markRestarted(n: number, restarts: number): void {
		this.#change(n, { restarts });
	}

	/** Stores a draft. A draft of the same request keeps the reply that the request waits for. */
	draft(n: number, draft: Draft): void {
		const { call, begun } = this.get(n)?.draft ?? {};
		this.#change(n, { draft: call === draft.call ? { begun, ...draft } : draft });
	}

	/** Stores the memories that a run was sent. Keeps the labels that the run already has. */
	keepRecalled(n: number, recalled: RecalledSources | null): void {
		const before = this.get(n)?.recalled ?? undefined;
		this.#change(n, { recalled: before === undefined ? recalled : { ...before, ...recalled } });
	}

	/** Notes that the newest run got a memory that may have text of strangers. */
	noteOutsideMemory(): void {
		const { n, recalled } = this.#newest() ?? {};
		if (n === undefined || recalled?.outside === true) return;
		this.#change(n, { recalled: { sources: [], ...recalled, outside: true } });
	}

	listRecalled(from: number): ReadonlyMap<number, RecalledSources> {
		const rows = this.#sql.exec<{ n: number; recalled: string }>(
			"SELECT n, recalled FROM run WHERE n >= ? AND recalled LIKE '{%'",
			from,
		);
		return new Map([...rows].map(({ n, recalled }) => [n, JSON.parse(recalled)]));
	}

	end(n: number, status: RunStatus, end: RunEnd, endedAt: number, listedAt?: number): void {
		this.#change(n, { status, end, draft: undefined, endedAt, listedAt, exported: this.exported || undefined });
	}

	/** Notes that all traces up to a run were exported. The next write of a run stores it, so this writes no row. */
	noteExported(n: number): void {
		this.#exported = Math.max(this.#exported, n);
	}

	/** Forgets what this instance knows besides the rows, because the session is removed. */
	forget(): void {
		this.#exported = 0;
		this.#before = undefined;
	}

	/** The newest run whose trace was exported, as far as this instance or the newest run has noted it. */
	get exported(): number {
		return Math.max(this.#exported, this.#newest()?.exported ?? 0);
	}

	/** Stores the feedback about a run that has ended. Without `feedback`, removes it. */
	rate({ n, end }: Pick<PastRun, 'n' | 'end'>, feedback: Feedback | undefined): void {
		this.#change(n, { end: { ...end, feedback } });
	}

	/** Finds a run by its id, from the newest run on. */
	find(id: string): RunRecord | undefined {
		const [row] = this.#sql.exec<Row>('SELECT * FROM run WHERE id = ? ORDER BY n DESC LIMIT 1', id).toArray();
		return row && toRecord(row);
	}

	#change(n: number, change: Partial<RunRecord>): void {
		const run = this.get(n);
		if (run === undefined) return;
		const changed = { ...run, ...change };
		this.#newest.change(
			() => this.#sql.insert('run', toRow(changed), 'REPLACE'),
			(newest) => (newest?.n === n ? changed : newest),
		);
	}

	/** Returns the run with a number, by default the newest. */
	get(n?: number): RunRecord | undefined {
		const newest = this.#newest();
		if (n === undefined || newest === undefined || n >= newest.n)
			return n === undefined || n === newest?.n ? newest : undefined;
		const [row] = this.#sql.exec<Row>('SELECT * FROM run WHERE n = ?', n).toArray();
		return row && toRecord(row);
	}

	/** Returns the run that a request began. `requestId` is the random part of the request's id. */
	findRequested(requestId: string): RunRecord | undefined {
		const [row] = this.#sql.exec<Row>('SELECT * FROM run WHERE instr(origin, ?) > 0', `"${requestId}"`).toArray();
		return row && toRecord(row);
	}

	/** Returns the run before a run. For the newest run, it is as it was when that run began, and is usually not read. */
	before(n: number): RunRecord | undefined {
		return this.#before?.n === n - 1 ? this.#before : this.get(n - 1);
	}

	/** Yields the runs after a run, the newest first. */
	*newestFirst(n: number): Generator<RunRecord> {
		const newest = this.#newest();
		if (newest === undefined || newest.n <= n) return;
		yield newest;
		if (newest.n === n + 1) return;
		const between = this.#sql.exec<Row>('SELECT * FROM run WHERE n > ? AND n < ? ORDER BY n DESC', n, newest.n);
		for (const row of between) yield toRecord(row);
	}

	after(n: number): RunRecord | undefined {
		const [row] = this.#sql.exec<Row>('SELECT * FROM run WHERE n > ? ORDER BY n LIMIT 1', n).toArray();
		return row && toRecord(row);
	}
}

type Row = {
	n: number;
	id: string;
	status: RunStatus;
	model: string | null;
	stop_after: number | null;
	max_output_tokens: number | null;
	tool_choice: string | null;
	terms: string | null;
	boot: string;
	attempt: number;
	lost: number;
	progress: number;
	restarts: number;
	draft: string | null;
	first_seq: number;
	tail: string | null;
	created_at: number;
	ended_at: number | null;
	listed_at: number | null;
	recalled: string | null;
	exported: number | null;
	origin: string | null;
};

function toRow(run: RunRecord): Row {
	return {
		n: run.n,
		id: run.id,
		status: run.status,
		model: run.model ?? null,
		stop_after: run.stopAfter ?? null,
		max_output_tokens: run.maxOutputTokens ?? null,
		tool_choice: toJsonText(run.toolChoice),
		terms: toJsonText(run.terms),
		boot: run.boot,
		attempt: run.attempt,
		lost: run.lost,
		progress: run.progress,
		restarts: run.restarts,
		draft: toJsonText(run.draft),
		first_seq: run.firstSeq,
		tail: toJsonText(run.end),
		created_at: run.createdAt,
		ended_at: run.endedAt ?? null,
		listed_at: run.listedAt ?? null,
		recalled: run.recalled === undefined ? null : JSON.stringify(run.recalled),
		exported: run.exported ?? null,
		origin: toJsonText(run.origin),
	};
}

function toRecord({ tail, draft, tool_choice: toolChoice, terms, ...row }: Row): RunRecord {
	return {
		n: row.n,
		id: row.id,
		status: row.status,
		model: row.model ?? undefined,
		stopAfter: row.stop_after ?? undefined,
		maxOutputTokens: row.max_output_tokens ?? undefined,
		toolChoice: toolChoice === null ? undefined : JSON.parse(toolChoice),
		terms: terms === null ? undefined : JSON.parse(terms),
		boot: row.boot,
		attempt: row.attempt,
		lost: row.lost,
		progress: row.progress,
		restarts: row.restarts,
		draft: draft === null ? undefined : JSON.parse(draft),
		firstSeq: row.first_seq,
		end: tail === null ? undefined : JSON.parse(tail),
		createdAt: row.created_at,
		endedAt: row.ended_at ?? undefined,
		listedAt: row.listed_at ?? undefined,
		recalled: row.recalled === null ? undefined : JSON.parse(row.recalled),
		exported: row.exported ?? undefined,
		origin: row.origin === null ? undefined : JSON.parse(row.origin),
	};
}
