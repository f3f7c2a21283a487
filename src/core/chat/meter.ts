import type { CallEstimate } from './provider.ts';
import type { ChatUsage } from './reply.ts';

/** A request before it is made. */
export interface MeteredRequest {
	readonly model: string;
	/** The estimated input tokens of the request. */
	readonly inputTokens: number;
	/** The chosen features of the provider: its own tools, the tier, the cache. */
	readonly choices?: Omit<CallEstimate, 'inputTokens' | 'outputTokens'>;
	/** The longest reply that the options allow, in tokens. Missing if there is no limit. */
	readonly maxOutputTokens?: number;
	/** Whether the reply must be allowed the full length, because a shorter reply was cut off. */
	readonly isWhole?: boolean;
	/** Whether the request is for vectors, which produces no message. */
	readonly isEmbedding?: boolean;
	/** Ends the wait for a reservation. */
	readonly signal: AbortSignal;
}

/** The part of the cost of an interrupted request that its deltas do not show. */
export interface HiddenCost {
	/** The milliseconds without a delta, in which the model may have thought. */
	readonly silentMs: number;
	/** Whether the provider ran its own tools. After them the model reads the input again. */
	readonly hasReadAgain: boolean;
}

/**
 * Counts the cost of a run. `reserve` is called before each request, including retries and fallbacks. The cost
 * is reported once: with the message (`MessageContext.spent`), or to `lost`.
 */
export interface Meter {
	/** Reserves the possible cost. Returns the token limit of the reply. An error here ends the run without a request. */
	readonly reserve: (request: MeteredRequest) => number | undefined | Promise<number | undefined>;
	/** Whether the last reserved request got a shorter reply limit than `isWhole` would allow. */
	readonly isShort?: boolean;
	/**
	 * Receives the cost of a request that produced no message: it failed, or was for a summary or vectors. With `cut`
	 * the request was interrupted and may have cost more than `usage`. `outputTokens` is the estimated output.
	 */
	readonly lost: (
		usage: ChatUsage | undefined,
		cut: boolean,
		outputTokens: number,
		hidden?: HiddenCost,
	) => void | Promise<void>;
}

export interface EndedCall {
	readonly usage?: ChatUsage;
	/** The estimated tokens of the request. */
	readonly inputTokens: number;
	/** The estimated tokens of the received output: text, thinking and the input of tools. */
	readonly outputTokens: number;
	/** The estimated tokens that the model wrote before the interruption, but that were not received. */
	readonly unseenTokens?: number;
	/** The maximum number of tokens of hidden thinking, if the model can hide its thinking. */
	readonly hiddenTokens?: number;
	/** Whether the provider ran its own tools. After them the model reads the input again. */
	readonly hasReadAgain?: boolean;
	/** Whether the request was interrupted. If so, the reported output may be out of date. */
	readonly isCut: boolean;
}

interface CallCharge {
	readonly inputTokens: number;
	readonly outputTokens: number;
	/** The reported US dollars. Missing if a part of the tokens is estimated. */
	readonly costUsd?: number;
}

/** Estimates are multiplied by this factor, because an interrupted call may have written more than was received. */
const margin = 1.03;
/** A reported output counts as current if it is at least this share of the estimate. */
const currentFrom = 0.75;

/** Computes the charge from the reported usage, else from the estimates with a margin. Ignores an implausible zero. */
export function toCharge(call: EndedCall): CallCharge {
	const { usage, inputTokens, outputTokens, unseenTokens = 0, hiddenTokens = 0, hasReadAgain, isCut } = call;
	const reported = {
		input: readReported(usage?.inputTokens, inputTokens),
		output: readReported(usage?.outputTokens, outputTokens),
		total: readReported(usage?.totalTokens, inputTokens + outputTokens),
	};
	const input = reported.input ?? Math.ceil(inputTokens * margin);
	if (isCut) {
		// The provider may have reported only the input of the first reading.
		const read = hasReadAgain === true ? Math.max(input, inputTokens) : input;
		const isCurrent = reported.output !== undefined && reported.output >= outputTokens * currentFrom;
		const estimate = Math.ceil(isCurrent ? outputTokens : (outputTokens + unseenTokens) * margin);
		// The reported output is out of date if the model has thought after the report.
		const thought = hiddenTokens === 0 ? 0 : Math.ceil(outputTokens + hiddenTokens);
		return { inputTokens: read, outputTokens: Math.max(reported.output ?? 0, estimate, thought) };
	}
	if (reported.input === undefined && reported.output === undefined && reported.total !== undefined) {
		const least = Math.min(input, reported.total);
		return { inputTokens: least, outputTokens: reported.total - least, costUsd: readReported(usage?.costUsd, 0) };
	}
	const rest = reported.total !== undefined && reported.total > input ? reported.total - input : undefined;
	const output = reported.output ?? rest ?? Math.ceil((outputTokens + hiddenTokens) * margin);
	const isReported = reported.input !== undefined && (reported.output ?? rest) !== undefined;
	return { inputTokens: input, outputTokens: output, ...(isReported && { costUsd: readReported(usage?.costUsd, 0) }) };
}

function readReported(value: number | undefined, estimate: number): number | undefined {
	if (value === undefined || !Number.isFinite(value) || value < 0) return undefined;
	return value === 0 && estimate > 0 ? undefined : value;
}
