import { RunletError } from '../../../core/base/errors.ts';
import type { ChatOptions, Recalled, RunEvent } from '../../../core/chat/index.ts';
import { toJsonText } from '../../objects/storage.ts';
import type { RunTerms } from '../../wire/run.ts';
import type { RunEnd } from './run-end.ts';
import type { RunStatus } from './status.ts';
import type { Cached, CachingSql } from './tables.ts';

export interface RunRecord {
	/** Number in the session, from 1. */
	readonly n: number;
	readonly id: string;
	readonly status: RunStatus;
	/** The model that it runs on; missing for a message that waited and could not begin. */
	readonly model?: string;
	/** The number of model turns after which it stops. */
	readonly stopAfter?: number;
	/** The longest reply that the client wants, in tokens. */
	readonly maxOutputTokens?: number;
	/** The tool that the client wants called first. */
	readonly toolChoice?: ChatOptions['toolChoice'];
	/** Further wishes of the client. */
	readonly terms?: RunTerms;
	/** The instance of the object that carries it out. If the instance is gone, the run is lost. */
	readonly boot: string;
	/** How many attempts it has had. */
	readonly attempt: number;
	/** How many attempts it has lost since its last progress. */
	readonly lost: number;
	/** How many of its messages were stored when its current attempt began. More messages are progress. */
	readonly progress: number;
	/** How often its readers were told that the current turn is asked again. */
	readonly restarts: number;
	/** The stored draft of the newest turn. */
	readonly draft?: Draft;
	/** The place of its first message. */
	readonly firstSeq: number;
	/** The memories in front of its message: `null` if there are none. Missing until they were asked for. */
	readonly recalled?: Pick<Recalled, 'sources'> | null;
	/** How it ended; missing while it is open. */
	readonly end?: RunEnd;
	readonly createdAt: number;
	readonly endedAt?: number;
	/** The newest activity that the owner's list had been told of when it ended. */
	readonly listedAt?: number;
}

/** How long after its first token the first draft of a turn is stored, in milliseconds. */
export const draftMs = 800;

/** A turn that the model is writing. */
export interface Draft {
	readonly iteration: number;
	/** How often it was asked again before. */
	readonly restarts: number;
	/** The events that readers saw. */
	readonly events: readonly RunEvent[];
	/** The number of its request, its estimated tokens, and the milliseconds since its first. */
	readonly call?: number;
	readonly tokens?: number;
	readonly ms?: number;
	/** The milliseconds until the next draft is stored. */
	readonly nextMs?: number;
}

/** A run that is about to begin. */
export type NewRun = Pick<
	RunRecord,
	'n' | 'id' | 'model' | 'stopAfter' | 'maxOutputTokens' | 'toolChoice' | 'terms' | 'boot' | 'firstSeq' | 'createdAt'
>;

/** A run that has ended. */
export type PastRun = Pick<RunRecord, 'n' | 'id' | 'status' | 'model' | 'boot' | 'attempt' | 'firstSeq' | 'createdAt'> &
	Required<Pick<RunRecord, 'end' | 'endedAt'>>;

/** The runs of a session: one row each. */
export class RunRows {
	readonly #sql: CachingSql;
	readonly #newest: Cached<RunRecord | undefined>;

	constructor(sql: CachingSql) {
		this.#sql = sql;
		this.#newest = sql.cached('run', () => {
			const [row] = sql.exec<Row>('SELECT * FROM run ORDER BY n DESC LIMIT 1').toArray();
			return row && toRecord(row);
		});
	}

	/** Stores a run that begins. */
	begin(run: NewRun): RunRecord {
		const record: RunRecord = { ...run, status: 'running', attempt: 1, lost: 0, progress: 0, restarts: 0 };
		this.#newest.change(
			() => this.#save(record, 'INSERT'),
			() => record,
		);
		return record;
	}

	/** Stores a run of another session, which has ended. */
	restore(run: PastRun): void {
		this.#save({ ...run, lost: 0, progress: 0, restarts: 0 });
	}

	/** Whether there are runs of another session. */
	get hasRestored(): boolean {
		return this.#sql.exec("SELECT 1 FROM run WHERE boot = '' LIMIT 1").toArray().length > 0;
	}

	/** Stores the next attempt of a lost run. */
	takeUp(n: number, attempt: Pick<RunRecord, 'boot' | 'attempt' | 'lost' | 'progress' | 'restarts'>): void {
		this.#change(n, attempt);
	}

	/**
	 * Throws `interrupted` if this attempt of a run is over, so that a model or a tool that ignored its signal writes nothing
	 * any more.
	 */
	assertOpen({ n, boot, attempt }: Pick<RunRecord, 'n' | 'boot' | 'attempt'>): void {
		const newest = this.#newest();
		const isNewest = newest?.n === n && newest.boot === boot && newest.attempt === attempt;
		if (isNewest && newest.status === 'running') return;
		throw new RunletError('interrupted', 'This run is over: nothing more is stored of it.');
	}

	/** Stores how often readers were told that the current turn is asked again. */
	markRestarted(n: number, restarts: number): void {
		this.#change(n, { restarts });
	}

	draft(n: number, draft: Draft): void {
		this.#change(n, { draft });
	}

	/** Stores the memories in front of a run's message. */
	keepRecalled(n: number, recalled: RunRecord['recalled']): void {
		this.#change(n, { recalled });
	}

	/** Lists the memories in front of the messages of runs, from a run on. */
	listRecalled(from: number): ReadonlyMap<number, Pick<Recalled, 'sources'>> {
		const rows = this.#sql.exec<{ n: number; recalled: string }>(
			"SELECT n, recalled FROM run WHERE n >= ? AND recalled LIKE '{%'",
			from,
		);
		return new Map([...rows].map(({ n, recalled }) => [n, JSON.parse(recalled)]));
	}

	end(n: number, status: RunStatus, end: RunEnd, endedAt: number, listedAt?: number): void {
		this.#change(n, { status, end, draft: undefined, endedAt, listedAt });
	}

	/** Writes the row of a run anew. */
	#change(n: number, change: Partial<RunRecord>): void {
		const run = this.get(n);
		if (run === undefined) return;
		const changed = { ...run, ...change };
		this.#newest.change(
			() => this.#save(changed),
			(newest) => (newest?.n === n ? changed : newest),
		);
	}

	#save(run: RunRecord, insert = 'INSERT OR REPLACE'): void {
		const row = toRow(run);
		const columns = Object.keys(row);
		this.#sql.write(
			'run',
			`${insert} INTO run (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
			...Object.values(row),
		);
	}

	/** Returns the run of a number, or else the newest. */
	get(n?: number): RunRecord | undefined {
		const newest = this.#newest();
		if (n === undefined || newest === undefined || n >= newest.n)
			return n === undefined || n === newest?.n ? newest : undefined;
		const [row] = this.#sql.exec<Row>('SELECT * FROM run WHERE n = ?', n).toArray();
		return row && toRecord(row);
	}

	/** Returns the oldest run after a number. */
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
	};
}
