import { createFieldError, RunletError } from '../../core/base/errors.ts';
import type { amount, limit, budgetState as stateSchema } from '../wire/budget.ts';
import type { Shown } from '../wire/operation.ts';
import { listShards } from './shards.ts';

/** The cost of model calls, in tokens (input and output together) and in US dollars. */
export type Amount = Shown<typeof amount>;

export const nothing: Amount = { tokens: 0, usd: 0 };

/** An amount above any cap. A request whose cost has no known bound has an infinite amount. */
export const everything: Amount = { tokens: Number.POSITIVE_INFINITY, usd: Number.POSITIVE_INFINITY };

/** Rounds tokens up to whole numbers, and dollars to 1e-12. Throws `invalid_argument` for a number below 0, or NaN. */
export function createAmount({ tokens, usd }: Amount): Amount {
	return { tokens: Math.ceil(checkCount('tokens', tokens)), usd: roundDollars(checkCount('usd', usd)) };
}

/** Infinite tokens or dollars count as 0, because they have no cap. */
export function toFinite({ tokens, usd }: Amount): Amount {
	return createAmount({ tokens: tokens === Infinity ? 0 : tokens, usd: usd === Infinity ? 0 : usd });
}

export function plus(a: Amount, b: Amount): Amount {
	return { tokens: a.tokens + b.tokens, usd: roundDollars(a.usd + b.usd) };
}

export function minus(a: Amount, b: Amount): Amount {
	return { tokens: Math.max(0, a.tokens - b.tokens), usd: Math.max(0, roundDollars(a.usd - b.usd)) };
}

export function lesser(a: Amount, b: Amount): Amount {
	return { tokens: Math.min(a.tokens, b.tokens), usd: Math.min(a.usd, b.usd) };
}

function roundDollars(sum: number): number {
	return Math.round(sum * 1e12) / 1e12;
}

function checkCount(field: keyof Amount, value: number): number {
	if (Number.isFinite(value) && value >= 0) return value;
	throw createFieldError('invalid_argument', field, `must be a number from 0 on, got ${value}.`);
}

/** The caps of a budget. A missing field means no cap. */
export type Limit = Shown<typeof limit>;

export function isWithinLimit(limit: Limit, most: Limit): boolean {
	const isWithin = (unit: keyof Limit) => most[unit] === undefined || (limit[unit] ?? Infinity) <= most[unit];
	return isWithin('tokens') && isWithin('usd');
}

export function isBounded({ tokens, usd }: Limit): boolean {
	return tokens !== undefined || usd !== undefined;
}

export function isSame(a: Limit, b: Limit): boolean {
	return a.tokens === b.tokens && a.usd === b.usd;
}

/** Keeps only the units of an amount (tokens, dollars) that have a limit. */
export function keepCapped({ tokens, usd }: Amount, limit: Limit): Limit {
	return { ...(limit.tokens !== undefined && { tokens }), ...(limit.usd !== undefined && { usd }) };
}

export type BudgetState = Shown<typeof stateSchema>;

export function budgetState(limit: Limit, spent: Amount, reserved: Amount): BudgetState {
	const held = plus(spent, reserved);
	const { tokens, usd } = minus({ tokens: limit.tokens ?? 0, usd: limit.usd ?? 0 }, held);
	const left = { ...(limit.tokens !== undefined && { tokens }), ...(limit.usd !== undefined && { usd }) };
	return { limit, spent, reserved, left };
}

export function exceedsLimit({ limit, spent, reserved }: Omit<BudgetState, 'left'>, amount: Amount): boolean {
	const { tokens, usd } = plus(plus(spent, reserved), amount);
	return isPast(tokens, limit.tokens) || isPast(usd, limit.usd);
}

/** Whether an amount would exceed the limit even if nothing were reserved. */
export function isSpent(state: Omit<BudgetState, 'left'>, amount: Amount): boolean {
	return exceedsLimit({ ...state, reserved: nothing }, amount);
}

/** Whether a total is above a cap. The negation matters: with NaN as a cap, nothing is allowed. */
function isPast(total: number, cap: number | undefined): boolean {
	return cap !== undefined && !(total <= cap);
}

export type RoomScope = 'session' | 'owner' | 'user';

/** How many bytes each scope can store. A missing limit allows everything. */
export type RoomLimits = Readonly<Partial<Record<RoomScope, number>>>;

/** The bytes of all sessions of an owner, and the bytes of one user's sessions. */
export interface Held {
	readonly owner: number;
	readonly user?: number;
}

interface Whose {
	readonly owner: string;
	readonly user?: string;
}

/** The variable of each limit, and the ways to free bytes. */
const remedies: Readonly<Record<RoomScope, readonly [variable: string, whose: string, remedy: string]>> = {
	session: ['SESSION_BYTES', 'this session', 'Delete files of it, or the session'],
	owner: ['OWNER_BYTES', 'this owner', 'Delete sessions, or files of them'],
	user: ['USER_BYTES', 'this user', 'Delete sessions of the user, or files of them'],
};

function createFull(scope: RoomScope, limit: number, used: number): RunletError {
	const [variable, whose, remedy] = remedies[scope];
	const text = `storage: ${whose} may hold ${limit} bytes (${variable}), and would hold ${used}. ${remedy}, or raise ${variable}.`;
	return new RunletError('too_large', text, { field: 'storage', scope, limit, used });
}

export function assertRoom(scope: RoomScope, limits: RoomLimits, used: number): void {
	const limit = limits[scope];
	if (limit !== undefined && used > limit) throw createFull(scope, limit, used);
}

export function assertHeld(limits: RoomLimits, { owner, user = 0 }: Held): void {
	assertRoom('owner', limits, owner);
	assertRoom('user', limits, user);
}

const mostKnown = 1_000;

/**
 * Owners and users that recently stored too much, as far as this isolate knows. Only their sessions ask the directory
 * before they store more.
 */
export class FullRooms {
	readonly #full = new Set<string>();
	readonly #limits: RoomLimits;

	constructor(limits: RoomLimits) {
		this.#limits = limits;
	}

	mayBeFull({ owner, user }: Whose): boolean {
		return this.#full.has(toKey(owner)) || (user !== undefined && this.#full.has(toKey(owner, user)));
	}

	/**
	 * Notes the bytes of an owner and a user: all bytes, or those in one of the owner's shards. If an owner is full, some
	 * shard holds the mean or more. So a shard with the mean marks the owner as possibly full, and one with less proves
	 * nothing.
	 */
	note({ owner, user }: Whose, held: Held, shards = 1): void {
		this.#set(toKey(owner), held.owner, this.#limits.owner, listShards(owner, shards).length);
		if (user !== undefined)
			this.#set(toKey(owner, user), held.user ?? 0, this.#limits.user, listShards(owner, shards, user).length);
	}

	#set(key: string, bytes: number, limit = Infinity, objects = 1): void {
		if (objects === 1) this.#full.delete(key);
		if (bytes * objects <= limit) return;
		this.#full.delete(key);
		this.#full.add(key);
		const [oldest] = this.#full;
		if (this.#full.size > mostKnown && oldest !== undefined) this.#full.delete(oldest);
	}
}

function toKey(...whose: readonly string[]): string {
	return JSON.stringify(whose);
}
