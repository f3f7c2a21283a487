import { defineAgent } from 'runlet/cloudflare';
import { findOrderTool, listOrdersTool } from '../tools.ts';

/** Works for `support` in the background. Its session belongs to the same customer, so its tools see the same orders. */
export const researcher = defineAgent({
	name: 'researcher',
	description: 'Looks into a complaint, and drafts an answer to it.',
	system:
		'You look into the complaint of a customer of a tea shop. Look the orders up that it is about. Then write a draft of the answer, in at most five sentences. Promise no money.',
	tools: [findOrderTool, listOrdersTool],
});
