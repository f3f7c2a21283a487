import type { DurableObjectStorage } from '@cloudflare/workers-types';
import type { Message, RunEvent, SideEvent, TerminalEvent, Turn } from '../chat/index.ts';
import type { Once } from './api.ts';
import { messageStride, migrate, storedVersion } from './schema.ts';
import type { RunStatus } from './status.ts';

/** A session as it was created. */
export interface SessionRecord {
	readonly id: string;
	readonly agent: string;
	/** The model that the session chose; missing means the agent's own. */
	readonly model?: string | undefined;
	readonly metadata?: Readonly<Record<string, string>> | undefined;
	/** Milliseconds since 1970, as every time here. */
	readonly createdAt: number;
}

export interface RunRecord {
	/** Number in the session, from 1. */
	readonly n: number;
	readonly id: string;
	readonly status: RunStatus;
	/** The process that runs it: another one's run is dead. */
	readonly boot: string;
	readonly attempt: number;
	/** Its messages stand from this place on. */
	readonly firstSeq: number;
	readonly tail?: RunTail | undefined;
	readonly createdAt: number;
	readonly endedAt?: number | undefined;
}

/** How a run ended, and what it said after its last message. */
export interface RunTail {
	readonly before: readonly SideEvent[];
	/** The deltas of a turn that was broken off: they were shown, and are in no message. */
	readonly draft: readonly RunEvent[];
	readonly event: TerminalEvent;
}

export interface MessageRecord {
	readonly seq: number;
	readonly run: number;
	/** Order of storing among the messages of its turn. */
	readonly stored: number;
	readonly message: Message;
	/** Whether the run began with it. */
	readonly input?: boolean | undefined;
	/** The model turn that an assistant message came from. */
	readonly turn?: Turn | undefined;
	/** Notes and warnings since the message stored before it. */
	readonly before?: readonly SideEvent[] | undefined;
	readonly createdAt: number;
}

export interface PageOptions {
	readonly from?: number;
	/** The place in front of which to stop. */
	readonly to?: number | undefined;
	readonly limit?: number;
	readonly bytes?: number;
}

export interface MessagePage {
	readonly records: readonly MessageRecord[];
	/** Where the next page begins; missing after the last. */
	readonly next?: number;
}

/** Characters of a body in one row: at three bytes each, under the 2 MB that a row may hold. */
const partLength = 500_000;

/**
 * A session's rows. Every method is synchronous; what one `transaction` writes is written together. A message costs
 * one row, however many deltas it came in.
 */
export class SessionStore {
	readonly #storage: DurableObjectStorage;

	constructor(storage: DurableObjectStorage) {
		this.#storage = storage;
		if (this.exists()) this.transaction(() => migrate(storage.sql));
	}

	/** Whether a session was created here. Asking creates nothing. */
	exists(): boolean {
		return storedVersion(this.#storage.sql) > 0;
	}

	transaction<T>(work: () => T): T {
		return this.#storage.transactionSync(work);
	}

	create({ id, agent, model, metadata, createdAt }: SessionRecord): void {
		migrate(this.#storage.sql);
		this.#storage.sql.exec(
			'INSERT INTO session (id, agent, model, metadata, created_at) VALUES (?, ?, ?, ?, ?)',
			id,
			agent,
			model ?? null,
			metadata === undefined ? null : JSON.stringify(metadata),
			createdAt,
		);
	}

	session(): SessionRecord {
		type Row = { id: string; agent: string; model: string | null; metadata: string | null; created_at: number };
		const row = this.#storage.sql.exec<Row>('SELECT * FROM session').one();
		const metadata: SessionRecord['metadata'] = row.metadata === null ? undefined : JSON.parse(row.metadata);
		return { id: row.id, agent: row.agent, model: row.model ?? undefined, metadata, createdAt: row.created_at };
	}

	/** The model of the runs from now on. */
	chooseModel(model: string): void {
		this.#storage.sql.exec('UPDATE session SET model = ?', model);
	}

	beginRun({ n, id, status, boot, attempt, firstSeq, createdAt }: RunRecord): void {
		this.#storage.sql.exec(
			'INSERT INTO run (n, id, status, boot, attempt, first_seq, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
			n,
			id,
			status,
			boot,
			attempt,
			firstSeq,
			createdAt,
		);
	}

	endRun(n: number, status: RunStatus, tail: RunTail, endedAt: number): void {
		const json = JSON.stringify(tail);
		this.#storage.sql.exec('UPDATE run SET status = ?, tail = ?, ended_at = ? WHERE n = ?', status, json, endedAt, n);
	}

	/** The run of that number; without one the newest. */
	run(n?: number): RunRecord | undefined {
		type Row = {
			n: number;
			id: string;
			status: RunStatus;
			boot: string;
			attempt: number;
			first_seq: number;
			tail: string | null;
			created_at: number;
			ended_at: number | null;
		};
		const where = n === undefined ? 'ORDER BY n DESC LIMIT 1' : 'WHERE n = ?';
		const row = this.#storage.sql.exec<Row>(`SELECT * FROM run ${where}`, ...(n === undefined ? [] : [n])).toArray()[0];
		if (row === undefined) return undefined;
		const { first_seq: firstSeq, created_at: createdAt, ended_at, tail: json, ...rest } = row;
		const tail: RunTail | undefined = json === null ? undefined : JSON.parse(json);
		return { ...rest, firstSeq, createdAt, tail, endedAt: ended_at ?? undefined };
	}

