import type { DurableObjectStorage } from '@cloudflare/workers-types';
import {
	type Amount,
	type BudgetState,
	budgetState,
	createAmount,
	everything,
	exceedsLimit,
	isBounded,
	type Limit,
	lesser,
	minus,
	nothing,
	plus,
	toFinite,
} from '../budget.ts';
import { migrate } from '../migrate.ts';
import { AlertRows, type Spending } from './alerts.ts';
import {
	type Cost,
	type Day,
	type DayPart,
	type GrantedShare,
	keptDays,
	type LeaseRequest,
	type PartField,
	type Refusal,
	type Reserved,
	type ShareRequest,
} from './api.ts';
import { addParts, DayRows, formatParts, listParts, type OpenLease } from './day-rows.ts';
import { schema } from './schema.ts';
import { chooseExtra, ShareRows } from './share-rows.ts';
import { UserRows } from './users.ts';

/**
 * Chooses the reservation of a lease: `whole` if it leaves much of each budget. Otherwise `amount`, if it leaves much
 * or if nothing else is reserved. Otherwise only the cost of a reply of `replyTokens`.
 */
function chooseAmount(
	{ amount, whole = amount, reply }: Pick<LeaseRequest, 'amount' | 'whole' | 'reply'>,
	states: readonly BudgetState[],
	replyTokens = Infinity,
): Amount {
	const [most, least] = [toFinite(whole), toFinite(amount)];
	if (states.every((state) => isPlenty(state, most))) return most;
	if (reply === undefined || states.every((state) => isFree(state) || isPlenty(state, least))) return least;
	const { input, perToken } = reply;
	const usd = perToken.usd === 0 ? 0 : perToken.usd * replyTokens;
	return lesser(least, { tokens: Math.ceil(input.tokens + perToken.tokens * replyTokens), usd: input.usd + usd });
}

function isFree({ reserved }: BudgetState): boolean {
	return reserved.tokens === 0 && reserved.usd === 0;
}

/** Whether the reservations and this amount together are at most half of the unspent budget. */
function isPlenty({ limit, spent, reserved }: BudgetState, amount: Amount): boolean {
	return !exceedsLimit({ limit: toHalf(limit, spent), spent: nothing, reserved }, amount);
}

function subtract({ tokens = Infinity, usd = Infinity }: Limit, held: Amount): Amount {
	return minus({ tokens, usd }, held);
}

function toHalf({ tokens, usd }: Limit, spent: Amount): Limit {
	return {
		...(tokens !== undefined && { tokens: (tokens - spent.tokens) / 2 }),
		...(usd !== undefined && { usd: (usd - spent.usd) / 2 }),
	};
}

function withInfinite({ tokens, usd }: Amount, request: Amount): Amount {
	return {
		tokens: request.tokens === everything.tokens ? request.tokens : tokens,
		usd: request.usd === everything.usd ? request.usd : usd,
	};
}

/** The number of tokens that is reserved for the reply of an unknown agent. */
const firstReply = 2_048;
/** The minimum number of tokens for a reply, and the factor by which a reservation exceeds the known length. */
const [shortestReply, margin] = [256, 1.25];
/** A shorter reply lowers the known length by this share of the difference. */
const forgotten = 1 / 32;
const mostKnown = 500;

/**
 * The recent reply lengths of each agent and model, from settled leases of this instance. A longer reply raises
 * the length at once. A shorter reply lowers the length slowly. So the result is a high quantile.
 */
class ReplyLengths {
	readonly #known = new Map<string, number>();

	learn(costs: readonly Cost[]): void {
		for (const { agent, parts = [] } of costs)
			for (const { model, longestReply = 0 } of parts)
				if (agent !== undefined && longestReply > 0) this.#note(toKey(agent, model), longestReply);
	}

	#note(key: string, length: number): void {
		const known = this.#known.get(key) ?? 0;
		this.#known.delete(key);
		this.#known.set(key, length >= known ? length : known - (known - length) * forgotten);
		const [oldest] = this.#known.keys();
		if (this.#known.size > mostKnown && oldest !== undefined) this.#known.delete(oldest);
	}

	/** Returns the number of tokens to reserve for a reply. */
	find(agent: string, model: string): number {
		const known = this.#known.get(toKey(agent, model));
		return known === undefined ? firstReply : Math.max(shortestReply, Math.ceil(known * margin));
	}
}

function toKey(agent: string, model: string): string {
	return JSON.stringify([agent, model]);
}

/** The maximum number of leases in the row of a day. A longer row takes longer to write. */
const mostOpen = 32;

/** How many rows are removed at once at most, so that no request waits for the removal of a whole day. */
const removedAtOnce = 1_000;

interface Call extends OpenLease {
	readonly day: number;
	readonly settled: boolean;
	/** Whether the lease is in the row of its day. */
	readonly isOpen?: boolean;
	/** The parts that are not in the row of its day yet. */
	readonly parts?: string;
}

