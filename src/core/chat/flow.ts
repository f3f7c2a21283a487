import type { Needles } from '../base/secrets.ts';
import type { Tool, ToolCall } from '../tool/index.ts';

/** A text that came into a conversation, such as the result of a call. */
export interface FlowSource {
	/** A description of the text, such as `web_fetch {"url":"https://example.com/"}`. */
	readonly what: string;
	/** The id of its message. */
	readonly message?: string;
}

/** What came into a conversation. */
export interface Labels {
	/** Texts that strangers may have written, the newest first. */
	readonly outside: readonly FlowSource[];
	/** Data of the owner or of the user, the newest first. */
	readonly private: readonly FlowSource[];
}

/** Why a call waits for a person or is refused: what came in, and where it would send to. */
export interface FlowReason extends Labels {
	readonly targets: readonly string[];
}

/** What happens to a call that would send something out: a person decides, or it is not run. */
export interface FlowDecision {
	readonly decision: 'ask' | 'refuse';
	readonly reason: FlowReason;
}

/** Decides about a call whose tool has `writes`, before it runs. Returns nothing if the call may run. */
export type CheckFlow = (tool: Tool, args: Readonly<Record<string, unknown>>) => FlowDecision | undefined;

/** Secrets that must not leave in a call. A call with one of them is not run, and its arguments are masked. */
export interface CallSecrets {
	/** Returns the secrets that are known now (`prepareSecrets`). */
	readonly list: () => Needles;
	/** Called for each call that is not run, with the name of the secret. Must not throw. */
	readonly onFound?: (call: Pick<ToolCall, 'id' | 'name'>, secret: string) => void;
}

/** Returns what the model reads instead of the result of a call with a secret. */
export function describeSecret(name: string): string {
	return `Not run: its arguments contain a secret of this deployment (${name}).`;
}

/** Returns what the model reads instead of the result of a refused call. */
export function describeRefusal({ targets, outside, private: own }: FlowReason): string {
	const list = (sources: readonly FlowSource[]) => sources.map(({ what }) => what).join(', ');
	const to = targets.length === 0 ? '' : ` to ${targets.join(', ')}`;
	return `Not run: it would send something out${to}. This conversation has text of strangers (${list(outside)}) and private data (${list(own)}), so the agent does not allow it. Tell the user what you wanted to send.`;
}
