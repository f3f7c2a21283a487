import * as v from 'valibot';
import { RunletError } from '../../../core/base/errors.ts';
import { formatDollars } from '../../../core/base/text.ts';
import type { Message } from '../../../core/chat/index.ts';
import { type EndedCall, toCharge } from '../../../core/chat/meter.ts';
import {
	type Amount,
	type BudgetState,
	budgetState,
	createAmount,
	isBounded,
	isSpent,
	keepCapped,
	type Limit,
	nothing,
	plus,
} from '../../objects/budget.ts';
import type { BudgetScope, Refusal, UserScope } from '../../objects/ledger/api.ts';
import type { Shortages } from '../../objects/ledger/shortages.ts';
import type { RunRecord } from '../store/runs.ts';
import type { SessionRecord } from '../store/session-row.ts';
import type { Charge, Lease } from '../store/spending.ts';
import type { SessionStore } from '../store/store.ts';

export interface ExceededBudget {
	readonly scope: 'session' | BudgetScope;
	readonly state: BudgetState;
	readonly user?: string;
}

/** Creates the error of a refused request: `budget_reserved` if only reservations of other runs are in its way. */
export function createBudgetError({ scope, state, user = '' }: ExceededBudget, needs: Amount): RunletError {
	const { whose, per, remedy } = describeBudget(scope, user);
	const text = `budget: ${whose} may spend ${amountText(state.limit)}${per}; ${amountText(state.left)} left, and the next request may need ${amountText(keepCapped(needs, state.limit))}.`;
	const data = { scope, ...state, needs };
	if (scope === 'session' || isSpent(state, needs))
		return new RunletError('budget_exceeded', `${text} ${remedy}`, data);
	const reserved = amountText(keepCapped(state.reserved, state.limit));
	const message = `${text} Other runs have reserved ${reserved}, and give back what they do not need. Try again in a minute.`;
	return new RunletError('budget_reserved', message, { ...data, retryAfter: 60 });
}

/** Creates the error for a request of unknown price under a budget in dollars. `what` names the unpriced part. */
export function createUnpriced(model: string, what = `"${model}"`): RunletError {
	const message = `budget: nobody knows the price of ${what}, so a budget in dollars cannot be kept on it. Set its price in PRICES, give the budget in tokens, or choose another model.`;
	return new RunletError('budget_exceeded', message, { model, unpriced: what });
}

function describeBudget(scope: ExceededBudget['scope'], user: string) {
	const whose = `The user ${JSON.stringify(user)}`;
	const raise = `An admin raises it by PUT /v1/users/${encodeURIComponent(user)}/budget`;
	switch (scope) {
		case 'session':
			return { whose: 'This session', per: '', remedy: 'Raise its budget (PATCH the session), then continue.' };
		case 'day':
			return {
				whose: 'This key',
				per: ' a day',
				remedy: 'Raise the budget of the day or wait for tomorrow (UTC), then continue.',
			};
		case 'user-day':
			return { whose, per: ' a day', remedy: `${raise}. Then continue, or continue tomorrow (UTC).` };
		case 'user-total':
			return { whose, per: ' in all', remedy: `${raise}. Then continue.` };
		default:
			return scope satisfies never;
	}
}

function amountText({ tokens, usd }: Limit): string {
	const parts = [tokens === undefined ? [] : `${tokens} tokens`, usd === undefined ? [] : formatDollars(usd)].flat();
	return parts.join(' and ') || 'nothing';
}

/** Returns the state of the session's own budget, with the costs and reservations of its children. */
export function readBudgetState({ spending, calls }: SessionStore, limit: Limit): BudgetState {
	const ofChildren = calls.children.sum();
	const spent = createAmount(plus(spending.total(), ofChildren.spent));
	return budgetState(limit, spent, plus(spending.open()?.amount ?? nothing, ofChildren.reserved));
}

/**
 * What a request knows of the budgets in an owner's ledger. The limit of the day is always known. The caps of the
 * session's user are known from a refusal of the ledger, or from the lease. A budget counts as unspent until the ledger
 * reports its state.
 */
export class KnownBudgets {
	readonly #states = new Map<BudgetScope, BudgetState>();
	readonly #refused = new Set<BudgetScope>();
	#scopesOfLease: readonly UserScope[];

	constructor(dayLimit: Limit, lease: Pick<Lease, 'userLimits'> | undefined) {
		const userLimits = lease?.userLimits ?? new Map<UserScope, Limit>();
		this.#scopesOfLease = [...userLimits.keys()];
		if (isBounded(dayLimit)) this.#states.set('day', budgetState(dayLimit, nothing, nothing));
		for (const [scope, limit] of userLimits) this.#states.set(scope, budgetState(limit, nothing, nothing));
	}

