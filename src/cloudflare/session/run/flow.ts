import type { CheckFlow } from '../../../core/chat/flow.ts';
import type { Tool } from '../../../core/tool/index.ts';
import type { Agent } from '../../agent/define.ts';
import { type FlowOptions, toFlowOptions } from '../../agent/flow.ts';
import type { SessionStore } from '../store/store.ts';
import type { SessionLabels } from './labels.ts';

interface FlowSources {
	readonly agent: Pick<Agent, 'flow'>;
	readonly store: SessionStore;
	readonly labels: SessionLabels;
}

/**
 * Creates the rule that stands before tools (docs/untrusted-text.md): once a session has text of strangers and private
 * data, a person decides about calls that send something out. What the model wrote in the turn of the call itself came
 * before the results of that turn, so those do not count.
 */
export function createFlowCheck({ agent, store, labels }: FlowSources): CheckFlow {
	const { rule = 'ask', targets: allowed = [], tools = {} } = toFlowOptions(agent.flow);
	return (tool, args) => {
		const chosen = Object.hasOwn(tools, tool.name) ? tools[tool.name] : rule;
		if (chosen === undefined || chosen === 'allow') return undefined;
		const turn = store.messages.lastTurn();
		if (labels.at(turn).length < 2) return undefined;
		const targets = listTargets(tool, args);
		if (targets.length > 0 && targets.every((target) => isAllowed(target, allowed))) return undefined;
		if (tool.writes === 'address' && isKnownAddress(store, labels, String(args.url ?? ''))) return undefined;
		return { decision: chosen, reason: { targets, ...labels.list(turn) } };
	};
}

function listTargets(tool: Tool, args: Readonly<Record<string, unknown>>): readonly string[] {
	try {
		if (tool.targets !== undefined) return tool.targets({ ...args }).map(String);
	} catch {
		// A tool that cannot say where it sends to may send anywhere.
		return [];
	}
	return tool.writes === 'address' ? [String(args.url ?? '')] : [];
}

function isAllowed(target: string, allowed: FlowOptions['targets'] = []): boolean {
	const host = URL.canParse(target) ? new URL(target).host : undefined;
	return allowed.some((one) => one === target || one === host);
}

/**
 * Whether an address was in the session as a whole before the model wrote it: in a message of a person, or in what a tool
 * read. Then asking for it tells nobody anything new.
 */
function isKnownAddress(store: SessionStore, labels: SessionLabels, url: string): boolean {
	if (url === '') return false;
	return store.messages.findText(url, store.messages.lastTurn()).some((record) => labels.isGiven(record, url));
}
