import type { Spending } from '../../client/index.ts';
import { type ChartLimit, createChart } from '../parts/chart.ts';
import { type Cost, describeCost } from './cost.ts';

type Amount = Spending['usage'][number]['spent'];

const dayMs = 86_400_000;
const nothing: Required<Cost> = { tokens: 0, usd: 0, unpricedTokens: 0 };

/** Makes a chart of the newest days, also of those without spending: in dollars, or in tokens where no price is known. */
export function createDayChart(usage: Spending['usage'], days: number, now = Date.now()): HTMLElement {
	const sums = new Map<string, Required<Cost>>();
	for (const { day, spent, unpricedTokens: more = 0 } of usage) {
		const { tokens, usd, unpricedTokens } = sums.get(day) ?? nothing;
		sums.set(day, { tokens: tokens + spent.tokens, usd: usd + spent.usd, unpricedTokens: unpricedTokens + more });
	}
	const hasPrices = [...sums.values()].some(({ usd }) => usd > 0);
	const bars = Array.from({ length: days }, (_, at) => {
		const name = new Date(now - (days - 1 - at) * dayMs).toISOString().slice(0, 10);
		const spent = sums.get(name) ?? nothing;
		return { name, parts: [hasPrices ? spent.usd : spent.tokens], words: describeBar(spent), spent };
	});
	const limit = findLimit(usage, hasPrices, bars.at(-1)?.spent);
	const [most] = bars.toSorted((one, other) => (other.parts[0] ?? 0) - (one.parts[0] ?? 0));
	return createChart(`By day, the last ${days} days`, bars, most?.words ?? '', { limit });
}

/** Describes a bar: of what has no known price at least the tokens. */
function describeBar(spent: Cost): string {
	const tokens = spent.unpricedTokens && spent.usd === 0 ? `, ${spent.tokens.toLocaleString('en')} tokens` : '';
	return `${describeCost(spent)}${tokens}`;
}

/** Finds what one owner may spend on a day, in what the chart shows, with what is spent today. */
function findLimit(
	usage: Spending['usage'],
	inDollars: boolean,
	today: Amount = { tokens: 0, usd: 0 },
): ChartLimit | undefined {
	const [first] = usage;
	if (first === undefined || usage.some(({ owner }) => owner !== first.owner)) return undefined;
	const { tokens, usd } = first.limit;
	if (inDollars && usd !== undefined)
		return { value: usd, words: `$${today.usd.toFixed(2)} of $${usd.toFixed(2)} today` };
	if (inDollars || tokens === undefined) return undefined;
	const [spent, most] = [today.tokens, tokens].map((count) => count.toLocaleString('en'));
	return { value: tokens, words: `${spent} of ${most} tokens today` };
}
