import type { Child } from '../../agent/children.ts';
import { type Amount, nothing, plus } from '../../objects/budget.ts';
import type { CachingSql } from './tables.ts';

/** A child as it is stored. */
export interface ChildRecord extends Child {
	/** The place of the turn that its call is in. */
	readonly turn: number;
	/** Its whole cost. Missing until it is known. */
	readonly cost?: Amount;
	/** Whether its result is no longer wanted. */
	readonly isLeft: boolean;
	readonly createdAt: number;
}

/** The sessions that work for calls of this one. There are few, and while nobody writes them they are read once. */
export class ChildRows {
	readonly #sql: CachingSql;
	readonly #all: () => readonly ChildRecord[];

	constructor(sql: CachingSql) {
		this.#sql = sql;
		this.#all = sql.cached('child', () =>
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
	add({ turn, callId, id, agent, budget, isBackground, createdAt }: Omit<ChildRecord, 'cost' | 'isLeft'>): void {
		// Its place in the list never changes, whatever the clock says.
		const at = Math.max(createdAt, 1 + (this.#all().at(-1)?.createdAt ?? 0));
		this.#sql.write(
			'child',
			'INSERT INTO child (turn, call, id, agent, budget, background, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
			...[turn, JSON.stringify(callId), id, agent, budget === undefined ? null : JSON.stringify(budget)],
			...[isBackground ? 1 : null, at],
		);
	}

	/** Stores that the result of a child in the background is no longer wanted. */
	leave(id: string): void {
		this.#sql.write('child', 'UPDATE child SET background = 0 WHERE id = ? AND background = 1', id);
	}

	/** Stores the whole cost of a child. */
	settle(id: string, { tokens, usd }: Amount): void {
		this.#sql.write('child', 'UPDATE child SET tokens = ?, usd = ? WHERE id = ?', tokens, usd, id);
	}

	/** Sums up the known costs, and the reservations of the other children. */
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
