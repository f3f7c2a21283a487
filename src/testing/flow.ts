import type { Agent } from '../cloudflare/agent/define.ts';
import { createFlowCheck } from '../cloudflare/agent/flow.ts';
import { isGivenBy, type LabelledMessage, listToolWords, readLabels } from '../cloudflare/agent/labels.ts';
import type { chat, Message } from '../core/index.ts';

/** Creates the rule for calls that send something out, as a session has it. `messages` has the whole conversation. */
export function createTestFlow(
	agent: Agent,
	agents: readonly Agent[],
	messages: () => readonly Message[],
): chat.CheckFlow {
	const words = listToolWords(agent, agents);
	/** Lists the messages before the newest turn of the model, the newest first. */
	const list = (): LabelledMessage[] => {
		const all = messages().map((message, index) => ({ id: String(index), message }));
		return all
			.slice(
				0,
				all.findLastIndex(({ message }) => message.role === 'assistant'),
			)
			.reverse();
	};
	const read = () => {
		const all = list().map((message) => readLabels(message, words));
		return { outside: all.flatMap(({ outside }) => outside), private: all.flatMap((labels) => labels.private) };
	};
	const findCall = (callId: string) =>
		messages()
			.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
			.findLast(({ id }) => id === callId);
	return createFlowCheck(agent.flow, {
		labels: () =>
			(['outside', 'private'] as const).filter(
				(label) => read()[label].length > 0 || (label === 'outside' && words.hasServers),
			),
		list: read,
		isGiven: (address) =>
			list().some((one) => {
				const call = one.message.role === 'tool' ? findCall(one.message.toolCallId) : undefined;
				return isGivenBy(one, address, words, call);
			}),
	});
}
