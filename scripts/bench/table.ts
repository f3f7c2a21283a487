/** Formats rows of cells as an aligned Markdown table. The first row is the head. */
export function toTable(rows: readonly (readonly string[])[]): string {
	const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => (row[at] ?? '').length)));
	const lines = rows.map((row) => `| ${widths.map((width, at) => (row[at] ?? '').padEnd(width)).join(' | ')} |`);
	const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
	return [lines[0], rule, ...lines.slice(1)].join('\n');
}

/** Formats a number with two or three significant digits. */
export function toFigure(value: number): string {
	if (value >= 100) return value.toFixed(0);
	return value.toPrecision(value >= 10 ? 3 : 2);
}

/** A promise of `docs/costs.md`: the measured value and its limit. */
export interface Bar {
	readonly what: string;
	readonly value: number;
	readonly unit: string;
	readonly most?: number;
	readonly least?: number;
}

export function toBarTable(bars: readonly Bar[]): string {
	const cells = bars.map(({ what, value, unit, most = Number.POSITIVE_INFINITY, least = Number.NEGATIVE_INFINITY }) => [
		what,
		`${toFigure(value)} ${unit}`,
		most === Number.POSITIVE_INFINITY ? `at least ${least}` : `at most ${toFigure(most)}`,
		value <= most && value >= least ? 'holds' : 'MISSED',
	]);
	return toTable([['', 'measured', 'bar', ''], ...cells]);
}

/** Returns the quantile of the values: the median for 0.5. */
export function readQuantile(values: readonly number[], share: number): number {
	const sorted = values.toSorted((a, b) => a - b);
	return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function readMedian(values: readonly number[]): number {
	return readQuantile(values, 0.5);
}
