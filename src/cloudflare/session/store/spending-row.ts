import type { Amount } from '../../objects/budget.ts';

/** A request to a model and its cost. */
export interface Charge {
	/** Number in the session, from 1. */
	readonly call: number;
	readonly run: number;
	readonly model: string;
	/** The reservation during the request, and its cost afterwards. */
	readonly amount: Amount;
	/** Whether the ledger of the session's owner has to be told, or was. */
	readonly owed: boolean;
	/** The number of the request that its lease was taken for: its own, or an earlier one. */
	readonly lease: number;
	/** The size of its input, and the prices. */
	readonly estimate: Estimate;
	/** Whether it asked for vectors. No message comes of such a request. */
	readonly isEmbedding?: boolean;
	/** Whether its model may think without showing it. */
	readonly mayThink?: boolean;
}

/** The charge of a request whose provider does not report the cost. */
export interface Estimate {
	readonly inputTokens: number;
	/** The cost of the input, in US dollars. */
	readonly inputUsd: number;
	/** The price of all searches, containers and files that the request may use, in US dollars. */
	readonly unitsUsd?: number;
	/** The cost of a token of the output, in US dollars. */
	readonly outputUsd: number;
	/** Whether nobody knows the price: the dollars are 0 then. */
	readonly isUnpriced?: boolean;
}

/** The row of a request (`schema.ts`). */
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
	/** `null` if the request is billed by tokens alone. */
	units_usd: number | null;
	/** Missing from requests of an earlier version, each of which is told by itself. */
	lease: number | null;
	told: number;
	/** 1 for a request for vectors. */
	embedding: number | null;
	/** 1 if its model may think without showing it. */
	thinks: number | null;
	/** 1 if nobody knows the price. */
	unpriced: number | null;
	created_at: number;
};

/** Returns the row of a request with its cost. */
export function settleRow(row: SpendingRow, { tokens, usd }: Amount): SpendingRow {
	const sums = { total_tokens: row.total_tokens + tokens, total_usd: row.total_usd + usd };
	return { ...row, ...sums, tokens, usd, settled: 1 };
}

/** Turns a row into what it says of its request. */
export function toCharge({ call, run, model, tokens, usd, owed, ...row }: SpendingRow): Charge {
	const { input_tokens: inputTokens, input_usd: inputUsd, output_usd: outputUsd } = row;
	const prices = { inputUsd, outputUsd, unitsUsd: row.units_usd ?? 0, isUnpriced: row.unpriced === 1 };
	const estimate = { inputTokens, ...prices };
	const about = { call, run, model, amount: { tokens, usd }, owed: owed !== 0, estimate };
	return { ...about, lease: row.lease ?? call, isEmbedding: row.embedding === 1, mayThink: row.thinks === 1 };
}
