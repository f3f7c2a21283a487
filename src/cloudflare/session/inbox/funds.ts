import type { RunletError } from '../../../core/base/errors.ts';
import { chooseModel, findAgent } from '../../agent/define.ts';
import type { Runtime } from '../../agent/runtime.ts';
import type { Config } from '../../config/config.ts';
import { type Amount, type BudgetState, exceedsLimit, isBounded, isSpent, type Limit } from '../../objects/budget.ts';
import { askLedger, assertLedgerKeepsUp, type BudgetScope, type LedgerApi } from '../../objects/ledger/api.ts';
import { toDay } from '../../objects/ledger/day.ts';
import type { CreateInput, Input } from '../../objects/session-api.ts';
import {
	createBudgetError,
	listRefused,
	mostTries,
	nameFirst,
	type RefusedRun,
	readState,
	toCharacters,
	toState,
} from '../run/budgets.ts';
import type { Runner } from '../run/runner.ts';
import { toInbound } from '../store/inbound.ts';
import type { SessionStore } from '../store/store.ts';

/** The facts of a request that decide what its model may cost. */
export interface ModelRequest {
	/** The model; that of the session if missing. */
	readonly model?: string;
	/** The longest reply that the client wants, in tokens. */
	readonly maxOutputTokens?: number;
	/** Whether it takes the place of an earlier message, so that a model may be sent less. */
	readonly isEdit?: boolean;
	/** Whether it brings no message. */
	readonly isContinued?: boolean;
}

/** The states of the budgets that a ledger keeps, as far as they were asked for. */
export type KnownFunds = ReadonlyMap<BudgetScope, BudgetState>;

interface FundsOptions {
	readonly store: SessionStore;
	readonly runner: Runner;
	readonly runtime: Pick<Runtime, 'agents'>;
	readonly config: () => Config;
}

/**
 * Refuses a request whose run a budget would refuse, before anything of it is stored (docs/budgets.md). A run that was
 * refused says what a request needs. The budgets of the owner and the user are asked for only after they refused.
 */
export class Funds {
	readonly #options: FundsOptions;

	constructor(options: FundsOptions) {
		this.#options = options;
	}

	/**
	 * Asks for the budgets that refused the newest runs of the session. Throws `overloaded` if they cannot be read, or if the
	 * ledger that the next run would ask is behind.
	 */
	async look(): Promise<KnownFunds> {
		const { store, runner } = this.#options;
		const states = new Map<BudgetScope, BudgetState>();
		if (!store.exists()) return states;
		this.#assertKeepsUp(store.session());
		const { ledger, findLimit, user } = runner.owner.ledger();
		for (const { budget, endedAt } of listRefused(store)) {
			if (budget === undefined || budget.scope === 'session' || states.has(budget.scope)) continue;
			const { scope } = budget;
			const dayLimit = await findLimit();
			// The spending of a day never shrinks.
			const isSure = scope === 'day' && toDay(endedAt) === toDay(Date.now()) && isSame(budget.limit, dayLimit);
			const state = isSure && isSpent(toState(budget), budget.needs) ? toState(budget) : undefined;
			const read = (one: LedgerApi) => readState(one, scope, dayLimit, user);
			states.set(scope, state ?? (await askLedger(ledger, read)));
		}
		return states;
	}

	/** Throws `budget_exceeded` for a request whose like was refused, as long as the budget would refuse it again. */
	assert(asked: ModelRequest, known: KnownFunds = new Map()): void {
		const error = this.#findRefusal(asked, known);
		if (error !== undefined) throw error;
	}

	/**
	 * Throws `budget_exceeded` for a new session whose first run a budget of its owner or user would refuse, and `overloaded`
	 * if their ledger is behind.
	 */
	async assertNew(create: CreateInput): Promise<void> {
		const { input } = create;
		if (input === undefined) return;
		this.#assertKeepsUp(create);
		const { shortages, ledgers, storedKeys, findDayBudget } = this.#options.config();
		const { owner, user } = create;
		for (const { scope, first } of shortages.list(create)) {
			await storedKeys?.refreshOwner(owner);
			const dayLimit = findDayBudget(owner);
			const ledger = () => ledgers.get(ledgers.idFromName(owner));
			const state = await askLedger(ledger, (one) => readState(one, scope, dayLimit, user));
			const like = first.get(nameFirst({ ...create, model: input.model ?? create.model }));
			const isLike = like !== undefined && toSize(create, input) >= like.size;
			if (isSpent(state, isLike ? like.needs : least))
				throw createBudgetError({ scope, state, user }, like?.needs ?? least);
			if (![...first.values()].some(({ needs }) => isSpent(state, needs))) shortages.forget(scope, create);
		}
	}

	#assertKeepsUp({ owner, user }: Pick<CreateInput, 'owner' | 'user'>): void {
		const { ledgers, findDayBudget } = this.#options.config();
		if (user !== undefined || isBounded(findDayBudget(owner))) assertLedgerKeepsUp(ledgers, owner);
	}

	#findRefusal(asked: ModelRequest, known: KnownFunds): RunletError | undefined {
		const { store, runner, config } = this.#options;
		const refused = listRefused(store);
		const [newest] = refused;
		if (newest === undefined) return undefined;
		const hasTried = refused.length === mostTries;
		// A continued run is asked for by somebody who may have changed the agent meanwhile.
		if (asked.isContinued === true && !(hasTried && newest.boot === runner.boot)) return undefined;
		const tried = refused.find((run) => this.#isLike(asked, run)) ?? (hasTried ? newest : undefined);
		if (tried === undefined) return undefined;
		const { budget, error } = tried;
		const { owner, user } = store.session();
		if (budget === undefined) {
			// The next version of the Worker may know the price.
			const isInDollars = [runner.budget().limit, config().findDayBudget(owner)].some(({ usd }) => usd !== undefined);
			return isInDollars && tried.boot === runner.boot ? error : undefined;
		}
		const { scope, needs } = budget;
		const state = scope === 'session' ? runner.budget() : known.get(scope);
		if (state === undefined) return undefined;
		// The reservations of others may come back, and a run waits for them.
		const isShort = scope === 'session' || hasTried ? exceedsLimit(state, needs) : isSpent(state, needs);
		return isShort ? createBudgetError({ scope, state, user }, needs) : undefined;
	}

	/** Whether a request needs what a refused run needed, or more: what a model is sent grows with each message. */
	#isLike({ model, maxOutputTokens = Infinity, isEdit = false }: ModelRequest, run: RefusedRun): boolean {
		const isInTokens = run.budget !== undefined && run.budget.limit.usd === undefined;
		const isModel = isInTokens || this.#findModel(model) === run.model;
		return isModel && !isEdit && maxOutputTokens >= (run.maxOutputTokens ?? Infinity);
	}

	#findModel(asked: string | undefined): string {
		const { store, runtime, config } = this.#options;
		const { agent, model } = store.session();
		return chooseModel(findAgent(runtime.agents, agent), asked ?? model, config().model);
	}
}

/** Less than any request needs. */
const least: Amount = { tokens: 1, usd: 1e-12 };

function isSame(a: Limit, b: Limit): boolean {
	return a.tokens === b.tokens && a.usd === b.usd;
}

/** The characters of the first request of a new session. */
function toSize(create: CreateInput, given: Input): number {
	return toCharacters([...(create.history ?? []), toInbound(given, create, create.by).message]);
}
