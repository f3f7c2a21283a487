import type { Amount } from '../../objects/budget.ts';

export interface Charge {
	readonly call: number;
	readonly run: number;
	readonly model: string;
	/** The reservation during the request, and its cost afterwards. */
	readonly amount: Amount;
	/** Whether the owner's ledger gets the cost. */
	readonly owed: boolean;
	readonly lease: number;
	readonly estimate: Estimate;
	/** Whether the request is for vectors. It has no message. */
	readonly isEmbedding?: boolean;
	/** Whether the model may think without showing it. */
	readonly mayThink?: boolean;
}

/** The size of a request's input, and its prices in US dollars. */
export interface Estimate {
	readonly inputTokens: number;
	readonly inputUsd: number;
	readonly unitsUsd?: number;
	readonly outputUsd: number;
	/** Whether the price is unknown. Then the dollars are 0. */
	readonly isUnpriced?: boolean;
}

export type SpendingRow = {
	call: number;
	run: number;
	model: string;
	tokens: number;
	usd: number;
	total_tokens: number;
	total_usd: number;
	settled: number;
	owed: number;
	input_tokens: number;
	input_usd: number;
	output_usd: number;
	units_usd: number | null;
	lease: number;
	told: number;
	embedding: number | null;
	thinks: number | null;
	unpriced: number | null;
	created_at: number;
};

export function settleRow(row: SpendingRow, { tokens, usd }: Amount): SpendingRow {
	const sums = { total_tokens: row.total_tokens + tokens, total_usd: row.total_usd + usd };
	return { ...row, ...sums, tokens, usd, settled: 1 };
}

export function toCharge({ call, run, model, tokens, usd, owed, ...row }: SpendingRow): Charge {
	const { input_tokens: inputTokens, input_usd: inputUsd, output_usd: outputUsd } = row;
	const prices = { inputUsd, outputUsd, unitsUsd: row.units_usd ?? 0, isUnpriced: row.unpriced === 1 };
	const estimate = { inputTokens, ...prices };
	const about = { call, run, model, amount: { tokens, usd }, owed: owed !== 0, estimate };
	return { ...about, lease: row.lease, isEmbedding: row.embedding === 1, mayThink: row.thinks === 1 };
}
