import { isSamePerson } from 'runlet';
import { type Approvers, agentTool, defineAgent, type WebhookMapping } from 'runlet/cloudflare';
import * as v from 'valibot';
import { isCustomer, owner } from '../login.ts';
import { findOrderTool, listOrdersTool, refundTool } from '../tools.ts';
import { researcher } from './researcher.ts';

/** Anybody of the staff may say no. Only somebody who has not asked may say yes. */
const approvers: Approvers = ({ by, askers, approve }) => !approve || !askers.some((asker) => isSamePerson(asker, by));

/** What the shop writes into the metadata of each payment. Stripe signs the event with it. */
const payment = v.object({
	data: v.object({ object: v.object({ metadata: v.object({ customer: v.string(), order: v.string() }) }) }),
});

/** A payment that failed is a message in a conversation of the customer who has to know. */
const onStripeEvent: WebhookMapping = ({ type, payload }) => {
	if (type !== 'payment_intent.payment_failed') return undefined;
	const { customer, order } = v.parse(payment, payload).data.object.metadata;
	if (!isCustomer(customer)) return undefined;
	return {
		owner,
		user: customer,
		session: 'payments',
		sender: 'stripe',
		text: `Payment service: the payment of order ${order} failed. Say what happened, and how to pay again.`,
	};
};

export const support = defineAgent({
	name: 'support',
	description: 'Answers the customers of the shop: knows their orders, and refunds them when a colleague allows it.',
	examples: ['Where is my order A-1001?', 'Please list what I bought.', 'Please refund order A-1001, amount 18 euros.'],
	system: ({ user }) =>
		`You answer ${user ?? 'a guest'}, a customer of a tea shop. Be brief. Look orders up instead of guessing. Give a complaint to research_complaint, and say that somebody looks into it.`,
	tools: [
		findOrderTool,
		listOrdersTool,
		refundTool,
		agentTool(researcher, {
			name: 'research_complaint',
			description:
				'Have a complaint looked into. The task is the complaint in the words of the customer, with order numbers.',
			background: true,
			budget: { tokens: 20_000 },
		}),
	],
	approvers,
	approvalMs: 7 * 86_400_000,
	budget: { tokens: 100_000 },
	webhooks: { stripe: onStripeEvent },
});
