import type { Env } from '../../../core/base/env.ts';
import type { BudgetState, Limit } from '../budget.ts';
import { DurableObject } from '../platform.ts';
import { assertInTime } from '../reach.ts';
import { deliverAlerts } from './alerts.ts';
import {
	type Cost,
	type Day,
	type DayPart,
	type LeaseRequest,
	type LedgerApi,
	type PartField,
	type Reserved,
	toDay,
	type UserCaps,
	type UserState,
} from './api.ts';
import type { AlertSender } from './spending-alert.ts';
import { LedgerStore } from './store.ts';

export interface LedgerOptions {
	readonly now?: () => number;
	/** Undefined if nobody wants alerts. Throws `not_configured`. */
	readonly findAlertSender?: () => AlertSender | undefined;
}

export class Ledger extends DurableObject<Env> implements LedgerApi {
	readonly #store: LedgerStore;
	readonly #storage: DurableObjectStorage;
	readonly #now: () => number;
	readonly #findAlertSender: NonNullable<LedgerOptions['findAlertSender']>;

	constructor(ctx: DurableObjectState, env: Env, { now = Date.now, findAlertSender = () => undefined }: LedgerOptions) {
		super(ctx, env);
		this.#now = now;
		this.#findAlertSender = findAlertSender;
		this.#storage = ctx.storage;
		this.#store = new LedgerStore(ctx.storage);
	}

	async reserve(request: LeaseRequest): Promise<Reserved> {
		assertInTime(request.deadline, 1_000); // Leases are refused before costs.
		const receivers = this.#findAlertSender()?.receivers;
		const answer = this.#store.reserve(this.#today, request, receivers);
		if (receivers !== undefined && (!answer.ok || request.owed !== undefined)) await this.#setAlarm();
		return answer;
	}

	async settle(costs: readonly Cost[], deadline?: number): Promise<void> {
		assertInTime(deadline);
		const receivers = this.#findAlertSender()?.receivers;
		this.#store.settle(this.#today, costs, receivers);
		if (receivers !== undefined) await this.#setAlarm();
	}

	override async alarm(): Promise<void> {
		await deliverAlerts(this.#store.alerts, this.#findAlertSender());
		await this.#setAlarm();
	}

	/** Sets the alarm that delivers the next alert. It becomes durable together with the alert's rows. */
	async #setAlarm(): Promise<void> {
		const at = this.#store.alerts.nextAt();
		if (at !== undefined) await this.#storage.setAlarm(Math.max(Date.now(), at));
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
		return this.#store.users.state(user, this.#today);
	}

	async setUserCaps(user: string, caps: UserCaps): Promise<void> {
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
