import { addUnits, type ChatUsage } from '../../../core/chat/usage.ts';
import { plus } from '../../objects/budget.ts';
import type { CostPart } from '../../objects/ledger/api.ts';
import type { Sql } from '../../objects/migrate.ts';
import type { CostDetail, MessageCost } from './message-record.ts';
import type { RunRows } from './runs.ts';
import type { EndedLease, SpendingRows } from './spending.ts';
import type { Charge } from './spending-row.ts';

/** Adds to the cost of a request what it was billed for. */
export function withDetail(cost: MessageCost | undefined, usage: ChatUsage | undefined): MessageCost | undefined {
	if (cost === undefined) return undefined;
	const { inputTokens, cachedInputTokens, units, costUsd, unpriced } = usage ?? {};
	// Without a price of the whole request only tokens have one.
	const isPart = unpriced !== undefined || units !== undefined;
	const isUnpriced = costUsd === undefined && (cost.usd === 0 || isPart);
	return {
		...cost,
		...(inputTokens !== undefined && { inputTokens }),
		...(cachedInputTokens !== undefined && cachedInputTokens > 0 && { cachedInputTokens }),
		...(units !== undefined && { units }),
		isUnpriced,
	};
}

/** Reads what each of some leases cost by model, by the number of its first request. */
export function readParts(
	{ sql, spending, runs }: PartSources,
	leases: readonly Pick<EndedLease, 'firstCall' | 'lastCall'>[],
): ReadonlyMap<number, readonly CostPart[]> {
	const found = new Map<number, Map<string, CostPart>>(leases.map(({ firstCall }) => [firstCall, new Map()]));
	const [first] = leases;
	const last = leases.at(-1);
	if (first === undefined || last === undefined) return new Map();
	const calls = spending.after(first.firstCall - 1, last.lastCall - first.firstCall + 1);
	const details = readDetails(sql, runs.get(calls[0]?.run)?.firstSeq ?? 0);
	for (const charge of calls) {
		const parts = found.get(charge.lease);
		const part = toPart(charge, details.get(charge.call));
		parts?.set(part.model, addUp(parts.get(part.model), part));
	}
	return new Map([...found].map(([lease, parts]) => [lease, [...parts.values()]]));
}

interface PartSources {
	readonly sql: Sql;
	readonly spending: Pick<SpendingRows, 'after'>;
	readonly runs: Pick<RunRows, 'get'>;
}

/** Reads what requests were billed for whose messages stand from a place on, by their numbers. */
function readDetails(sql: Sql, from: number): ReadonlyMap<number, CostDetail> {
	const rows = sql.exec<{ cost: string }>('SELECT cost FROM message WHERE seq >= ? AND cost IS NOT NULL', from);
	return new Map(
		rows.toArray().map(({ cost }) => {
			const detail: MessageCost = JSON.parse(cost);
			return [detail.call, detail];
		}),
	);
}

function toPart({ model, amount, estimate }: Charge, detail: CostDetail | undefined): CostPart {
	const { tokens, usd } = amount;
	const isUnpriced = detail?.isUnpriced ?? estimate.isUnpriced === true;
	const inputTokens = Math.min(tokens, detail?.inputTokens ?? estimate.inputTokens);
	return {
		...{ model, tokens, usd, unpricedTokens: isUnpriced ? tokens : 0, inputTokens },
		cachedInputTokens: Math.min(inputTokens, detail?.cachedInputTokens ?? 0),
		...(detail?.units !== undefined && { units: detail.units }),
		...(detail !== undefined && { longestReply: tokens - inputTokens }),
	};
}

function addUp(a: CostPart | undefined, b: CostPart): CostPart {
	if (a === undefined) return b;
	const units = addUnits(a.units, b.units);
	return {
		...{ model: a.model, ...plus(a, b), unpricedTokens: a.unpricedTokens + b.unpricedTokens },
		...{ inputTokens: a.inputTokens + b.inputTokens, cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens },
		...(units !== undefined && { units }),
		longestReply: Math.max(a.longestReply ?? 0, b.longestReply ?? 0),
	};
}
