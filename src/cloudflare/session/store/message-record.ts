import type { Actor } from '../../../core/base/actor.ts';
import type { Message, SideEvent, Turn } from '../../../core/chat/index.ts';
import type { PromptRecord } from '../../../core/chat/prompt-record.ts';
import { freezeData } from '../../../core/tool/copy.ts';
import type { Amount } from '../../objects/budget.ts';
import type { CostPart } from '../../objects/ledger/api.ts';
import type { Inbound } from './inbound.ts';

/** A message of the conversation, with its stored fields. */
export interface MessageRecord {
	readonly seq: number;
	readonly run: number;
	/** Its rank among the messages of its turn, in the order of storing. */
	readonly stored: number;
	readonly message: Message;
	/** Whether it is input: the run began with it, or took it up later. */
	readonly input?: boolean;
	/** Where a message from outside came from. */
	readonly inbound?: Inbound;
	/** Who gave this result of a call, or denied it. */
	readonly decidedBy?: Actor;
	/** Whether it says that the call was denied. */
	readonly isDenied?: boolean;
	/** The model turn of an assistant message. */
	readonly turn?: Turn;
	/** The request that it answers, with which the next one is compared. */
	readonly prompt?: PromptRecord;
	/** How often its turn was asked again because the object was restarted. */
	readonly restarts?: number;
	/** Why this tool result stops the run. */
	readonly haltedReason?: string;
	/** Notes and warnings since the message stored before it. */
	readonly before?: readonly SideEvent[];
	/** The place of the message that it replaces, with all behind it. */
	readonly replaces?: number;
	/** Whether it was replaced. It is kept, but no model is sent it. */
	readonly isReplaced?: boolean;
	/** Whether it was replaced only because its turn was answered again: a copy stands in front of the new answer. */
	readonly isRestated?: boolean;
	/** Whether its content is only the part of a tool result that a model is sent. `whole` returns all of it. */
	readonly isCut?: boolean;
	readonly createdAt: number;
}

/** The billed parts of a request to the model, as far as its provider reports them. */
export interface CostDetail extends Partial<Pick<CostPart, 'inputTokens' | 'cachedInputTokens' | 'units'>> {
	/** Whether the price of it, or of a part of it, is not known. Missing in a row of an earlier version. */
	readonly isUnpriced?: boolean;
}

/** The cost of the request to the model that wrote a message. */
export interface MessageCost extends Amount, CostDetail {
	/** The number of the request in the session. */
	readonly call: number;
}

/** The value of `replaced` for a message that has a copy. */
export const restated = 2;

/** The body of a row. */
export type Body = Omit<MessageRecord, 'seq' | 'run' | 'stored' | 'isReplaced' | 'isRestated' | 'createdAt'>;

/** The columns of a row that a record is made of. */
export type Row = { seq: number; run: number; stored: number; replaced: number; body: string; created_at: number };

export function toSized(row: Row): Sized<MessageRecord> {
	return { record: toRecord(row), size: row.body.length };
}

/** A record is frozen, because it may be kept. */
export function toRecord({ seq, run, stored, replaced, body, created_at: createdAt }: Row): MessageRecord {
	const parsed: Body = JSON.parse(body);
	const about = { ...(replaced > 0 && { isReplaced: true }), ...(replaced === restated && { isRestated: true }) };
	return freezeData({ seq, run, stored, createdAt, ...parsed, ...about });
}

/** The distance between the places of two messages. A turn may have one call less than that. */
export const messageStride = 65_536;

/** Returns the place of the turn that a place belongs to. */
export function toTurnPlace(seq: number): number {
	return seq - (seq % messageStride);
}

/** Sorts messages by the time of storing. */
export function sortByStoring(records: readonly MessageRecord[]): MessageRecord[] {
	return records.toSorted((a, b) => toTurnPlace(a.seq) - toTurnPlace(b.seq) || a.stored - b.stored);
}

/** Returns the place of the turn behind a place. */
export function findNextPlace(last: number): number {
	return toTurnPlace(last) + messageStride;
}

/** A record and the characters of its row. */
export interface Sized<R> {
	readonly record: R;
	readonly size: number;
}

/**
 * The newest records of a table as they were read or stored, in the order of their places, so that they need not be read
 * again. It has all from a place on, unless they are too long together: then it lets go of the oldest. It forgets
 * everything once the table was written by others than `add`, or a transaction was rolled back.
 */
export class KeptRecords<R extends { readonly seq: number }> {
	readonly #readVersion: () => number;
	readonly #most: number;
	#version: number | undefined;
	#from = Number.POSITIVE_INFINITY;
	#all: Sized<R>[] = [];
	#size = 0;

	/**
	 * @param readVersion returns another number after each change of the table.
	 * @param most the characters to keep.
	 */
	constructor(readVersion: () => number, most: number) {
		this.#readVersion = readVersion;
		this.#most = most;
	}

	/** Whether nothing else has changed the table. */
	get isCurrent(): boolean {
		return this.#version === this.#readVersion();
	}

	/** Returns the kept records, and the place from which on none is missing. */
	read(): { readonly from: number; readonly all: readonly Sized<R>[] } {
		if (!this.isCurrent) {
			[this.#all, this.#size, this.#from] = [[], 0, Number.POSITIVE_INFINITY];
			this.#version = this.#readVersion();
		}
		return { from: this.#from, all: this.#all };
	}

	/** Keeps all records between a place and those that are kept. Call it after `read`. */
	addOlder(from: number, older: readonly Sized<R>[]): void {
		this.#all = [...older, ...this.#all];
		this.#from = from;
		this.#grow(older);
	}

	/** Keeps a record that was just stored. Call it only where everything was current before that. */
	add(sized: Sized<R>): void {
		this.#version = this.#readVersion();
		const { seq } = sized.record;
		if (seq < this.#from) return;
		const at = 1 + this.#all.findLastIndex(({ record }) => record.seq < seq);
		this.#all.splice(at, 0, sized);
		this.#grow([sized]);
	}

	#grow(more: readonly Sized<R>[]): void {
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
