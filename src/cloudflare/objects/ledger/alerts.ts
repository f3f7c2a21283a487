import type { DurableObjectStorage } from '@cloudflare/workers-types';
import * as v from 'valibot';
import { type Amount, isBounded, isSame, type Limit, minus } from '../budget.ts';
import { type BudgetScope, formatDay, keptDays } from './api.ts';
import { type AlertSender, type OutgoingAlert, percents, type SpendingAlert } from './spending-alert.ts';

/** Once this percentage of a budget is spent, a call that does not fit causes the alert for 100 percent. */
const nearlySpent = 80;

export interface Spending {
	readonly scope: BudgetScope;
	readonly day: number;
	readonly user?: string;
	readonly limit: Limit;
	readonly spent: Amount;
	/** The amount that was added last. */
	readonly amount: Amount;
	/** Whether a call was refused because its input alone exceeds the budget. */
	readonly isOver?: boolean;
}

const limitSchema = v.object({ tokens: v.optional(v.number()), usd: v.optional(v.number()) });
const alertSchema: v.GenericSchema<unknown, SpendingAlert> = v.object({
	owner: v.string(),
	user: v.optional(v.string()),
	scope: v.picklist(['day', 'user-day', 'user-total']),
	percent: v.picklist(percents),
	day: v.string(),
	spent: v.object({ tokens: v.number(), usd: v.number() }),
	limit: limitSchema,
});

/**
 * The alerts of a ledger: which shares of budgets were announced under which limits, and the alerts that wait for
 * delivery. A share is announced once for a budget and a day. It is announced again when the spending reaches the same
 * share of a raised limit. The methods are synchronous. Call them in the transaction of the lease.
 */
export class AlertRows {
	readonly #storage: DurableObjectStorage;
	#known: { readonly owner: string; readonly limit: Limit } | undefined;

	constructor(storage: DurableObjectStorage) {
		this.#storage = storage;
	}

	/** The owner, and the limit of the last lease. */
	get known(): { readonly owner: string; readonly limit: Limit } | undefined {
		if (this.#known !== undefined) return this.#known;
		const [row] = this.#storage.sql.exec<{ owner: string; caps: string }>('SELECT owner, caps FROM watched').toArray();
		this.#known = row && { owner: row.owner, limit: v.parse(limitSchema, JSON.parse(row.caps)) };
		return this.#known;
	}

	noteLimit(owner: string, { tokens, usd }: Limit): void {
		const limit = { tokens, usd };
		const { known } = this;
		if (known?.owner === owner && isSame(known.limit, limit)) return;
		this.#storage.sql.exec(
			'INSERT OR REPLACE INTO watched (one, owner, caps) VALUES (1, ?, ?)',
			owner,
			JSON.stringify(limit),
		);
		this.#known = { owner, limit };
	}

	note({ scope, day, user, limit, spent, amount, isOver = false }: Spending, receivers: readonly string[]): void {
		const owner = this.known?.owner;
		if (owner === undefined || !isBounded(limit)) return;
		const isNearly = isPassed(spent, limit, nearlySpent);
		const place = [scope === 'user-total' ? 0 : day, scope, user ?? ''] as const;
		const announced = this.#readAnnounced(place);
		for (const percent of percents) {
			const isReached = isPassed(spent, limit, percent) || (percent === 100 && isOver && isNearly);
			const before = announced.get(percent);
			const isRaised = before !== undefined && isHigher(limit, before.limit);
			const isArmed = before?.isArmed || (isRaised && !isPassed(minus(spent, amount), limit, percent));
			if (isReached && (before === undefined || (isArmed && isRaised))) {
				this.#save(place, percent, limit, false);
				const alert = { owner, ...(user !== undefined && { user }), scope, percent, day: formatDay(day), spent, limit };
				for (const receiver of receivers) this.#queue(receiver, alert);
			} else if (before !== undefined && isArmed !== before.isArmed)
				this.#save(place, percent, before.limit, isArmed === true);
		}
	}

