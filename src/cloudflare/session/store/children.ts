import type { Child } from '../../agent/children.ts';
import { type Amount, nothing, plus } from '../../objects/budget.ts';
import type { RememberingSql } from './remember.ts';

/** A child as it is stored. */
export interface ChildRecord extends Child {
	/** The place of the turn that its call is in. */
	readonly turn: number;
	/** What it cost in all. Missing until that is known. */
	readonly cost?: Amount;
	readonly createdAt: number;
}

/** The sessions that work for calls of this one. There are few, and while nobody writes them they are read once. */
export class ChildRows {
	readonly #sql: RememberingSql;
	readonly #all: () => readonly ChildRecord[];

	constructor(sql: RememberingSql) {
		this.#sql = sql;
		this.#all = sql.remember('child', () =>
			sql.exec<Row>('SELECT * FROM child ORDER BY created_at, turn, call').toArray().map(toRecord),
		);
	}

	/** Lists all of them, the oldest first. */
	list(): readonly ChildRecord[] {
		return this.#all();
	}

	/** Lists those whose cost is not known. */
	listOpen(): readonly ChildRecord[] {
		return this.#all().filter(({ cost }) => cost === undefined);
	}

	find(turn: number, callId: string): ChildRecord | undefined {
		return this.#all().find((one) => one.turn === turn && one.callId === callId);
	}

	/** Stores a new one. What it may spend is set aside. */
	add({ turn, callId, id, agent, budget, createdAt }: Omit<ChildRecord, 'cost'>): void {
		this.#sql.exec(
			'INSERT INTO child (turn, call, id, agent, budget, created_at) VALUES (?, ?, ?, ?, ?, ?)',
			...[turn, JSON.stringify(callId), id, agent, budget === undefined ? null : JSON.stringify(budget), createdAt],
		);
	}

	/** Stores what a child cost in all. */
	settle(id: string, { tokens, usd }: Amount): void {
		this.#sql.exec('UPDATE child SET tokens = ?, usd = ? WHERE id = ?', tokens, usd, id);
	}

	/** Sums up what they cost, and what is set aside for those whose cost is not known. */
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
	created_at: number;
};

function toRecord({ call, budget, tokens, usd, created_at: createdAt, ...row }: Row): ChildRecord {
	return {
		...row,
		callId: JSON.parse(call),
		budget: budget === null ? undefined : JSON.parse(budget),
		cost: tokens === null || usd === null ? undefined : { tokens, usd },
		createdAt,
	};
}
