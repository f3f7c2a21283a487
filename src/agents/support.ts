import { tool } from 'runlet';
import { defineAgent } from 'runlet/cloudflare';
import * as v from 'valibot';

/** Moves money, so the loop never runs this tool: a person refunds the money and submits the result. */
const issueRefund = tool.define({
	name: 'issue_refund',
	description: 'Ask a colleague to refund an order. Needs the order number and the amount in euros.',
	inputSchema: v.object({
		orderId: v.pipe(v.string(), v.nonEmpty(), v.description('The order number')),
		amount: v.pipe(v.number(), v.minValue(0.01), v.description('Euros to refund')),
	}),
	manual: true,
});

/** Writes to customers in the company's tone, knows when to escalate, and leaves refunds to people. */
export const support = defineAgent({
	name: 'support',
	description: 'Writes to customers in your tone, knows when to escalate, and leaves refunds to a person.',
	examples: [
		'Draft a reply to a customer whose parcel is late.',
		'Please refund order A-1042, amount 25 euros.',
		'A customer is angry and mentions a lawyer. What now?',
	],
	system: 'You draft replies for a customer support team. Read the skill that fits before you write.',
	tools: [issueRefund],
	skills: ['customer-tone', 'escalation'],
	searchContents: true,
});
