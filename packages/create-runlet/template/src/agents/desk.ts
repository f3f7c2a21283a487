import { tool } from 'runlet';
import { defineAgent } from 'runlet/cloudflare';
import * as v from 'valibot';

/** Finds an order. A real one would ask your shop. */
const findOrder = tool.define({
	name: 'find_order',
	description: 'Find an order, by its number.',
	inputSchema: v.object({ id: v.pipe(v.string(), v.regex(/^A-\d+$/), v.description('Such as A-1042')) }),
	retry: 'safe',
	fn: (id: string) => ({ id, status: 'sent', arrives: 'tomorrow' }),
});

/** Answers customers: knows their orders, and writes in the tone of skills/tone. */
export const desk = defineAgent({
	name: 'desk',
	description: 'Answers customers: knows their orders, and writes in your tone.',
	examples: ['Where is my order A-1042?', 'Which tone do we write in?'],
	system: 'You answer the customers of a small shop. Look orders up instead of guessing. Read the skill tone first.',
	tools: [findOrder],
	skills: ['tone'],
});
