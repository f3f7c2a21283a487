const currency = { style: 'currency', currency: 'USD', maximumFractionDigits: 6 } as const;

/** Formats US dollars: `$2`, `$2.50`, `$0.00042`. Rounds to a millionth. */
export function formatDollars(usd: number): string {
	return usd.toLocaleString('en-US', { ...currency, minimumFractionDigits: Number.isInteger(usd) ? 0 : 2 });
}
