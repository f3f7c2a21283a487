import type { AskedCall } from './provider.ts';
import type { ChatUsage } from './usage.ts';

/** A request before it is made. */
export interface MeteredRequest {
	readonly model: string;
	/** The estimated tokens that it sends. */
	readonly inputTokens: number;
	/** The chosen features of the provider: its own tools, the tier, the cache. */
	readonly choices?: Omit<AskedCall, 'inputTokens' | 'outputTokens'>;
	/** The longest reply that the options allow. Missing if there is no limit. */
	readonly maxOutputTokens?: number;
	/** Whether the reply may not be shorter than that, because a shorter one was cut off. */
	readonly isWhole?: boolean;
	/** Whether the request is for vectors, which produces no message. */
	readonly isEmbedding?: boolean;
	/** Ends the wait for a reservation when the run is stopped. */
	readonly signal: AbortSignal;
}

/** The hidden cost of an interrupted request. */
export interface Hidden {
	/** The milliseconds without a delta, in which the model may have thought. */
	readonly silentMs: number;
	/** Whether the provider ran its own tools, after which the model reads the input again. */
	readonly hasReadAgain: boolean;
}

/**
 * Accounts for the cost of a run. `reserve` is called before each request, including retries and fallbacks. The cost is
 * reported once: with the message (`MessageContext.spent`), or by `lost`.
 */
export interface Meter {
	/**
	 * Reserves the possible cost of the request. Returns the longest reply that this allows, in tokens. An error here
	 * ends the run before anything is sent.
	 */
	readonly reserve: (request: MeteredRequest) => number | undefined | Promise<number | undefined>;
	/** Whether the request that was reserved last may have a longer reply if it is reserved with `isWhole`. */
	readonly isShort?: boolean;
	/**
	 * Takes the cost of a request that failed or was for a summary. `usage` is the reported cost. `cut` says that it was
	 * interrupted, so it may have cost more. `outputTokens` is the estimated output until then.
	 */
	readonly lost: (
		usage: ChatUsage | undefined,
		cut: boolean,
		outputTokens: number,
		hidden?: Hidden,
	) => void | Promise<void>;
}

/** Facts about a request to a model after its end. */
export interface SeenCall {
	/** The usage that its provider reported. */
	readonly usage?: ChatUsage;
	/** The estimated tokens that it sent. */
	readonly inputTokens: number;
	/** The estimated tokens that were received: text, thinking, the input of tools. */
	readonly outputTokens: number;
	/** The estimated tokens that were written but not received before the interruption. */
	readonly unseenTokens?: number;
	/** The most tokens of hidden thinking, if the model may hide it. */
	readonly hiddenTokens?: number;
	/** Whether the provider ran its own tools, after which the model reads the input again. */
	readonly hasReadAgain?: boolean;
	/** Whether it was interrupted. The reported output may then be out of date. */
	readonly isCut: boolean;
}

/** The charge for a request. */
interface CallCharge {
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
 * Computes the charge of a request: the reported usage as far as it is complete, else the estimated input and output
 * with a margin. Ignores a reported zero for anything that is not empty.
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
		// The reported output is out of date if the model has thought since.
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
