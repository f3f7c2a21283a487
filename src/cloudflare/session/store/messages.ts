import { cutOutput, type Message, type SideEvent, type Turn } from '../../../core/chat/index.ts';
import type { Sql } from '../../objects/migrate.ts';
import type { Inbound } from './inbound.ts';
import { splitRows } from './storage.ts';

/** Places from one message to the next: a turn may have one call less. */
export const messageStride = 65_536;

export interface MessageRecord {
	readonly seq: number;
	readonly run: number;
	/** Order of storing among the messages of its turn. */
	readonly stored: number;
	readonly message: Message;
	/** Whether the run began with it, or took it up on its way. */
	readonly input?: boolean;
	/** Where it came from, of a message from outside. */
	readonly inbound?: Inbound;
	/** The model turn that an assistant message came from. */
	readonly turn?: Turn;
	/** Times that its turn was asked again, because the object was restarted meanwhile. */
	readonly restarts?: number;
	/** Why the tool that gave this result stops the run. */
	readonly haltedReason?: string;
	/** Notes and warnings since the message stored before it. */
	readonly before?: readonly SideEvent[];
	/** The place of the message whose place it took; that one and all behind it are replaced. */
	readonly replaces?: number;
	/** Whether another message took its place, or that of one before it: it is kept, but no model is sent it. */
	readonly isReplaced?: boolean;
	/** Whether a copy of it stands in front of the message that took the place: then it was answered otherwise, and no more. */
	readonly isRestated?: boolean;
	/** Whether its content is only the part of a tool's result that a model is sent; `whole` has all of it. */
	readonly isCut?: boolean;
	readonly createdAt: number;
}

export interface PageOptions {
	readonly from?: number;
	/** The place in front of which to stop. */
	readonly to?: number;
	readonly limit?: number;
	readonly bytes?: number;
	/** Whether messages are given that others took the place of; they are, if nobody says. */
	readonly withReplaced?: boolean;
}

export interface MessagePage {
	readonly records: readonly MessageRecord[];
	/** Where the next page begins; missing after the last. */
	readonly next?: number;
}

type Body = Omit<MessageRecord, 'seq' | 'run' | 'stored' | 'isReplaced' | 'isRestated' | 'createdAt'>;

/** Of a replaced message: a copy of it stands again. */
const restated = 2;

/** The conversation: a message costs one row, however many deltas it came in. */
export class MessageRows {
	readonly #sql: Sql;

	constructor(sql: Sql) {
		this.#sql = sql;
	}

