import type { AskedCall } from './provider.ts';
import type { ChatUsage } from './usage.ts';

/** A request before it is made. */
export interface MeteredRequest {
	readonly model: string;
	/** The estimated tokens that it sends. */
	readonly inputTokens: number;
	/** What is chosen of what the provider offers: its own tools, the tier, the cache. */
	readonly choices?: Omit<AskedCall, 'inputTokens' | 'outputTokens'>;
	/** The longest reply that the options allow. Missing if there is no limit. */
	readonly maxOutputTokens?: number;
	/** Whether the reply may not be shorter than that, because a shorter one was cut off. */
	readonly isWhole?: boolean;
	/** Whether vectors are asked for. No message comes of such a request. */
	readonly isEmbedding?: boolean;
	/** Ends the wait for a reservation when the run is stopped. */
	readonly signal: AbortSignal;
}

/** What an interrupted request may have cost besides what was shown of it. */
export interface Hidden {
	/** The milliseconds in which nothing came: its model may have thought then. */
	readonly silentMs: number;
	/** Whether its provider ran tools of its own, after which the model reads everything again. */
	readonly hasReadAgain: boolean;
}

/**
 * Keeps account of the cost of a run. It learns of each request to a model before it is made, including retries and
 * fallbacks. It learns of the cost once: with the message (`MessageContext.spent`), or by `lost`.
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
