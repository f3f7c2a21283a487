import { type chat, providers, tool } from 'runlet';
import { defineAgent } from 'runlet/cloudflare';
import { callTool } from 'runlet/testing';
import * as v from 'valibot';

const findOrder = tool.define({
	name: 'find_order',
	description: 'Finds an order.',
	inputSchema: v.object({ id: v.string(), full: v.optional(v.boolean(), false) }),
	passInput: true,
	fn: ({ id }, { env }) => ({ id, arrives: 'today', token: Reflect.get(env, 'SHOP_TOKEN') }),
});

const refund = tool.define({
	name: 'refund',
	description: 'Pays an order back.',
	inputSchema: v.object({ amount: v.number() }),
	needsApproval: true,
	fn: (amount: number) => `paid ${amount}`,
});

const byHand = tool.define({ name: 'by_hand', description: 'Somebody does it.', inputSchema: {}, manual: true });

export const desk = defineAgent({
	name: 'desk',
	description: 'Answers customers.',
	tools: [findOrder, refund, byHand],
});

/** The cost of each turn. */
const usage = { inputTokens: 100, outputTokens: 20, totalTokens: 120, costUsd: 0.001 };

/**
 * A model that looks orders up, asks for refunds, and repeats all else. Its name is its answer for `order`, after the
 * prefix `scripted-`.
 */
export function createModel(more: Partial<chat.ProviderRegistration> = {}): chat.ProviderRegistration {
	const turn: providers.ScriptedFn = ({ model, messages }) => {
		const last = messages.at(-1);
		if (last?.role === 'tool')
			return { text: `${model.replace('scripted-', '')}: ${JSON.stringify(last.content)}`, usage };
		const text = last?.role === 'user' ? String(last.content) : '';
		if (text.includes('order')) return { ...callTool('find_order', { id: 'A-1042' }), usage };
		if (text.includes('refund')) return { ...callTool('refund', { amount: 5 }), usage };
		if (text.includes('hand')) return { ...callTool('by_hand'), usage };
		return { text: `You said: ${text}`, usage };
	};
	const { requests, ...model } = providers.scripted(Array.from({ length: 100 }, () => turn));
	return { ...model, ...more };
}