/**
 * The rows of a ledger. `LedgerApi` describes the methods, which are synchronous and write all or nothing. A
 * lease writes a row when it is reserved, and another row when it is settled. Beyond `mostOpen` open leases it
 * writes two rows each time. The lease of a user writes one more row each time.
 */
export class LedgerStore {
	readonly users: UserRows;
	readonly alerts: AlertRows;
	readonly shares: ShareRows;
	readonly #days: DayRows;
	readonly #replies = new ReplyLengths();
	readonly #storage: DurableObjectStorage;
	/** Days before this day have no rows. */
	#keptFrom: number | undefined;

	constructor(storage: DurableObjectStorage) {
		this.#storage = storage;
		this.users = new UserRows(storage);
		this.#days = new DayRows(storage);
		this.alerts = new AlertRows(storage);
		storage.transactionSync(() => migrate(storage.sql, schema));
		this.shares = new ShareRows(storage);
	}

	/** @param share the limit of the day in a shard, instead of the owner's */
	reserve(today: number, request: LeaseRequest, receivers: readonly string[] = [], share?: Limit): Reserved {
		const { id, user, about, limit, reply, owed = [] } = request;
		const answer = (amount: Amount): Reserved => ({ ok: true, amount: withInfinite(amount, request.amount) });
		return this.#storage.transactionSync(() => {
			this.#forget(today - keptDays);
			const isWatched = receivers.length > 0 && about !== undefined;
			// The owner's ledger announces the budget of the day.
			if (isWatched) this.alerts.noteLimit(about.owner, share === undefined ? limit : {});
			this.#settleAll(today, owed, receivers);
			const known = this.#call(id);
			if (known !== undefined) return answer(known.settled ? toFinite(request.amount) : known.amount);
			const { spent, reserved, open, parts } = this.#days.read(today);
			const ofDay = share === undefined ? this.state(today, limit) : budgetState(share, spent, reserved);
			const budgets = [
				{ scope: 'day', state: ofDay } as const,
				...(user === undefined ? [] : this.#listBudgets(user, today)),
			];
			const states = budgets.map(({ state }) => state);
			const amount = chooseAmount(request, states, reply && this.#replies.find(reply.agent, reply.model));
			const needed = withInfinite(amount, request.amount);
			const refusal = budgets.find(({ state }) => exceedsLimit(state, needed));
			if (refusal !== undefined) {
				const isOwners = share === undefined || refusal.scope !== 'day';
				if (isWatched && isOwners) this.#noteRefusal(today, refusal, { user, input: about.input }, receivers);
				return { ok: false, ...refusal };
			}
			if (user !== undefined && !budgets.some(({ state }) => isBounded(state.limit)))
				return { ok: true, amount: everything };
			const all = new Map(open);
			if (open.size < mostOpen) all.set(id, { amount, user });
			else this.#saveCall(id, { day: today, amount, settled: false, user });
			this.#days.save('day', today, { spent, reserved: plus(reserved, amount), open: all, parts });
			if (user !== undefined) this.users.change(user, today, { reserve: amount });
			return answer(amount);
		});
	}

