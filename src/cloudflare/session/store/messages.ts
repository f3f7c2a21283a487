import type { Actor } from '../../../core/base/actor.ts';
import { cutOutput, type Message, type SideEvent, type Turn } from '../../../core/chat/index.ts';
import type { PromptRecord } from '../../../core/chat/prompt-record.ts';
import { freezeData } from '../../../core/tool/state.ts';
import type { Amount } from '../../objects/budget.ts';
import type { CostPart } from '../../objects/ledger/api.ts';
import { splitRows, toJsonText } from '../../objects/storage.ts';
import type { Inbound } from './inbound.ts';
import { KeptRecords, type SizedRecord } from './kept-records.ts';
import type { Setup } from './setup.ts';
import type { Cached, CachingSql } from './tables.ts';

export interface MessageRecord {
	readonly seq: number;
	readonly run: number;
	/** The rank among the messages of its turn, in the order of storing. */
	readonly stored: number;
	readonly message: Message;
	/** Whether the message is an input of the run, at the beginning or later. */
	readonly input?: boolean;
	readonly inbound?: Inbound;
	readonly decidedBy?: Actor;
	readonly isDenied?: boolean;
	/** Whether a result stands for a call that a crash cut off. */
	readonly isCutOff?: boolean;
	readonly turn?: Turn;
	/** The request of an assistant message, for comparison with the next request. */
	readonly prompt?: PromptRecord;
	/** What changed since the assistant message before. */
	readonly setup?: Setup;
	/** The changes of the tools' state with this tool result: keys with values, or deleted keys. Missing if too long. */
	readonly changes?: readonly (readonly [key: string] | readonly [key: string, value: unknown])[];
	/** How often the turn restarted because the object restarted. */
	readonly restarts?: number;
	readonly haltedReason?: string;
	/** Notes and warnings after the previously stored message. */
	readonly before?: readonly SideEvent[];
	/** The place of the first message that this message replaces. All messages after it are replaced, too. */
	readonly replaces?: number;
	/** Whether the message was replaced: it is kept, but no model gets it. */
	readonly isReplaced?: boolean;
	/** Whether the message was replaced, and then stored again before the new answer. */
	readonly isRestated?: boolean;
	/** Whether the content of a tool result is shortened for the model. `whole` returns the whole content. */
	readonly isCut?: boolean;
	/** The cost of an assistant message. Missing in records that are read without `withCosts`. */
	readonly cost?: MessageCost;
	readonly createdAt: number;
}

/** The billed parts of a request to the model, as far as its provider reports them. */
export interface CostDetail extends Partial<Pick<CostPart, 'inputTokens' | 'cachedInputTokens' | 'units'>> {
	readonly isUnpriced?: boolean;
}

export interface MessageCost extends Amount, CostDetail {
	readonly call: number;
}

/** The value of `replaced` for a replaced message that has a copy. */
const restated = 2;

export type Body = Omit<MessageRecord, 'seq' | 'run' | 'stored' | 'isReplaced' | 'isRestated' | 'cost' | 'createdAt'>;

export type Row = {
	seq: number;
	run: number;
	stored: number;
	replaced: number;
	body: string;
	created_at: number;
	cost?: string | null;
};

function toSized(row: Row): SizedRecord<MessageRecord> {
	// A kept record is given to several readers.
	return { record: freezeData(toRecord(row)), size: row.body.length };
}

function toRecord({ seq, run, stored, replaced, body, created_at: createdAt, cost }: Row): MessageRecord {
	const parsed: Body = JSON.parse(body);
	const about = {
		...(replaced > 0 && { isReplaced: true }),
		...(replaced === restated && { isRestated: true }),
		...(typeof cost === 'string' && { cost: JSON.parse(cost) }),
	};
	return { seq, run, stored, createdAt, ...parsed, ...about };
}

/** The distance between the places of two turns. A turn can have at most one call less than this. */
export const messageStride = 65_536;

/** Returns the place of the turn that a place belongs to. */
export function toTurnPlace(seq: number): number {
	return seq - (seq % messageStride);
}

export function sortByStoring(records: readonly MessageRecord[]): MessageRecord[] {
	return records.toSorted((a, b) => toTurnPlace(a.seq) - toTurnPlace(b.seq) || a.stored - b.stored);
}

/** Returns the place of the turn after a place. */
function findNextPlace(last: number): number {
	return toTurnPlace(last) + messageStride;
}