	/** Notes that a request was taken, and the run that it began; 0 for none. */
	deliver({ key, request }: Once, run: number, createdAt: number): void {
		this.#storage.sql.exec(
			'INSERT INTO delivery (key, request, run, created_at) VALUES (?, ?, ?, ?)',
			key,
			request,
			run,
			createdAt,
		);
	}

	/** What came under a key before, and the run that it began. */
	delivery(key: string): { readonly request: string; readonly run: number } | undefined {
		type Row = { request: string; run: number };
		return this.#storage.sql.exec<Row>('SELECT request, run FROM delivery WHERE key = ?', key).toArray()[0];
	}

	/** Notes that a call of a turn is allowed, with the hash of its arguments. */
	approve(turn: number, call: string, argumentsHash: string, createdAt: number): void {
		this.#storage.sql.exec(
			'INSERT INTO approval (turn, call, arguments, created_at) VALUES (?, ?, ?, ?)',
			turn,
			call,
			argumentsHash,
			createdAt,
		);
	}

	/** The calls of a turn that are allowed, and the hash of the arguments that they are allowed with. */
	approvals(turn: number): ReadonlyMap<string, string> {
		type Row = { call: string; arguments: string };
		const rows = this.#storage.sql.exec<Row>('SELECT call, arguments FROM approval WHERE turn = ?', turn);
		return new Map(rows.toArray().map((row) => [row.call, row.arguments]));
	}

	/** Stores a message at its place and gives the place. */
	addMessage(
		run: number,
		message: Message,
		createdAt: number,
		more: Pick<MessageRecord, 'input' | 'turn' | 'before'> = {},
	): number {
		const { sql } = this.#storage;
		const last = this.#lastPlace();
		const seq = message.role === 'tool' ? this.#placeOfResult(message.toolCallId, last) : nextPlace(last);
		const turn = seq - (seq % messageStride);
		const { stored } = sql
			.exec<{ stored: number }>('SELECT COUNT(*) AS stored FROM message WHERE seq >= ?', turn)
			.one();
		const body = JSON.stringify({ message, ...more });
		for (const [part, text] of partsOf(body).entries()) {
			sql.exec(
				'INSERT INTO message (seq, part, run, stored, body, created_at) VALUES (?, ?, ?, ?, ?, ?)',
				seq,
				part,
				run,
				stored,
				text,
				createdAt,
			);
		}
		return seq;
	}

	/** Messages from a place on, in the order of the conversation: `limit` of them and about `bytes` at most, but one at least. */
	messages({
		from = 0,
		to = Number.MAX_SAFE_INTEGER,
		limit,
		bytes = Number.POSITIVE_INFINITY,
	}: PageOptions = {}): MessagePage {
		type Row = { seq: number; run: number; stored: number; body: string; created_at: number };
		const rows = this.#storage.sql.exec<Row>(
			'SELECT seq, run, stored, body, created_at FROM message WHERE seq >= ? AND seq < ? ORDER BY seq, part',
			from,
			to,
		);
		const found: MessageRecord[] = [];
		let open: Row | undefined;
		let read = 0;
		for (const row of rows) {
			if (open?.seq === row.seq) open.body += row.body;
			else {
				if (open !== undefined) found.push(recordOf(open));
				if (found.length === limit || read > bytes) return { records: found, next: row.seq };
				open = row;
			}
			read += row.body.length;
		}
		if (open !== undefined) found.push(recordOf(open));
		return { records: found };
	}

	/** The conversation. */
	history(): Message[] {
		return this.messages().records.map(({ message }) => message);
	}

	/** The place behind the last message. */
	nextPlace(): number {
		return nextPlace(this.#lastPlace());
	}

	/** The place of the turn that the last message belongs to: its own, or its assistant message's. */
	lastTurn(): number {
		const last = this.#lastPlace();
		return last - (last % messageStride);
	}

	#lastPlace(): number {
		return this.#storage.sql.exec<{ seq: number }>('SELECT COALESCE(MAX(seq), 0) AS seq FROM message').one().seq;
	}

	#placeOfResult(callId: string, last: number): number {
		const turn = last - (last % messageStride);
		const [assistant] = this.messages({ from: turn, limit: 1 }).records;
		const calls = assistant?.message.role === 'assistant' ? (assistant.message.toolCalls ?? []) : [];
		const rank = calls.findIndex(({ id }) => id === callId);
		return rank === -1 || rank >= messageStride - 1 ? last + 1 : turn + 1 + rank;
	}
}

function nextPlace(last: number): number {
	return last - (last % messageStride) + messageStride;
}

/** A body in pieces that fit a row, none of them ending within a character. */
function partsOf(body: string): string[] {
	const parts: string[] = [];
	for (let at = 0; at < body.length; ) {
		const end = at + partLength;
		const splits = body.charCodeAt(end - 1) >= 0xd800 && body.charCodeAt(end - 1) <= 0xdbff;
		parts.push(body.slice(at, splits ? end + 1 : end));
		at = splits ? end + 1 : end;
	}
	return parts;
}

function recordOf(row: { seq: number; run: number; stored: number; body: string; created_at: number }): MessageRecord {
	const body: Pick<MessageRecord, 'message' | 'input' | 'turn' | 'before'> = JSON.parse(row.body);
	return { seq: row.seq, run: row.run, stored: row.stored, createdAt: row.created_at, ...body };
}