	#listBudgets(user: string, today: number): readonly Refusal[] {
		const { daily, total } = this.users.state(user, today);
		return [
			{ scope: 'user-day', state: daily },
			{ scope: 'user-total', state: total },
		];
	}

	settle(today: number, costs: readonly Cost[], receivers: readonly string[] = []): void {
		this.#storage.transactionSync(() => {
			this.#forget(today - keptDays);
			this.#settleAll(today, costs, receivers);
		});
	}

	#settleAll(today: number, costs: readonly Cost[], receivers: readonly string[]): void {
		if (costs.length === 0) return;
		this.#replies.learn(costs);
		for (const cost of costs) this.#settle(today, cost, receivers);
		this.#days.parts.forget(today);
		if (receivers.length > 0) this.alerts.forget(today);
	}

	#settle(today: number, cost: Cost, receivers: readonly string[]): void {
		const { id } = cost;
		const amount = createAmount(cost.amount);
		const call = this.#call(id) ?? { day: today, amount: nothing, settled: false };
		if (call.settled) return;
		const user = call.user ?? cost.user;
		const spentParts = listParts(cost, user);
		if (call.isOpen !== true) {
			const { spent, reserved, open, parts } = this.#days.read(call.day);
			const sums = { spent: plus(spent, amount), reserved: minus(reserved, call.amount) };
			this.#days.save('day', call.day, { ...sums, open, parts: addParts(parts, spentParts) });
		}
		const parts = call.isOpen === true ? formatParts(spentParts) : undefined;
		this.#saveCall(id, { day: call.day, amount, settled: true, user, parts });
		const release = call.user === undefined ? nothing : call.amount;
		if (user !== undefined) this.users.change(user, call.day, { spend: amount, release });
		if (receivers.length > 0) this.#noteSpent({ day: call.day, user, amount }, receivers);
	}

	#noteSpent({ day, user, amount }: Pick<Spending, 'day' | 'user' | 'amount'>, receivers: readonly string[]): void {
		const { known } = this.alerts;
		if (known === undefined) return;
		if (isBounded(known.limit)) {
			const { spent } = this.#days.read(day);
			this.alerts.note({ scope: 'day', day, limit: known.limit, spent, amount }, receivers);
		}
		if (user === undefined) return;
		for (const { scope, state } of this.#listBudgets(user, day))
			this.alerts.note({ scope, day, user, limit: state.limit, spent: state.spent, amount }, receivers);
	}

	/** Notes a refused call for the alerts if its input alone would not fit, even without other reservations. */
	#noteRefusal(
		day: number,
		{ scope, state }: Refusal,
		{ user, input }: { readonly user: string | undefined; readonly input: Amount },
		receivers: readonly string[],
	): void {
		const { limit, spent } = state;
		if (!exceedsLimit({ limit, spent, reserved: nothing }, input)) return;
		const about = { scope, day, ...(scope !== 'day' && { user }), limit, spent, amount: nothing };
		this.alerts.note({ ...about, isOver: true }, receivers);
	}

	state(today: number, limit: Limit): BudgetState {
		const { spent, reserved } = this.shares.addTo(this.#days.read(today), today);
		return budgetState(limit, spent, reserved);
	}

	/** What the leases of a day have spent and reserved here. */
	sums(day: number): Pick<BudgetState, 'spent' | 'reserved'> {
		const { spent, reserved } = this.#days.read(day);
		return { spent, reserved };
	}

	share(today: number, request: ShareRequest, receivers: readonly string[] = []): GrantedShare {
		const { shard, day, n, spent, reserved, needed, limit, about } = request;
		return this.#storage.transactionSync(() => {
			this.#forget(today - keptDays);
			const isWatched = receivers.length > 0 && about !== undefined;
			if (isWatched) this.alerts.noteLimit(about.owner, limit);
			const before = this.shares.read(day, shard) ?? { n: 0, granted: nothing, spent: nothing };
			if (n <= before.n) return { n: before.n, granted: before.granted, state: this.state(day, limit) };
			const held = plus(spent, reserved);
			const others = this.shares.addTo(this.#days.read(day), day, shard);
			const left = subtract(limit, plus(plus(others.spent, others.reserved), held));
			const extra = chooseExtra(request, left);
			const granted = plus(held, extra);
			this.shares.save(day, shard, { n, granted, spent });
			const state = this.state(day, limit);
			if (receivers.length > 0) {
				const amount = minus(spent, before.spent);
				this.alerts.note({ scope: 'day', day, limit, spent: state.spent, amount }, receivers);
				const isRefused = extra.tokens < needed.tokens || extra.usd < needed.usd;
				if (isWatched && isRefused)
					this.#noteRefusal(day, { scope: 'day', state }, { user: undefined, input: about.input }, receivers);
			}
			return { n, granted, state };
		});
	}

	#call(id: string): Call | undefined {
		type Row = { day: number; tokens: number; usd: number; settled: number; user: string | null };
		const [row] = this.#storage.sql
			.exec<Row>('SELECT * FROM call WHERE day IN (SELECT day FROM day) AND id = ? LIMIT 1', id)
			.toArray();
		if (row !== undefined) {
			const { day, settled, user, ...amount } = row;
			return {
				day,
				amount: { tokens: amount.tokens, usd: amount.usd },
				settled: settled === 1,
				user: user ?? undefined,
			};
		}
		const lease = this.#days.findOpen(id);
		return lease && { ...lease, settled: false, isOpen: true };
	}

	#saveCall(id: string, { day, amount, settled, user, parts }: Call): void {
		this.#storage.sql.exec(
			'INSERT OR REPLACE INTO call (day, id, tokens, usd, settled, user, parts) VALUES (?, ?, ?, ?, ?, ?, ?)',
			...[day, id, amount.tokens, amount.usd, settled ? 1 : 0, user ?? null, parts ?? null],
		);
	}

	days(first: number): Day[] {
		return this.#days.list(first);
	}

	parts(by: readonly PartField[], first: number, user?: string): DayPart[] {
		return this.#days.listParts(by, first, user);
	}

	userDays(user: string, first: number): Day[] {
		return this.#days.withUnpriced(this.users.days(user, first), first, user);
	}

	eraseUser(user: string): void {
		this.#storage.transactionSync(() => this.#days.erase(user));
	}

	#forget(first: number): void {
		if (this.#keptFrom === first) return;
		const { sql } = this.#storage;
		const hadDays = this.#days.forget(first);
		const { rowsWritten } = sql.exec(
			'DELETE FROM call WHERE (day, id) IN (SELECT day, id FROM call WHERE day < ? LIMIT ?)',
			first,
			removedAtOnce,
		);
		this.shares.forget(first);
		if (!hadDays && rowsWritten === 0) this.#keptFrom = first;
	}
}
