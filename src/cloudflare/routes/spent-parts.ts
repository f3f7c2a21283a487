import type * as v from 'valibot';
import type { DayPart, PartField } from '../objects/ledger/api.ts';
import type { spentParts } from '../wire/spending.ts';

/** Reads the fields of a query. */
export function parseFields(by: string | undefined): ReadonlySet<string> {
	return new Set(by?.split(',').filter((field) => field !== ''));
}

const partFields = ['agent', 'model', 'user'] as const;

/** Returns those fields that a ledger sums up by. */
export function toPartFields(by: ReadonlySet<string>): readonly PartField[] {
	return partFields.filter((field) => by.has(field));
}

/** Shows a part of what was spent. What is not known of its price is not shown as 0. */
export function showPart(
	{ day, tokens, usd, unpricedTokens, inputTokens, cachedInputTokens, units = {}, ...names }: DayPart,
	by: ReadonlySet<string>,
): v.InferOutput<typeof spentParts> {
	return {
		...{ day, ...showNames(names, by), spent: { tokens, usd: unpricedTokens > 0 && usd === 0 ? null : usd } },
		...(unpricedTokens > 0 && { unpricedTokens }),
		...{ inputTokens, cachedInputTokens, cachedShare: toShare(cachedInputTokens, inputTokens), units },
	};
}

/** Shows the counts of a part: one for each unit. */
export function showUnits(
	{ day, tokens, inputTokens, cachedInputTokens, units, ...names }: DayPart,
	by: ReadonlySet<string>,
) {
	const all = {
		...{ input_tokens: inputTokens, cached_input_tokens: cachedInputTokens, output_tokens: tokens - inputTokens },
		...units,
	};
	return Object.entries(all).flatMap(([unit, count]) =>
		count > 0 ? [{ day, ...showNames(names, by), unit, count }] : [],
	);
}

function showNames({ agent, model, user }: Pick<DayPart, PartField>, by: ReadonlySet<string>) {
	return {
		...(by.has('agent') && { agent }),
		...(by.has('model') && { model }),
		...(by.has('user') && user !== undefined && { user }),
	};
}

function toShare(part: number, whole: number): number {
	return whole === 0 ? 0 : Math.round((part / whole) * 1_000) / 1_000;
}
