import * as v from 'valibot';

const rule = v.picklist(['ask', 'refuse', 'allow'], "must be 'ask', 'refuse' or 'allow'");

export const flowSchema = v.optional(
	v.union([
		rule,
		v.strictObject({
			rule: v.optional(rule),
			targets: v.optional(v.array(v.pipe(v.string(), v.nonEmpty()))),
			tools: v.optional(v.record(v.string(), rule)),
		}),
	]),
);

/** What happens to a call that would send something out of a session that has text of strangers and private data. */
export type FlowRule = 'ask' | 'refuse' | 'allow';

/** The rules of an agent for calls that send something out (docs/untrusted-text.md). */
export interface FlowOptions {
	/** A person decides (`ask`, the default), the call is not run (`refuse`), or it runs (`allow`). */
	readonly rule?: FlowRule;
	/** Where calls may send to without being asked: what `targets` of a tool returns, or the host of an address. */
	readonly targets?: readonly string[];
	/** Other rules, by the names of tools. */
	readonly tools?: Readonly<Record<string, FlowRule>>;
}

export function toFlowOptions(flow: FlowRule | FlowOptions = {}): FlowOptions {
	return typeof flow === 'string' ? { rule: flow } : flow;
}
