import type { Actor } from '../../../core/base/actor.ts';
import type { Message, SideEvent, Turn } from '../../../core/chat/index.ts';
import type { PromptRecord } from '../../../core/chat/prompt-record.ts';
import { freezeData } from '../../../core/tool/copy.ts';
import type { Amount } from '../../objects/budget.ts';
import type { CostPart } from '../../objects/ledger/api.ts';
import type { Inbound } from './inbound.ts';

export interface MessageRecord {
	readonly seq: number;
	readonly run: number;
	/** The rank among the messages of its turn, in the order of storing. */
	readonly stored: number;
	readonly message: Message;
	/** Whether the run began with the message, or got it later. */
	readonly input?: boolean;
	readonly inbound?: Inbound;
	readonly decidedBy?: Actor;
	readonly isDenied?: boolean;
	readonly turn?: Turn;
	/** The request of an assistant message, for comparison with the next request. */
	readonly prompt?: PromptRecord;
	/** How often the turn restarted because the object did. */
	readonly restarts?: number;
	readonly haltedReason?: string;
	/** Notes and warnings since the message that was stored before. */
	readonly before?: readonly SideEvent[];
	/** The place of the first message that this message replaces. All messages behind it are replaced, too. */
	readonly replaces?: number;
	/** Whether the message was replaced: it is kept, but no model gets it. */
	readonly isReplaced?: boolean;
	/** Whether a copy of the replaced message stands before the new answer of its turn. */
	readonly isRestated?: boolean;
	/** Whether the content of a tool result is shortened for the model. `whole` returns all of it. */
	readonly isCut?: boolean;
	readonly createdAt: number;
}

/** The billed parts of a request to the model, as far as its provider reports them. */
export interface CostDetail extends Partial<Pick<CostPart, 'inputTokens' | 'cachedInputTokens' | 'units'>> {
	readonly isUnpriced?: boolean;
}

export interface MessageCost extends Amount, CostDetail {
	readonly call: number;
}

/** The value of `replaced` for a message that has a copy. */
export const restated = 2;

export type Body = Omit<MessageRecord, 'seq' | 'run' | 'stored' | 'isReplaced' | 'isRestated' | 'createdAt'>;

export type Row = { seq: number; run: number; stored: number; replaced: number; body: string; created_at: number };

export function toSized(row: Row): SizedRecord<MessageRecord> {
	return { record: toRecord(row), size: row.body.length };
}

export function toRecord({ seq, run, stored, replaced, body, created_at: createdAt }: Row): MessageRecord {
	const parsed: Body = JSON.parse(body);
	const about = { ...(replaced > 0 && { isReplaced: true }), ...(replaced === restated && { isRestated: true }) };
	return freezeData({ seq, run, stored, createdAt, ...parsed, ...about });
}

/** The distance between the places of two turns. A turn may have one call less. */
export const messageStride = 65_536;

/** Returns the place of the turn that a place belongs to. */
export function toTurnPlace(seq: number): number {
	return seq - (seq % messageStride);
}

export function sortByStoring(records: readonly MessageRecord[]): MessageRecord[] {
	return records.toSorted((a, b) => toTurnPlace(a.seq) - toTurnPlace(b.seq) || a.stored - b.stored);
}

/** Returns the place of the turn behind a place. */
export function findNextPlace(last: number): number {
	return toTurnPlace(last) + messageStride;
}

export interface SizedRecord<R> {
	readonly record: R;
	readonly size: number;
}

/**
 * A cache of the newest records of a table, in the order of their places. It has all records from a place on, up to a
 * number of characters. It is cleared by a rollback, and when the table changes without `add`.
 */
export class KeptRecords<R extends { readonly seq: number }> {
	readonly #readVersion: () => number;
	readonly #most: number;
	#version: number | undefined;
	#from = Number.POSITIVE_INFINITY;
	#all: SizedRecord<R>[] = [];
	#size = 0;

	/**
	 * @param readVersion returns another number after each change of the table
	 * @param most the most characters
	 */
	constructor(readVersion: () => number, most: number) {
		this.#readVersion = readVersion;
		this.#most = most;
	}

	/** Whether the table has not changed without `add`. */
	get isCurrent(): boolean {
		return this.#version === this.#readVersion();
	}

	read(): { readonly from: number; readonly all: readonly SizedRecord<R>[] } {
		if (!this.isCurrent) {
			[this.#all, this.#size, this.#from] = [[], 0, Number.POSITIVE_INFINITY];
			this.#version = this.#readVersion();
		}
		return { from: this.#from, all: this.#all };
	}

	/** Adds all records between a place and the cached records. Call it after `read`. */
	addOlder(from: number, older: readonly SizedRecord<R>[]): void {
		this.#all = [...older, ...this.#all];
		this.#from = from;
		this.#grow(older);
	}

	/** Adds a record that was just stored. Call it only if the cache was current before. */
	add(sized: SizedRecord<R>): void {
		this.#version = this.#readVersion();
		const { seq } = sized.record;
		if (seq < this.#from) return;
		const at = 1 + this.#all.findLastIndex(({ record }) => record.seq < seq);
		this.#all.splice(at, 0, sized);
		this.#grow([sized]);
	}

	#grow(more: readonly SizedRecord<R>[]): void {
		this.#size += more.reduce((sum, { size }) => sum + size, 0);
		let gone = 0;
		for (const { record, size } of this.#all) {
			if (this.#size <= this.#most) break;
			this.#size -= size;
			this.#from = record.seq + 1;
			gone++;
		}
		this.#all.splice(0, gone);
	}
}
