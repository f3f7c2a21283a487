import * as v from 'valibot';
import type { CheckFlow, Labels } from '../../core/chat/flow.ts';
import type { Label, Tool } from '../../core/tool/index.ts';

const rule = v.picklist(['ask', 'refuse', 'allow'], "must be 'ask', 'refuse' or 'allow'");

const targetList = v.array(v.pipe(v.string(), v.nonEmpty()));

export const flowSchema = v.optional(
	v.union([
		rule,
		v.strictObject({
			rule: v.optional(rule),
			targets: v.optional(
				v.union([targetList, v.function()], 'must be a list of targets, or a function that returns one'),
			),
			givenSites: v.optional(v.boolean()),
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
	/**
	 * Where calls may send to without being asked: what `targets` of a tool returns, the host of an address, or the domain
	 * of a mail address. A function returns the targets of a session, such as the user's own address. If it throws, or
	 * returns no list of texts, there are none.
	 */
	readonly targets?: readonly string[] | ((session: FlowSession) => readonly string[]);
	/** Whether all addresses of a site may be read if a person gave one of its addresses in the conversation. */
	readonly givenSites?: boolean;
	/** Other rules, by the names of tools. */
	readonly tools?: Readonly<Record<string, FlowRule>>;
}

/** The session whose targets are wanted. */
export interface FlowSession {
	readonly user?: string;
	readonly metadata: Readonly<Record<string, string>>;
}

/** What the rule has to know of a conversation, before the newest turn of the model. */
export interface FlowFacts {
	readonly session: FlowSession;
	labels(): readonly Label[];
	/** Lists what came in, the newest first. */
	list(): Labels;
	/** Whether the conversation has the whole address already. A request for such an address tells nobody anything new. */
	isGiven(address: string): boolean;
	/** Whether a person gave an address of the same site. */
	isGivenSite(address: string): boolean;
}

/**
 * Creates the rule that stands before tools (docs/untrusted-text.md): once a conversation has text of strangers and
 * private data, a person decides about calls that send something out.
 */
export function createFlowCheck(flow: FlowRule | FlowOptions = {}, facts: FlowFacts): CheckFlow {
	const options: FlowOptions = typeof flow === 'string' ? { rule: flow } : flow;
	const { rule = 'ask', tools = {}, givenSites = false } = options;
	const isGiven = (address: string) => facts.isGiven(address) || (givenSites && facts.isGivenSite(address));
	return (tool, args) => {
		const decision = (Object.hasOwn(tools, tool.name) ? tools[tool.name] : undefined) ?? rule;
		if (decision === 'allow' || facts.labels().length < 2) return undefined;
		const targets = listTargets(tool, args);
		if (targets?.every((target) => isAllowed(target, listAllowed(options, facts.session))) === true) return undefined;
		if (tool.writes === 'address' && targets?.every(isGiven) === true) return undefined;
		return { decision, reason: { targets: targets ?? [], ...facts.list() } };
	};
}

/** Lists where a call would send to: nowhere with an empty list. A tool that cannot say it may send anywhere. */
function listTargets(tool: Tool, args: Readonly<Record<string, unknown>>): readonly string[] | undefined {
	if (tool.writes === 'address') return [String(args.url)];
	try {
		return tool.targets?.({ ...args }).map(String);
	} catch {
		return undefined;
	}
}

function listAllowed({ targets = [] }: FlowOptions, session: FlowSession): readonly string[] {
	if (typeof targets !== 'function') return targets;
	try {
		const found: unknown = targets(session);
		return v.is(targetList, found) ? found : [];
	} catch {
		return [];
	}
}

function isAllowed(target: string, allowed: readonly string[]): boolean {
	const domain = /^[^\s@,;:<>"()]+@([^\s@,;:<>"()]+)$/.exec(target)?.[1];
	const host = domain ?? (URL.canParse(target) ? new URL(target).host : undefined);
	return allowed.some((one) => one === target || one === host);
}
