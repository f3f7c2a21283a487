import type { ChatUsage } from './usage.ts';

/** What is known of a request to a model when it is over, or was cut off. */
export interface SeenCall {
	/** What its provider said of its cost. */
	readonly usage?: ChatUsage;
	/** What it sent, estimated. */
	readonly inputTokens: number;
	/** What came of it, estimated: text, thinking, the input of tools. */
	readonly outputTokens: number;
	/** Whether it was broken off. What its provider said of the output may then be old. */
	readonly isCut: boolean;
}

/** What a request is charged. */
export interface CallCharge {
	readonly inputTokens: number;
	readonly outputTokens: number;
	/** US dollars, as its provider says; missing where a part of the tokens is estimated. */
	readonly costUsd?: number;
}

/** What an estimate is multiplied by: a cut call may have written more than arrived. */
const margin = 1.03;

/** A provider's count of the output is not old from this share of the estimate on. */
const currentFrom = 0.75;

/**
 * What a request to a model is charged: what its provider said, as far as that covers it, else the estimate of what it
 * sent and of what came, with a margin. A zero for something that is not empty says nothing.
 */
export function toCharge({ usage, inputTokens, outputTokens, isCut }: SeenCall): CallCharge {
	const said = {
		input: readReported(usage?.inputTokens, inputTokens),
		output: readReported(usage?.outputTokens, outputTokens),
		total: readReported(usage?.totalTokens, inputTokens + outputTokens),
	};
	const input = said.input ?? Math.ceil(inputTokens * margin);
	if (isCut) {
		const isCurrent = said.output !== undefined && said.output >= outputTokens * currentFrom;
		const estimate = Math.ceil(isCurrent ? outputTokens : outputTokens * margin);
		return { inputTokens: input, outputTokens: Math.max(said.output ?? 0, estimate) };
	}
	if (said.input === undefined && said.output === undefined && said.total !== undefined) {
		const least = Math.min(input, said.total);
		return { inputTokens: least, outputTokens: said.total - least, costUsd: readReported(usage?.costUsd, 0) };
	}
	const rest = said.total !== undefined && said.total > input ? said.total - input : undefined;
	const output = said.output ?? rest ?? Math.ceil(outputTokens * margin);
	const isSaid = said.input !== undefined && (said.output ?? rest) !== undefined;
	return { inputTokens: input, outputTokens: output, ...(isSaid && { costUsd: readReported(usage?.costUsd, 0) }) };
}

/** A provider's figure. A zero for what is not empty is none. */
function readReported(value: number | undefined, estimate: number): number | undefined {
	if (value === undefined || !Number.isFinite(value) || value < 0) return undefined;
	return value === 0 && estimate > 0 ? undefined : value;
}
