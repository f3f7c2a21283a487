import type { Env } from '../../../core/base/env.ts';
import type { BudgetState, Limit } from '../budget.ts';
import { DurableObject } from '../platform.ts';
import { assertInTime } from '../reach.ts';
import { findOwnerOfShard } from '../shards.ts';
import { deliverAlerts } from './alerts.ts';
import {
	type Cost,
	type Day,
	type DayPart,
	type GrantedShare,
	type LeaseRequest,
	type LedgerApi,
	type LedgerNamespace,
	type Opening,
	type PartField,
	type Reserved,
	type ShareRequest,
	toDay,
	type UserCaps,
	type UserState,
} from './api.ts';
import { Shard } from './shard.ts';
import type { AlertSender } from './spending-alert.ts';
import { LedgerStore } from './store.ts';

export interface LedgerOptions {
	readonly now?: () => number;
	/** Undefined if nobody wants alerts. Throws `not_configured`. */
	readonly findAlertSender?: () => AlertSender | undefined;
	readonly ledgers: () => LedgerNamespace;
}

/** How long a shard waits before it reports, in milliseconds. */
const reportMs = 5_000;

export class Ledger extends DurableObject<Env> implements LedgerApi {
	readonly #store: LedgerStore;
	readonly #storage: DurableObjectStorage;
	readonly #now: () => number;
	readonly #findAlertSender: NonNullable<LedgerOptions['findAlertSender']>;
	/** Missing in the ledger of an owner. */
	readonly #shard: Shard | undefined;
	/** The time of the next report of a shard, in milliseconds since 1970. */
	#reportAt: number | undefined;

	constructor(
		ctx: DurableObjectState,
		env: Env,
		{ now = Date.now, findAlertSender = () => undefined, ledgers }: LedgerOptions,
	) {
		super(ctx, env);
		this.#now = now;
		this.#findAlertSender = findAlertSender;
		this.#storage = ctx.storage;
		this.#store = new LedgerStore(ctx.storage);
		const { name = '' } = ctx.id;
		const owner = findOwnerOfShard(name);
		if (owner === undefined) return;
		const findOwnersLedger = () => ledgers().get(ledgers().idFromName(owner));
		this.#shard = new Shard({ name, store: this.#store, findOwnersLedger });
	}

	async reserve(request: LeaseRequest): Promise<Reserved> {
		assertInTime(request.deadline, 1_000); // Leases are refused before costs.
		const receivers = this.#findAlertSender()?.receivers;
		const answer = this.#shard
			? await this.#shard.reserve(this.#today, request, receivers ?? [])
			: this.#store.reserve(this.#today, request, receivers);
		const mayAlert = receivers !== undefined && (!answer.ok || request.owed !== undefined);
		if (this.#planReport() || mayAlert) await this.#setAlarm();
		return answer;
	}

	async settle(costs: readonly Cost[], deadline?: number): Promise<void> {
		assertInTime(deadline);
		const receivers = this.#findAlertSender()?.receivers;
		this.#store.settle(this.#today, costs, receivers);
		if (this.#planReport() || receivers !== undefined) await this.#setAlarm();
	}

	async share(request: ShareRequest): Promise<GrantedShare> {
		assertInTime(request.deadline);
		const receivers = this.#findAlertSender()?.receivers;
		const answer = this.#store.share(this.#today, request, receivers);
		if (receivers !== undefined) await this.#setAlarm();
		return answer;
	}

	async findOpening(user: string, deadline?: number): Promise<Opening | undefined> {
		assertInTime(deadline);
		return this.#store.users.findOpening(user, this.#today);
	}

	override async alarm(): Promise<void> {
		this.#reportAt = undefined;
		await deliverAlerts(this.#store.alerts, this.#findAlertSender());
		if (await this.#shard?.report(this.#today)) this.#planReport();
		await this.#setAlarm();
	}

	/** Plans the next report of a shard. Returns false if it has nothing to report, or if the report is planned already. */
	#planReport(): boolean {
		if (this.#shard === undefined || this.#store.shares.isEmpty || this.#reportAt !== undefined) return false;
		this.#reportAt = Date.now() + reportMs;
		return true;
	}

	/** Sets the alarm for the next alert or report. It becomes durable together with the rows that it is about. */
	async #setAlarm(): Promise<void> {
		const at = Math.min(this.#store.alerts.nextAt() ?? Infinity, this.#reportAt ?? Infinity);
		if (at !== Infinity) await this.#storage.setAlarm(Math.max(Date.now(), at));
	}

	async state(limit: Limit, deadline?: number): Promise<BudgetState> {
		assertInTime(deadline);
		return this.#store.state(this.#today, limit);
	}

	async days(count: number): Promise<Day[]> {
		return this.#store.days(this.#today - count + 1);
	}

	async userState(user: string, deadline?: number): Promise<UserState> {
		assertInTime(deadline);
		await this.#shard?.takeOver(user, deadline);
		return this.#store.users.state(user, this.#today);
	}

	async setUserCaps(user: string, caps: UserCaps): Promise<void> {
		await this.#shard?.takeOver(user);
		this.#store.users.setCaps(user, caps);
	}

	async userDays(user: string, count: number): Promise<Day[]> {
		return this.#store.userDays(user, this.#today - count + 1);
	}

	async parts(by: readonly PartField[], count: number, user?: string): Promise<DayPart[]> {
		return this.#store.parts(by, this.#today - count + 1, user);
	}

	async eraseUser(user: string): Promise<void> {
		this.#store.eraseUser(user);
	}

	get #today(): number {
		return toDay(this.#now());
	}
}
