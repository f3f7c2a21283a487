import type { Spending } from '../../client/index.ts';
import { describeMoney } from '../../client/words.ts';
import { type ChartLimit, createChart } from '../parts/chart.ts';

type Amount = Spending['usage'][number]['spent'];

const dayMs = 86_400_000;

/** Makes a chart of the newest days, also of those without spending: in dollars, or in tokens where no price is known. */
export function createDayChart(usage: Spending['usage'], days: number, now = Date.now()): HTMLElement {
	const sums = new Map<string, { tokens: number; usd: number }>();
	for (const { day, spent } of usage) {
		const { tokens, usd } = sums.get(day) ?? { tokens: 0, usd: 0 };
		sums.set(day, { tokens: tokens + spent.tokens, usd: usd + spent.usd });
	}
	const hasPrices = [...sums.values()].some(({ usd }) => usd > 0);
	const bars = Array.from({ length: days }, (_, at) => {
		const name = new Date(now - (days - 1 - at) * dayMs).toISOString().slice(0, 10);
		const spent = sums.get(name) ?? { tokens: 0, usd: 0 };
		return { name, parts: [hasPrices ? spent.usd : spent.tokens], words: describeMoney(spent), spent };
	});
	const limit = findLimit(usage, hasPrices, bars.at(-1)?.spent);
	const [most] = bars.toSorted((one, other) => (other.parts[0] ?? 0) - (one.parts[0] ?? 0));
	return createChart(`By day, the last ${days} days`, bars, most?.words ?? '', { limit });
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
