import { findChildWork } from '../cloudflare/agent/children.ts';
import type { Agent } from '../cloudflare/agent/define.ts';
import type { FlowFacts, FlowSession } from '../cloudflare/agent/flow.ts';
import { givesSite, isGivenBy, type LabelledMessage, listToolWords, readLabels } from '../cloudflare/agent/labels.ts';
import type { chat, Message } from '../core/index.ts';

interface TestConversation {
	readonly agent: Agent;
	/** The agents that can work for the agent. */
	readonly agents: readonly Agent[];
	readonly session: FlowSession;
	/** The whole conversation. */
	readonly messages: () => readonly Message[];
	/** What flowed in, but is in no message. */
	readonly rest: () => chat.Labels;
}

/** Creates the facts for the rule about calls that send something out, as a session does. */
export function createTestFacts({ agent, agents, session, messages, rest }: TestConversation): FlowFacts {
	const words = listToolWords(agent, agents);
	/** Lists the messages before the newest turn of the model, the newest first. */
	const list = (): LabelledMessage[] => {
		const all = messages().map((message, index) => ({ id: String(index), message }));
		const turn = all.findLastIndex(({ message }) => message.role === 'assistant');
		return all.slice(0, turn).reverse();
	};
	const read = (): chat.Labels => {
		const all = [...list().map((message) => readLabels(message, words)), rest()];
		return { outside: all.flatMap(({ outside }) => outside), private: all.flatMap((one) => one.private) };
	};
	const findCall = (callId: string) =>
		messages()
			.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
			.findLast(({ id }) => id === callId);
	const isChild = (name: string) => agent.tools.some((tool) => tool.name === name && findChildWork(tool) !== undefined);
	return {
		session,
		labels: () => {
			const found = read();
			return (['outside', 'private'] as const).filter(
				(label) => found[label].length > 0 || (label === 'outside' && words.hasServers),
			);
		},
		list: read,
		isGiven: (address) =>
			list().some((one) => {
				const call = one.message.role === 'tool' ? findCall(one.message.toolCallId) : undefined;
				return isGivenBy(one, address, words, call !== undefined && isChild(call.name) ? undefined : call);
			}),
		isGivenSite: (address) => list().some((one) => givesSite(one, address)),
	};
}
