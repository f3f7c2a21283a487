import type { ChatUsage } from './usage.ts';

/** What is known of a request to a model after its end. */
export interface SeenCall {
	/** The usage that its provider reported. */
	readonly usage?: ChatUsage;
	/** The estimated tokens that it sent. */
	readonly inputTokens: number;
	/** The estimated tokens that arrived: text, thinking, the input of tools. */
	readonly outputTokens: number;
	/** The estimated tokens that its model had written and that had not arrived when it was interrupted. */
	readonly unseenTokens?: number;
	/** The tokens of thinking that nobody was shown, at most, if its model may hide it. */
	readonly hiddenTokens?: number;
	/** Whether its provider ran tools of its own, after which the model reads everything again. */
	readonly hasReadAgain?: boolean;
	/** Whether it was interrupted. The reported output may then be out of date. */
	readonly isCut: boolean;
}

/** The charge for a request. */
export interface CallCharge {
	readonly inputTokens: number;
	readonly outputTokens: number;
	/** The US dollars that its provider reported. Missing if a part of the tokens is estimated. */
	readonly costUsd?: number;
}

/** The factor for an estimate: an interrupted call may have written more than arrived. */
const margin = 1.03;

/** From this share of the estimate on, a provider's count of the output counts as current. */
const currentFrom = 0.75;

/**
 * Computes the charge of a request: the reported usage as far as it is complete, else the estimate of what it sent and
 * what arrived, with a margin. A reported zero for something that is not empty is ignored.
 */
export function toCharge({
	usage,
	inputTokens,
	outputTokens,
	unseenTokens = 0,
	hiddenTokens = 0,
	hasReadAgain,
	isCut,
}: SeenCall): CallCharge {
	const said = {
		input: readReported(usage?.inputTokens, inputTokens),
		output: readReported(usage?.outputTokens, outputTokens),
		total: readReported(usage?.totalTokens, inputTokens + outputTokens),
	};
	const input = said.input ?? Math.ceil(inputTokens * margin);
	if (isCut) {
		// The reported input is that of the first reading.
		const read = hasReadAgain === true ? Math.max(input, inputTokens) : input;
		const isCurrent = said.output !== undefined && said.output >= outputTokens * currentFrom;
		const estimate = Math.ceil(isCurrent ? outputTokens : (outputTokens + unseenTokens) * margin);
		// The count of the output is out of date where the model has thought since.
		const thought = hiddenTokens === 0 ? 0 : Math.ceil(outputTokens + hiddenTokens);
		return { inputTokens: read, outputTokens: Math.max(said.output ?? 0, estimate, thought) };
	}
	if (said.input === undefined && said.output === undefined && said.total !== undefined) {
		const least = Math.min(input, said.total);
		return { inputTokens: least, outputTokens: said.total - least, costUsd: readReported(usage?.costUsd, 0) };
	}
	const rest = said.total !== undefined && said.total > input ? said.total - input : undefined;
	const output = said.output ?? rest ?? Math.ceil((outputTokens + hiddenTokens) * margin);
	const isSaid = said.input !== undefined && (said.output ?? rest) !== undefined;
	return { inputTokens: input, outputTokens: output, ...(isSaid && { costUsd: readReported(usage?.costUsd, 0) }) };
}

/** Reads a provider's figure. Ignores a zero if the estimate is not zero. */
function readReported(value: number | undefined, estimate: number): number | undefined {
	if (value === undefined || !Number.isFinite(value) || value < 0) return undefined;
	return value === 0 && estimate > 0 ? undefined : value;
}
