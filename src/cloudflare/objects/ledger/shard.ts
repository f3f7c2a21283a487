import { log, toFailureFields } from '../../log.ts';
import { type Amount, isBounded, isSame, keepCapped, type Limit, minus, nothing, plus, toFinite } from '../budget.ts';
import {
	askOwnersLedger,
	type GrantedShare,
	type LeaseRequest,
	type LedgerApi,
	type Reserved,
	type ShareRequest,
} from './api.ts';
import type { Share } from './share-rows.ts';
import type { LedgerStore } from './store.ts';

/** How long a shard asks for no more after it got less than it wants, in milliseconds. */
const scarceMs = 1_000;
/** A shard wants so many times what its leases hold, and so many times what it spent since its last report. */
const [manyLeases, manySpent] = [4, 8];

export interface ShardOptions {
	readonly name: string;
	readonly store: LedgerStore;
	/** Returns a new stub of the owner's ledger. */
	readonly findOwnersLedger: () => LedgerApi;
}

type Asked = Pick<ShareRequest, 'limit' | 'about' | 'deadline'> & Partial<Pick<ShareRequest, 'needed' | 'wanted'>>;

/**
 * The part of a ledger that makes it a shard: it has some sessions of an owner, and a share of the owner's budget of a day
 * (docs/scale.md, "Shards"). It asks the owner's ledger if the share is too small. Meanwhile it reserves nothing.
 */
export class Shard {
	readonly #options: ShardOptions;
	#asking: Promise<GrantedShare> | undefined;
	#known: { readonly day: number; readonly limit: Limit; readonly state: GrantedShare['state'] } | undefined;
	#scarceUntil = 0;
	/** Whether the owner's ledger has no users. */
	#hasAllUsers = false;

	constructor(options: ShardOptions) {
		this.#options = options;
	}

	/** Reserves a lease, as `LedgerApi` describes it. */
	async reserve(today: number, request: LeaseRequest, receivers: readonly string[]): Promise<Reserved> {
		const { limit, user, owed = [], deadline } = request;
		const { store } = this.#options;
		store.settle(today, owed, receivers);
		if (user !== undefined) await this.takeOver(user, deadline);
		if (!isBounded(limit)) return store.reserve(today, { ...request, owed: undefined }, receivers);
		// Nothing may be reserved while a question is open, so the last step before the reservation is this check.
		for (;;) {
			while (this.#asking !== undefined) await this.#asking.catch(() => {});
			if (!this.#isShort(today, request) || this.#isScarce(today, limit)) break;
			await this.#ask(today, this.#toAsked(today, request));
			if (this.#isShort(today, request)) this.#scarceUntil = Date.now() + scarceMs;
		}
		const share = keepCapped(this.#read(today).granted, limit);
		const answer = store.reserve(today, { ...request, owed: undefined }, receivers, share);
		if (answer.ok || answer.scope !== 'day') return answer;
		const known = this.#findKnown(today, limit);
		if (known !== undefined) return { ...answer, state: known.state };
		await this.#ask(today, { limit, deadline });
		return this.reserve(today, { ...request, owed: undefined }, receivers);
	}

	/** Takes over what a user spent before the owner had shards, and the caps. Does it once for each user. */
	async takeOver(user: string, deadline?: number): Promise<void> {
		const { users } = this.#options.store;
		if (this.#hasAllUsers || users.isOpen(user)) return;
		const opening = await this.#call((one, until) => one.findOpening(user, until), deadline);
		if (opening === undefined) this.#hasAllUsers = true;
		else if (!users.isOpen(user)) users.open(user, opening);
	}

	/**
	 * Reports to the owner's ledger what was spent and reserved on each day. Keeps a share only for today, as large as the
	 * recent spending. Returns whether to report again later.
	 */
	async report(today: number): Promise<boolean> {
		const { shares } = this.#options.store;
		let isAgain = false;
		for (const day of shares.listDays()) {
			const { spent: known, granted } = this.#read(day);
			const { spent, reserved } = this.#options.store.sums(day);
			if (isSame(known, spent) && isSame(granted, plus(spent, reserved))) continue;
			isAgain = true;
			if (this.#asking !== undefined) continue;
			const limit = day === today ? this.#known?.limit : undefined;
			const wanted = limit === undefined ? nothing : times(minus(spent, known), manySpent);
			await this.#ask(day, { limit: limit ?? {}, wanted }).catch((cause: unknown) =>
				log('warn', 'ledger.not_told', toFailureFields(cause)),
			);
		}
		return isAgain;
	}

	#ask(day: number, asked: Asked): Promise<GrantedShare> {
		this.#asking = this.#askOnce(day, asked).finally(() => {
			this.#asking = undefined;
		});
		return this.#asking;
	}

	async #askOnce(
		day: number,
		{ limit, about, needed = nothing, wanted = nothing, deadline }: Asked,
	): Promise<GrantedShare> {
		const { store, name } = this.#options;
		const before = this.#read(day);
		const { spent, reserved } = store.sums(day);
		const n = before.n + 1;
		// After a crash it is unknown what was granted, so until the next answer nothing is left.
		store.shares.save(day, name, { ...before, n, granted: plus(spent, reserved) });
		const request = { shard: name, day, n, spent, reserved, needed, wanted, limit, about };
		const answer = await this.#call((one, until) => one.share({ ...request, deadline: until }), deadline);
		store.shares.save(day, name, { n, granted: answer.granted, spent });
		if (isBounded(limit)) this.#known = { day, limit, state: answer.state };
		return answer;
	}

	#call<T>(ask: (one: LedgerApi, deadline: number) => Promise<T>, deadline?: number): Promise<T> {
		return askOwnersLedger(this.#options.findOwnersLedger, ask, deadline);
	}

	#toAsked(today: number, { limit, about, amount, whole = amount, deadline }: LeaseRequest): Asked {
		const { spent, reserved } = this.#options.store.sums(today);
		const recent = minus(spent, this.#read(today).spent);
		const wanted = plus(times(plus(reserved, toFinite(whole)), manyLeases), times(recent, manySpent));
		return { limit, about, needed: toFinite(amount), wanted, deadline };
	}

	/** Whether the share is so small that a lease would be shorter than usual (`store.ts`). */
	#isShort(today: number, { limit, amount, whole = amount }: LeaseRequest): boolean {
		const { spent, reserved } = this.#options.store.sums(today);
		const usual = plus(spent, times(plus(reserved, toFinite(whole)), 2));
		const { granted } = this.#read(today);
		const isBelow = (unit: keyof Amount) => limit[unit] !== undefined && granted[unit] < usual[unit];
		return isBelow('tokens') || isBelow('usd');
	}

	#isScarce(today: number, limit: Limit): boolean {
		return Date.now() < this.#scarceUntil && this.#findKnown(today, limit) !== undefined;
	}

	#findKnown(today: number, limit: Limit) {
		const known = this.#known;
		return known?.day === today && isSame(known.limit, limit) ? known : undefined;
	}

	#read(day: number): Share {
		const { store, name } = this.#options;
		return store.shares.read(day, name) ?? { n: 0, granted: nothing, spent: nothing };
	}
}

function times({ tokens, usd }: Amount, factor: number): Amount {
	return plus(nothing, { tokens: tokens * factor, usd: usd * factor });
}
