import type { DurableObjectStorage } from '@cloudflare/workers-types';
import * as v from 'valibot';
import { type Amount, isBounded, type Limit, minus } from '../budget.ts';
import type { BudgetScope } from './api.ts';
import { formatDay, keptDays } from './day.ts';
import { type AlertSender, type OutgoingAlert, percents, type SpendingAlert } from './spending-alert.ts';

/** From this share on a call that no longer fits counts as the end of a budget, in percent. */
const nearlySpent = 80;

/** What was spent of a budget. */
export interface Spending {
	readonly scope: BudgetScope;
	/** The day that it was spent on. */
	readonly day: number;
	readonly user?: string;
	readonly limit: Limit;
	readonly spent: Amount;
	/** The last that was added to it. */
	readonly amount: Amount;
	/** Whether a call was refused whose input does not fit. */
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
 * The rows of alerts in a ledger: which shares of which budgets were told under which limit, and what is not delivered.
 * Each share is told once for its budget and day. A higher limit makes it told again, if less than the share is spent of
 * that. Every method is synchronous and belongs into the transaction of its lease.
 */
export class AlertRows {
	readonly #storage: DurableObjectStorage;
	/** The owner, and the limit of a day that was told last. */
	#known: { readonly owner: string; readonly limit: Limit } | undefined;

	constructor(storage: DurableObjectStorage) {
		this.#storage = storage;
	}

	/** Returns the owner and the limit of a day, as the last lease told them. */
	get known(): { readonly owner: string; readonly limit: Limit } | undefined {
		if (this.#known !== undefined) return this.#known;
		const [row] = this.#storage.sql.exec<{ owner: string; caps: string }>('SELECT owner, caps FROM told').toArray();
		this.#known = row && { owner: row.owner, limit: v.parse(limitSchema, JSON.parse(row.caps)) };
		return this.#known;
	}

	/** Notes whose ledger it is, and the limit of a day. */
	noteLimit(owner: string, { tokens, usd }: Limit): void {
		const limit = { tokens, usd };
		const { known } = this;
		if (known?.owner === owner && known.limit.tokens === tokens && known.limit.usd === usd) return;
		this.#storage.sql.exec(
			'INSERT OR REPLACE INTO told (one, owner, caps) VALUES (1, ?, ?)',
			owner,
			JSON.stringify(limit),
		);
		this.#known = { owner, limit };
	}

	/** Notes what was spent of a budget: stores an alert for each receiver and each share that was passed. */
	note({ scope, day, user, limit, spent, amount, isOver = false }: Spending, receivers: readonly string[]): void {
		const owner = this.known?.owner;
		if (owner === undefined || !isBounded(limit)) return;
		const isNearly = isPassed(spent, limit, nearlySpent);
		const place = [scope === 'user-total' ? 0 : day, scope, user ?? ''] as const;
		const told = this.#readTold(place);
		for (const percent of percents) {
			const isReached = isPassed(spent, limit, percent) || (percent === 100 && isOver && isNearly);
			const before = told.get(percent);
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

	/** Forgets what was told of days whose leases are forgotten. */
	forget(today: number): void {
		this.#storage.sql.exec('DELETE FROM alert WHERE day > 0 AND day < ?', today - keptDays);
	}

	/** Lists the alerts to deliver now, oldest first. */
	listDue(now: number, most: number): readonly OutgoingAlert[] {
		type Row = { id: string; receiver: string; body: string; failed: number };
		const query = 'SELECT id, receiver, body, failed FROM outgoing WHERE due_at <= ? ORDER BY due_at LIMIT ?';
		const rows = this.#storage.sql.exec<Row>(query, now, most).toArray();
		return rows.map(({ body, ...row }) => ({ ...row, alert: v.parse(alertSchema, JSON.parse(body)) }));
	}

	/** Returns when the next one is due; nothing if there is none. */
	nextAt(): number | undefined {
		const { at } = this.#storage.sql.exec<{ at: number | null }>('SELECT MIN(due_at) AS at FROM outgoing').one();
		return at ?? undefined;
	}

	/** Stores that an attempt failed. */
	retry(id: string, dueAt: number): void {
		this.#storage.sql.exec('UPDATE outgoing SET failed = failed + 1, due_at = ? WHERE id = ?', dueAt, id);
	}

	/** Removes an alert that was delivered or given up. */
	remove(id: string): void {
		this.#storage.sql.exec('DELETE FROM outgoing WHERE id = ?', id);
	}

	#queue(receiver: string, alert: SpendingAlert): void {
		this.#storage.sql.exec(
			'INSERT INTO outgoing (id, receiver, body, failed, due_at) VALUES (?, ?, ?, 0, 0)',
			...[`msg_${crypto.randomUUID()}`, receiver, JSON.stringify(alert)],
		);
	}

	#readTold(place: Place): ReadonlyMap<number, { readonly limit: Limit; readonly isArmed: boolean }> {
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

/** The day, or 0 for all days; the scope; the user, or an empty text. */
type Place = readonly [day: number, scope: BudgetScope, user: string];

/** Whether so much of a limit is spent, in percent of any of its caps. A cap of 0 is passed by nothing. */
function isPassed(spent: Amount, limit: Limit, percent: number): boolean {
	const isUnitPassed = (unit: keyof Limit) => {
		const cap = limit[unit] ?? 0;
		// Binary fractions of dollars may be a little less than they should be.
		return cap > 0 && spent[unit] * 100 >= cap * percent - 1e-9;
	};
	return isUnitPassed('tokens') || isUnitPassed('usd');
}

/** Whether a limit allows more than another one. */
function isHigher(limit: Limit, other: Limit): boolean {
	return (['tokens', 'usd'] as const).some((unit) => (limit[unit] ?? Infinity) > (other[unit] ?? Infinity));
}

/** Alerts that are delivered at once. */
const atOnce = 6;

/** Delivers the alerts that are due. What fails is due again later. Those to whom nobody listens any more are dropped. */
export async function deliverAlerts(rows: AlertRows, sender: AlertSender | undefined): Promise<void> {
	const attempt = async (outgoing: OutgoingAlert): Promise<void> => {
		const isWanted = sender?.receivers.includes(outgoing.receiver);
		const delayMs = isWanted ? await sender?.send(outgoing) : undefined;
		if (delayMs === undefined) rows.remove(outgoing.id);
		else rows.retry(outgoing.id, Date.now() + delayMs);
	};
	await Promise.all(rows.listDue(Date.now(), atOnce).map(attempt));
}