export interface PageOptions {
	readonly from?: number;
	/** The place where the page ends. The message at this place is not included. */
	readonly to?: number;
	readonly limit?: number;
	readonly bytes?: number;
	/** Whether replaced messages are included. The default is true. */
	readonly withReplaced?: boolean;
	/** Whether the records have their costs. The default is false. */
	readonly withCosts?: boolean;
	/** Whether the newest messages come first. In this case the next page ends before `next`. */
	readonly isBackward?: boolean;
}

export interface MessagePage {
	readonly records: readonly MessageRecord[];
	/** About how many bytes were read. */
	readonly bytes: number;
	/** The place of the next page. Missing on the last page. */
	readonly next?: number;
}

const mostFound = 20;

/** The maximum number of cached characters of the newest messages: about half a million tokens of English. */
const mostKept = 2_000_000;

/** The conversation. A message has one row, whatever its number of deltas. */
export class MessageRows {
	readonly #sql: CachingSql;
	readonly #lastPlace: Cached<number>;
	readonly #lastRows: Cached<number>;
	readonly #newestCost: Cached<MessageCost | undefined>;
	readonly #kept: KeptRecords<MessageRecord>;

	constructor(sql: CachingSql) {
		this.#sql = sql;
		this.#kept = new KeptRecords(() => sql.version('message'), mostKept);
		this.#lastPlace = sql.cached(
			'message',
			() => sql.exec<{ seq: number }>('SELECT COALESCE(MAX(seq), 0) AS seq FROM message').one().seq,
		);
		this.#lastRows = sql.cached('message', () => this.#countRows(this.lastTurn()));
		this.#newestCost = sql.cached('message', () => {
			// The messages before the first request have no cost. A copy of a session may have many of them.
			const query = `SELECT cost FROM message WHERE cost IS NOT NULL AND seq >= COALESCE((
					SELECT first_seq FROM run WHERE n >= (SELECT run FROM spending WHERE call = 1) ORDER BY n LIMIT 1
				), 0) ORDER BY seq DESC LIMIT 1`;
			const [found] = sql.exec<{ cost: string }>(query).toArray();
			return found && JSON.parse(found.cost);
		});
	}

	/** Stores a message with its cost, and returns its place. A shortened tool result is also stored whole. */
	add(
		run: number,
		message: Message,
		createdAt: number,
		{ cost, ...more }: Omit<Body, 'message' | 'isCut'> & { readonly cost?: MessageCost } = {},
	): number {
		const last = this.#lastPlace();
		const seq = message.role === 'tool' ? this.#placeOfResult(message.toolCallId, last) : findNextPlace(last);
		this.#addAt(seq, run, createdAt, { message, ...more }, cost);
		return seq;
	}

	newestCost(): MessageCost | undefined {
		return this.#newestCost();
	}

	/** Counts the tokens without a known price, by run. Leaves out runs without such tokens, and messages before a place. */
	unpricedTokens(from: number): ReadonlyMap<number, number> {
		const rows = this.#sql.exec<{ run: number; tokens: number }>(
			`SELECT run, SUM(cost ->> 'tokens') AS tokens FROM message
			WHERE seq >= ? AND cost IS NOT NULL AND cost ->> 'isUnpriced' GROUP BY run`,
			from,
		);
		return new Map(rows.toArray().map(({ run, tokens }) => [run, tokens]));
	}

	/** Returns the cost of the request for the message at a place. Missing if the message was imported. */
	restore({
		seq,
		run,
		createdAt,
		isReplaced,
		isRestated,
		isCut: _,
		...body
	}: Omit<MessageRecord, 'stored' | 'cost'>): void {
		this.#addAt(seq, run, createdAt, body);
		const replaced = isRestated === true ? restated : isReplaced === true ? 1 : 0;
		if (replaced > 0) this.#sql.write('message', 'UPDATE message SET replaced = ? WHERE seq = ?', replaced, seq);
	}

	#addAt(seq: number, run: number, createdAt: number, body: Omit<Body, 'isCut'>, cost?: MessageCost): void {
		const { message } = body;
		const content = message.role === 'tool' ? cutOutput(message.content) : undefined;
		const isCut = message.role === 'tool' && content !== message.content;
		this.#insert(seq, run, createdAt, isCut ? { ...body, message: { ...message, content }, isCut } : body, cost);
		if (isCut) {
			for (const [part, text] of splitRows(JSON.stringify(message.content)).entries())
				this.#sql.exec('INSERT INTO output (seq, part, body) VALUES (?, ?, ?)', seq, part, text);
		}
	}

	/** Stores a summary before the newest `inFrontOf` messages. Returns its place. */
	addSummary(run: number, message: Message, createdAt: number, inFrontOf: number): number {
		const select = 'SELECT DISTINCT seq FROM message WHERE replaced = 0 ORDER BY seq DESC LIMIT 1 OFFSET ?';
		const [place] = this.#sql.exec<{ seq: number }>(select, inFrontOf).toArray();
		const seq = (place?.seq ?? 0) + 1;
		this.#insert(seq, run, createdAt, { message });
		return seq;
	}

	get(seq: number): MessageRecord | undefined {
		return this.page({ from: seq, to: seq + 1 }).records[0];
	}

	whole(record: MessageRecord): MessageRecord {
		const { message, isCut } = record;
		if (isCut !== true || message.role !== 'tool') return record;
		const rows = this.#sql.exec<{ body: string }>('SELECT body FROM output WHERE seq = ? ORDER BY part', record.seq);
		const parts = rows.toArray().map(({ body }) => body);
		const content: unknown = JSON.parse(parts.join(''));
		return { ...record, message: { ...message, content }, isCut: false };
	}

	/** Returns the messages between two places in order: at most `limit` and about `bytes` bytes, but at least one. */
	page({
		from = 0,
		to = Number.MAX_SAFE_INTEGER,
		limit,
		bytes = Number.POSITIVE_INFINITY,
		withReplaced = true,
		withCosts = false,
		isBackward = false,
	}: PageOptions = {}): MessagePage {
		const found: MessageRecord[] = [];
		let read = 0;
		for (const row of this.#readRows(from, to, { withReplaced, withCosts, isBackward })) {
			const last = found.at(-1);
			if (last !== undefined && (found.length === limit || read > bytes))
				return { records: found, bytes: read, next: isBackward ? last.seq : row.seq };
			found.push(toRecord(row));
			read += row.body.length;
		}
		return { records: found, bytes: read };
	}

	/** Returns the newest whole turns in order, about `characters` characters, without replaced messages. */
	newest({ from = 0, characters }: { readonly from?: number; readonly characters: number }): readonly MessageRecord[] {
		let start = from;
		let read = 0;
		const isBeyond = ({ record, size }: SizedRecord<MessageRecord>): boolean => {
			if (record.seq < start) return true;
			read += size;
			if (read > characters) start = Math.max(from, toTurnPlace(record.seq));
			return false;
		};
		const kept = this.#kept.read();
		const before = kept.all.findLastIndex(isBeyond);
		const newer = kept.all.slice(before + 1);
		const older: SizedRecord<MessageRecord>[] = [];
		if (before === -1 && start < kept.from) {
			const to = Math.min(kept.from, Number.MAX_SAFE_INTEGER);
			for (const row of this.#readRows(from, to, { withReplaced: false, isBackward: true })) {
				const sized = toSized(row);
				if (isBeyond(sized)) break;
				older.push(sized);
			}
			this.#kept.addOlder(start, older.reverse());
		}
		return [...older, ...newer].map(({ record }) => record);
	}

	/** Yields the messages between two places, each as a row with its whole body. */
	*#readRows(from: number, to: number, { withReplaced, withCosts, isBackward }: PageOptions): Generator<Row> {
		const rows = this.#sql.exec<Row>(
			`SELECT seq, run, stored, replaced, body, created_at${withCosts ? ', cost' : ''} FROM message
			WHERE seq >= ? AND seq < ? AND replaced <= ? ORDER BY ${isBackward ? 'seq DESC, part DESC' : 'seq, part'}`,
			...[from, to, withReplaced ? restated : 0],
		);
		let open: Row | undefined;
		for (const row of rows) {
			if (open?.seq === row.seq) open.body = isBackward ? row.body + open.body : open.body + row.body;
			else {
				if (open !== undefined) yield open;
				open = row;
			}
		}
		if (open !== undefined) yield open;
	}

	/**
	 * Marks a message and all messages after it as replaced. If the message answers a call, the rest of its turn
	 * is stored again before the new message.
	 */
	replace(place: number): void {
		const turn = toTurnPlace(place);
		this.#sql.write(
			'message',
			`UPDATE message SET replaced = CASE WHEN seq < ? AND seq != ? THEN ${restated} ELSE 1 END
			WHERE seq >= ? AND replaced != 1`,
			...[place === turn ? turn : turn + messageStride, place, turn],
		);
	}

	/** Returns the place of the newest summary before a place, or 0. */
	summaryBefore(place: number): number {
		const isSummary = "CASE WHEN json_valid(body) THEN json_extract(body, '$.message.summary') END = 1";
		const found = this.#sql.exec<{ seq: number }>(
			`SELECT seq FROM message WHERE seq < ? AND replaced = 0 AND ${isSummary} ORDER BY seq DESC LIMIT 1`,
			place,
		);
		return found.toArray()[0]?.seq ?? 0;
	}

	/** Finds messages before a place that have a text, the newest first, at most `mostFound`. */
	findText(text: string, to: number): readonly MessageRecord[] {
		const found = this.#sql.exec<{ seq: number }>(
			`SELECT DISTINCT seq FROM message WHERE seq < ? AND instr(body, ?) > 0 ORDER BY seq DESC LIMIT ${mostFound}`,
			...[to, JSON.stringify(text).slice(1, -1)],
		);
		return found.toArray().flatMap(({ seq }) => this.get(seq) ?? []);
	}

	findNamed(id: string): MessageRecord | undefined {
		const found = this.#sql.exec<{ seq: number }>(
			`SELECT seq FROM message_name JOIN message USING (seq) WHERE name = ? AND part = 0
			ORDER BY replaced, seq DESC LIMIT 1`,
			id,
		);
		const place = found.toArray()[0]?.seq;
		return place === undefined ? undefined : this.get(place);
	}

	/** Returns the first message that a request sent. `requestId` is the random part of the request's id. */
	findRequested(requestId: string): MessageRecord | undefined {
		const rows = this.#sql.exec<{ seq: number }>(
			'SELECT DISTINCT seq FROM message WHERE instr(body, ?) > 0 ORDER BY seq',
			requestId,
		);
		// A content can name the id, too.
		for (const { seq } of rows.toArray()) {
			const record = this.get(seq);
			if (record?.inbound?.requestId === requestId) return record;
		}
		return undefined;
	}

	nextPlace(): number {
		return findNextPlace(this.#lastPlace());
	}

	/** Returns the place of the last message, or of the assistant message that it answers. */
	lastTurn(): number {
		return toTurnPlace(this.#lastPlace());
	}

	#insert(seq: number, run: number, createdAt: number, body: Body, cost?: MessageCost): void {
		const { isCurrent } = this.#kept;
		const [turn, last] = [toTurnPlace(seq), this.lastTurn()];
		const stored = turn > last ? 0 : turn === last ? this.#lastRows() : this.#countRows(turn);
		const whole = JSON.stringify(body);
		const parts = splitRows(whole);
		const insert = () => {
			for (const [part, text] of parts.entries()) {
				const ofFirst = { cost: part === 0 ? toJsonText(cost) : null };
				this.#sql.insert('message', { seq, part, run, stored, body: text, created_at: createdAt, ...ofFirst });
			}
			const name = body.inbound?.messageId;
			if (name !== undefined) this.#sql.exec('INSERT INTO message_name (name, seq) VALUES (?, ?)', name, seq);
		};
		const insertCost = () => this.#newestCost.change(insert, (known) => cost ?? known);
		const insertRows = () => this.#lastRows.change(insertCost, (rows) => (turn < last ? rows : stored + parts.length));
		this.#lastPlace.change(insertRows, (place) => Math.max(place, seq));
		if (isCurrent) this.#kept.add(toSized({ seq, run, stored, replaced: 0, body: whole, created_at: createdAt }));
	}

	#countRows(from: number): number {
		return this.#sql.exec<{ rows: number }>('SELECT COUNT(*) AS rows FROM message WHERE seq >= ?', from).one().rows;
	}

	#placeOfResult(callId: string, last: number): number {
		const turn = toTurnPlace(last);
		const kept = this.#kept.read().all.findLast(({ record }) => record.seq <= turn);
		const assistant = kept?.record.seq === turn ? kept.record : this.get(turn);
		const calls = assistant?.message.role === 'assistant' ? (assistant.message.toolCalls ?? []) : [];
		const rank = calls.findIndex(({ id }) => id === callId);
		return rank === -1 || rank >= messageStride - 1 ? last + 1 : turn + 1 + rank;
	}
}

export function findLastReply(records: readonly MessageRecord[], run: number): Message | undefined {
	return records.findLast(({ message, run: n }) => n <= run && message.role === 'assistant')?.message;
}