	/** Removes the alerts of days that no longer have leases. */
	forget(today: number): void {
		this.#storage.sql.exec('DELETE FROM alert WHERE day > 0 AND day < ?', today - keptDays);
	}

	listDue(now: number, most: number): readonly OutgoingAlert[] {
		type Row = { id: string; receiver: string; body: string; failed: number };
		const query = 'SELECT id, receiver, body, failed FROM outgoing WHERE due_at <= ? ORDER BY due_at LIMIT ?';
		const rows = this.#storage.sql.exec<Row>(query, now, most).toArray();
		return rows.map(({ body, ...row }) => ({ ...row, alert: v.parse(alertSchema, JSON.parse(body)) }));
	}

	nextAt(): number | undefined {
		const { at } = this.#storage.sql.exec<{ at: number | null }>('SELECT MIN(due_at) AS at FROM outgoing').one();
		return at ?? undefined;
	}

	retry(id: string, dueAt: number): void {
		this.#storage.sql.exec('UPDATE outgoing SET failed = failed + 1, due_at = ? WHERE id = ?', dueAt, id);
	}

	remove(id: string): void {
		this.#storage.sql.exec('DELETE FROM outgoing WHERE id = ?', id);
	}

	#queue(receiver: string, alert: SpendingAlert): void {
		this.#storage.sql.exec(
			'INSERT INTO outgoing (id, receiver, body, failed, due_at) VALUES (?, ?, ?, 0, 0)',
			...[`msg_${crypto.randomUUID()}`, receiver, JSON.stringify(alert)],
		);
	}

	#readAnnounced(place: Place): ReadonlyMap<number, { readonly limit: Limit; readonly isArmed: boolean }> {
		type Row = { percent: number; caps: string; armed: number };
		const query = 'SELECT percent, caps, armed FROM alert WHERE day = ? AND scope = ? AND user = ?';
		const rows = this.#storage.sql.exec<Row>(query, ...place).toArray();
		return new Map(
			rows.map(({ percent, caps, armed }) => [
				percent,
				{ limit: v.parse(limitSchema, JSON.parse(caps)), isArmed: armed === 1 },
			]),
		);
	}

	#save(place: Place, percent: number, limit: Limit, isArmed: boolean): void {
		this.#storage.sql.exec(
			'INSERT OR REPLACE INTO alert (day, scope, user, percent, caps, armed) VALUES (?, ?, ?, ?, ?, ?)',
			...[...place, percent, JSON.stringify(limit), isArmed ? 1 : 0],
		);
	}
}

/** The budget of an alert. Day 0 means all days, and an empty text means no user. */
type Place = readonly [day: number, scope: BudgetScope, user: string];

/** Whether this percentage of at least one cap is spent. A cap of 0 never counts. */
function isPassed(spent: Amount, limit: Limit, percent: number): boolean {
	const isUnitPassed = (unit: keyof Limit) => {
		const cap = limit[unit] ?? 0;
		// A sum of binary fractions can be slightly too low.
		return cap > 0 && spent[unit] * 100 >= cap * percent - 1e-9;
	};
	return isUnitPassed('tokens') || isUnitPassed('usd');
}

function isHigher(limit: Limit, other: Limit): boolean {
	return (['tokens', 'usd'] as const).some((unit) => (limit[unit] ?? Infinity) > (other[unit] ?? Infinity));
}

const atOnce = 6;

/** Delivers due alerts. A failed alert is due again later. An alert whose receiver is missing is dropped. */
export async function deliverAlerts(rows: AlertRows, sender: AlertSender | undefined): Promise<void> {
	const attempt = async (outgoing: OutgoingAlert): Promise<void> => {
		const isWanted = sender?.receivers.includes(outgoing.receiver);
		const delayMs = isWanted ? await sender?.send(outgoing) : undefined;
		if (delayMs === undefined) rows.remove(outgoing.id);
		else rows.retry(outgoing.id, Date.now() + delayMs);
	};
	await Promise.all(rows.listDue(Date.now(), atOnce).map(attempt));
}