	get states(): readonly BudgetState[] {
		return [...this.#states.values()].map(({ limit, spent }) => budgetState(limit, spent, nothing));
	}

	get userLimits(): ReadonlyMap<UserScope, Limit> {
		const limits = new Map<UserScope, Limit>();
		for (const [scope, { limit }] of this.#states) if (scope !== 'day' && isBounded(limit)) limits.set(scope, limit);
		return limits;
	}

	/** Forgets the caps of the lease, which may have changed. Returns whether there were caps. */
	forgetLease(): boolean {
		const scopes = this.#scopesOfLease;
		this.#scopesOfLease = [];
		for (const scope of scopes) this.#states.delete(scope);
		return scopes.length > 0;
	}

	/** Throws `budget_exceeded` if an amount exceeds a budget even without the reservations of others. */
	assertFits(amount: Amount, user?: string): void {
		for (const [scope, state] of this.#states)
			if (isSpent(state, amount)) throw createBudgetError({ scope, state, user }, amount);
	}

	/** Notes a refusal of the ledger. Returns true if waiting can help, and false to try a shorter reply. */
	noteRefusal({ scope, state }: Refusal, amount: Amount): boolean {
		const isFirst = !this.#refused.has(scope);
		this.#refused.add(scope);
		this.#states.set(scope, state);
		return !isFirst && !isSpent(state, amount);
	}
}

const limit = v.object({ tokens: v.optional(v.number()), usd: v.optional(v.number()) });
const amount = v.object({ tokens: v.number(), usd: v.number() });
const budget = v.object({
	scope: v.picklist(['session', 'day', 'user-day', 'user-total']),
	limit,
	spent: amount,
	reserved: amount,
	left: limit,
	needs: amount,
});

export type RefusedBudget = v.InferOutput<typeof budget>;

/** A run that ended because a budget refused its request, or because its model has no price. */
export interface RefusedRun extends Pick<RunRecord, 'n' | 'model' | 'maxOutputTokens' | 'boot'> {
	readonly error: RunletError;
	readonly budget?: RefusedBudget;
	readonly endedAt: number;
}

/** After this many refused runs in a row, even a shorter message is refused until the budget has room. */
export const mostTries = 3;

/** Lists the last runs that were refused in a row, the newest first: at most `mostTries`. */
export function listRefused({ runs }: Pick<SessionStore, 'runs'>): readonly RefusedRun[] {
	const newest = runs.get();
	const found: RefusedRun[] = [];
	for (let run = newest?.status === 'running' ? runs.get(newest.n - 1) : newest; run; run = runs.get(run.n - 1)) {
		const refused = toRefused(run);
		if (refused === undefined) break;
		found.push(refused);
		if (found.length === mostTries) break;
	}
	return found;
}

function toRefused({ n, model, maxOutputTokens, boot, end, endedAt = 0 }: RunRecord): RefusedRun | undefined {
	const event = end?.event;
	if (event?.type !== 'error' || event.code !== 'budget_exceeded') return undefined;
	const error = new RunletError(event.code, event.message, event.data);
	const read = v.safeParse(budget, event.data);
	return { n, model, maxOutputTokens, boot, error, endedAt, ...(read.success && { budget: read.output }) };
}

export function toState({ limit, spent, reserved, left }: RefusedBudget): BudgetState {
	return { limit, spent, reserved, left };
}

/** Notes the budget of the owner or the user that refused the newest run, if any. */
export function noteShortage(store: SessionStore, shortages: Shortages): void {
	const [refused] = store.exists() ? listRefused(store) : [];
	if (refused?.budget === undefined || refused.budget.scope === 'session') return;
	const { scope, needs } = refused.budget;
	const session = store.session();
	const records = refused.n === 1 ? store.messages.page().records : [];
	const isFirst = records.length > 0 && records.every(({ input }) => input === true);
	const size = toCharacters(records.map(({ message }) => message));
	shortages.note(scope, session, nameFirst(session), isFirst ? { needs, size } : undefined);
}

export function nameFirst({ agent, model = '' }: Pick<SessionRecord, 'agent' | 'model'>): string {
	return `${agent} ${model}`;
}

export function toCharacters(messages: readonly Message[]): number {
	return messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0);
}

/** The number of tokens that a fast model writes per millisecond. */
export const fastPace = 0.15;

/** The observed part of a request, and the milliseconds during which there was no output. */
type ObservedCall = Omit<EndedCall, 'inputTokens' | 'hiddenTokens'> & { readonly silentMs?: number };

/** Computes the cost of a request from its observed part. An estimate never exceeds the reservation. */
export function computeCost(open: Charge, seen: ObservedCall): Amount {
	const amount = toAmount(open, seen);
	const isBounded = open.amount.tokens > open.estimate.inputTokens;
	if (!isBounded) return amount;
	const { inputTokens = 0, outputTokens = 0, totalTokens = 0, costUsd = 0 } = seen.usage ?? {};
	const most = {
		tokens: Math.max(open.amount.tokens, toCount(inputTokens + outputTokens), toCount(totalTokens)),
		usd: Math.max(open.amount.usd, toCount(costUsd)),
	};
	return { tokens: Math.min(amount.tokens, most.tokens), usd: Math.min(amount.usd, most.usd) };
}

function toAmount({ estimate, amount: most, mayThink }: Charge, seen: ObservedCall): Amount {
	const { inputTokens: expected, inputUsd, outputUsd, unitsUsd = 0 } = estimate;
	const hiddenTokens = mayThink === true ? (seen.silentMs ?? 0) * fastPace : 0;
	const { inputTokens, outputTokens, costUsd } = toCharge({ ...seen, inputTokens: expected, hiddenTokens });
	const inputPrice = expected === 0 ? 0 : (inputUsd / expected) * inputTokens;
	// The provider did not report its searches, so the charge includes all reserved searches.
	const estimated = inputPrice + unitsUsd + outputUsd * outputTokens;
	const reported = seen.usage?.costUsd ?? 0;
	// An interrupted request reports a part of its price. If any used unit has no price, the whole reservation counts.
	const least = seen.isCut && reported > 0 ? reported + outputUsd * outputTokens : 0;
	const unknown = seen.usage?.unpriced === undefined ? 0 : most.usd;
	return createAmount({ tokens: inputTokens + outputTokens, usd: costUsd ?? Math.max(estimated, least, unknown) });
}

/** Returns a reported number. Returns 0 for `NaN` and infinity. */
function toCount(value: number): number {
	return Number.isFinite(value) ? value : 0;
}