	/** Stores a message at its place and gives the place. A result that no model is sent whole is kept whole beside it. */
	add(run: number, message: Message, createdAt: number, more: Omit<Body, 'message' | 'isCut'> = {}): number {
		const last = this.#lastPlace();
		const seq = message.role === 'tool' ? this.#placeOfResult(message.toolCallId, last) : nextPlace(last);
		const content = message.role === 'tool' ? cutOutput(message.content) : undefined;
		const isCut = message.role === 'tool' && content !== message.content;
		this.#insert(
			seq,
			run,
			createdAt,
			isCut ? { message: { ...message, content }, ...more, isCut } : { message, ...more },
		);
		if (isCut) {
			for (const [part, text] of splitRows(JSON.stringify(message.content)).entries())
				this.#sql.exec('INSERT INTO output (seq, part, body) VALUES (?, ?, ?)', seq, part, text);
		}
		return seq;
	}

	/** Stores a summary in front of the newest messages, `inFrontOf` of them, and gives its place. */
	addSummary(run: number, message: Message, createdAt: number, inFrontOf: number): number {
		const places = this.#sql
			.exec<{ seq: number }>(
				'SELECT DISTINCT seq FROM message WHERE replaced = 0 ORDER BY seq DESC LIMIT 1 OFFSET ?',
				inFrontOf,
			)
			.toArray();
		const seq = (places[0]?.seq ?? 0) + 1;
		this.#insert(seq, run, createdAt, { message });
		return seq;
	}

	/** The message at a place. */
	get(seq: number): MessageRecord | undefined {
		return this.page({ from: seq, to: seq + 1 }).records[0];
	}

	/** The message with all that its tool gave. */
	whole(record: MessageRecord): MessageRecord {
		const { message, isCut } = record;
		if (isCut !== true || message.role !== 'tool') return record;
		const rows = this.#sql.exec<{ body: string }>('SELECT body FROM output WHERE seq = ? ORDER BY part', record.seq);
		const content: unknown = JSON.parse(
			rows
				.toArray()
				.map(({ body }) => body)
				.join(''),
		);
		return { ...record, message: { ...message, content }, isCut: false };
	}

	/** Messages from a place on, in the order of the conversation: `limit` of them and about `bytes` at most, but one at least. */
	page({
		from = 0,
		to = Number.MAX_SAFE_INTEGER,
		limit,
		bytes = Number.POSITIVE_INFINITY,
		withReplaced = true,
	}: PageOptions = {}): MessagePage {
		const rows = this.#sql.exec<Row>(
			`SELECT seq, run, stored, replaced, body, created_at FROM message
			WHERE seq >= ? AND seq < ? AND replaced <= ? ORDER BY seq, part`,
			...[from, to, withReplaced ? restated : 0],
		);
		const found: MessageRecord[] = [];
		let open: Row | undefined;
		let read = 0;
		for (const row of rows) {
			if (open?.seq === row.seq) open.body += row.body;
			else {
				if (open !== undefined) found.push(toRecord(open));
				if (found.length === limit || read > bytes) return { records: found, next: row.seq };
				open = row;
			}
			read += row.body.length;
		}
		if (open !== undefined) found.push(toRecord(open));
		return { records: found };
	}

	/** The newest messages from a place on that no others took the place of, about `characters` and whole turns, in order. */
	newest({ from = 0, characters }: { readonly from?: number; readonly characters: number }): readonly MessageRecord[] {
		const sizes = this.#sql.exec<{ seq: number; size: number }>(
			'SELECT seq, LENGTH(body) AS size FROM message WHERE seq >= ? AND replaced = 0 ORDER BY seq DESC, part DESC',
			from,
		);
		let start = from;
		let read = 0;
		for (const { seq, size } of sizes) {
			start = seq;
			read += size;
			if (read > characters) break;
		}
		return this.page({ from: Math.max(from, toTurnPlace(start)), withReplaced: false }).records;
	}

	/**
	 * Another message takes the place of this one and all behind it. Where this one answers a call, the rest of its turn
	 * stands again in front of the other one.
	 */
	replace(place: number): void {
		const turn = toTurnPlace(place);
		this.#sql.exec(
			`UPDATE message SET replaced = CASE WHEN seq < ? AND seq != ? THEN ${restated} ELSE 1 END
			WHERE seq >= ? AND replaced != 1`,
			...[place === turn ? turn : turn + messageStride, place, turn],
		);
	}

	/** The place of the newest summary in front of a place, 0 for none. */
	summaryBefore(place: number): number {
		const isSummary = "CASE WHEN json_valid(body) THEN json_extract(body, '$.message.summary') END = 1";
		const found = this.#sql.exec<{ seq: number }>(
			`SELECT seq FROM message WHERE seq < ? AND replaced = 0 AND ${isSummary} ORDER BY seq DESC LIMIT 1`,
			place,
		);
		return found.toArray()[0]?.seq ?? 0;
	}

	/** The newest message that its sender calls so. */
	findNamed(id: string): MessageRecord | undefined {
		const found = this.#sql.exec<{ seq: number }>(
			'SELECT seq FROM message WHERE client = ? ORDER BY replaced, seq DESC LIMIT 1',
			id,
		);
		const place = found.toArray()[0]?.seq;
		return place === undefined ? undefined : this.get(place);
	}

	/** The place behind the last message. */
	nextPlace(): number {
		return nextPlace(this.#lastPlace());
	}

	/** The place of the turn that the last message belongs to: its own, or its assistant message's. */
	lastTurn(): number {
		return toTurnPlace(this.#lastPlace());
	}

	#insert(seq: number, run: number, createdAt: number, body: Body): void {
		const { stored } = this.#sql
			.exec<{ stored: number }>('SELECT COUNT(*) AS stored FROM message WHERE seq >= ?', toTurnPlace(seq))
			.one();
		for (const [part, text] of splitRows(JSON.stringify(body)).entries()) {
			this.#sql.exec(
				'INSERT INTO message (seq, part, run, stored, body, client, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
				...[seq, part, run, stored, text, part === 0 ? (body.inbound?.messageId ?? null) : null, createdAt],
			);
		}
	}

	#lastPlace(): number {
		return this.#sql.exec<{ seq: number }>('SELECT COALESCE(MAX(seq), 0) AS seq FROM message').one().seq;
	}

	#placeOfResult(callId: string, last: number): number {
		const turn = toTurnPlace(last);
		const [assistant] = this.page({ from: turn, limit: 1 }).records;
		const calls = assistant?.message.role === 'assistant' ? (assistant.message.toolCalls ?? []) : [];
		const rank = calls.findIndex(({ id }) => id === callId);
		return rank === -1 || rank >= messageStride - 1 ? last + 1 : turn + 1 + rank;
	}
}

/** The place of the turn that a place belongs to. */
export function toTurnPlace(seq: number): number {
	return seq - (seq % messageStride);
}

function nextPlace(last: number): number {
	return toTurnPlace(last) + messageStride;
}

type Row = { seq: number; run: number; stored: number; replaced: number; body: string; created_at: number };

function toRecord({ seq, run, stored, replaced, body, created_at: createdAt }: Row): MessageRecord {
	const parsed: Body = JSON.parse(body);
	const about = { ...(replaced > 0 && { isReplaced: true }), ...(replaced === restated && { isRestated: true }) };
	return { seq, run, stored, createdAt, ...parsed, ...about };
}
