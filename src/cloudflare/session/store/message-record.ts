import type { Message, SideEvent, Turn } from '../../../core/chat/index.ts';
import type { PromptRecord } from '../../../core/chat/prompt-record.ts';
import type { Actor } from '../../../core/ground/actor.ts';
import { freezeData } from '../../../core/tool/copy.ts';
import type { Amount } from '../../objects/budget.ts';
import type { CostPart } from '../../objects/ledger/api.ts';
import type { Inbound } from './inbound.ts';
import type { Sized } from './kept-records.ts';

/** A message of the conversation, and what is stored beside it. */
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

/** What a request to the model was billed for, as far as its provider said so. */
export interface CostDetail extends Partial<Pick<CostPart, 'inputTokens' | 'cachedInputTokens' | 'units'>> {
	/** Whether the price of it, or of a part of it, is not known. Missing in a row of an earlier version. */
	readonly isUnpriced?: boolean;
}

/** What the request to the model has cost that a message came of. */
export interface MessageCost extends Amount, CostDetail {
	/** The number of the request in the session. */
	readonly call: number;
}

/** The value of `replaced` for a message that has a copy. */
export const restated = 2;

/** What the body of a row holds. */
export type Body = Omit<MessageRecord, 'seq' | 'run' | 'stored' | 'isReplaced' | 'isRestated' | 'createdAt'>;

/** The columns of a row that a record is made of. */
export type Row = { seq: number; run: number; stored: number; replaced: number; body: string; created_at: number };

export function toSized(row: Row): Sized<MessageRecord> {
	return { record: toRecord(row), size: row.body.length };
}

/** Nobody can change a record, because it may be kept. */
export function toRecord({ seq, run, stored, replaced, body, created_at: createdAt }: Row): MessageRecord {
	const parsed: Body = JSON.parse(body);
	const about = { ...(replaced > 0 && { isReplaced: true }), ...(replaced === restated && { isRestated: true }) };
	return freezeData({ seq, run, stored, createdAt, ...parsed, ...about });
}
