import type { RunletError } from '../../../core/base/errors.ts';
import { chooseModel, findAgent } from '../../agent/define.ts';
import type { Runtime } from '../../agent/runtime.ts';
import type { Config } from '../../config/config.ts';
import { type Amount, type BudgetState, exceedsLimit, isBounded, isSame, isSpent } from '../../objects/budget.ts';
import { assertLedgerKeepsUp, type BudgetScope, toDay } from '../../objects/ledger/api.ts';
import { nameLedger, readState } from '../../objects/ledger/owner.ts';
import type { CreateInput, Input } from '../../objects/session-api.ts';
import {
	createBudgetError,
	listRefused,
	mostTries,
	nameFirst,
	type RefusedRun,
	toCharacters,
	toState,
} from '../run/budgets.ts';
import { findLedger } from '../run/lease.ts';
import type { Runner } from '../run/runner.ts';
import { toInbound } from '../store/inbound.ts';
import type { SessionRecord } from '../store/session-row.ts';
import type { SessionStore } from '../store/store.ts';

export interface ModelRequest {
	readonly model?: string;
	readonly maxOutputTokens?: number;
	/** Whether the request replaces an earlier message. The model's input can then be smaller than before. */
	readonly isEdit?: boolean;
	/** Whether the request continues a run and adds no message. */
	readonly isContinued?: boolean;
}

export type KnownFunds = ReadonlyMap<BudgetScope, BudgetState>;

interface FundsContext {
	readonly store: SessionStore;
	readonly session: SessionRecord;
	readonly runner: Runner;
	readonly runtime: Pick<Runtime, 'agents'>;
	readonly config: Config;
}

/**
 * Reads the owner's and the user's budgets that refused the session's newest runs. Throws `overloaded` if the budgets
 * cannot be read, or if the ledger that the next run needs is overloaded.
 */
export async function readFunds({
	store,
	session,
	config,
}: Pick<FundsContext, 'store' | 'session' | 'config'>): Promise<KnownFunds> {
	assertKeepsUp(session, config);
	const { findLimit } = findLedger(config, session);
	const states = new Map<BudgetScope, BudgetState>();
	for (const { budget, endedAt } of listRefused(store)) {
		if (budget === undefined || budget.scope === 'session' || states.has(budget.scope)) continue;
		const { scope } = budget;
		const dayLimit = await findLimit();
		// The spending of a day never shrinks, so the ledger need not be asked again.
		const isSure = scope === 'day' && toDay(endedAt) === toDay(Date.now()) && isSame(budget.limit, dayLimit);
		const state = isSure && isSpent(toState(budget), budget.needs) ? toState(budget) : undefined;
		states.set(scope, state ?? (await readState(config, session, { scope, dayLimit })));
	}
	return states;
}

/**
 * Refuses a request before any part of it is stored (docs/budgets.md). Throws `budget_exceeded` if a similar request
 * was refused and the budget would refuse it again.
 */
export function assertFunds(context: FundsContext, asked: ModelRequest, known: KnownFunds = new Map()): void {
	const error = findRefusal(context, asked, known);
	if (error !== undefined) throw error;
}

/**
 * Throws `budget_exceeded` for a new session if a budget of its owner or user would refuse the first run. Throws
 * `overloaded` if their ledger is overloaded.
 */
export async function assertNewFunds(create: CreateInput, config: Config): Promise<void> {
	const { user, input } = create;
	if (input === undefined) return;
	assertKeepsUp(create, config);
	const { shortages } = config;
	const { findLimit } = findLedger(config, create);
	for (const { scope, first } of shortages.list(create)) {
		const dayLimit = await findLimit();
		const state = await readState(config, create, { scope, dayLimit });
		const similar = first.get(nameFirst({ ...create, model: input.model ?? create.model }));
		const isSimilar = similar !== undefined && toSize(create, input) >= similar.size;
		if (isSpent(state, isSimilar ? similar.needs : least))
			throw createBudgetError({ scope, state, user }, similar?.needs ?? least);
		if (![...first.values()].some(({ needs }) => isSpent(state, needs))) shortages.forget(scope, create);
	}
}

function assertKeepsUp(whose: Parameters<typeof nameLedger>[1], config: Config): void {
	if (whose.user === undefined && !isBounded(config.findDayBudget(whose.owner))) return;
	assertLedgerKeepsUp(config.ledgers, nameLedger(config, whose));
}

function findRefusal(context: FundsContext, asked: ModelRequest, known: KnownFunds): RunletError | undefined {
	const { store, session, runner, config } = context;
	const refused = listRefused(store);
	const [newest] = refused;
	if (newest === undefined) return undefined;
	const hasTried = refused.length === mostTries;
	// The agent may have changed since the refused run.
	if (asked.isContinued === true && !(hasTried && newest.boot === runner.boot)) return undefined;
	const tried = refused.find((run) => isSimilar(context, asked, run)) ?? (hasTried ? newest : undefined);
	if (tried === undefined) return undefined;
	const { budget, error } = tried;
	const { owner, user } = session;
	if (budget === undefined) {
		// The next version of the Worker may know the price.
		const isInDollars = [runner.budget().limit, config.findDayBudget(owner)].some(({ usd }) => usd !== undefined);
		return isInDollars && tried.boot === runner.boot ? error : undefined;
	}
	const { scope, needs } = budget;
	const state = scope === 'session' ? runner.budget() : known.get(scope);
	if (state === undefined) return undefined;
	// A run can wait until other runs release their reservations, so only spending counts.
	const isShort = scope === 'session' || hasTried ? exceedsLimit(state, needs) : isSpent(state, needs);
	return isShort ? createBudgetError({ scope, state, user }, needs) : undefined;
}

/** Whether a request needs at least as much as a refused run needed. Each message makes the next request larger. */
function isSimilar(
	{ session, runtime, config }: FundsContext,
	{ model, maxOutputTokens = Infinity, isEdit = false }: ModelRequest,
	run: RefusedRun,
): boolean {
	const isInTokens = run.budget !== undefined && run.budget.limit.usd === undefined;
	const agent = findAgent(runtime.agents, session.agent);
	const isModel =
		isInTokens || chooseModel(agent, model ?? session.model, config.model, session.rerun !== undefined) === run.model;
	return isModel && !isEdit && maxOutputTokens >= (run.maxOutputTokens ?? Infinity);
}

const least: Amount = { tokens: 1, usd: 1e-12 };

function toSize(create: CreateInput, input: Input): number {
	return toCharacters([...(create.history ?? []), toInbound(input, create, { from: create.by }).message]);
}
