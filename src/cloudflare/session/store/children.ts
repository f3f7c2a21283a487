import type { Child } from '../../agent/children.ts';
import { type Amount, nothing, plus } from '../../objects/budget.ts';
import { toJsonText } from '../../objects/storage.ts';
import type { CachingSql } from './tables.ts';

export interface ChildRecord extends Child {
	readonly turn: number;
	/** The whole cost. Missing until it is known. */
	readonly cost?: Amount;
	/** Whether nobody needs its result any more. */
	readonly isLeft: boolean;
	readonly createdAt: number;
}

export class ChildRows {
	readonly #sql: CachingSql;
	readonly #all: () => readonly ChildRecord[];

	constructor(sql: CachingSql) {
		this.#sql = sql;
		this.#all = sql.cached('child', () =>
			sql.exec<Row>('SELECT * FROM child ORDER BY created_at, turn, call').toArray().map(toRecord),
		);
	}

	list(): readonly ChildRecord[] {
		return this.#all();
	}

	/** Lists the children without a known cost. */
	listOpen(): readonly ChildRecord[] {
		return this.#all().filter(({ cost }) => cost === undefined);
	}

	find(turn: number, callId: string): ChildRecord | undefined {
		return this.#all().find((child) => child.turn === turn && child.callId === callId);
	}

	add({ turn, callId, id, agent, budget, isBackground, createdAt }: Omit<ChildRecord, 'cost' | 'isLeft'>): void {
		// The order of the list does not depend on the clock.
		const at = Math.max(createdAt, 1 + (this.#all().at(-1)?.createdAt ?? 0));
		const about = { budget: toJsonText(budget), background: isBackground ? 1 : null };
		this.#sql.insert('child', { turn, call: JSON.stringify(callId), id, agent, ...about, created_at: at });
	}

	/** Stores that nobody needs the result of a background child any more. */
	leave(id: string): void {
		this.#sql.write('child', 'UPDATE child SET background = 0 WHERE id = ? AND background = 1', id);
	}

	settle(id: string, { tokens, usd }: Amount): void {
		this.#sql.write('child', 'UPDATE child SET tokens = ?, usd = ? WHERE id = ?', tokens, usd, id);
	}

	sum(): { readonly spent: Amount; readonly reserved: Amount } {
		const addUp = (amounts: readonly Amount[]): Amount => amounts.reduce(plus, nothing);
		return {
			spent: addUp(this.#all().map(({ cost = nothing }) => cost)),
			reserved: addUp(this.listOpen().map(({ budget: { tokens = 0, usd = 0 } = {} }) => ({ tokens, usd }))),
		};
	}
}

type Row = {
	turn: number;
	call: string;
	id: string;
	agent: string;
	budget: string | null;
	tokens: number | null;
	usd: number | null;
	background: number | null;
	created_at: number;
};

function toRecord({ call, budget, tokens, usd, background, created_at: createdAt, ...row }: Row): ChildRecord {
	return {
		...row,
		callId: JSON.parse(call),
		budget: budget === null ? undefined : JSON.parse(budget),
		cost: tokens === null || usd === null ? undefined : { tokens, usd },
		isBackground: background !== null,
		isLeft: background === 0,
		createdAt,
	};
}
